"""Laws of predicted streams: the kernel agrees with its slow twin, and with itself turned round or in parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.prediction.kernel.join import join
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.spec import ValueSpec
from presage.operators.prediction.kernel.values import validity
from property.prediction_worlds import (
    QUARTER,
    Row,
    all_rows,
    joins,
    kernel_join,
    kernel_values,
    periods,
    pieces_of,
    rows_of,
    turned,
    updates,
    value_terms,
)
from reference.predictions import SECOND, Join, Update, holds_at, matches_at, matches_on_grid

# A thousandth of a microsecond: less than any two bounds of these worlds are apart.
TINY = Fraction(1, 1000)


def exactly(micros: int) -> Fraction:
    """The fraction that was rounded: bounds of these worlds have small denominators."""
    return Fraction(micros, SECOND).limit_denominator(500) * SECOND


def check_rows(rows: list[Row], truth: Callable[[Fraction | int], bool]) -> None:
    """Rows are the maximal intervals of a set of times, to the openness of their ends."""
    ends = {end for row in rows for end in row[:2]}
    for low, high, low_open, high_open in rows:
        first, last = exactly(low), exactly(high)
        if low == high:
            assert not low_open
            assert not high_open
            assert truth(first)
        else:
            assert truth(first) is not low_open
            assert truth(last) is not high_open
            assert truth(first + TINY)
            assert truth(last - TINY)
            assert truth((first + last) / 2)
        touched = [row for row in rows if high == row[0] and row[:2] != (low, high)]
        for after in touched:
            assert high_open
            assert after[2]
        if not touched:
            assert not truth(last + TINY)
        if not any(row[1] == low and row[:2] != (low, high) for row in rows):
            assert not truth(first - TINY)
    for t in range(-QUARTER, 14 * SECOND, QUARTER // 2):
        if all(abs(t - end) > 1 for end in ends):
            assert truth(t) is any(low < t < high for low, high, _, _ in rows)


@settings(max_examples=50)
@given(joins(), updates((1,)), updates((2,)), periods)
def test_the_rows_of_a_join_are_the_maximal_intervals_of_the_definition(
    asked: Join, left: list[Update], right: list[Update], period: int
) -> None:
    rows = rows_of(join(pieces_of(left, period), pieces_of(right, period), kernel_join(asked)), 1, 2)
    check_rows(rows, lambda t: matches_at(asked, left, 1, right, 2, period, t))


@settings(max_examples=15)
@given(joins(), updates((1,), 3), updates((2,), 3), periods)
def test_whatever_two_times_of_a_dense_grid_match_lies_in_a_row(
    asked: Join, left: list[Update], right: list[Update], period: int
) -> None:
    rows = rows_of(join(pieces_of(left, period), pieces_of(right, period), kernel_join(asked)), 1, 2)
    for t in matches_on_grid(asked, left, 1, right, 2, period, range(0, 10 * SECOND, QUARTER)):
        assert any(low <= t <= high for low, high, _, _ in rows)


@given(st.lists(value_terms(), min_size=1, max_size=3).map(tuple), updates((1, 2)), periods)
def test_the_rows_of_value_terms_are_the_maximal_intervals_of_the_definition(terms, stream, period) -> None:  # type: ignore[no-untyped-def]
    found = validity(pieces_of(stream, period), ValueSpec(kernel_values(terms)))
    for key in (1, 2):
        chosen = found.key == key
        columns = (found.valid_from, found.valid_to, found.from_open, found.to_open)
        rows = [tuple(row) for row in zip(*(column[chosen].tolist() for column in columns), strict=True)]
        check_rows(rows, lambda t, key=key: holds_at(terms, stream, key, t, period))  # type: ignore[misc]


@given(joins(), updates((1, 2)), updates((2, 3)), periods)
def test_exchanging_the_sides_exchanges_the_keys_and_nothing_else(
    asked: Join, left: list[Update], right: list[Update], period: int
) -> None:
    spec = kernel_join(asked)
    one, other = pieces_of(left, period), pieces_of(right, period)
    there, back = join(one, other, spec), join(other, one, turned(spec))
    assert all_rows(there) == sorted((b, a, *rest) for a, b, *rest in all_rows(back))


@given(joins(), updates((1, 2, 3), 8), periods)
def test_a_stream_joined_with_itself_is_its_join_with_a_copy_without_the_objects_themselves(
    asked: Join, stream: list[Update], period: int
) -> None:
    # Not symmetric, symmetric by chance, and symmetric for certain.
    alike = Join(tuple(replace(t, right=t.left) for t in asked.terms), asked.window, asked.left, asked.left)
    pieces = pieces_of(stream, period)
    for question in (asked, alike):
        with_itself = join(pieces, pieces, kernel_join(question, same=True))
        with_copy = join(pieces, pieces, kernel_join(question))
        assert all_rows(with_itself) == [row for row in all_rows(with_copy) if row[0] != row[1]]


@given(joins(), updates((1, 2), 8), updates((3, 4), 8), periods, st.integers(0, 28))
def test_what_was_in_force_up_to_a_moment_decides_what_matches_up_to_it(
    asked: Join, left: list[Update], right: list[Update], period: int, now: int
) -> None:
    # Later updates end pieces; up to now nothing may change, and not by a microsecond.
    at, spec = now * QUARTER, kernel_join(asked)
    known = [[u for u in stream if u.at <= at] for stream in (left, right)]
    if all(known):
        then = join(*(pieces_of(stream, period) for stream in known), spec, Times(until=at))
        later = join(pieces_of(left, period), pieces_of(right, period), spec, Times(until=at))
        assert all_rows(then) == all_rows(later)


@given(joins(), updates((1, 2), 8), updates((3, 4), 8), periods, st.lists(st.integers(1, 79), max_size=3, unique=True))
def test_the_parts_asked_for_one_after_the_other_make_up_the_whole(
    asked: Join, left: list[Update], right: list[Update], period: int, cuts: list[int]
) -> None:
    spec = kernel_join(asked)
    sides = pieces_of(left, period), pieces_of(right, period)
    places = [None, *(cut * SECOND // 6 for cut in sorted(cuts)), None]
    parts = [join(*sides, spec, Times(*span)) for span in itertools.pairwise(places)]
    for a in (1, 2):
        for b in (3, 4):
            glued: list[Row] = []
            for row in [row for part in parts for row in rows_of(part, a, b)]:
                if glued and glued[-1][1] == row[0] and not (glued[-1][3] and row[2]):
                    glued[-1] = (glued[-1][0], row[1], glued[-1][2], row[3])
                else:
                    glued.append(row)
            assert glued == rows_of(join(*sides, spec), a, b)
