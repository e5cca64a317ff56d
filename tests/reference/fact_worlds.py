"""Facts of a sequence in, the probability of each of its answers out, world by world: the twin of kernels over Facts.

Rows of a stream are tuples of small numbers; a variable's number is its value. `Stream` and `random_facts` make them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, NOTHING, Allowed, Facts, GoalRows, Source
from presage.operators.sequence.kernel.query import Anything, Goal, Known, Sequence, Variable

VALUES = 2  # of each attribute

Rows = tuple[int, ...]  # numbers of the rows that are there at one step
World = list[list[Rows]]  # by step, by source


def answers(query: Sequence, facts: Facts) -> dict[tuple[tuple[int, ...], int], float]:
    found: dict[tuple[tuple[int, ...], int], list[float]] = {}
    for probability, world in worlds(query, facts):
        for answer in {(tuple(dict(b)[v] for v in query.selected), t) for b, t in holds(query, facts, world)}:
            found.setdefault(answer, []).append(probability)
    return {answer: math.fsum(some) for answer, some in found.items()}


def chain_paths(query: Sequence, facts: Facts) -> list[tuple[int, list[tuple[float, tuple[Rows, ...]]]]]:
    """For each chain its source and all it can do, with probabilities."""
    found = []
    for number, source in enumerate(facts.sources):
        for chain in range(source.chains):
            grown: list[tuple[float, tuple[Rows, ...], int]] = [(1.0, (), NOTHING)]
            for step in range(facts.steps):
                grown = [
                    (p * chance, (*path, rows), value)
                    for p, path, before in grown
                    for chance, rows, value in _outcomes(source, chain, step, before)
                ]
            found.append((number, _alike_once(query, facts, number, [(p, path) for p, path, _ in grown])))
    return found


def _alike_once(
    query: Sequence, facts: Facts, number: int, paths: list[tuple[float, tuple[Rows, ...]]]
) -> list[tuple[float, tuple[Rows, ...]]]:
    """Paths that no goal can tell apart are one: an event nobody wants is as good as none."""
    source = facts.sources[number]
    wanted = np.zeros(len(source.chain), np.bool_)
    for goal in query.goals:
        if goal.source == number:
            wanted |= facts.goals[goal.number].candidate
    same: dict[tuple[int, int, int], int] = {}
    events = np.stack([source.step, source.chain, source.value], axis=1).tolist()
    one = [same.setdefault((t, c, v), r) for r, (t, c, v) in enumerate(events)]
    chances: dict[tuple[Rows, ...], list[float]] = {}
    for p, path in paths:
        seen = tuple(tuple(one[r] for r in rows if wanted[r]) for rows in path)
        chances.setdefault(seen, []).append(p)
    return [(math.fsum(some), path) for path, some in chances.items()]


def _outcomes(source: Source, chain: int, step: int, before: int) -> list[tuple[float, Rows, int]]:
    here = [int(r) for r in np.flatnonzero((source.chain == chain) & (source.step == step))]
    if source.kind == CERTAIN:
        return [(1.0, tuple(here), NOTHING)]
    if source.kind == MARKOV:
        here = [r for r in here if source.prev[r] == before]
    some = [(float(source.probability[r]), (r,), int(source.value[r])) for r in here if source.probability[r] > 0]
    rest = 1.0 - math.fsum(p for p, _, _ in some)
    return [*some, (rest, (), NOTHING)] if rest > 1e-12 else some


def worlds(query: Sequence, facts: Facts) -> Iterator[tuple[float, World]]:
    chains = chain_paths(query, facts)
    for choice in itertools.product(*(paths for _, paths in chains)):
        world: World = [[() for _ in facts.sources] for _ in range(facts.steps)]
        for (number, _), (_, path) in zip(chains, choice, strict=True):
            for step, rows in enumerate(path):
                world[step][number] += rows
        yield math.prod(p for p, _ in choice), world


def number_of_worlds(query: Sequence, facts: Facts) -> int:
    return math.prod(len(paths) for _, paths in chain_paths(query, facts))


Result = tuple[frozenset[tuple[str, int]], int]


def holds(query: Sequence, facts: Facts, world: World) -> set[Result]:
    """The paper's Fig. 2: partial results are carried from goal to goal."""
    results: set[Result] = {(frozenset(), -1)}
    for goal in query.goals:
        found: set[Result] = set()
        unfolded = _followed(query, facts, goal, results, goal.variables, goal.number == 0, world)
        while unfolded:
            found |= unfolded
            if goal.plus is None:
                break
            unfolded = _followed(query, facts, goal, unfolded, goal.plus, False, world)
        results = found
    return {(b, t) for b, t in results if _all_allowed(query, facts, dict(b))}


def _followed(
    query: Sequence,
    facts: Facts,
    goal: Goal,
    before: set[Result],
    agreeing: frozenset[str],
    anywhere: bool,
    world: World,
) -> set[Result]:
    rows = facts.goals[goal.number]
    found = set()
    for binding, last in before:
        outer = dict(binding)
        for step in range(last + 1, len(world)):
            own = [(r, {v: int(rows.variables[v][r]) for v in goal.variables}) for r in world[step][goal.source]]
            candidates = [
                (r, b) for r, b in own if rows.candidate[r] and all(b[v] == outer[v] for v in agreeing if v in outer)
            ]
            for r, b in candidates:
                if rows.accepted[r] and _unfolding_allowed(query, facts, goal, outer | b):
                    found.add((frozenset((outer | {v: b[v] for v in goal.free}).items()), step))
            if candidates and not anywhere:
                break
    return found


def _unfolding_allowed(query: Sequence, facts: Facts, goal: Goal, binding: dict[str, int]) -> bool:
    asked = [
        a for c, a in zip(query.conditions, facts.conditions, strict=True) if c.unfolding and c.level == goal.number
    ]
    return all(_allowed(a, binding) for a in asked)


def _all_allowed(query: Sequence, facts: Facts, binding: dict[str, int]) -> bool:
    asked = [a for c, a in zip(query.conditions, facts.conditions, strict=True) if not c.unfolding]
    return all(_allowed(a, binding) for a in asked)


def _allowed(allowed: Allowed, binding: dict[str, int]) -> bool:
    return tuple(binding[v] for v in allowed.variables) in set(map(tuple, allowed.rows.tolist()))


# -- random facts ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stream:
    name: str
    arity: int
    key: tuple[int, ...]


def random_facts(
    query: Sequence, streams: tuple[Stream, ...], kinds: tuple[int, ...], steps: int, random: np.random.Generator
) -> Facts:
    sources, events = [], []
    for stream, kind in zip(streams, kinds, strict=True):
        source, rows = _random_source(stream, kind, steps, random)
        sources.append(source)
        events.append(rows)
    goals = [_goal_rows(goal, events[goal.source], random) for goal in query.goals]
    conditions = []
    for condition in query.conditions:
        names = tuple(sorted(condition.variables))
        grid = np.array(list(itertools.product(range(VALUES), repeat=len(names))), np.int64)
        conditions.append(Allowed(names, grid[random.random(len(grid)) < 0.6]))
    domains = {name: VALUES for goal in query.goals for name in goal.variables}
    return Facts(steps, sources, goals, conditions, domains)


def _random_source(stream: Stream, kind: int, steps: int, random: np.random.Generator) -> tuple[Source, np.ndarray]:
    rest = [i for i in range(stream.arity) if i not in stream.key]
    values = list(itertools.product(range(VALUES), repeat=len(rest)))
    lines: list[tuple[int, int, int, int, float]] = []  # step, chain, value, prev, probability
    keys = list(itertools.product(range(VALUES), repeat=len(stream.key)))
    rare, sure = random.choice([0.2, 0.4]), random.choice([0.0, 0.5])
    for chain in range(len(keys)):
        if random.random() < rare:
            continue
        for step in range(steps):
            if random.random() < rare:
                continue
            for before in range(-1, len(values)) if kind == MARKOV else [NOTHING]:
                weights = random.integers(0, 4, len(values)) * (random.random(len(values)) < 0.7)
                if random.random() < sure:
                    weights = np.eye(len(values), dtype=np.int64)[random.integers(len(values))]
                    total = 1
                else:
                    total = max(int(weights.sum()) + (random.integers(0, 3) if random.random() < 0.7 else 0), 1)
                for value, weight in enumerate(weights.tolist()):
                    if kind == CERTAIN and weight:
                        lines.append((step, chain, value, NOTHING, 1.0))
                    elif kind != CERTAIN and (weight or random.random() < 0.1):
                        lines.append((step, chain, value, before, weight / total))
    lines.sort(key=lambda line: line[:2])
    table = np.array(lines, np.float64).reshape(-1, 5)
    step, chain, value, prev = table[:, :4].astype(np.int64).T
    rows = np.zeros((len(lines), stream.arity), np.int64)
    for place, position in enumerate(stream.key):
        rows[:, position] = [keys[c][place] for c in chain]
    for place, position in enumerate(rest):
        rows[:, position] = [values[v][place] for v in value]
    return Source(kind, chain, step, value, prev, table[:, 4].copy(), len(keys)), rows


def _goal_rows(goal: Goal, events: np.ndarray, random: np.random.Generator) -> GoalRows:
    candidate = np.ones(len(events), np.bool_)
    variables: dict[str, np.ndarray] = {}
    for position, term in enumerate(goal.terms):
        column = events[:, position]
        match term:
            case Known(value):
                candidate &= column == value
            case Variable(name) if name in variables:
                candidate &= column == variables[name]
            case Variable(name):
                variables[name] = np.ascontiguousarray(column)
            case Anything():
                pass
    shape = (VALUES,) * events.shape[1]
    asked = tuple(events.T)
    if random.random() < 0.3:
        candidate &= (random.random(shape) < 0.7)[asked]
    accepted = np.ones(len(events), np.bool_)
    if goal.selective:
        accepted = (random.random(shape) < 0.6)[asked]
    return GoalRows(candidate, accepted, variables)
