"""The values that the variables of a sequence can have at each part of a safe plan."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.operators.sequence.kernel.facts import CERTAIN, Facts
from presage.operators.sequence.kernel.query import Sequence
from presage.operators.sequence.kernel.safe.codes import chains_seen, values_seen
from presage.operators.sequence.kernel.safe.goals import asked_at, used
from presage.operators.sequence.kernel.safe.joins import FEW, NO_VARIABLE, Bindings, Index, distinct, join, table
from presage.operators.sequence.kernel.safe.plans import Follow, Project, Regular, SafePlan


class PlanBindings:
    def __init__(self, query: Sequence, facts: Facts) -> None:
        self.query, self.facts = query, facts
        self.by_goal: dict[tuple[int, tuple[str, ...]], Bindings] = {}

    def selected(self) -> Bindings:
        """Values of the selected variables, in the order of the selection."""
        names = frozenset(self.query.selected)
        if not names:
            return NO_VARIABLE
        found, _ = self._extended(NO_VARIABLE, names, len(self.query.goals), names)
        return table(self.query.selected, found.columns(self.query.selected), len(found))

    def with_values(self, plan: Project, bindings: Bindings, env: frozenset[str]) -> tuple[Bindings, Ints]:
        """Each line with each value of the projected variable, and the line it comes from."""
        new = frozenset({plan.variable})
        return self._extended(bindings, new, _length(plan), env | new)

    def names(self, plan: SafePlan, env: frozenset[str]) -> tuple[str, ...]:
        """Variables of `env` on which a plan depends. It is computed once for all values of the others."""
        return tuple(sorted(self._names(plan, env)))

    def _names(self, plan: SafePlan, env: frozenset[str]) -> frozenset[str]:
        if isinstance(plan, Regular):
            return frozenset().union(*(used(self.query, goal, env) for goal in self.query.goals[: plan.goals]))
        if isinstance(plan, Follow):
            return used(self.query, self.query.goals[plan.goal], env) | self._names(plan.input, env)
        new = frozenset({plan.variable})
        asked = [self.query.conditions[i].variables for i in self._decided(new, env | new)]
        return self._names(plan.input, env | new).union(*asked) - new

    def _decided(self, new: frozenset[str], env: frozenset[str]) -> list[int]:
        """Conditions that the variables of `env` decide alone, and that read a `new` one."""
        conditions = enumerate(self.query.conditions)
        return [i for i, c in conditions if c.variables & new and asked_at(self.query, c, env) is None]

    def _extended(
        self, bindings: Bindings, new: frozenset[str], goals: int, env: frozenset[str]
    ) -> tuple[Bindings, Ints]:
        """Add new variables. Their values must occur in an event of each goal that has them."""
        owner = np.arange(len(bindings))
        wanted = new | frozenset(bindings.names)
        for goal in self.query.goals[:goals]:
            names = goal.free & wanted
            if names:
                bindings, own = join(bindings, self._values(goal.number, tuple(sorted(names))))
                owner = owner[own]
        for number in self._decided(new, env):
            allowed = self.facts.conditions[number]
            index = Index(list(allowed.rows.T), len(allowed.rows))
            kept = np.flatnonzero(index.has(bindings.columns(allowed.variables), len(bindings)))
            bindings, owner = bindings.lines(kept), owner[kept]
        return bindings, owner

    def _values(self, number: int, names: tuple[str, ...]) -> Bindings:
        """Values of some variables in events that may be accepted for a goal."""
        found = self.by_goal.get((number, names))
        if found is None:
            found = self.by_goal[number, names] = self._search(number, names)
        return found

    def _search(self, number: int, names: tuple[str, ...]) -> Bindings:
        goal, rows = self.query.goals[number], self.facts.goals[number]
        source = self.facts.sources[goal.source]
        if len(names) == 1:
            column = rows.variables[names[0]]
            most = max(FEW, len(column))
            domain = self.facts.domains.get(names[0], most)
            seen, few = values_seen(rows.candidate, rows.accepted, source.probability, column, most, domain)
            if few:
                return Bindings(names, seen.reshape(-1, 1))
        if source.kind != CERTAIN and all(goal.key_positions(name) for name in names):
            # All accepted rows of a chain have the same values. Certain events are excluded: without a declared key
            # a chain may hold events of many keys.
            live = chains_seen(rows.candidate, rows.accepted, source.probability, source.chain, source.chains)
        else:
            live = np.flatnonzero(rows.candidate & rows.accepted & (source.probability > 0.0))
        return distinct(names, [rows.variables[name][live] for name in names], len(live))


def _length(plan: SafePlan) -> int:
    """The number of goals of a plan."""
    if isinstance(plan, Regular):
        return plan.goals
    return _length(plan.input) if isinstance(plan, Project) else plan.goal + 1
