"""Symbols of the rows: bits of the automaton for each goal, for given values of some variables.

At the first goal of a variable the next event is chosen with any value and then compared; later goals choose among the
rows that agree. For the first goal of all both are the same, because nothing precedes it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from presage.arrays.jit import Bools, Ints
from presage.operators.sequence.kernel.facts import Allowed, Facts, GoalRows
from presage.operators.sequence.kernel.query import Condition, Goal, Sequence
from presage.operators.sequence.kernel.regular.automaton import Steps


def steps_of(query: Sequence, given: frozenset[str]) -> Steps:
    """The automaton's goals when these variables have values."""
    plus = tuple(goal.plus is not None for goal in query.goals)
    return Steps(len(query.goals), plus, tuple(_has_again(query, goal, given) for goal in query.goals))


def _has_again(query: Sequence, goal: Goal, given: frozenset[str]) -> bool:
    if goal.plus is None:
        return False
    return any(_compared(query, goal, v, False) != _compared(query, goal, v, True) for v in goal.variables & given)


def _compared(query: Sequence, goal: Goal, name: str, again: bool) -> str:
    """When a variable is compared: before an event is chosen, after, or never."""
    first = query.first(name) == goal.number
    if again:
        assert goal.plus is not None
        return "before" if name in goal.plus else "never"
    return "after" if first and goal.number else "before"


def symbols(query: Sequence, facts: Facts, steps: Steps, given: Mapping[str, int]) -> list[np.ndarray] | None:
    """By source, the symbol of each row for these values of variables (numbers; other variables are constant in a
    chain). None if a condition on the values alone fails."""
    # Narrow numbers, because there is one for every row.
    width = np.uint8 if steps.bits <= 8 else np.uint16 if steps.bits <= 16 else np.int64
    found: list[np.ndarray] = [np.zeros(len(source.chain), width) for source in facts.sources]
    for condition, allowed in zip(query.conditions, facts.conditions, strict=True):
        alone = condition.variables <= given.keys() and not condition.unfolding
        if alone and not _all_allowed(allowed, given):
            return None
    for goal in query.goals:
        rows = facts.goals[goal.number]
        accepted = rows.candidate & rows.accepted
        for condition, allowed in zip(query.conditions, facts.conditions, strict=True):
            if _asked_at(query, condition, given) == goal.number:
                accepted = accepted & _rows_allowed(allowed, rows.variables, given, len(accepted))
        bits = found[goal.source]
        for again in (False, True) if steps.again[goal.number] else (False,):
            _enter(bits, query, goal, rows, accepted, given, steps, again)
    return found


def _enter(
    bits: np.ndarray,
    query: Sequence,
    goal: Goal,
    rows: GoalRows,
    accepted: Bools,
    given: Mapping[str, int],
    steps: Steps,
    again: bool,
) -> None:
    candidate = rows.candidate
    for name in goal.variables & given.keys():
        when = _compared(query, goal, name, again)
        if when != "never":
            agrees = rows.variables[name] == given[name]
            accepted = accepted & agrees
            candidate = candidate & agrees if when == "before" else candidate
    number = goal.number
    kind = bits.dtype.type
    bits |= candidate.astype(kind) * kind(steps.candidate_again(number) if again else steps.candidate(number))
    bits |= accepted.astype(kind) * kind(steps.accepted_again(number) if again else steps.accepted(number))


def _asked_at(query: Sequence, condition: Condition, given: Mapping[str, int]) -> int:
    """The goal whose event decides a condition; -1 if the given values decide it alone."""
    variables = condition.variables - given.keys()
    if condition.unfolding and variables <= query.goals[condition.level].variables:
        return condition.level
    if not variables:
        return -1
    return next((goal.number for goal in query.goals if variables <= goal.free), -1)


def _all_allowed(allowed: Allowed, given: Mapping[str, int]) -> bool:
    wanted = np.array([given[name] for name in allowed.variables])
    if (wanted < 0).any():
        return True  # a future value may be allowed
    return bool((allowed.rows == wanted).all(axis=1).any())


def _rows_allowed(allowed: Allowed, variables: Mapping[str, Ints], given: Mapping[str, int], rows: int) -> Bools:
    asked = [variables[name] if name in variables else np.full(rows, given[name]) for name in allowed.variables]
    both = [np.concatenate([column, allowed.rows[:, i]]) for i, column in enumerate(asked)]
    packed = _packed(both)
    return np.isin(packed[:rows], packed[rows:])


def _packed(columns: list[Ints]) -> Ints:
    packed = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        low = int(column.min(initial=0))
        packed = packed * (int(column.max(initial=0)) - low + 1) + column - low
    return packed
