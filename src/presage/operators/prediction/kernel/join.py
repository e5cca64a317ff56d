"""The window join of two streams of pieces: the pairs of keys that match, and when.

The filter step (`candidates`), the evaluation step (`evaluation`), then the maximal intervals of every pair. Requesting
the times up to T1 and then those after T1 gives the parts of what one request gives: a result at t does not depend on
anything later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.chances.shared_errors import groups_of
from presage.operators.prediction.kernel.chances.threshold import ask_of
from presage.operators.prediction.kernel.index.boxes import build_boxes, origin_of
from presage.operators.prediction.kernel.index.candidates import ANY, DIFFERENT, RISING, Search
from presage.operators.prediction.kernel.intervals.merge import Intervals, intervals_of, merge
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.evaluation import (
    ANY_TIME,
    CHOICE,
    LEFT,
    RIGHT,
    Found,
    JoinArrays,
    Times,
    evaluate,
)
from presage.operators.prediction.kernel.regions.polygons import Polygons, clip
from presage.operators.prediction.kernel.regions.sides import Side, build_side
from presage.operators.prediction.kernel.regions.strips import Terms
from presage.operators.prediction.kernel.spec import JoinSpec, trimmed_at

Sides = tuple[Side, Side]
# For the pieces of both sides: the first moment at which each is visible, the first at which it is not; None: always.
Visible = tuple[Ints | None, Ints | None]


@dataclass(frozen=True)
class Matches:
    """By keys, then time. `valid_from`, `valid_to`: microseconds; `probability`: NaN if there is none."""

    left: Ints
    right: Ints
    valid_from: Ints
    valid_to: Ints
    from_open: Bools
    to_open: Bools
    probability: Floats

    def __len__(self) -> int:
        return len(self.left)


def join(
    left: Pieces,
    right: Pieces,
    spec: JoinSpec,
    times: Times = ANY_TIME,
    both: bool = True,
    threads: int = 1,
    visible: Visible = (None, None),
) -> Matches:
    """When each object of the left matches which of the right, at times t with after < t <= until. For a stream with
    itself (`spec.same`) pass the same pieces twice: no object is paired with itself. `both`: whether a symmetric join
    returns both orders, or only the one in which the left key is the smaller.

    A probability covers all times after `since`, also those requested before: it depends on the pieces alone. If there
    is more to come after `until` (not `final`), what reaches it has the probability 0 until its end is known."""
    sides = build_sides(left, right, spec, visible)
    search = _search(sides, spec, times)
    edges: list[int | None] = [None, *search.cuts().tolist(), None]

    def share(number: int) -> Intervals:
        """The intervals of some objects of the left; no other share has one of them."""
        found = _stacked(list(evaluate_pairs(sides, spec, times, search.pairs(edges[number], edges[number + 1]))))
        return merge(_as_intervals(sides, found))[0]

    shares = range(len(edges) - 1)
    if threads == 1 or len(shares) == 1:
        blocks = [share(number) for number in shares]
    else:
        with ThreadPoolExecutor(threads, thread_name_prefix="presage-pairs") as pool:
            blocks = list(pool.map(share, shares))
    matches = _as_matches(sides, Intervals(*(np.concatenate(several) for several in zip(*blocks, strict=True))))
    return _both_orders(matches) if spec.symmetric and both else matches


def _stacked(blocks: list[Found]) -> Found:
    return Found(
        np.concatenate([np.empty((0, 5), np.int64), *(block.whole for block in blocks)]),
        np.concatenate([np.empty((0, 3)), *(block.parts for block in blocks)]),
        np.concatenate([np.empty((0, 2), np.bool_), *(block.opens for block in blocks)]),
    )


def join_with_boundary(
    left: Pieces, right: Pieces, spec: JoinSpec, times: Times = ANY_TIME
) -> tuple[Matches, Polygons]:
    """The same rows, and the polygons of (t_a, t_b) of each: one for each pair of pieces and each choice of strips,
    with what the terms allow up to `until`, regardless of WITH PROBABILITY and `after`."""
    # Both orders are evaluated: the polygons of (b, a) are mirrored, and each row has its own.
    sides = build_sides(left, right, spec)
    found = _stacked(list(evaluate_pairs(sides, spec, times, _every_order(sides, spec, times))))
    rows, row = merge(_as_intervals(sides, found))
    # Trimming may leave several parts of one region, which is one polygon.
    distinct = np.unique(np.column_stack([row, found.whole[:, [LEFT, RIGHT, CHOICE]]]), axis=0)
    chancy = spec.probability or trimmed_at(spec.at_least)[0] >= 0
    a, b, choice = distinct[:, 1], distinct[:, 2], distinct[:, 3]
    starts, t_a, t_b = clip(a, b, choice, _join_arrays(sides, spec), chancy, times.period.until)
    polygons = Polygons(distinct[:, 0].copy(), sides[0].piece[a], sides[1].piece[b], starts, t_a, t_b)
    return _as_matches(sides, rows), polygons


def _every_order(sides: Sides, spec: JoinSpec, times: Times) -> Iterator[tuple[Ints, Ints]]:
    for a, b in _search(sides, spec, times).pairs():
        yield a, b
        if spec.symmetric:
            yield b, a


def build_sides(left: Pieces, right: Pieces, spec: JoinSpec, visible: Visible = (None, None)) -> Sides:
    """The segments that pass the value terms of each side."""
    one = build_side(left, tuple(term.left for term in spec.terms), spec.left, visible[0])
    if spec.symmetric:
        return one, one
    return one, build_side(right, tuple(term.right for term in spec.terms), spec.right, visible[1])


def _join_arrays(sides: Sides, spec: JoinSpec) -> JoinArrays:
    chances = spec.probability or spec.at_least is not None
    shared = groups_of(spec.terms, spec.left, spec.right) if chances else groups_of((), ())
    rows = [(t.left, t.right, t.comparator, t.mode) for t in spec.terms]
    constants = np.array([t.constant for t in spec.terms], np.float64)
    terms = Terms(np.array(rows, np.int64).reshape(-1, 4), constants, *shared)
    return JoinArrays(sides[0].arrays, sides[1].arrays, terms, spec.window / 1e6)


def evaluate_pairs(sides: Sides, spec: JoinSpec, times: Times, pairs: Iterable[tuple[Ints, Ints]]) -> Iterator[Found]:
    """The intervals of pairs of segments, block by block."""
    ask, arrays = ask_of(spec), _join_arrays(sides, spec)
    if ask.p > 1:
        return
    for a, b in pairs:
        begin = 0
        while begin < len(a):
            whole, parts, opens, begin = evaluate(a, b, begin, arrays, times.period, ask)
            yield Found(whole, parts, opens)


def _search(sides: Sides, spec: JoinSpec, times: Times) -> Search:
    one, other = sides
    origin = origin_of(one.arrays.start, other.arrays.start)
    left, right = (
        build_boxes(side, spec, origin, times.period, side_number == 0) for side_number, side in enumerate(sides)
    )
    pairing = RISING if spec.symmetric else DIFFERENT if spec.same else ANY
    return Search(left, right, one.key, other.key, pairing)


def _as_intervals(sides: Sides, found: Found) -> Intervals:
    """With a group for each pair of keys."""
    one, other = sides
    return intervals_of(
        one.key[found.whole[:, LEFT]] * max(1, len(other.keys)) + other.key[found.whole[:, RIGHT]], found
    )


def _as_matches(sides: Sides, rows: Intervals) -> Matches:
    width = max(1, len(sides[1].keys))
    return Matches(
        sides[0].keys[rows.group // width],
        sides[1].keys[rows.group % width],
        rows.start,
        rows.end,
        rows.start_open,
        rows.end_open,
        rows.probability,
    )


def _both_orders(half: Matches) -> Matches:
    """The rows and their mirror images, by keys and time."""
    left, right = np.concatenate([half.left, half.right]), np.concatenate([half.right, half.left])
    rows = np.tile(np.arange(len(half)), 2)
    order = np.lexsort((right, left))
    rows = rows[order]
    return Matches(
        left[order],
        right[order],
        half.valid_from[rows],
        half.valid_to[rows],
        half.from_open[rows],
        half.to_open[rows],
        half.probability[rows],
    )
