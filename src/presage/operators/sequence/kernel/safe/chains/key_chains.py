"""Codes of the rows of one source, for goals whose key determines the chain that a line reads.

A code has two bits for each goal: the row is a candidate, and it is accepted.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts
from presage.operators.sequence.kernel.query import Goal, Sequence
from presage.operators.sequence.kernel.safe.chains.letters import add_code, fill_letters, meant_by_rows
from presage.operators.sequence.kernel.safe.chains.moves import rows_of
from presage.operators.sequence.kernel.safe.chains.tiles import FOUR
from presage.operators.sequence.kernel.safe.goals import asked_at, compared
from presage.operators.sequence.kernel.safe.joins import Bindings, Index

MOST_GOALS = 3  # two bits each fit into a byte, with one code left
SPARSE = 4  # at most so many cells of matrices for each row
SMALL = 1 << 16  # cells whose cost is negligible


class KeyChains:
    """`possible`: the code of a row depends on the row alone and, for a Markov source, tables can hold it with the
    transitions (`table` and `says`, see `fill_letters`). `seen`: the codes that occur."""

    def __init__(self, query: Sequence, facts: Facts, goals: tuple[Goal, ...], env: frozenset[str]) -> None:
        self.source = of = facts.sources[goals[0].source]
        names = [_key_names(query, goal, env) for goal in goals]
        numbers = {goal.number for goal in goals}
        self.possible = (
            len(goals) <= MOST_GOALS
            and len({goal.source for goal in goals}) == 1
            and of.kind != CERTAIN
            and all(known is not None for known in names)
            and all(asked_at(query, condition, env) not in numbers for condition in query.conditions)
        )
        if not self.possible:
            return
        rows = [facts.goals[goal.number] for goal in goals]
        self.code = np.zeros(len(of.chain), np.uint8)
        for place, goal in enumerate(rows):
            add_code(self.code, place, goal.candidate, goal.accepted)
        if of.kind == MARKOV:
            self.size = max(int(of.value.max(initial=-1)) + 2, FOUR)
            self.possible = of.chains * facts.steps * self.size**2 <= max(SPARSE * len(of.chain), SMALL)
            if not self.possible:
                return
            self.table, self.says, self.seen, self.leader, self.possible = fill_letters(
                self.size, facts.steps, of.chains, len(goals), rows_of(of), self.code
            )
        else:
            self.seen, self.leader = meant_by_rows(of.probability, self.code, of.chain, of.chains, len(goals))
        # Goals with the same values in the same chains share a lookup.
        self.read: list[tuple[list[str], Ints, list[Ints], Index]] = []
        self.place: list[int] = []
        for goal, known, leader in zip(rows, names, self.leader, strict=True):
            chains = (leader >= 0).nonzero()[0]
            own, first = sorted(known or ()), leader[chains]
            columns = [goal.variables[name][first] for name in own]
            alike = (place for place, read in enumerate(self.read) if _alike(read, own, chains, columns))
            self.place.append(next(alike, len(self.read)))
            if self.place[-1] == len(self.read):
                self.read.append((own, chains, columns, Index(columns, len(chains))))

    def chains(self, bindings: Bindings) -> Ints | None:
        """The chain that each line reads, -1 for none; None if it reads several, or if some goals read it that skip it
        in other lines."""
        each: list[Ints] = []
        for names, chains, _, index in self.read:
            own = index.single(bindings.columns(names), len(bindings), chains)
            if own is None:
                return None
            each.append(own)
        if len(each) == 1:
            return each[0]
        found: Ints = np.max(each, axis=0)
        for place, leader in zip(self.place, self.leader, strict=True):
            if not ((each[place] == found) | ((each[place] < 0) & (leader[found] < 0))).all():
                return None
        return found


def _alike(
    read: tuple[list[str], Ints, list[Ints], Index], names: list[str], chains: Ints, columns: list[Ints]
) -> bool:
    """Whether another goal compares the same variables with the same values in the same chains."""
    return (
        read[0] == names
        and len(read[1]) == len(chains)
        and bool((read[1] == chains).all())
        and all((one == other).all() for one, other in zip(read[2], columns, strict=True))
    )


def _key_names(query: Sequence, goal: Goal, env: frozenset[str]) -> frozenset[str] | None:
    """The variables that a goal compares, if all are in the key and the same for every unfolding; else None."""
    early, late = compared(query, goal, env, False)
    again = compared(query, goal, env, True)[0] if goal.plus is not None else early
    return early if not late and again == early and all(goal.key_positions(name) for name in early) else None
