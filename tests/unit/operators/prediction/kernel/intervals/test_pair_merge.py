"""Uniting the intervals of pairs by counting, against the plain merge by groups."""

from __future__ import annotations

import numpy as np
import pytest

from presage.operators.prediction.kernel.intervals.merge import Intervals, merge
from presage.operators.prediction.kernel.intervals.pair_merge import (
    Carried,
    joined_blocks,
    nothing_carried,
    pair_order,
    unite_pairs,
)


@pytest.mark.parametrize("moment", [0, 15, 100])
def test_found_and_carried_intervals_become_one_where_they_touch(moment: int) -> None:
    random = np.random.default_rng(moment)
    objects, found, open_before, asked = 6, 120, 20, 10
    code = random.permutation(objects)
    whole = np.zeros((found, 5), np.int64)
    whole[:, :2] = random.integers(0, objects, (found, 2))
    whole[:, 2] = asked + random.integers(0, 20, found)
    whole[:, 3] = whole[:, 2] + random.integers(0, 4, found)
    parts = np.column_stack([np.zeros((found, 2)), random.random(found)])
    # As times after what was asked are: open where they begin there, and no point.
    opens = random.random((found, 2)) < 0.5
    opens[:, 0] |= whole[:, 2] == asked
    opens[whole[:, 2] == whole[:, 3]] = False
    kept = (whole[:, 2] > asked) | (whole[:, 3] > asked)
    whole, parts, opens = whole[kept], parts[kept], opens[kept]
    pairs = np.unique(random.integers(0, objects, (open_before, 2)), axis=0)
    random.shuffle(pairs)
    n = len(pairs)
    carried = Carried(pairs, random.integers(0, asked, n), random.random(n) < 0.5, random.random(n), asked)
    made = unite_pairs((whole, parts, opens), (code, code), objects, carried, np.arange(n), moment)

    def both(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.concatenate([old, new])

    left, right = both(pairs[:, 0], code[whole[:, 0]]), both(pairs[:, 1], code[whole[:, 1]])
    zeros, closed = np.zeros(len(left)), np.zeros(n, np.bool_)
    expected, row = merge(
        Intervals(
            left * objects + right,
            both(carried.start, whole[:, 2]),
            both(np.full(n, asked), whole[:, 3]),
            zeros,
            zeros,
            both(carried.start_open, opens[:, 0]),
            both(closed, opens[:, 1]),
            both(carried.probability, parts[:, 2]),
        )
    )
    origin = np.full(len(expected), -1)
    origin[row[:n]] = np.arange(n)
    order = np.argsort(expected.end >= moment, kind="stable")
    assert made.over == np.sum(expected.end < moment)
    assert (made.codes[:, 0] * objects + made.codes[:, 1]).tolist() == expected.group[order].tolist()
    for name in ("start", "end", "start_open", "end_open", "probability"):
        assert getattr(made, name).tolist() == getattr(expected, name)[order].tolist()
    assert made.origin.tolist() == origin[order].tolist()
    assert (made.origin >= 0).sum() == n


def test_pairs_are_put_in_order_by_counting() -> None:
    random = np.random.default_rng(3)
    left, right = random.integers(40, 50, 300), random.integers(0, 7, 300)
    assert pair_order(left, right, 7).tolist() == np.lexsort((np.arange(300), right, left)).tolist()


def test_blocks_are_joined_with_what_is_over_first() -> None:
    whole = np.array([[0, 1, 2, 4, 0], [0, 1, 6, 9, 0]])
    parts, opens, codes = np.zeros((2, 3)), np.zeros((2, 2), np.bool_), np.array([0, 1])
    block = unite_pairs((whole, parts, opens), (codes, codes), 2, nothing_carried(), np.empty(0, np.int64), 9)
    twice = joined_blocks([block, block])
    assert (twice.end.tolist(), twice.over) == ([4, 4, 9, 9], 2)
