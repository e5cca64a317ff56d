"""Conditions in the words of the domain are what a naive twin says, which asks the full graph of every event."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import event, given, settings
from hypothesis import strategies as st

from property.knowledge_run import knowing, rows_of
from property.knowledge_worlds import DECLARATION, PREFIXES, PREFIXES_TEXT, RARE, STREAM, World, world_of
from reference.semantic_events import condition_text, holds, truth


def found(world: World, condition: str, reloaded: bool = False, **options: bool) -> list[int]:
    """The numbers of the events of which a condition holds."""
    with tempfile.TemporaryDirectory() as name:
        declaration = f"CREATE STREAM {DECLARATION.replace('(', '(id INT, ', 1)} CONTEXT 'c.jsonld';"
        workspace = knowing(Path(name), world.ontology.text, declaration, c_jsonld=world.context_text)
        workspace.optimizing = options.get("optimizing", True)
        events = [{"id": i, **e} for i, e in enumerate(world.events)]
        text = f"{PREFIXES_TEXT} SELECT e.id AS id FROM {STREAM} AS e WHERE {condition}"
        return sorted(row["id"] for row in rows_of(workspace, text, {STREAM: events}, options.get("live", False)))


def check(world: World, **options: bool) -> None:
    known = world.ontology.reasoned
    for pattern in world.patterns:
        wanted = [i for i in range(len(world.events))
                  if holds(pattern.text, PREFIXES, world.bound(i), known)]  # fmt: skip
        assert found(world, f"PATH {{ {pattern.text} }}", **options) == wanted, pattern.text
        event("some" if wanted else "none")


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_a_plain_path_holds_where_the_twin_says(seed: int, optimizing: bool, live: bool) -> None:
    check(world_of(seed, rare=()), optimizing=optimizing, live=live)


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_any_path_holds_where_the_twin_says(seed: int) -> None:
    check(world_of(seed, rare=tuple(RARE)))


@settings(max_examples=100)
@given(st.integers(0, 2**32))
def test_conditions_hold_where_the_twin_says(seed: int) -> None:
    world = world_of(seed)
    known = world.ontology.reasoned
    wanted = [i for i in range(len(world.events))
              if truth(world.condition, PREFIXES, world.bound(i), known)]  # fmt: skip
    assert found(world, condition_text(world.condition)) == wanted
