"""The loop of one more goal over one Markov chain for each line, given as tables; `markov` is the general case.

All hits are evaluated together: each has a weight for each value of the chain.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.safe.chains.backward import ChainTables
from presage.operators.sequence.kernel.safe.chains.tiles import TILE, cells_of, step_on, times
from presage.operators.sequence.kernel.safe.follow.independent import FollowInput


@compiled
def steps_said(says: np.ndarray, steps: int, size: int, flags: Bools, others: Bools) -> tuple[Ints, Ints]:
    """Steps at which a value of some chain has a flagged code, for both sets of flags."""
    seen, also = np.zeros(steps, np.bool_), np.zeros(steps, np.bool_)
    for line in range(len(says) // size):
        t = np.uint64(line % steps)
        for v in range(size):
            code = np.uint64(says[np.uint64(line * size + v)])
            seen[t] |= flags[code]
            also[t] |= others[code]
    return np.flatnonzero(seen), np.flatnonzero(also)


@compiled
def chain_points(below: FollowInput, chains: Ints, tables: ChainTables, resetting: Bools, accepting: Bools) -> Floats:
    """(lines, hits): the probability at each step. `resetting` and `accepting` are by code. O(steps · hits · values²)
    for a line."""
    resets, hits, inputs, lines, which = below
    steps, size, table, says = tables
    out = np.zeros((len(lines), len(hits)), np.float64)
    columns, buffer = len(hits), np.empty(size * TILE, np.float64)
    waits, m = np.empty(cells_of(columns, size), np.float64), np.empty(size * size, np.float64)
    ended, weights = np.empty(size, np.float64), np.empty(size, np.float64)
    since = np.empty(cells_of(columns, 1), np.float64)
    for i in range(len(lines)):
        chain, own = chains[lines[i]], which[i]
        if chain < 0:
            continue
        waits[:] = 0.0
        for h in range(columns):
            waits[h // TILE * size * TILE + h % TILE] = inputs[own, h, 0]
        weights[:] = 0.0
        weights[0] = 1.0
        h, j = 0, 0
        for t in range(hits[-1] + 1 if columns else 0):
            at, said = (chain * steps + t) * size * size, (chain * steps + t) * size
            if hits[h] == t:
                here = h // TILE * size * TILE + h % TILE
                for v in range(size):
                    for w in range(size):
                        if accepting[says[said + w]]:
                            out[i, h] += waits[here + v * TILE] * table[at + v * size + w]
                h += 1
            for w in range(size):
                keep = 0.0 if resetting[np.uint64(says[np.uint64(said + w)])] else 1.0
                ended[w] = 1.0 - keep
                for v in range(size):
                    m[np.uint64(v * size + w)] = keep * table[np.uint64(at + v * size + w)]
            times(waits, buffer, h, columns, size, m)
            step_on(weights, table, at, size, buffer)
            if j < len(resets) and resets[j] == t:
                j += 1
                # Copied once for all values: inputs are by hit.
                for k in range(h, columns):
                    since[np.uint64(k)] = inputs[np.uint64(own), np.uint64(k), np.uint64(j)]
                for v in range(size):
                    if ended[v] * weights[v]:
                        _renew(waits, v, size, h, columns, weights[v], since)
    return out


@inlined
def _renew(waits, value, size, lo, hi, weight, since):  # type: ignore[no-untyped-def]
    """A candidate of this value: from now on the input counts from this step."""
    for tile in range(lo // TILE, (hi + TILE - 1) // TILE):
        to, old = (tile * size + value) * TILE, tile * TILE
        for column in range(max(lo - old, 0), min(hi - old, TILE)):
            waits[np.uint64(to + column)] += weight * since[np.uint64(old + column)]
