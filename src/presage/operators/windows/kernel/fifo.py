"""Aggregates over each new row's window, where events leave in order of arrival.

Row i stands at place `rank[i]` when the rows are sorted by group, those of one group in order of arrival. Group g has
the places [start[g], start[g + 1]); those before `fresh[g]` are kept from earlier steps and emit nothing. The window of
the row at place k is the run [head[k], k]. Loops work in the order of places; columns are brought there and back by
`rank`, row by row, so that memory is read and written as one stream for each group.

Sums of doubles go by two stacks (front: sums from each place up to `split`; back: one sum from `split` on), so nothing
is ever subtracted, and NaN and infinity leave with their event. When the front is used up the whole window moves to the
front. Which additions are made depends only on the live events and on `split`; that is all a state must hold.
Cost: each row is added at most twice.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from presage.arrays.folds import merged_spread
from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined, inlined_always
from presage.arrays.pair_moments import merge_pairs, one_pair

S = TypeVar("S", np.int64, np.float64)


class Runs(NamedTuple):
    """The groups as runs of places. The first `kept` rows are those of the state."""

    rank: Ints
    head: Ints
    start: Ints
    fresh: Ints
    split: Ints
    kept: int


@inlined_always
def _by_place(values: npt.NDArray[S], rank: Ints) -> npt.NDArray[S]:
    placed = np.empty(rank.size, values.dtype)
    for i in range(rank.size):
        placed[rank[i]] = values[i]
    return placed


@inlined_always
def _of_new_rows(placed: npt.NDArray[S], rank: Ints, kept: int) -> npt.NDArray[S]:
    out = np.empty(rank.size - kept, placed.dtype)
    for i in range(kept, rank.size):
        out[i - kept] = placed[rank[i]]
    return out


@compiled
def fifo_heads(place: Ints, gone: Ints, rank: Ints, start: Ints, fresh: Ints, split: Ints) -> tuple[Ints, Ints]:
    """Head of each place's window, and each group's `split` at the end. When row i comes, its group's rows up to the
    place `gone[i]` have left."""
    own, left = _by_place(place, rank), _by_place(gone, rank)
    head = np.empty(rank.size, np.int64)
    ends = split.copy()
    for g in range(fresh.size):
        h = start[g]
        edge = split[g]
        for k in range(start[g], fresh[g]):
            head[k] = h
        for k in range(fresh[g], start[g + 1]):
            while own[h] <= left[k]:
                h += 1
            if h >= edge:
                edge = k + 1
            head[k] = h
        ends[g] = edge
    return head, ends


@compiled
def fifo_count(runs: Runs) -> Ints:
    rank, head, kept = runs.rank, runs.head, runs.kept
    out = np.empty(rank.size - kept, np.int64)
    for i in range(kept, rank.size):
        out[i - kept] = rank[i] + 1 - head[rank[i]]
    return out


@compiled
def fifo_total(runs: Runs, values: Ints) -> Ints:
    """Integers add up exactly, so a difference of two running sums is the window's sum."""
    rank, head, kept = runs.rank, runs.head, runs.kept
    upto = np.empty(rank.size + 1, np.int64)
    upto[0] = 0
    for i in range(rank.size):
        upto[rank[i] + 1] = values[i]
    for k in range(rank.size):
        upto[k + 1] += upto[k]
    out = np.empty(rank.size - kept, np.int64)
    for i in range(kept, rank.size):
        out[i - kept] = upto[rank[i] + 1] - upto[head[rank[i]]]
    return out


@compiled
def fifo_sum(runs: Runs, values: Floats) -> Floats:
    rank, head, start, fresh, split, kept = runs
    own = _by_place(values, rank)
    front = np.empty(rank.size, np.float64)
    sums = np.empty(rank.size, np.float64)
    for g in range(fresh.size):
        edge = split[g]
        total = 0.0
        for k in range(edge - 1, start[g] - 1, -1):
            total += own[k]
            front[k] = total
        back = 0.0
        for k in range(edge, fresh[g]):
            back += own[k]
        for k in range(fresh[g], start[g + 1]):
            if head[k] >= edge:
                edge = k + 1
                back = 0.0
                total = 0.0
                for j in range(k, head[k] - 1, -1):
                    total += own[j]
                    front[j] = total
                sums[k] = total
            else:
                back += own[k]
                sums[k] = front[head[k]] + back
    return _of_new_rows(sums, rank, kept)


@compiled
def fifo_least(runs: Runs, keys: Ints) -> Ints:
    """A queue of the places that can still become the least: each enters and leaves it once."""
    rank, head, start = runs.rank, runs.head, runs.start
    own = _by_place(keys, rank)
    queue = np.empty(rank.size, np.int64)
    least = np.empty(rank.size, np.int64)
    for g in range(start.size - 1):
        first = start[g]
        last = first
        for k in range(start[g], start[g + 1]):
            while last > first and own[queue[last - 1]] >= own[k]:
                last -= 1
            queue[last] = k
            last += 1
            while queue[first] < head[k]:
                first += 1
            least[k] = own[queue[first]]
    return _of_new_rows(least, rank, runs.kept)


@inlined
def _stacked(
    low: int, high: int, own: Floats, counted: Ints, front_n: Ints, front_mean: Floats, front_m2: Floats
) -> tuple[int, float, float]:
    """Fill the front with the places [low, high); the last entry is the sum over all of them."""
    n, mean, m2 = 0, 0.0, 0.0
    for k in range(high - 1, low - 1, -1):
        # x - x is 0, or NaN for an x that is not finite: then the spread is not defined while x is in the window.
        n, mean, m2 = merged_spread(counted[k], own[k], own[k] - own[k], n, mean, m2)
        front_n[k] = n
        front_mean[k] = mean
        front_m2[k] = m2
    return n, mean, m2


@compiled
def fifo_spread(runs: Runs, values: Floats, valid: Bools) -> tuple[Ints, Floats]:
    """Count and sum of squared distances from the mean, by two stacks as in `fifo_sum`."""
    rank, head, start, fresh, split, kept = runs
    own, counted = _by_place(values, rank), np.empty(rank.size, np.int64)
    for i in range(rank.size):
        counted[rank[i]] = 1 if valid[i] else 0
    front_n = np.empty(rank.size, np.int64)
    front_mean = np.empty(rank.size, np.float64)
    front_m2 = np.empty(rank.size, np.float64)
    all_n = np.empty(rank.size, np.int64)
    all_m2 = np.empty(rank.size, np.float64)
    for g in range(fresh.size):
        edge = split[g]
        _stacked(start[g], edge, own, counted, front_n, front_mean, front_m2)
        n, mean, m2 = 0, 0.0, 0.0
        for k in range(edge, fresh[g]):
            n, mean, m2 = merged_spread(n, mean, m2, counted[k], own[k], own[k] - own[k])
        for k in range(fresh[g], start[g + 1]):
            h = head[k]
            if h >= edge:
                edge = k + 1
                n, mean, m2 = 0, 0.0, 0.0
                all_n[k], _, all_m2[k] = _stacked(h, edge, own, counted, front_n, front_mean, front_m2)
            else:
                n, mean, m2 = merged_spread(n, mean, m2, counted[k], own[k], own[k] - own[k])
                all_n[k], _, all_m2[k] = merged_spread(front_n[h], front_mean[h], front_m2[h], n, mean, m2)
    return _of_new_rows(all_n, rank, kept), _of_new_rows(all_m2, rank, kept)


@compiled
def fifo_pairs(runs: Runs, x: Floats, y: Floats, valid: Bools) -> Floats:
    """The moments of pairs (`presage.arrays.pair_moments`), by two stacks as in `fifo_sum`."""
    rank, head, start, fresh, split, kept = runs
    pairs = np.empty((rank.size, 6), np.float64)
    for i in range(rank.size):
        one_pair(x[i], y[i], valid[i], pairs[rank[i]])
    front = np.empty((rank.size, 6), np.float64)
    moments = np.empty((rank.size, 6), np.float64)
    back = np.empty(6, np.float64)
    for g in range(fresh.size):
        edge = split[g]
        _stacked_pairs(start[g], edge, pairs, front)
        back[:] = 0.0
        for k in range(edge, fresh[g]):
            merge_pairs(back, pairs[k], back)
        for k in range(fresh[g], start[g + 1]):
            h = head[k]
            if h >= edge:
                edge = k + 1
                back[:] = 0.0
                _stacked_pairs(h, edge, pairs, front)
                moments[k] = front[h]
            else:
                merge_pairs(back, pairs[k], back)
                merge_pairs(front[h], back, moments[k])
    out = np.empty((rank.size - kept, 6), np.float64)
    for i in range(kept, rank.size):
        out[i - kept] = moments[rank[i]]
    return out


@inlined
def _stacked_pairs(low: int, high: int, pairs: Floats, front: Floats) -> None:
    """Fill the front with the places [low, high); the first entry is the sum over all of them."""
    for k in range(high - 1, low - 1, -1):
        if k == high - 1:
            front[k] = pairs[k]
        else:
            merge_pairs(pairs[k], front[k + 1], front[k])


@compiled
def fifo_first(runs: Runs) -> Ints:
    """Row number of the oldest event in each new row's window."""
    order = _by_place(np.arange(runs.rank.size), runs.rank)
    out = _of_new_rows(runs.head, runs.rank, runs.kept)
    for i in range(out.size):
        out[i] = order[out[i]]
    return out


@compiled
def fifo_lists(runs: Runs, offsets: Ints) -> Ints:
    """Row numbers of the events in each new row's window, one list after the other."""
    rank, head, kept = runs.rank, runs.head, runs.kept
    order = _by_place(np.arange(rank.size), rank)
    out = np.empty(offsets[-1], np.int64)
    for i in range(kept, rank.size):
        first = head[rank[i]]
        for k in range(first, rank[i] + 1):
            out[offsets[i - kept] + k - first] = order[k]
    return out
