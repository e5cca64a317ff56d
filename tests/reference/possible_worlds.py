"""Rows of streams as a user loads them in, the probability of each answer of a sequence query out, world by world.

Each chain (a key of a stream) has its paths, a world is one path of each, and an answer's probability is the sum over
the worlds in which it holds. Exponential, and meant to be: it is the definition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from reference.sequence_semantics import Event, Query, World, holds

SLACK = 1e-9  # Mass that rounding may add or take.

Row = dict[str, Any]
# What a chain does at a step: no event (⊥), one, or, for a certain stream, any number.
Outcome = tuple[Event, ...]
Path = tuple[Outcome, ...]
NOTHING: Outcome = ()


@dataclass(frozen=True)
class Stream:
    """What a declaration says: attributes in order without the time, and which are the key and which uncertain."""

    name: str
    attributes: tuple[str, ...]
    key: tuple[int, ...] = ()
    uncertain: tuple[int, ...] = ()
    kind: Literal["certain", "independent", "markov"] = "certain"
    time: str = "at"

    @property
    def about(self) -> tuple[int, ...]:
        """What tells its events apart: the key, or all that they say."""
        return self.key or tuple(range(len(self.attributes)))


@dataclass(frozen=True)
class Alternative:
    """One row: the event, its probability, and the uncertain values at the step before that it presumes (None: ⊥)."""

    event: Event
    probability: float = 1.0
    before: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Chain:
    """One key of a stream, with its rows at each step. A certain stream is one chain that has no choice."""

    stream: Stream
    key: tuple[Any, ...]
    rows: tuple[tuple[Alternative, ...], ...]


def chains_of(streams: Mapping[str, Stream], rows: Mapping[str, list[Row]]) -> tuple[list[Any], list[Chain]]:
    """The steps (distinct times of these streams, in order) and the chains. Give the streams of one query only."""
    steps = sorted({row[stream.time] for name, stream in streams.items() for row in rows.get(name, [])})
    chains = []
    for name, stream in streams.items():
        keys = [key_of(stream, row) for row in rows.get(name, [])]
        for key in sorted(set(keys)):
            at: list[list[Alternative]] = [[] for _ in steps]
            for row, own in zip(rows[name], keys, strict=True):
                if own == key:
                    at[steps.index(row[stream.time])].append(alternative(stream, row))
            chains.append(Chain(stream, key, tuple(map(tuple, at))))
    for chain in chains:
        check(chain)
    return steps, chains


def key_of(stream: Stream, row: Row) -> tuple[Any, ...]:
    if stream.kind == "certain":
        return ()
    return tuple(row[stream.attributes[i]] for i in stream.key)


def alternative(stream: Stream, row: Row) -> Alternative:
    event = Event(stream.name, tuple(row[attribute] for attribute in stream.attributes))
    if stream.kind == "certain":
        return Alternative(event)
    if stream.kind == "independent":
        return Alternative(event, row["probability"])
    before = tuple(row[f"prev_{stream.attributes[i]}"] for i in stream.uncertain)
    assert all(value is None for value in before) or all(value is not None for value in before)
    return Alternative(event, row["probability"], None if before[0] is None else before)


def check(chain: Chain) -> None:
    """Each distribution has each alternative once and no more mass than 1."""
    if chain.stream.kind == "certain":
        return
    for rows in chain.rows:
        for before in {row.before for row in rows}:
            own = [row for row in rows if row.before == before]
            assert len({row.event for row in own}) == len(own), f"an alternative comes twice: {own}"
            assert all(0 <= row.probability <= 1 for row in own)
            assert math.fsum(row.probability for row in own) <= 1 + SLACK, f"more than 1: {own}"


def outcomes(chain: Chain, step: int, before: Outcome) -> list[tuple[float, Outcome]]:
    """What can happen at a step after `before` happened at the step right before it (⊥ before the first)."""
    rows = chain.rows[step]
    if chain.stream.kind == "certain":
        return [(1.0, tuple(row.event for row in rows))]
    if chain.stream.kind == "markov":
        known = None if before == NOTHING else tuple(before[0].values[i] for i in chain.stream.uncertain)
        rows = tuple(row for row in rows if row.before == known)
    found: list[tuple[float, Outcome]] = [(row.probability, (row.event,)) for row in rows if row.probability > 0]
    missing = 1 - math.fsum(probability for probability, _ in found)
    return [*found, (missing, NOTHING)] if missing > SLACK else found


def paths(chain: Chain) -> list[tuple[float, Path]]:
    """All paths of a chain, each with its probability."""
    grown: list[tuple[float, Path]] = [(1.0, ())]
    for step in range(len(chain.rows)):
        grown = [
            (probability * chance, (*path, outcome))
            for probability, path in grown
            for chance, outcome in outcomes(chain, step, path[-1] if path else NOTHING)
        ]
    return grown


def number_of_worlds(chains: Sequence[Chain]) -> int:
    return math.prod(len(paths(chain)) for chain in chains)


def world_of(steps: Sequence[Any], taken: Sequence[Path]) -> World:
    """The events at each step when each chain takes its path."""
    return [[event for path in taken for event in path[step]] for step in range(len(steps))]


def worlds(steps: Sequence[Any], chains: Sequence[Chain]) -> Iterator[tuple[float, World]]:
    """All possible worlds with their probabilities, whose sum is 1."""
    total = []
    for choice in itertools.product(*(paths(chain) for chain in chains)):
        probability = math.prod(chance for chance, _ in choice)
        total.append(probability)
        yield probability, world_of(steps, [path for _, path in choice])
    assert abs(math.fsum(total) - 1) < len(chains) * max(len(steps), 1) * SLACK + SLACK


def sampled_world(steps: Sequence[Any], chains: Sequence[Chain], random: Random) -> World:
    """One world drawn step by step, which needs none of the paths."""
    taken: list[Path] = []
    for chain in chains:
        path: Path = ()
        for step in range(len(steps)):
            choices = outcomes(chain, step, path[-1] if path else NOTHING)
            path = (*path, random.choices([o for _, o in choices], [p for p, _ in choices])[0])
        taken.append(path)
    return world_of(steps, taken)


Answer = tuple[tuple[Any, ...], Any]  # the selected values, the time of the step


def answers_in(query: Query, steps: Sequence[Any], world: World) -> set[Answer]:
    """The answers in one world. However many matches give an answer, it is one."""
    found = set()
    for binding, step in holds(query, world):
        values = dict(binding)
        found.add((tuple(values[name] for name in query.selected), steps[step]))
    return found


def answers(query: Query, steps: Sequence[Any], chains: Sequence[Chain]) -> dict[Answer, float]:
    """For each answer that is possible the probability that it is true."""
    chances: dict[Answer, list[float]] = {}
    for probability, world in worlds(steps, chains):
        for answer in answers_in(query, steps, world):
            chances.setdefault(answer, []).append(probability)
    return {answer: math.fsum(chances[answer]) for answer in sorted(chances, key=repr)}


def differences(
    expected: Mapping[Answer, float], found: Mapping[Answer, float], within: float = 1e-9
) -> dict[Answer, tuple[float, float]]:
    """The answers on which two results differ, as (expected, found). An answer that is missing has probability 0."""
    both = {answer: (expected.get(answer, 0.0), found.get(answer, 0.0)) for answer in {**expected, **found}}
    return {answer: pair for answer, pair in both.items() if not abs(pair[0] - pair[1]) <= within}
