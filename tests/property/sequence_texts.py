"""Strategies: a small database and a sequence query, each as the language's text and as the reference's own objects.

A case is made from one number, so that thousands are quick to make and each can be made again; what Hypothesis does for
others by shrinking, `smallest` does here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from property.sequence_databases import Declared, Relations, catalog, database, relation_text, relations
from property.sequence_shapes import AIMS, query_of
from reference.possible_worlds import (
    Answer,
    Chain,
    Row,
    Stream,
    alternative,
    answers,
    answers_in,
    chains_of,
    key_of,
    number_of_worlds,
    paths,
    sampled_world,
)
from reference.sequence_classes import class_of
from reference.sequence_conditions import term_text
from reference.sequence_semantics import Part, Query


def part_text(part: Part) -> str:
    text = f"{part.stream}({', '.join(map(term_text, part.terms))})"
    if part.condition is not None:
        text += f" WHERE {part.condition.text}"
    if part.plus is None:
        return text
    if part.condition is not None:
        text = f"({text})"
    if part.plus.condition is None:
        return f"{text}+{{{', '.join(part.plus.shared)}}}"
    return f"{text}+{{{', '.join(part.plus.shared)} | {part.plus.condition.text}}}"


def query_text(query: Query) -> str:
    text = f"SELECT {', '.join(query.selected) or '*'} FROM SEQUENCE [ {' ; '.join(map(part_text, query.parts))} ]"
    if query.where:
        text += " WHERE " + " AND ".join(condition.text for condition in query.where)
    return text


@dataclass(frozen=True, repr=False)
class Case:
    """A database and a query. `rows` are what a user loads, stream by stream."""

    catalog: list[Declared]
    relations: Relations
    rows: dict[str, list[Row]]
    query: Query

    @property
    def declarations(self) -> str:
        texts = [each.text for each in self.catalog]
        return "\n".join(texts + [relation_text(name, rows) for name, rows in self.relations.items()])

    @property
    def statement(self) -> str:
        return query_text(self.query)

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams that the query speaks of: only their times are steps."""
        used = {part.stream for part in self.query.parts}
        return {each.stream.name: each.stream for each in self.catalog if each.stream.name in used}

    @property
    def class_by_definition(self) -> str:
        return class_of(self.query, self.streams)

    def chains(self) -> tuple[list[Any], list[Chain]]:
        return chains_of(self.streams, self.rows)

    def answers(self) -> dict[Answer, float]:
        return answers(self.query, *self.chains())

    def __repr__(self) -> str:
        loaded = [f"-- {name}: {row}" for name, rows in self.rows.items() for row in map(_plain, rows)]
        return "\n".join(["Case:", self.declarations, *loaded, self.statement + ";"])


def _plain(row: Row) -> Row:
    return {name: value.isoformat() if hasattr(value, "isoformat") else value for name, value in row.items()}


def cases(kind: str | None = None, most_worlds: int = 1000, most_steps: int = 4) -> st.SearchStrategy[Case]:
    """Cases of one class by definition (a name in AIMS), or of all classes alike."""
    return st.integers(0, 2**48).map(lambda seed: case_of(seed, kind, most_worlds, most_steps))


def case_of(seed: int, kind: str | None = None, most_worlds: int = 1000, most_steps: int = 4) -> Case:
    """The case of a number. Most cases have an answer: one without it is drawn anew, a few times."""
    dice = Random(seed)
    kind = dice.choice(list(AIMS)) if kind is None else kind
    tries = dice.choice([1, 10, 10, 10])
    while True:
        declared, known = catalog(dice), relations(dice)
        case = Case(declared, known, {}, query_of(dice, declared, known, kind))
        if kind not in ("any", case.class_by_definition):
            continue
        case = within(dice, replace(case, rows=database(dice, declared, most_steps)), most_worlds)
        steps, chains = case.chains()
        tries -= 1
        if not tries or any(answers_in(case.query, steps, sampled_world(steps, chains, dice)) for _ in range(12)):
            return case


def within(dice: Random, case: Case, most_worlds: int) -> Case:
    """The case with no more worlds than that: of the chain with the most paths some step becomes certain, or goes."""
    steps, chains = case.chains()
    while number_of_worlds(chains) > most_worlds:
        chain = max(chains, key=lambda each: len(paths(each)))
        gone = dice.random() < 0.25
        step = dice.choice([step for step, rows in enumerate(chain.rows) if rows])
        rows, settled = [], set()
        for row in case.rows[chain.stream.name]:
            if row[chain.stream.time] != steps[step] or key_of(chain.stream, row) != chain.key:
                rows.append(row)
            elif not gone and (before := alternative(chain.stream, row).before) not in settled:
                settled.add(before)
                rows.append(row | {"probability": 1.0})
        case = replace(case, rows=case.rows | {chain.stream.name: rows})
        steps, chains = case.chains()
    return case


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """A case that still fails and of which no single row, condition, subgoal or selected variable can be left out."""
    for smaller in simpler(case):
        if fails(smaller):
            return smallest(smaller, fails)
    return case


def simpler(case: Case) -> Iterator[Case]:
    """The case without one thing, for each thing that can go."""
    query, used = case.query, case.streams
    for i in range(len(query.parts) if len(query.parts) > 1 else 0):
        yield from meaningful(case, replace(query, parts=query.parts[:i] + query.parts[i + 1 :]))
    for i in range(len(query.where)):
        yield from meaningful(case, replace(query, where=query.where[:i] + query.where[i + 1 :]))
    for i in range(len(query.selected)):
        yield from meaningful(case, replace(query, selected=query.selected[:i] + query.selected[i + 1 :]))
    for i, part in enumerate(query.parts):
        others = [replace(part, condition=None)] if part.condition is not None else []
        if part.plus is not None:
            others.append(replace(part, plus=None))
            others += [replace(part, plus=replace(part.plus, condition=None))] if part.plus.condition else []
        for other in others:
            yield from meaningful(case, replace(query, parts=(*query.parts[:i], other, *query.parts[i + 1 :])))
    if len(used) < len(case.catalog):
        yield replace(case, catalog=[each for each in case.catalog if each.stream.name in used])
    for name, rows in case.rows.items():
        for i in range(len(rows)):
            yield replace(case, rows=case.rows | {name: rows[:i] + rows[i + 1 :]})


def meaningful(case: Case, query: Query) -> Iterator[Case]:
    """The case with this query, if it speaks only of what it can see."""
    if query.is_meaningful:
        yield replace(case, query=query)
