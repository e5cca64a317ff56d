"""Rows of a Markov source in, its moves as tables out, for sources that have most of the rows that they could have."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled_into
from presage.probability.kernel.safe_regular import LEAST_MASS


@compiled_into
def fill_moves(
    table: Floats, base: int, size: int, steps: int, chains: int,
    chain: Ints, step: Ints, prev: Ints, value: Ints, chance: Floats,
) -> Ints:  # fmt: skip
    """Chances from table[base] on, (chains, steps, value before, value); how many rows lead to each value, (chains,
    steps, value). Values are numbered from 1, and 0 is no event: what is left to 1."""
    rows = np.zeros(chains * steps * size, np.int64)
    for i in range(len(chain)):
        if chance[i] > 0.0 and prev[i] + 1 < size:
            at = np.uint64((chain[i] * steps + step[i]) * size)
            way = np.uint64(base) + (at + np.uint64(prev[i] + 1)) * np.uint64(size) + np.uint64(value[i] + 1)
            table[way] += chance[i]
            rows[at + np.uint64(value[i] + 1)] += 1
    for line in range(chains * steps * size):
        at = np.uint64(base + line * size)
        rest = 1.0
        for v in range(1, size):
            rest -= table[at + np.uint64(v)]
        table[at] = rest if rest > LEAST_MASS else 0.0
    return rows


@compiled_into
def mark_hits(
    hit: Bools, base: int, size: int, steps: int, lines: int, line: Ints, row: Ints, rows: Ints,
    chain: Ints, step: Ints, prev: Ints, value: Ints,
) -> tuple[Ints, bool]:  # fmt: skip
    """What the lines read, from hit[base] on, (lines, steps, value); the chain of each line, -1 if it reads none.
    False if a line reads several chains, or of a value at a step only some rows."""
    chains = np.full(lines, -1, np.int64)
    read = np.zeros(lines * steps * size, np.int64)
    for i in range(len(line)):
        k, own = row[i], line[i]
        if prev[k] + 1 < size:
            if chains[own] >= 0 and chains[own] != chain[k]:
                return chains, False
            chains[own] = chain[k]
            read[np.uint64((own * steps + step[k]) * size + value[k] + 1)] += 1
    alike = True
    for own in range(lines):
        if chains[own] >= 0:
            for i in range(steps * size):
                count = read[np.uint64(own * steps * size + i)]
                if count:
                    hit[np.uint64(base + own * steps * size + i)] = True
                    alike = alike and count == rows[np.uint64(chains[own] * steps * size + i)]
    return chains, alike
