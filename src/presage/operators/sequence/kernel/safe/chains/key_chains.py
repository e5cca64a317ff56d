"""Codes of the rows of one source, for goals whose key determines the chain that a line reads.

A code has two bits for each goal: the row is a candidate, and it is accepted.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, compiled_into, inlined
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, Facts
from presage.operators.sequence.kernel.query import Goal, Sequence
from presage.operators.sequence.kernel.safe.chains.moves import MarkovRows, put_missing, put_moves, rows_of
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


CODES = 64
UNSAID = 255  # no code yet


@compiled_into
def add_code(code: np.ndarray, place: int, candidate: Bools, accepted: Bools) -> None:
    """Add the bits of one goal to the codes of all rows."""
    one, other = np.uint8(1 << 2 * place), np.uint8(2 << 2 * place)
    for row in range(len(code)):
        said = (one if candidate[row] else np.uint8(0)) | (other if candidate[row] & accepted[row] else np.uint8(0))
        code[row] |= said


@compiled
def meant_by_rows(chance: Floats, code: np.ndarray, chain: Ints, chains: int, goals: int) -> tuple[Bools, Ints]:
    """The codes of possible rows; leader[goal, chain]: a row that is a candidate, -1 without one."""
    seen = np.zeros(CODES, np.bool_)
    leader = np.full(goals * chains, -1, np.int64)
    for row in range(len(code)):
        if chance[row] > 0.0:
            _meet(seen, leader, code[row], row, chain[row], chains, goals)
    return seen, leader.reshape((goals, chains))


@inlined
def _meet(seen, leader, code, row, chain, chains, goals):  # type: ignore[no-untyped-def]
    seen[np.uint64(code)] = True
    for goal in range(goals):
        at = np.uint64(goal * chains + chain)
        if code >> (2 * goal) & 1 and leader[at] < 0:
            leader[at] = row


@compiled
def chances_of_letters(
    letters: int, letter_of: Ints, steps: int, chains: int, chain: Ints, step: Ints, chance: Floats, code: np.ndarray
) -> Floats:
    """Probabilities by chain, step and letter. The first letter is no candidate, or no event."""
    found = np.zeros(chains * steps * letters, np.float64)
    for row in range(len(code)):
        letter = letter_of[np.uint64(code[row])]
        if chance[row] > 0.0 and letter:
            found[np.uint64((chain[row] * steps + step[row]) * letters + letter)] += chance[row]
    for at in range(0, len(found), letters):
        rest = 1.0
        for letter in range(1, letters):
            rest -= found[at + letter]
        found[at] = max(rest, 0.0)
    return found


@compiled
def letters_together(steps: int, chains: Ints, chances: Floats, others: Ints, more: Floats, unions: Ints) -> Floats:
    """Probabilities by line, step and letter of two independent chains together: chains[line] (-1: none) with
    chances[chain, step, letter], and others[line] with `more`."""
    letters = len(unions)
    found = np.zeros(len(chains) * steps * letters, np.float64)
    for line in range(len(chains)):
        one, other = chains[line], others[line]
        for t in range(steps):
            at = np.uint64((line * steps + t) * letters)
            here, there = np.uint64((one * steps + t) * letters), np.uint64((other * steps + t) * letters)
            for i in range(letters):
                p = chances[here + np.uint64(i)] if one >= 0 else (1.0 if i == 0 else 0.0)
                if p:
                    for k in range(letters):
                        q = more[there + np.uint64(k)] if other >= 0 else (1.0 if k == 0 else 0.0)
                        found[at + np.uint64(unions[np.uint64(i), np.uint64(k)])] += p * q
    return found


@compiled
def fill_letters(
    size: int, steps: int, chains: int, goals: int, rows: MarkovRows, code: np.ndarray
) -> tuple[Floats, np.ndarray, Bools, Ints, bool]:
    """Probabilities (chains, steps, value before, value) of a Markov source, and codes (chains, steps, value); then as
    `meant_by_rows`. Values are numbered from 1; 0 is no event, with the rest of the probability. False if tables are
    not possible: rows of one value at a step have different codes, or rows of a chain and step are not adjacent."""
    chain, step, prev, value, chance = rows
    table, says = np.empty(chains * steps * size * size, np.float64), np.empty(chains * steps * size, np.uint8)
    matrix = np.empty(size * size, np.float64)
    says[:] = UNSAID
    seen, leader = np.zeros(CODES, np.bool_), np.full(goals * chains, -1, np.int64)
    met, there = np.zeros(chains, np.uint8), np.zeros(chains * steps, np.bool_)
    seen[0] = True
    possible = True
    i, count = 0, 1
    while i < len(chain):
        own, t = chain[i], step[i]
        # Guess: as many rows as before.
        end = min(i + count, len(chain))
        if chain[end - 1] != own or step[end - 1] != t:
            end = i + 1
        while end < len(chain) and chain[end] == own and step[end] == t:
            end += 1
        count = end - i
        line = own * steps + t
        possible &= not there[np.uint64(line)]
        there[np.uint64(line)] = True
        for cell in range(size * size):
            matrix[np.uint64(cell)] = 0.0
        said, together = np.uint64(line * size), np.uint8(0)
        for k in range(i, end):
            row = np.uint64(k)
            p, before = chance[row], prev[row] + 1
            if p > 0.0 and before < size:
                w = np.uint64(value[row] + 1)
                matrix[np.uint64(before * size) + w] += p
                meant = code[row]
                old = says[said + w]
                possible &= (old == UNSAID) | (old == meant)
                says[said + w] = meant
                seen[np.uint64(meant)] = True
                together |= meant
        if together & ~met[np.uint64(own)]:
            met[np.uint64(own)] |= together
            for k in range(i, end):
                if chance[k] > 0.0:
                    _meet(seen, leader, code[k], k, own, chains, goals)
        put_moves(table, line * size * size, matrix, size)
        i = end
    put_missing(table, 0, matrix, size, there)
    for cell in range(len(says)):
        if says[cell] == UNSAID:
            says[cell] = 0
    return table, says, seen, leader.reshape((goals, chains)), possible
