"""The window join of two streams of pieces: pairs of keys, and when they match.

Filter step (`candidates`), evaluation step (`evaluation`), then the maximal intervals of every pair. Asking for times
after T0 and up to T1, then for those after T1, gives the parts of what both would give together: nothing that is
computed at a time depends on what comes later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.chances.shared_errors import groups_of
from presage.operators.prediction.kernel.chances.threshold import ask_of
from presage.operators.prediction.kernel.index.boxes import build_boxes, origin_of
from presage.operators.prediction.kernel.index.candidates import ANY, DIFFERENT, RISING, Search
from presage.operators.prediction.kernel.intervals.merge import Intervals, merge
from presage.operators.prediction.kernel.intervals.pair_merge import (
    Carried,
    United,
    joined_blocks,
    nothing_carried,
    unite_pairs,
)
from presage.operators.prediction.kernel.jit import read_only
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.evaluation import (
    ALWAYS,
    CHOICE,
    FOREVER,
    FROM,
    LEFT,
    RIGHT,
    TO,
    Period,
    SideArrays,
    Terms,
    evaluate,
    times_asked,
)
from presage.operators.prediction.kernel.regions.polygons import Polygons, clip
from presage.operators.prediction.kernel.regions.sides import Side, build_side
from presage.operators.prediction.kernel.spec import JoinSpec, JoinTerm, trimmed_at

# Of the pieces of both sides: from when and until before when each may be asked for; None: always.
Known = tuple[Ints | None, Ints | None]


class Times(NamedTuple):
    """What is asked for, see `join`."""

    after: int | None = None
    until: int | None = None
    since: int | None = None
    final: bool = True
    known: Known = (None, None)


@dataclass(frozen=True)
class Matches:
    """By keys, then time. `valid_from`, `valid_to`: microseconds; `probability`: NaN unless asked for."""

    left: Ints
    right: Ints
    valid_from: Ints
    valid_to: Ints
    from_open: Bools
    to_open: Bools
    probability: Floats

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class Found:
    """What the evaluation step has made: see `evaluation.LEFT` … and `evaluation.evaluate`."""

    whole: Ints
    parts: Floats
    opens: Bools


def join(
    left: Pieces,
    right: Pieces,
    spec: JoinSpec,
    after: int | None = None,
    until: int | None = None,
    both: bool = True,
    threads: int = 1,
    since: int | None = None,
    final: bool = True,
    known: Known = (None, None),
) -> Matches:
    """When each object of the left matches which of the right, at times t with after < t <= until. When both are one
    stream (`spec.same`), pass the same pieces twice: both orders come out, and no object with itself. Not `both`: of a
    symmetric join only the order in which the left key is the smaller. `known`: of the pieces of each side, the times
    that they may be asked for, from the first and until before the second.

    A probability is taken over all times after `since`, also those asked for before: it depends on the pieces alone. If
    there is more to come after `until` (not `final`), what reaches it has the probability 0 until its end is known."""
    sides = build_sides(left, right, spec)
    one, other = sides
    width = len(other.keys)
    blocks = _look(
        sides,
        spec,
        Times(after, until, since, final, known),
        (one.key, other.key),
        (len(one.keys), width),
        nothing_carried(),
        ALWAYS,
        threads,
    )
    whole = joined_blocks(blocks)
    matches = Matches(
        one.keys[whole.codes[:, 0]],
        other.keys[whole.codes[:, 1]],
        whole.start,
        whole.end,
        whole.start_open,
        whole.end_open,
        whole.probability,
    )
    return _both_orders(matches) if spec.symmetric and both else matches


def join_on(
    left: Pieces,
    right: Pieces,
    spec: JoinSpec,
    times: Times,
    carried: Carried,
    counts: tuple[int, int],
    threads: int = 1,
) -> list[United]:
    """The same from one step to the next: with intervals that were open when time stood at `times.after`, each pair in
    one of the blocks. Keys are codes, `counts` of them on each side; of a symmetric join each pair has the smaller
    first."""
    sides = build_sides(left, right, spec)
    codes = sides[0].keys[sides[0].key], sides[1].keys[sides[1].key]
    moment = FOREVER if times.until is None else times.until
    return _look(sides, spec, times, codes, counts, carried, moment, threads)


def _look(
    sides: tuple[Side, Side],
    spec: JoinSpec,
    times: Times,
    codes: tuple[Ints, Ints],
    counts: tuple[int, int],
    carried: Carried,
    moment: int,
    threads: int,
) -> list[United]:
    """Shares of the left's objects are dealt with apart from each other, from the index to the last interval."""
    search = _search(sides, spec, times, codes)
    cuts = search.cuts()
    open_rows = _by_share(carried, cuts, counts[0])
    edges: list[int | None] = [None, *cuts.tolist(), None]

    def look(share: int) -> United:
        pairs = search.pairs(edges[share], edges[share + 1])
        found = _one_below_the_other(list(evaluate_pairs(sides, spec, times, pairs)))
        return unite_pairs((found.whole, found.parts, found.opens), codes, counts[1], carried, open_rows[share], moment)

    shares = range(len(edges) - 1)
    if threads == 1 or len(shares) == 1:
        return [look(share) for share in shares]
    with ThreadPoolExecutor(threads, thread_name_prefix="presage-pairs") as pool:
        return list(pool.map(look, shares))


def _by_share(carried: Carried, cuts: Ints, codes: int) -> list[Ints]:
    """The rows that are carried, by the share of their left object."""
    if not len(cuts):
        return [np.arange(len(carried.start))]
    # Numbers this small are sorted by counting.
    share = np.searchsorted(cuts, np.arange(codes), side="right").astype(np.min_scalar_type(len(cuts)))
    share = share[carried.codes[:, 0]]
    order = np.argsort(share, kind="stable")
    return np.split(order, np.cumsum(np.bincount(share, minlength=len(cuts) + 1))[:-1])


def _one_below_the_other(blocks: list[Found]) -> Found:
    if len(blocks) == 1:
        return blocks[0]
    return Found(
        np.concatenate([np.empty((0, 5), np.int64), *(block.whole for block in blocks)]),
        np.concatenate([np.empty((0, 3)), *(block.parts for block in blocks)]),
        np.concatenate([np.empty((0, 2), np.bool_), *(block.opens for block in blocks)]),
    )


def join_with_boundary(
    left: Pieces, right: Pieces, spec: JoinSpec, after: int | None = None, until: int | None = None
) -> tuple[Matches, Polygons]:
    """The same rows, and the polygons of (t_a, t_b) that each of them comes from: one for each pair of pieces and each
    choice of strips. They hold what the terms allow up to `until`; WITH PROBABILITY and `after` leave them as they are.
    """
    # Both orders are evaluated: polygons of (b, a) are those of (a, b) turned, and rows must name theirs.
    sides, times = build_sides(left, right, spec), Times(after, until)
    blocks = list(evaluate_pairs(sides, spec, times, _every_order(sides, spec, times)))
    found = _one_below_the_other(blocks)
    rows, row = merge(as_intervals(sides, found))
    # The parts of one region that trimming has left belong to one polygon.
    distinct = np.unique(np.column_stack([row, found.whole[:, [LEFT, RIGHT, CHOICE]]]), axis=0)
    terms, constants = _term_arrays(spec.terms)
    one, other = sides
    starts, t_a, t_b = clip(
        distinct[:, 1],
        distinct[:, 2],
        distinct[:, 3],
        one.start,
        one.ends,
        one.lines,
        other.start,
        other.ends,
        other.lines,
        terms,
        constants,
        spec.window / 1e6,
        spec.probability or trimmed_at(spec.at_least)[0] >= 0,
        FOREVER if until is None else until,
    )
    polygons = Polygons(distinct[:, 0].copy(), one.piece[distinct[:, 1]], other.piece[distinct[:, 2]], starts, t_a, t_b)
    return _as_matches(sides, rows), polygons


def _every_order(sides: tuple[Side, Side], spec: JoinSpec, times: Times) -> Iterator[tuple[Ints, Ints]]:
    for a, b in _search(sides, spec, times, (sides[0].key, sides[1].key)).pairs():
        yield a, b
        if spec.symmetric:
            yield b, a


def build_sides(left: Pieces, right: Pieces, spec: JoinSpec) -> tuple[Side, Side]:
    """What passes the value terms of each side."""
    one = build_side(left, tuple(term.left for term in spec.terms), spec.left)
    if spec.symmetric:
        return one, one
    return one, build_side(right, tuple(term.right for term in spec.terms), spec.right)


def evaluate_pairs(
    sides: tuple[Side, Side], spec: JoinSpec, times: Times, pairs: Iterable[tuple[Ints, Ints]]
) -> Iterator[Found]:
    """Intervals of pairs of segments, block by block. `pairs`: which to look at."""
    ask = ask_of(spec)
    if ask.p > 1:
        return
    chances = spec.probability or spec.at_least is not None
    shared = groups_of(spec.terms, spec.left, spec.right) if chances else groups_of((), ())
    terms = read_only(Terms(*_term_arrays(spec.terms), *shared))
    left, right = (
        read_only(SideArrays(side.start, side.ends, side.lines, side.margins, side.never, known))
        for side, known in zip(sides, _asked(sides, None, None, times.known), strict=True)
    )
    period = Period(
        ALWAYS if times.after is None else times.after,
        FOREVER if times.until is None else times.until,
        ALWAYS if times.since is None else times.since,
        times.final or times.until is None,
    )
    for a, b in pairs:
        begin = 0
        while begin < len(a):
            whole, parts, opens, begin = evaluate(a, b, begin, left, right, terms, spec.window / 1e6, period, ask)
            yield Found(whole, parts, opens)


def _search(sides: tuple[Side, Side], spec: JoinSpec, times: Times, keys: tuple[Ints, Ints]) -> Search:
    one, other = sides
    origin = origin_of(one.start, other.start)
    # Times are exact as floats, and what is no bound stays far away.
    one_asked, other_asked = (
        tuple((x - float(origin)).T) for x in _asked(sides, times.after, times.until, times.known)
    )
    left, right = build_boxes(one, spec, origin, one_asked, True), build_boxes(other, spec, origin, other_asked, False)
    return Search(left, right, *keys, pairing_of(spec))


def _asked(sides: tuple[Side, Side], after: int | None, until: int | None, known: Known) -> tuple[Ints, Ints]:
    """Of the segments of each side, the times that may be asked for."""
    one, other = (times_asked(side.piece, after, until, own) for side, own in zip(sides, known, strict=True))
    return one, other


def pairing_of(spec: JoinSpec) -> int:
    """Which keys may meet, see `candidates`."""
    return RISING if spec.symmetric else DIFFERENT if spec.same else ANY


def as_intervals(sides: tuple[Side, Side], found: Found) -> Intervals:
    """A group for each pair of keys."""
    whole, parts, opens = found.whole, found.parts, found.opens
    group = sides[0].key[whole[:, LEFT]] * max(1, len(sides[1].keys)) + sides[1].key[whole[:, RIGHT]]
    return Intervals(
        group,
        whole[:, FROM].copy(),
        whole[:, TO].copy(),
        parts[:, 0].copy(),
        parts[:, 1].copy(),
        opens[:, 0].copy(),
        opens[:, 1].copy(),
        parts[:, 2].copy(),
    )


def _as_matches(sides: tuple[Side, Side], rows: Intervals) -> Matches:
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
    """The rows and the same with the keys exchanged, by keys and time."""
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


def _term_arrays(terms: tuple[JoinTerm, ...]) -> tuple[Ints, Floats]:
    """For the loops: a row (left, right, comparator, mode) for each term, and the constants."""
    rows = [(t.left, t.right, t.comparator, t.mode) for t in terms]
    return np.array(rows, np.int64).reshape(-1, 4), np.array([t.constant for t in terms], np.float64)
