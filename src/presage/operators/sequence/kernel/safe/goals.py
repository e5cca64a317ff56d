"""The rows that a goal reads for given values of variables: candidates, and which of them are accepted.

At the first goal of a variable the next event is chosen with any value and then compared; later goals choose among the
rows that agree. For the first goal of all both are the same, because nothing precedes it. Later unfoldings of a Kleene
plus choose among the rows that agree on their shared variables.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Ints
from presage.operators.sequence.kernel.facts import Facts
from presage.operators.sequence.kernel.query import Condition, Goal, Sequence
from presage.operators.sequence.kernel.safe.joins import Bindings, Index


def compared(query: Sequence, goal: Goal, env: frozenset[str], again: bool) -> tuple[frozenset[str], frozenset[str]]:
    """Variables that are compared before an event is chosen, and those compared afterwards."""
    given = goal.variables & env
    if again:
        return given & goal.free, frozenset()
    known = query.seen_before[goal.number]
    early, late = given & known, (given & goal.free) - known
    return (early | late, frozenset()) if goal.number == 0 else (early, late)


def asked_at(query: Sequence, condition: Condition, env: frozenset[str]) -> int | None:
    """The goal whose event decides a condition when the variables of `env` have values; None: they decide it alone.
    -1: another part of the plan decides it, where more variables have values."""
    if condition.unfolding:
        plus = query.goals[condition.level]
        if condition.variables & (plus.variables - plus.free):
            # Each unfolding has its own value, also of a variable that the prefix has.
            return condition.level
    rest = condition.variables - env
    if not rest:
        return None
    return next((goal.number for goal in query.goals if rest <= goal.free), -1)


def used(query: Sequence, goal: Goal, env: frozenset[str]) -> frozenset[str]:
    """Variables of `env` that determine which rows a goal reads."""
    found: frozenset[str] = frozenset()
    for again in (False, True) if goal.plus is not None else (False,):
        found = found.union(*compared(query, goal, env, again))
    for condition in query.conditions:
        if asked_at(query, condition, env) == goal.number:
            found |= condition.variables & env
    return found


@dataclass
class Reading:
    """`line` of the bindings reads `row` of the goal's source as a candidate."""

    line: Ints
    row: Ints
    accepted: Bools


class GoalReader:
    """Reads the rows of one goal for many bindings at once. `again`: as a later unfolding of a Kleene plus."""

    def __init__(self, query: Sequence, facts: Facts, goal: Goal, env: frozenset[str], again: bool = False) -> None:
        self.rows = facts.goals[goal.number]
        source = facts.sources[goal.source]
        early, late = compared(query, goal, env, again)
        self.early, self.late = sorted(early), sorted(late)
        live = self.rows.candidate & (source.probability > 0.0)
        if goal.number == 0 and not again:
            # A match may start at any step: a candidate that is not accepted ends no wait.
            live &= self.rows.accepted
        self.live = np.flatnonzero(live)
        columns = [self.rows.variables[name][self.live] for name in self.early]
        self.index = Index(columns, len(self.live))
        self.conditions = []
        for condition, allowed in zip(query.conditions, facts.conditions, strict=True):
            if asked_at(query, condition, env) == goal.number:
                own = goal.variables - (env if not condition.unfolding else env & goal.free)
                index = Index(list(allowed.rows.T), len(allowed.rows))
                self.conditions.append((allowed.variables, own, index))
        self.first = goal.number == 0 and not again

    def read(self, bindings: Bindings) -> Reading:
        line, place = self.index.pairs(bindings.columns(self.early), len(bindings))
        row = self.live[place]
        accepted = self.rows.accepted[row]
        for name in self.late:
            accepted &= self.rows.variables[name][row] == bindings.column(name)[line]
        for names, own, index in self.conditions:
            columns = [self.rows.variables[n][row] if n in own else bindings.column(n)[line] for n in names]
            accepted &= index.has(columns, len(row))
        if self.first:
            return Reading(line[accepted], row[accepted], accepted[accepted])
        return Reading(line, row, accepted)
