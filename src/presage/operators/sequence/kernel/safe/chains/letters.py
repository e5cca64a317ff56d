"""Tables by chain and step of the codes of a source's rows, filled in one pass without sorting.

A code has two bits for each goal: the row is a candidate, and it is accepted.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, compiled_into, inlined
from presage.operators.sequence.kernel.safe.chains.moves import MarkovRows, put_missing, put_moves

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
