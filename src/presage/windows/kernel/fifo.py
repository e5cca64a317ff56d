"""Rows sorted by group come in, aggregates over each row's window go out: windows whose events leave in order of arrival.

Rows of one group are the run [start[g], start[g + 1]) of `order`; the first of them are kept from earlier steps (row
number below `kept`) and emit nothing. The window of the row at place k is the run [head[k], k].

Sums of doubles go by two stacks (front: sums from each place up to `split`; back: one sum from `split` on), so nothing
is ever subtracted, and NaN and infinity leave with their event. When the front is used up the whole window moves to the
front. Which additions are made depends only on the live events and on `split`; that is all a state must hold.
Cost: each row is added at most twice.
"""

from __future__ import annotations

import numpy as np

from presage.windows.kernel.jit import Bools, Floats, Ints, compiled, inlined


@compiled
def fifo_heads(place: Ints, size: int, order: Ints, start: Ints, kept: int, split: Ints) -> tuple[Ints, Ints]:
    """Head of each place's window, and each group's `split` at the end. A row leaves `size` after it came."""
    head = np.empty(order.size, np.int64)
    own = np.empty(order.size, np.int64)
    ends = split.copy()
    for g in range(start.size - 1):
        h = start[g]
        for k in range(start[g], start[g + 1]):
            own[k] = place[order[k]]
            if order[k] >= kept:
                while own[h] <= own[k] - size:
                    h += 1
                if h >= ends[g]:
                    ends[g] = k + 1
            head[k] = h
    return head, ends


@compiled
def fifo_count(order: Ints, head: Ints, kept: int) -> Ints:
    out = np.empty(order.size - kept, np.int64)
    for k in range(order.size):
        if order[k] >= kept:
            out[order[k] - kept] = k + 1 - head[k]
    return out


@compiled
def fifo_total(values: Ints, order: Ints, head: Ints, kept: int) -> Ints:
    """Integers add up exactly, so a difference of two running sums is the window's sum."""
    upto = np.empty(order.size + 1, np.int64)
    upto[0] = 0
    out = np.empty(order.size - kept, np.int64)
    for k in range(order.size):
        upto[k + 1] = upto[k] + values[order[k]]
        if order[k] >= kept:
            out[order[k] - kept] = upto[k + 1] - upto[head[k]]
    return out


@compiled
def fifo_sum(values: Floats, order: Ints, head: Ints, start: Ints, kept: int, split: Ints) -> Floats:
    own = np.empty(order.size, np.float64)
    front = np.empty(order.size, np.float64)
    out = np.empty(order.size - kept, np.float64)
    for g in range(start.size - 1):
        for k in range(start[g], start[g + 1]):
            own[k] = values[order[k]]
        edge = split[g]
        total = 0.0
        for k in range(edge - 1, start[g] - 1, -1):
            total += own[k]
            front[k] = total
        back = 0.0
        for k in range(start[g], start[g + 1]):
            row = order[k]
            if row < kept:
                if k >= edge:
                    back += own[k]
            elif head[k] >= edge:
                edge = k + 1
                back = 0.0
                total = 0.0
                for j in range(k, head[k] - 1, -1):
                    total += own[j]
                    front[j] = total
                out[row - kept] = total
            else:
                back += own[k]
                out[row - kept] = front[head[k]] + back
    return out


@compiled
def fifo_least(keys: Ints, order: Ints, head: Ints, start: Ints, kept: int) -> Ints:
    """A queue of the rows that can still become the least: each row enters and leaves it once."""
    queue = np.empty(order.size, np.int64)
    out = np.empty(order.size - kept, np.int64)
    for g in range(start.size - 1):
        first = start[g]
        last = first
        for k in range(start[g], start[g + 1]):
            key = keys[order[k]]
            while last > first and keys[order[queue[last - 1]]] >= key:
                last -= 1
            queue[last] = k
            last += 1
            if order[k] >= kept:
                while queue[first] < head[k]:
                    first += 1
                out[order[k] - kept] = keys[order[queue[first]]]
    return out


@inlined
def _merged(n: int, mean: float, m2: float, n2: int, mean2: float, m22: float) -> tuple[int, float, float]:
    """Count, mean and squared distances of two sets together (Chan, Golub, LeVeque); exact when one is empty."""
    if n == 0:
        return n2, mean2, m22
    if n2 == 0:
        return n, mean, m2
    both = n + n2
    delta = mean2 - mean
    return both, mean + delta * (n2 / both), m2 + m22 + delta * delta * (n / both * n2)


@compiled
def fifo_spread(
    values: Floats, valid: Bools, order: Ints, head: Ints, start: Ints, kept: int, split: Ints
) -> tuple[Ints, Floats]:
    """Count and sum of squared distances from the mean, by two stacks as in `fifo_sum`."""
    front_n = np.empty(order.size, np.int64)
    front_mean = np.empty(order.size, np.float64)
    front_m2 = np.empty(order.size, np.float64)
    out_n = np.empty(order.size - kept, np.int64)
    out_m2 = np.empty(order.size - kept, np.float64)
    for g in range(start.size - 1):
        edge = split[g]
        low = start[g]
        n, mean, m2 = 0, 0.0, 0.0
        for k in range(edge - 1, low - 1, -1):
            x = values[order[k]]
            # x - x is 0, or NaN for what is not finite: then the spread is not defined while x is in the window.
            n, mean, m2 = _merged(1 if valid[order[k]] else 0, x, x - x, n, mean, m2)
            front_n[k], front_mean[k], front_m2[k] = n, mean, m2
        n, mean, m2 = 0, 0.0, 0.0
        for k in range(low, start[g + 1]):
            row = order[k]
            x = values[row]
            if row >= kept and head[k] >= edge:
                edge = k + 1
                n, mean, m2 = 0, 0.0, 0.0
                for j in range(k, head[k] - 1, -1):
                    y = values[order[j]]
                    n, mean, m2 = _merged(1 if valid[order[j]] else 0, y, y - y, n, mean, m2)
                    front_n[j], front_mean[j], front_m2[j] = n, mean, m2
                out_n[row - kept], out_m2[row - kept] = n, m2
                n, mean, m2 = 0, 0.0, 0.0
            elif k >= edge:
                n, mean, m2 = _merged(n, mean, m2, 1 if valid[row] else 0, x, x - x)
                if row >= kept:
                    h = head[k]
                    all_n, _, all_m2 = _merged(front_n[h], front_mean[h], front_m2[h], n, mean, m2)
                    out_n[row - kept], out_m2[row - kept] = all_n, all_m2
    return out_n, out_m2


@compiled
def fifo_first(order: Ints, head: Ints, kept: int) -> Ints:
    """Row number of the oldest event in each new row's window."""
    out = np.empty(order.size - kept, np.int64)
    for k in range(order.size):
        if order[k] >= kept:
            out[order[k] - kept] = order[head[k]]
    return out


@compiled
def fifo_lists(order: Ints, head: Ints, kept: int, offsets: Ints) -> Ints:
    """Row numbers of the events in each new row's window, one list after the other."""
    out = np.empty(offsets[-1], np.int64)
    for k in range(order.size):
        if order[k] >= kept:
            at = offsets[order[k] - kept]
            for j in range(head[k], k + 1):
                out[at + j - head[k]] = order[j]
    return out
