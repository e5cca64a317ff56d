"""Two lists of items with lifetimes and keys in, all pairs of equal key that are alive together out.

An item lives from rank `enter` (included) to rank `leave` (excluded). Items come and go in order of rank; the live
ones of each key are a doubly linked list, oldest first, so an item that enters meets exactly its partners: time and
memory are linear in items + pairs + keys. All arrays are int64.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    """Out of the loop, where no message can be made."""


@dataclass(frozen=True)
class Items:
    """Items in arrival order: ranks between which they live (enter < leave, enter < last), keys 0 … keys-1."""

    enter: Ints
    leave: Ints
    key: Ints


def find_pairs(left: Items, right: Items, keys: int, last: int, old: int, most: int = MOST_PAIRS) -> tuple[Ints, Ints]:
    """Positions (in left, in right) of the pairs alive together at some rank below `last`.

    Pairs whose later item enters at the same rank stand together; ranks ascend, but for the old pairs of LEAVING_OLD.
    """
    l_in, l_out = _order(left.enter, last), _order(left.leave, last)
    r_in, r_out = _order(right.enter, last), _order(right.leave, last)
    try:
        return _pairs(
            left.enter,
            left.leave,
            left.key,
            l_in,
            l_out,
            right.enter,
            right.leave,
            right.key,
            r_in,
            r_out,
            keys,
            last,
            old,
            most,
        )
    except PairsLimitError:
        raise error(
            "LIMIT",
            what="the number of pairs that a join makes in one step",
            limit_name="pairs of a join",
            limit=f"{most:,}",
            fix="make the windows shorter, or join by a column that few events share",
        ) from None


@compiled
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
def _pairs(
    l_enter: Ints,
    l_leave: Ints,
    l_key: Ints,
    l_in: Ints,
    l_out: Ints,
    r_enter: Ints,
    r_leave: Ints,
    r_key: Ints,
    r_in: Ints,
    r_out: Ints,
    keys: int,
    last: int,
    old: int,
    most: int,
) -> tuple[Ints, Ints]:
    l_head, l_tail = np.full(keys, -1, np.int64), np.full(keys, -1, np.int64)
    r_head, r_tail = np.full(keys, -1, np.int64), np.full(keys, -1, np.int64)
    l_after, l_before = np.empty(len(l_key), np.int64), np.empty(len(l_key), np.int64)
    r_after, r_before = np.empty(len(r_key), np.int64), np.empty(len(r_key), np.int64)
    capacity = max(16, len(l_key) + len(r_key))
    left, right = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    n = 0
    a, b, p, q = 0, 0, 0, 0
    while True:
        # The next item to enter; `last` when there is none: then only leavings remain.
        l_next = l_enter[l_in[a]] if a < len(l_in) else last
        r_next = r_enter[r_in[b]] if b < len(r_in) else last
        now = min(l_next, r_next)
        until = min(now, last - 1)
        # Leavings come before enterings of the same step.
        while p < len(l_out) and l_leave[l_out[p]] <= until:
            x = l_out[p]
            p += 1
            k = l_key[x]
            _unlink(x, k, l_head, l_tail, l_after, l_before)
            if old == LEAVING_OLD and l_enter[x] == BEFORE:
                y = r_head[k]
                while y >= 0 and r_enter[y] == BEFORE:
                    if n == len(left):
                        left, right = _wider(left, most), _wider(right, most)
                    left[n], right[n] = x, y
                    n += 1
                    y = r_after[y]
        while q < len(r_out) and r_leave[r_out[q]] <= until:
            y = r_out[q]
            q += 1
            k = r_key[y]
            _unlink(y, k, r_head, r_tail, r_after, r_before)
            if old == LEAVING_OLD and r_enter[y] == BEFORE:
                x = l_head[k]
                while x >= 0 and l_enter[x] == BEFORE:
                    if n == len(left):
                        left, right = _wider(left, most), _wider(right, most)
                    left[n], right[n] = x, y
                    n += 1
                    x = l_after[x]
        if now >= last:
            return left[:n], right[:n]
        meet = now != BEFORE or old == ALL_OLD
        # The right side first: then an item of the left side meets the right one of its own step last, which is the
        # order by (left, right) of a self-join.
        if r_next == now:
            y = r_in[b]
            b += 1
            k = r_key[y]
            if meet:
                x = l_head[k]
                while x >= 0:
                    if n == len(left):
                        left, right = _wider(left, most), _wider(right, most)
                    left[n], right[n] = x, y
                    n += 1
                    x = l_after[x]
            _append(y, k, r_head, r_tail, r_after, r_before)
        else:
            x = l_in[a]
            a += 1
            k = l_key[x]
            if meet:
                y = r_head[k]
                while y >= 0:
                    if n == len(left):
                        left, right = _wider(left, most), _wider(right, most)
                    left[n], right[n] = x, y
                    n += 1
                    y = r_after[y]
            _append(x, k, l_head, l_tail, l_after, l_before)
