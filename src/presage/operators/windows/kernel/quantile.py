"""The two live values of a group around a share of them, at each row of a script: of the half, the middle ones.

Each group has a Fenwick tree over the ranks of its values: O(log values of the group) for each change and each row.
Ranks are computed in each step and not stored: the result is a value, or lies between two.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.arrays.order_keys import float_keys, floats_of
from presage.operators.windows.kernel.script import Script


def script_quantile(
    script: Script, values: Floats, valid: Bools | None, share: float
) -> tuple[Floats, Floats, Floats, Bools]:
    """The two values (the same one twice if the share is just there), the weight of the greater one, and whether there
    is any."""
    keys = float_keys(values)
    elements = np.arange(values.size) if valid is None else np.flatnonzero(valid)
    by_rank = elements[np.lexsort((keys[elements], script.group[elements]))]
    bounds = np.zeros(script.groups + 1, np.int64)
    np.cumsum(np.bincount(script.group[elements], minlength=script.groups), out=bounds[1:])
    rank = np.full(values.size, -1, np.int64)
    rank[by_rank] = np.arange(by_rank.size) - bounds[script.group[by_rank]]
    low, high, weight = _ranks_around(script, rank, bounds, share)
    present = low >= 0
    # Back from the keys: equal values then have equal bits, in whichever order they were ranked.
    ranked = np.append(floats_of(keys[by_rank]), 0.0)
    return ranked[low], ranked[high], weight, present


@inlined
def _nth(tree: Ints, at: int, size: int, n: int) -> int:
    """Rank of the n-th smallest (from 1) in the Fenwick tree at `at`."""
    jump = 1
    while jump * 2 <= size:
        jump *= 2
    rank = 0
    while jump > 0:
        if rank + jump <= size and tree[at + rank + jump - 1] < n:
            rank += jump
            n -= tree[at + rank - 1]
        jump //= 2
    return rank


@compiled
def _ranks_around(script: Script, rank: Ints, bounds: Ints, share: float) -> tuple[Ints, Ints, Floats]:
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    tree = np.zeros(bounds[-1], np.int64)
    live = np.zeros(bounds.size - 1, np.int64)
    low = np.full(emit_at.size, -1, np.int64)
    high = np.full(emit_at.size, -1, np.int64)
    weight = np.zeros(emit_at.size, np.float64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            e = ops[o]
            by = 1
            if e < 0:
                e = ~e
                by = -1
            if rank[e] >= 0:
                g = group[e]
                size = bounds[g + 1] - bounds[g]
                i = rank[e] + 1
                while i <= size:
                    tree[bounds[g] + i - 1] += by
                    i += i & -i
                live[g] += by
            o += 1
        g = emit_group[r]
        if live[g] > 0:
            size = bounds[g + 1] - bounds[g]
            place = (live[g] - 1) * share
            below = int(place)
            weight[r] = place - below
            low[r] = bounds[g] + _nth(tree, bounds[g], size, below + 1)
            high[r] = low[r] if weight[r] == 0.0 else bounds[g] + _nth(tree, bounds[g], size, below + 2)
    return low, high, weight
