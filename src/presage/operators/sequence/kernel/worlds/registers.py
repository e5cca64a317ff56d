"""Registers of waiting partial matches, and edges: the events that move them.

A register means "a partial match has found the first goals, with this binding, and waits": a bit in each world. A
binding keeps what later goals, conditions or the answer still need. An edge means: if the event happens while the
register waits, the wait ends, and its target (if the event is accepted) waits from then on. Registers and edges are
computed before anything is drawn, goal by goal, as joins of registers with possible later events.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from presage.arrays.jit import Bools, Ints
from presage.operators.sequence.kernel.facts import Allowed, Facts
from presage.operators.sequence.kernel.query import Condition, Goal, Sequence
from presage.operators.sequence.kernel.worlds.outcomes import Outcomes, codes_of

START = 0  # the register before the first goal: always waits, in every world
NOWHERE = -1


@dataclass
class Edges:
    """Sorted by event, so by step too. An event and a register may have two edges: to wait for the next goal and for
    another unfolding."""

    event: Ints
    origin: Ints
    target: Ints


@dataclass
class Table:
    """Registers of one kind: values of their variables, numbers, and the first step at which each can be entered."""

    names: tuple[str, ...]
    values: Ints = field(init=False)
    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    first: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        self.values = np.zeros((0, len(self.names)), np.int64)

    def column(self, name: str) -> Ints:
        return self.values[:, self.names.index(name)]

    def enter(self, values: Ints, steps: Ints, following: int) -> Ints:
        """The numbers of registers with these values; new ones are numbered from `following` on."""
        every = np.concatenate([self.values, values])
        code = codes_of(list(every.T), len(every))
        known = len(self.numbers)
        _, leader, place = np.unique(code, return_index=True, return_inverse=True)
        new = leader[leader >= known]
        numbers = np.empty(len(leader), np.int64)
        numbers[place[:known]] = np.arange(known)
        numbers[leader >= known] = known + np.arange(len(new))
        self.values = np.concatenate([self.values, every[new]])
        self.numbers = np.concatenate([self.numbers, following + np.arange(len(new))])
        self.first = np.concatenate([self.first, np.full(len(new), np.iinfo(np.int64).max)])
        lines = numbers[place[known:]]
        np.minimum.at(self.first, lines, steps)
        return self.numbers[lines]


@dataclass
class Pairs:
    """An event of a goal and a register of `table` that it may move; `row` is the event's row in the goal's source."""

    event: Ints
    row: Ints
    step: Ints
    table: Table
    line: Ints
    again: bool


class Registers:
    def __init__(self, query: Sequence, facts: Facts, outcomes: Outcomes) -> None:
        self.query, self.facts, self.outcomes = query, facts, outcomes
        self.count = 1
        self.event_step = outcomes.step[outcomes.event_draw]
        self.waiting: list[Table] = []
        self.unfolding: list[Table | None] = []
        visible: frozenset[str] = frozenset()
        for goal in query.goals:
            before, visible = visible, visible | goal.free
            kept = visible & self._asked_after(goal.number)
            last = goal.number == len(query.goals) - 1
            self.waiting.append(Table(query.selected if last else tuple(sorted(kept))))
            own = self._conditions(goal, again=True)
            asked = frozenset().union(*(condition.variables for condition, _ in own)) & before
            # A match may begin at any event, so another unfolding of the first goal adds nothing.
            plus = goal.plus if goal.number else None
            self.unfolding.append(None if plus is None else Table(tuple(sorted(kept | plus | asked))))

    @property
    def answers(self) -> Table:
        """The registers of the last goal: one for each binding of the selected variables."""
        return self.waiting[-1]

    def edges(self, begin: int, end: int, most: int) -> Edges | None:
        """Edges of the steps from `begin` up to `end`. Calls must go forward in time. None if there are more than
        `most`."""
        found: list[Edges] = []
        for goal in self.query.goals:
            if not self._goal(goal, begin, end, most - sum(len(edges.event) for edges in found), found):
                return None
        event = np.concatenate([edges.event for edges in found])
        order = np.argsort(event, kind="stable")
        origin = np.concatenate([edges.origin for edges in found])[order]
        return Edges(event[order], origin, np.concatenate([edges.target for edges in found])[order])

    def _goal(self, goal: Goal, begin: int, end: int, most: int, found: list[Edges]) -> bool:
        event, row, step = self._candidates(goal, begin, end)
        if goal.number == 0:
            start = Table(())
            start.values, start.numbers, start.first = np.zeros((1, 0), np.int64), np.array([START]), np.array([-1])
            before = start
        else:
            before = self.waiting[goal.number - 1]
        again = self.unfolding[goal.number]
        for table in (before,) if again is None else (before, again):
            own = table is again
            agreeing = (goal.plus if own else goal.variables) or frozenset()
            lines = self._joined(goal, row, step, table, agreeing, most)
            if lines is None:
                return False
            left, line = lines
            found.append(self._moved(goal, Pairs(event[left], row[left], step[left], table, line, own)))
        return True

    def _candidates(self, goal: Goal, begin: int, end: int) -> tuple[Ints, Ints, Ints]:
        outcomes = self.outcomes
        low, high = np.searchsorted(self.event_step, [begin, end])
        row = outcomes.event_row[low:high]
        own = outcomes.event_source[low:high] == goal.source
        event = low + np.flatnonzero(own)[self.facts.goals[goal.number].candidate[row[own]]]
        return event, outcomes.event_row[event], self.event_step[event]

    def _joined(
        self, goal: Goal, row: Ints, step: Ints, table: Table, agreeing: frozenset[str], most: int
    ) -> tuple[Ints, Ints] | None:
        """Pairs of a candidate and a register that agree, if the register can have been entered before."""
        shared = [name for name in table.names if name in agreeing]
        variables = self.facts.goals[goal.number].variables
        left = [variables[name][row] for name in shared]
        right = [table.column(name) for name in shared]
        there = np.flatnonzero(table.first < step.max(initial=0))
        both = [np.concatenate([a, b[there]]) for a, b in zip(left, right, strict=True)]
        code = codes_of(both, len(row) + len(there))
        order = np.argsort(code[len(row) :], kind="stable")
        ordered = code[len(row) :][order]
        low = np.searchsorted(ordered, code[: len(row)], "left")
        counts = np.searchsorted(ordered, code[: len(row)], "right") - low
        total = int(counts.sum())
        if total > most:
            return None
        left_row = np.repeat(np.arange(len(row)), counts)
        offset = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        line = there[order[low[left_row] + offset]]
        later = step[left_row] > table.first[line]
        return left_row[later], line[later]

    def _moved(self, goal: Goal, pairs: Pairs) -> Edges:
        rows = self.facts.goals[goal.number]
        accepted = rows.accepted[pairs.row]
        for condition, allowed in self._conditions(goal, pairs.again):
            accepted &= _holds(allowed, [self._value(goal, pairs, n, condition) for n in allowed.variables])
        on = np.flatnonzero(accepted)
        gone = np.flatnonzero(~accepted) if goal.number else on[:0]
        moved = Pairs(pairs.event[on], pairs.row[on], pairs.step[on], pairs.table, pairs.line[on], pairs.again)
        event, line, target = [pairs.event[gone]], [pairs.line[gone]], [np.full(len(gone), NOWHERE)]
        for table in (self.waiting[goal.number], self.unfolding[goal.number]):
            if table is not None:
                columns = [self._value(goal, moved, name) for name in table.names]
                values = np.stack(columns, axis=1) if columns else np.zeros((len(on), 0), np.int64)
                known = len(table.numbers)
                target.append(table.enter(values, moved.step, self.count))
                self.count += len(table.numbers) - known
                event.append(moved.event)
                line.append(moved.line)
        return Edges(np.concatenate(event), pairs.table.numbers[np.concatenate(line)], np.concatenate(target))

    def _value(self, goal: Goal, pairs: Pairs, name: str, condition: Condition | None = None) -> Ints:
        """The value of a variable. That of the prefix counts, except in conditions of a plus on its unfoldings."""
        own = name in goal.variables and (condition is not None and condition.unfolding)
        if name in pairs.table.names and not own:
            return pairs.table.column(name)[pairs.line]
        return self.facts.goals[goal.number].variables[name][pairs.row]

    def _conditions(self, goal: Goal, again: bool) -> list[tuple[Condition, Allowed]]:
        """Conditions that are checked when a goal is found. All unfoldings share the variables of the statement's
        conditions, so later ones check only those of the plus itself."""
        fresh = goal.variables - goal.free
        both = zip(self.query.conditions, self.facts.conditions, strict=True)
        here = [(condition, allowed) for condition, allowed in both if condition.level == goal.number]
        return [(c, allowed) for c, allowed in here if not again or c.unfolding or c.variables & fresh]

    def _asked_after(self, number: int) -> frozenset[str]:
        later = [goal.variables for goal in self.query.goals[number + 1 :]]
        conditions = [c.variables for c in self.query.conditions if c.level > number]
        return frozenset(self.query.selected).union(*later, *conditions)


def _holds(allowed: Allowed, columns: list[Ints]) -> Bools:
    lines = len(columns[0])
    both = [np.concatenate([column, allowed.rows[:, i]]) for i, column in enumerate(columns)]
    code = codes_of(both, lines + len(allowed.rows))
    return np.isin(code[:lines], code[lines:])
