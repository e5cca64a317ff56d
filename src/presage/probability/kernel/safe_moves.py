"""Rows of a Markov source in, its moves and a goal's candidates as tables out: one pass, and nothing is sorted.

For sources that have most of the rows that they could have.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled_into
from presage.probability.kernel.safe_regular import LEAST_MASS

READ, PASSED = 1, 2  # rows that a goal reads, and others


@compiled_into
def fill_moves(
    table: Floats, base: int, size: int, steps: int, chains: int,
    chain: Ints, step: Ints, prev: Ints, value: Ints, chance: Floats,
    candidate: Bools, accepted: Bools, first: bool, variables: Ints,
) -> tuple[Bools, Bools, Ints, bool]:  # fmt: skip
    """Chances from table[base] on, (chains, steps, value before, value); what the goal reads, (chains, steps, value),
    and of all chains, (steps, value); a row of each chain that it reads, -1 if it reads none. Values are numbered from
    1, and 0 is no event: what is left to 1. `first`: it is the first goal; variables[variable, row] are compared.

    False if tables cannot say it: a candidate is turned down, a value at a step has rows that are read and others, or
    not all that is read of a chain has the same values of variables.
    """
    seen = np.zeros(chains * steps * size, np.uint8)
    hit = np.zeros(chains * steps * size, np.bool_)
    some = np.zeros(steps * size, np.bool_)
    leader = np.full(chains, -1, np.int64)
    possible = True
    for i in range(len(chain)):
        if not chance[i] > 0.0 or prev[i] + 1 >= size:
            continue
        own = np.uint64(chain[i])
        at = (own * np.uint64(steps) + np.uint64(step[i])) * np.uint64(size)
        new = np.uint64(value[i] + 1)
        table[np.uint64(base) + (at + np.uint64(prev[i] + 1)) * np.uint64(size) + new] += chance[i]
        if candidate[i] and (accepted[i] or not first):
            seen[at + new] |= READ
            if leader[own] < 0:
                leader[own] = i
            if not accepted[i]:
                possible = False
            for k in range(len(variables)):
                if variables[k, i] < 0 or variables[k, i] != variables[k, leader[own]]:
                    possible = False
        else:
            seen[at + new] |= PASSED
    for line in range(chains * steps * size):
        at = np.uint64(base + line * size)
        rest = 1.0
        for w in range(1, size):
            rest -= table[at + np.uint64(w)]
        table[at] = rest if rest > LEAST_MASS else 0.0
        hit[line] = seen[line] & READ
        if seen[line] == READ | PASSED:
            possible = False
    for line in range(chains):
        for k in range(steps * size):
            some[k] |= hit[np.uint64(line * steps * size + k)]
    return hit, some, leader, possible
