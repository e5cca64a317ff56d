"""Rows of a Markov source in, its moves and a goal's candidates as tables out: one pass, and nothing is sorted.

For sources that have most of the rows that they could have.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled_into
from presage.probability.kernel.safe_regular import LEAST_MASS


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
    read = np.zeros(chains * steps * size, np.int32)
    hit = np.zeros(chains * steps * size, np.bool_)
    some = np.zeros(steps * size, np.bool_)
    leader = np.full(chains, -1, np.int64)
    possible = True
    for i in range(len(chain)):
        if chance[i] > 0.0 and prev[i] + 1 < size:
            at = np.uint64((chain[i] * steps + step[i]) * size + prev[i] + 1)
            table[np.uint64(base) + at * np.uint64(size) + np.uint64(value[i] + 1)] += chance[i]
    # Apart from the moves, for the fewer things a loop does the faster it is.
    for i in range(len(chain)):
        if candidate[i] and (accepted[i] or not first) and chance[i] > 0.0 and prev[i] + 1 < size:
            read[np.uint64((chain[i] * steps + step[i]) * size + value[i] + 1)] += 1
            own = np.uint64(chain[i])
            if leader[own] < 0:
                leader[own] = i
            if not accepted[i]:
                possible = False
            for k in range(len(variables)):
                if variables[k, i] < 0 or variables[k, i] != variables[k, leader[own]]:
                    possible = False
    for line in range(chains * steps * size):
        at = np.uint64(base + line * size)
        rest = 1.0
        for w in range(1, size):
            rest -= table[at + np.uint64(w)]
        table[at] = rest if rest > LEAST_MASS else 0.0
    for line in range(chains * steps):
        for w in range(size):
            count = read[np.uint64(line * size + w)]
            if count:
                hit[np.uint64(line * size + w)] = some[np.uint64(line % steps * size + w)] = True
                for v in range(size):
                    count -= table[np.uint64(base + (line * size + v) * size + w)] > 0.0
                if count:
                    possible = False
    return hit, some, leader, possible
