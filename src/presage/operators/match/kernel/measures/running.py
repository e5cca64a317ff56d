"""Running aggregates of matches laid end to end: what each has added up so far.

`match` numbers the match of each row in the line; a match's rows are neighbours, in order. Every loop is one pass from
left to right that starts anew with each match, O(line): nothing of a match gets into the next, and a sum is the same
additions whatever else the step brings.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled


@compiled
def running_sum(match: Ints, values: Floats) -> Floats:
    out = np.empty(match.size, np.float64)
    total = 0.0
    for i in range(match.size):
        if i == 0 or match[i] != match[i - 1]:
            total = 0.0
        total += values[i]
        out[i] = total
    return out


@compiled
def running_squares(match: Ints, values: Floats) -> Floats:
    """Sum of squared distances from the mean, after Welford: no difference of large sums."""
    out = np.empty(match.size, np.float64)
    n = 0
    mean = 0.0
    squares = 0.0
    for i in range(match.size):
        if i == 0 or match[i] != match[i - 1]:
            n = 0
            mean = 0.0
            squares = 0.0
        n += 1
        delta = values[i] - mean
        mean += delta / n
        squares += delta * (values[i] - mean)
        out[i] = squares
    return out


@compiled
def running_least(match: Ints, keys: Ints) -> Ints:
    """Where the least key stands; the first of equal ones."""
    out = np.empty(match.size, np.int64)
    best = 0
    for i in range(match.size):
        if i == 0 or match[i] != match[i - 1] or keys[i] < keys[best]:
            best = i
        out[i] = best
    return out


@compiled
def first_in_match(match: Ints, codes: Ints, count: int) -> Bools:
    """Which rows have a code (below `count`) that no earlier row of their match has."""
    seen_by = np.full(count, -1, np.int64)
    out = np.empty(match.size, np.bool_)
    for i in range(match.size):
        out[i] = seen_by[codes[i]] != match[i]
        seen_by[codes[i]] = match[i]
    return out


@compiled
def listed(begin: Ints, end: Ints, at: Ints, total: int) -> Ints:
    """at[begin[0]:end[0]], at[begin[1]:end[1]] … one after the other, `total` in all."""
    out = np.empty(total, np.int64)
    n = 0
    for r in range(begin.size):
        for i in range(begin[r], end[r]):
            out[n] = at[i]
            n += 1
    return out


@compiled
def running_quantile(match: Ints, rank: Ints, size: Ints, share: float) -> tuple[Ints, Ints, Floats]:
    """Ranks of the two values around a share of those so far (the same one twice if it is just there), and the weight
    of the greater one.

    `rank` counts from 0 within the match, without ties; `size[i]` rows has the match of row i. A Fenwick tree over the
    ranks of the match at hand: O(log size) for each row.
    """
    low = np.empty(match.size, np.int64)
    high = np.empty(match.size, np.int64)
    weight = np.empty(match.size, np.float64)
    longest = 0
    for i in range(match.size):
        longest = max(longest, size[i])
    tree = np.zeros(longest + 1, np.int64)
    here = 0
    top = 1
    for i in range(match.size):
        if i == 0 or match[i] != match[i - 1]:
            tree[: size[i] + 1] = 0
            here = 0
            top = 1
            while top * 2 <= size[i]:
                top *= 2
        here += 1
        at = rank[i] + 1
        while at <= size[i]:
            tree[at] += 1
            at += at & -at
        place = (here - 1) * share
        weight[i] = place - int(place)
        for side in range(2):
            wanted = int(place) + 1 if side == 0 or weight[i] == 0.0 else int(place) + 2
            found = 0
            jump = top
            while jump > 0:
                if found + jump <= size[i] and tree[found + jump] < wanted:
                    found += jump
                    wanted -= tree[found]
                jump //= 2
            if side == 0:
                low[i] = found
            else:
                high[i] = found
    return low, high, weight
