"""Window joins worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from presage.operators.prediction.kernel.index.boxes import Boxes
from presage.operators.prediction.kernel.index.candidates import ANY, candidates
from presage.operators.prediction.kernel.index.grid import CROWD, count_cells, size_cells
from presage.operators.prediction.kernel.join import Matches, join, join_with_boundary
from presage.operators.prediction.kernel.pieces import Pieces, build_pieces
from presage.operators.prediction.kernel.spec import AtLeast, Comparator, JoinSpec, JoinTerm, Mode

SECOND = 1_000_000
LE, LT, GT, GE, NE, EQ = Comparator


def moving(key: int, value: float, rate: float, threshold: float = 0.0, at: int = 0, period: int = 30) -> Pieces:
    column = np.ones((1, 1))
    return build_pieces(
        np.array([key]), np.array([at]), value * column, rate * column, threshold * column, period * SECOND
    )


def spans(matches: Matches) -> list[tuple[float, float, bool, bool]]:
    columns = (matches.valid_from / SECOND, matches.valid_to / SECOND, matches.from_open, matches.to_open)
    return [tuple(row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def close(comparator: Comparator, constant: float, window: float = 0, mode: Mode = Mode.PLAIN) -> JoinSpec:
    return JoinSpec((JoinTerm(0, 0, comparator, constant, mode),), int(window * SECOND))


def test_the_example_of_the_paper_matches_from_the_later_of_its_two_times_on() -> None:
    # tp1 = t and tp2 = 2t − 3 with w = 4 and K = 1: tp1(0) meets tp2(1), at 1 and no sooner.
    assert spans(join(moving(1, 0, 1), moving(2, -3, 2), close(LE, 1, 4))) == [(1.0, 12.0, False, False)]


@pytest.mark.parametrize(
    ("comparator", "expected"),
    [
        (LE, [(2.0, 4.0, False, False)]),
        (LT, [(2.0, 4.0, True, True)]),
        (EQ, [(2.0, 2.0, False, False), (4.0, 4.0, False, False)]),
        (NE, [(0.0, 2.0, False, True), (2.0, 4.0, True, True), (4.0, 30.0, True, False)]),
        (GT, [(0.0, 2.0, False, True), (4.0, 30.0, True, False)]),
        (GE, [(0.0, 2.0, False, False), (4.0, 30.0, False, False)]),
    ],
)
def test_all_comparators_without_a_window(comparator: Comparator, expected: list[tuple[float, ...]]) -> None:
    assert spans(join(moving(1, 0, 1), moving(2, -3, 2), close(comparator, 1))) == expected


def test_a_negative_constant_is_never_reached_and_always_passed() -> None:
    pieces = moving(1, 0, 1), moving(2, 0, 0)
    assert len(join(*pieces, close(LE, -1))) == 0
    assert spans(join(*pieces, close(GT, -1))) == [(0.0, 30.0, False, False)]


def test_touching_pieces_make_one_row() -> None:
    value, none = np.zeros((3, 1)), np.zeros((3, 1))
    left = build_pieces(np.ones(3, np.int64), np.array([0, 5, 9]) * SECOND, value, none, none, 10 * SECOND)
    assert spans(join(left, moving(2, 0, 0), close(EQ, 0))) == [(0.0, 19.0, False, False)]


def test_parallel_functions_match_all_the_time_or_never() -> None:
    assert spans(join(moving(1, 0.1, 0.3), moving(2, 0.1, 0.3), close(EQ, 0))) == [(0.0, 30.0, False, False)]
    assert len(join(moving(1, 0, 1), moving(2, 2, 1), close(LE, 1))) == 0
    # Parallel in the values, but with a window one may catch up with the other's past.
    assert spans(join(moving(1, 0, 1), moving(2, 2, 1), close(LE, 1, 1))) == [(1.0, 30.0, False, False)]


def test_times_far_from_zero_lose_no_microsecond() -> None:
    at = 4_000_000_000_000_007
    pieces = moving(1, 0, 1, at=at), moving(2, -3, 2, at=at)
    matches = join(*pieces, close(LE, 1))
    assert (matches.valid_from.tolist(), matches.valid_to.tolist()) == ([at + 2 * SECOND], [at + 4 * SECOND])


def test_huge_and_tiny_numbers_break_nothing() -> None:
    for value, rate in ((1e300, 1e300), (1e-300, 1e-300), (-1e308, 1e308), (5e-324, 0.0)):
        for comparator in Comparator:
            there = join(moving(1, value, rate), moving(2, 0, 1), close(comparator, 1, 1))
            back = join(moving(2, 0, 1), moving(1, value, rate), close(comparator, 1, 1))
            assert spans(there) == spans(back)


def test_may_and_must_take_the_thresholds_of_both() -> None:
    pieces = moving(1, 0, 1, 0.5), moving(2, 0, 0, 1.5)
    assert spans(join(*pieces, close(LE, 3, mode=Mode.MAY))) == [(0.0, 5.0, False, False)]
    assert spans(join(*pieces, close(LE, 3, mode=Mode.MUST))) == [(0.0, 1.0, False, False)]
    assert spans(join(*pieces, close(GT, 3, mode=Mode.MUST))) == [(5.0, 30.0, True, False)]


def test_a_row_says_how_likely_it_is_at_best_and_is_cut_where_it_is_not_likely_enough() -> None:
    # Two errors in ±1 and K = 1: 0.75 where the predictions are equal, 0.5 − 1/8 … where they are 1 apart.
    pieces = moving(1, 0, 1, 1), moving(2, -3, 2, 1)
    asked = replace(close(LE, 1, mode=Mode.MAY), probability=True)
    matches = join(*pieces, asked)
    assert spans(matches) == [(0.0, 6.0, False, False)]
    assert matches.probability.tolist() == [pytest.approx(0.75, abs=1e-9)]
    trimmed = join(*pieces, replace(asked, at_least=AtLeast(0.5)))
    # At a distance z from 0 to 1 it is 0.75 − z²/4.
    assert spans(trimmed) == [(2.0, 4.0, False, False)]
    assert spans(join(*pieces, replace(asked, at_least=AtLeast(0.5, strict=True)))) == [(2.0, 4.0, True, True)]
    assert len(join(*pieces, replace(asked, at_least=AtLeast(0.8)))) == 0


def test_equality_of_what_is_not_sure_may_be_but_has_no_chance() -> None:
    pieces = moving(1, 0, 1, 1), moving(2, 3, 0, 0)
    asked = replace(close(EQ, 0, mode=Mode.MAY), probability=True)
    matches = join(*pieces, asked)
    assert spans(matches) == [(2.0, 4.0, False, False)]
    assert matches.probability.tolist() == [0.0]
    assert len(join(*pieces, replace(asked, at_least=AtLeast(0.1)))) == 0


def test_a_boundary_is_the_polygon_of_both_times() -> None:
    matches, polygons = join_with_boundary(moving(1, 0, 0, period=2), moving(2, 0, 0, period=2), close(LE, 1, 1))
    corners = set(zip((polygons.t_a / SECOND).tolist(), (polygons.t_b / SECOND).tolist(), strict=True))
    assert corners == {(0, 0), (1, 0), (2, 1), (2, 2), (1, 2), (0, 1)}
    assert polygons.row.tolist() == [0]
    assert len(matches) == 1


def random_boxes(random: np.random.Generator, count: int, axes: int) -> Boxes:
    low = random.uniform(0, 100, (count, axes))
    # A few reach across everything.
    size = np.where(random.random((count, 1)) < 0.05, 1000.0, random.uniform(0, 5, (count, axes)))
    return Boxes(low, low + size)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_index_finds_the_boxes_that_overlap_each_pair_once(axes: int) -> None:
    random = np.random.default_rng(axes)
    left, right = random_boxes(random, 300, axes), random_boxes(random, 200, axes)
    found = [pair for a, b in candidates(left, right, np.arange(300), np.arange(200), ANY) for pair in zip(a, b)]  # noqa: B905
    meets = (left.low[:, None] <= right.high[None]) & (right.low[None] <= left.high[:, None])
    expected = list(zip(*np.nonzero(meets.all(axis=2)), strict=True))
    assert sorted(found) == sorted(expected)


def test_a_box_that_would_fill_the_grid_is_kept_out_of_it() -> None:
    random = np.random.default_rng(5)
    boxes = random_boxes(random, 400, 3)
    low = np.vstack([boxes.low, [[0.0, -1e12, -np.inf]]])
    high = np.vstack([boxes.high, [[1.0, 1e12, np.inf]]])
    wide = Boxes(low, high)
    corner, size = size_cells(wide, wide)
    assert count_cells(low, high, corner, size)[-1] > CROWD
    found = [pair for a, b in candidates(wide, wide, np.arange(401), np.arange(401), ANY) for pair in zip(a, b)]  # noqa: B905
    meets = (low[:, None] <= high[None]) & (low[None] <= high[:, None])
    assert sorted(found) == sorted(zip(*np.nonzero(meets.all(axis=2)), strict=True))
