"""Conditions in the words of the domain are what a naive twin says, which asks the full graph of every event."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import event, given, reject, settings
from hypothesis import strategies as st

from presage.errors import UnsupportedError
from presage.lang import parse_statement
from presage.workspace import Workspace
from property.knowledge_run import knowing, rows_of
from property.knowledge_worlds import (
    DECLARATION,
    PREFIXES,
    PREFIXES_TEXT,
    RARE,
    STREAM,
    Choice,
    World,
    joined,
    path_of,
    world_of,
)
from reference.semantic_events import condition_text, holds, truth

DECLARED = f"CREATE STREAM {DECLARATION.replace('(', '(id INT, ', 1)} CONTEXT 'c.jsonld';"


def known(folder: str, world: World) -> Workspace:
    return knowing(Path(folder), world.ontology.text, DECLARED, c_jsonld=world.context_text)


def found(world: World, condition: str, optimizing: bool = True, live: bool = False) -> list[int]:
    """The numbers of the events of which a condition holds."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = known(folder, world)
        workspace.optimizing = optimizing
        return numbers(workspace, world, condition, live)


def numbers(workspace: Workspace, world: World, condition: str, live: bool = False) -> list[int]:
    events = [{"id": i, **e} for i, e in enumerate(world.events)]
    text = f"{PREFIXES_TEXT} SELECT e.id AS id FROM {STREAM} AS e WHERE {condition}"
    return sorted(row["id"] for row in rows_of(workspace, text, {STREAM: events}, live))


def check(world: World, **options: bool) -> None:
    for pattern in world.patterns:
        wanted = [
            i
            for i in range(len(world.events))
            if holds(pattern.text, PREFIXES, world.bound(i), world.ontology.reasoned)
        ]
        assert found(world, f"PATH {{ {pattern.text} }}", **options) == wanted, pattern.text
        event("some" if wanted else "none")


@settings(max_examples=settings.default.max_examples // 5)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_a_plain_path_holds_where_the_twin_says(seed: int, optimizing: bool, live: bool) -> None:
    check(world_of(seed, rare=()), optimizing=optimizing, live=live)


@settings(max_examples=settings.default.max_examples // 10)
@given(st.integers(0, 2**32), st.booleans())
def test_a_reload_counts_from_the_next_question_on(seed: int, live: bool) -> None:
    world = world_of(seed)
    with tempfile.TemporaryDirectory() as folder:
        workspace = known(folder, world)
        for ontology in (world.ontology, world.reloaded):
            (Path(folder) / "world.ttl").write_text(ontology.text, encoding="utf-8")
            workspace.catalog = workspace.declare(parse_statement("REFRESH KNOWLEDGE world"))
            for pattern in world.patterns:
                wanted = [
                    i
                    for i in range(len(world.events))
                    if holds(pattern.text, PREFIXES, world.bound(i), ontology.reasoned)
                ]
                assert numbers(workspace, world, f"PATH {{ {pattern.text} }}", live) == wanted, pattern.text


@settings(max_examples=settings.default.max_examples // 10)
@given(st.integers(0, 2**32))
def test_a_path_about_two_events_falls_into_parts(seed: int) -> None:
    """In a join, and in the filter of the later event of a pattern. Each part is asked of its own event alone."""
    world, choice = world_of(seed, rare=(), at_most=4), Choice(seed)
    patterns = [path_of(choice, world.context_text, world.ontology, alias=alias, rare=()) for alias in ("a", "b")]
    both = joined(*patterns).text
    events = [{"id": i, **e} for i, e in enumerate(world.events)]
    first, second = (
        [i for i in range(len(events)) if holds(part.text, PREFIXES, world.bound(i, alias), world.ontology.reasoned)]
        for part, alias in zip(patterns, ("a", "b"), strict=True)
    )
    holding = [(i, j) for i in first for j in second]
    with tempfile.TemporaryDirectory() as folder:
        workspace = known(folder, world)
        shown = f"{PREFIXES_TEXT} SELECT a.id AS i, b.id AS j"
        join = f"{shown} FROM {STREAM}#keepall AS a, {STREAM}#keepall AS b WHERE PATH {{ {both} }}"
        try:
            rows = rows_of(workspace, join, {STREAM: events})
        except UnsupportedError:
            reject()  # a variable beside ?a and ?b could be either of them
        assert sorted((row["i"], row["j"]) for row in rows) == holding
        pattern = f"{shown} FROM PATTERN [ EVERY a={STREAM} -> EVERY b={STREAM}(PATH {{ {both} }}) ]"
        rows = rows_of(workspace, pattern, {STREAM: events})
        assert sorted((row["i"], row["j"]) for row in rows) == [(i, j) for i, j in holding if i < j]


@settings(max_examples=settings.default.max_examples // 5)
@given(st.integers(0, 2**32))
def test_any_path_holds_where_the_twin_says(seed: int) -> None:
    check(world_of(seed, rare=tuple(RARE)))


@settings(max_examples=settings.default.max_examples // 5)
@given(st.integers(0, 2**32))
def test_conditions_hold_where_the_twin_says(seed: int) -> None:
    world = world_of(seed)
    wanted = [
        i for i in range(len(world.events)) if truth(world.condition, PREFIXES, world.bound(i), world.ontology.reasoned)
    ]
    assert found(world, condition_text(world.condition)) == wanted
