"""Pairs of items with equal keys that are alive at the same time.

An item lives from rank `enter` (included) to rank `leave` (excluded). Items enter and leave in order of rank. The live
items of each key and side are a doubly linked list, oldest first, so an item that enters meets exactly its partners:
time and memory are linear in items + pairs + keys. All arrays are int64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Ints, compiled, inlined
from presage.errors import error
from presage.operators.windows.kernel.steps import BEFORE

# What to do with pairs of which both items entered in an earlier call.
SKIP_OLD = 0
ALL_OLD = 1
LEAVING_OLD = 2  # only those that end in this call
# Pairs of one step, whose two columns then take 2 GB.
MOST_PAIRS = 1 << 27


class PairsLimitError(Exception):
    """Raised inside the loop, where no message can be formatted."""


class Items(NamedTuple):
    """Items in arrival order: ranks between which they live (enter < leave, enter < last), keys 0 … keys-1."""

    enter: Ints
    leave: Ints
    key: Ints


def find_pairs(left: Items, right: Items, keys: int, last: int, old: int, most: int = MOST_PAIRS) -> tuple[Ints, Ints]:
    """Positions (in left, in right) of the pairs alive together at some rank below `last`.

    Pairs whose later item enters at the same rank are adjacent; ranks ascend, except for the old pairs of LEAVING_OLD.
    """
    both = Items(*map(np.concatenate, zip(right, left, strict=True)))
    try:
        return _pairs(both, len(right.key), keys, last, old, most)
    except PairsLimitError:
        raise error(
            "LIMIT",
            what="the number of pairs that a join makes in one step",
            limit_name="pairs of a join",
            limit=f"{most:,}",
            fix="make the windows shorter, or join by a column that few events share",
        ) from None


@inlined
def _order(ranks: Ints, last: int) -> Ints:
    """Positions by ascending rank, ties in order (counting sort, unless they are sorted already)."""
    n = len(ranks)
    ascending = True
    for i in range(1, n):
        if ranks[i] < ranks[i - 1]:
            ascending = False
            break
    if ascending:
        return np.arange(n)
    starts = np.zeros(last + 3, np.int64)
    for i in range(n):
        starts[ranks[i] + 2] += 1
    for r in range(1, len(starts)):
        starts[r] += starts[r - 1]
    order = np.empty(n, np.int64)
    for i in range(n):
        order[starts[ranks[i] + 1]] = i
        starts[ranks[i] + 1] += 1
    return order


@inlined
def _unlink(x: int, k: int, head: Ints, tail: Ints, after: Ints, before: Ints) -> None:
    if before[x] < 0:
        head[k] = after[x]
    else:
        after[before[x]] = after[x]
    if after[x] < 0:
        tail[k] = before[x]
    else:
        before[after[x]] = before[x]


@inlined
def _append(x: int, k: int, head: Ints, tail: Ints, after: Ints, before: Ints) -> None:
    after[x] = -1
    before[x] = tail[k]
    if tail[k] < 0:
        head[k] = x
    else:
        after[tail[k]] = x
    tail[k] = x


@inlined
def _wider(array: Ints, most: int) -> Ints:
    check_cancelled(0)
    if len(array) >= most:
        raise PairsLimitError
    wider = np.empty(2 * len(array), np.int64)
    wider[: len(array)] = array
    return wider


@compiled
def _pairs(items: Items, split: int, keys: int, last: int, old: int, most: int) -> tuple[Ints, Ints]:
    """The first `split` items are those of the right side.

    Of one step the right side enters first. Then an item of the left side meets the right one of its own step last,
    which is the order by (left, right) of a self-join.
    """
    enter, leave, key = items
    entering = np.concatenate((_order(enter[:split], last), split + _order(enter[split:], last)))
    leaving = np.concatenate((_order(leave[:split], last), split + _order(leave[split:], last)))
    # Lists of the right side, then those of the left side.
    head, tail = np.full(2 * keys, -1, np.int64), np.full(2 * keys, -1, np.int64)
    after, before = np.empty(len(key), np.int64), np.empty(len(key), np.int64)
    capacity = max(16, len(key))
    one, other = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    n, at_right, at_left = 0, 0, split
    # By side: the next item to leave, and the end of its items.
    next_leaving, ends = np.array([split, 0]), np.array([len(key), split])
    while True:
        # The next item to enter; `last` when there is none: then only leaving items remain.
        right_next = enter[entering[at_right]] if at_right < split else last
        left_next = enter[entering[at_left]] if at_left < len(entering) else last
        now = min(left_next, right_next)
        # Items leave before others enter in the same step.
        until = min(now, last - 1)
        for side in range(2):
            at, end = next_leaving[side], ends[side]
            while at < end and leave[leaving[at]] <= until:
                x = leaving[at]
                at += 1
                own, partners = (key[x], keys + key[x]) if x < split else (keys + key[x], key[x])
                _unlink(x, own, head, tail, after, before)
                if old == LEAVING_OLD and enter[x] == BEFORE:
                    y = head[partners]
                    while y >= 0 and enter[y] == BEFORE:
                        if n == len(one):
                            one, other = _wider(one, most), _wider(other, most)
                        one[n], other[n] = x, y
                        n += 1
                        y = after[y]
            next_leaving[side] = at
        if now >= last:
            break
        if right_next == now:
            x = entering[at_right]
            at_right += 1
            own, partners = key[x], keys + key[x]
        else:
            x = entering[at_left]
            at_left += 1
            own, partners = keys + key[x], key[x]
        if now != BEFORE or old == ALL_OLD:
            y = head[partners]
            while y >= 0:
                if n == len(one):
                    one, other = _wider(one, most), _wider(other, most)
                one[n], other[n] = x, y
                n += 1
                y = after[y]
        _append(x, own, head, tail, after, before)
    left, right = one[:n], other[:n]
    for i in range(n):
        if left[i] < split:
            left[i], right[i] = right[i], left[i]
        left[i] -= split
    return left, right
