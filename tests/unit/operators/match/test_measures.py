"""MEASURES over matches that are given: navigation, labels, aggregates, rows without a match."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.arrays.programs.code import Code
from presage.arrays.programs.encoding import encode
from presage.errors import PresageError
from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.measures.columns import gather
from presage.operators.match.kernel.spec import Automaton, Fold, MatchSpec, Measure, Place

VARIABLES = "ABC"


def matches_of(*texts: str, all_rows: bool = True, unmatched: int = 0) -> Matches:
    """A match for each text, one label a character, one after the other in one partition; then unmatched rows."""
    lengths = np.array([len(t) for t in texts], np.int64)
    starts = np.cumsum(lengths) - lengths
    out: list[tuple[int, int, int]] = []
    for m, text in enumerate(texts):
        first = int(starts[m])
        shown = range(1, len(text) + 1) if text else range(1)
        out += [(m, first + max(at - 1, 0), at) for at in (shown if all_rows else shown[-1:])]
    rows = int(lengths.sum())
    out += [(-1, rows + i, 0) for i in range(unmatched)]
    return Matches(
        starts,
        lengths,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([VARIABLES.index(label) for text in texts for label in text], np.int64),
        np.arange(1, len(texts) + 1),
        np.zeros(len(texts), np.int64),
        np.full(len(texts), rows + unmatched, np.int64),
        *(np.array([o[k] for o in out], np.int64) for k in range(3)),
    )


def shown(table: pa.Table, matches: Matches, measure: Measure) -> list[Any]:
    spec = MatchSpec(Automaton(tuple(VARIABLES), (), (), (), ()), (), (measure,))
    answer: list[Any] = gather(spec, table, matches, encode(table, Code()))[measure.output].to_pylist()
    return answer


def at_place(table: pa.Table, matches: Matches, place: Place, column: str | None = "value") -> list[Any]:
    return shown(table, matches, Measure("m", place, column))


def folded(table: pa.Table, matches: Matches, function: str, *columns: str, **options: Any) -> list[Any]:
    return shown(table, matches, Measure("m", fold=Fold(function, columns=columns, **options)))


def values(*numbers: float | None) -> pa.Table:
    return pa.table({"value": pa.array(numbers)})


FALL_AND_RISE = values(90, 80, 70, 100, 200)
A, B, C = (0,), (1,), (2,)


# -- places and labels --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "running", "final"),
    [
        (None, [90, 80, 70, 100, 200], 200),
        (A, [90, 90, 90, 90, 90], 90),
        (B, [None, 80, 70, 70, 70], 70),
        (C, [None, None, None, 100, 200], 200),
        ((0, 2), [90, 90, 90, 100, 200], 200),
    ],
)
def test_running_last_sees_the_rows_so_far_and_final_last_all_of_them(
    labels: tuple[int, ...] | None, running: list[int], final: int
) -> None:
    matches = matches_of("ABBCC")
    assert at_place(FALL_AND_RISE, matches, Place(labels)) == running
    assert at_place(FALL_AND_RISE, matches, Place(labels, final=True)) == [final] * 5


def test_offsets_count_rows_of_the_label_and_stay_in_the_match() -> None:
    matches = matches_of("ABAB")
    assert at_place(values(1, 2, 3, 4), matches, Place(B, offset=1)) == [None, None, None, 2]
    assert at_place(values(1, 2, 3, 4), matches, Place(A, first=True, offset=1)) == [None, None, 3, 3]
    assert at_place(values(1, 2, 3, 4), matches, Place(first=True, offset=9, final=True)) == [None] * 4


def test_prev_and_next_leave_the_match_but_not_the_partition() -> None:
    matches = matches_of("A", "AA", unmatched=1)
    assert at_place(values(1, 2, 3, 4), matches, Place(moved=-1)) == [None, 1, 2, None]
    assert at_place(values(1, 2, 3, 4), matches, Place(moved=1)) == [2, 3, 4, None]
    assert at_place(values(1, 2, 3, 4), matches, Place(first=True, moved=10)) == [None] * 4


def test_one_row_per_match_looks_back_from_the_last_row() -> None:
    matches = matches_of("AB", "ABB", all_rows=False)
    assert at_place(values(1, 2, 3, 4, 5), matches, Place(B, first=True)) == [2, 4]
    assert at_place(values(1, 2, 3, 4, 5), matches, Place(current=True)) == [2, 5]


def test_the_classifier_is_the_label_that_can_be_seen_from_the_row() -> None:
    matches = matches_of("ABBC")
    assert at_place(FALL_AND_RISE, matches, Place(), None) == ["A", "B", "B", "C"]
    assert at_place(FALL_AND_RISE, matches, Place(final=True), None) == ["C"] * 4
    assert at_place(FALL_AND_RISE, matches, Place(moved=-1), None) == [None, "A", "B", "B"]
    # The match is complete: its labels are known beyond the row of a running measure, and end with it.
    assert at_place(FALL_AND_RISE, matches, Place(moved=1), None) == ["B", "B", "C", None]
    assert at_place(FALL_AND_RISE, matches, Place(current=True, moved=1, final=True), None) == ["B", "B", "C", None]


# -- rows without a match, matches without rows ---------------------------------------------------------


def test_an_empty_match_has_its_number_and_counts_of_zero() -> None:
    matches = matches_of("A", "")
    table = values(1, 2)
    assert shown(table, matches, Measure("m", match_number=True)) == [1, 2]
    assert folded(table, matches, "count") == [1, 0]
    assert folded(table, matches, "count", "value") == [1, 0]
    assert folded(table, matches, "sum", "value") == [1, None]
    assert folded(table, matches, "array_agg", "value") == [[1], None]
    assert at_place(table, matches, Place()) == [1, None]
    assert at_place(table, matches, Place(current=True)) == [1, None]
    assert at_place(table, matches, Place(), None) == ["A", None]


def test_an_unmatched_row_has_nulls_alone() -> None:
    matches = matches_of("A", unmatched=1)
    table = values(1, 2)
    assert shown(table, matches, Measure("m", match_number=True)) == [1, None]
    assert folded(table, matches, "count") == [1, None]
    assert folded(table, matches, "array_agg", "value") == [[1], None]
    assert at_place(table, matches, Place(current=True)) == [1, None]


def test_a_count_over_a_label_that_no_row_has_is_zero_and_the_rest_is_null() -> None:
    matches = matches_of("AA")
    assert folded(values(1, 2), matches, "count", labels=B) == [0, 0]
    assert folded(values(1, 2), matches, "avg", "value", labels=B) == [None, None]


def test_a_match_that_timed_out_has_no_number() -> None:
    matches = matches_of("A")
    matches.numbers[0] = 0
    assert shown(values(1), matches, Measure("m", match_number=True)) == [None]


@pytest.mark.parametrize("function", ["count", "sum", "min", "median", "stddev", "first", "array_agg"])
def test_no_matches_make_no_rows(function: str) -> None:
    assert folded(values(1.5, 2.5), matches_of(), function, "value") == []
    assert folded(values(1.5, 2.5), matches_of(unmatched=2), function, "value") == [None, None]


# -- aggregates -----------------------------------------------------------------------------------------


def test_running_sums_start_anew_with_each_match() -> None:
    matches = matches_of("AAA", "AB")
    assert folded(values(1, 2, 4, 8, 16), matches, "sum", "value") == [1, 3, 7, 8, 24]
    assert folded(values(1, 2, 4, 8, 16), matches, "sum", "value", final=True) == [7, 7, 7, 24, 24]
    assert folded(values(1, 2, 4, 8, 16), matches, "sum", "value", labels=A) == [1, 3, 7, 8, 8]


def test_overlapping_matches_are_added_up_each_for_itself() -> None:
    matches = matches_of("AA", "AA")
    matches.starts[1] = 1
    assert folded(values(1, 2, 4), matches, "sum", "value") == [1, 3, 2, 6]


def test_infinity_and_nan_do_not_reach_the_next_match() -> None:
    matches = matches_of("AA", "AA")
    table = values(float("inf"), float("nan"), 1.0, 2.0)
    for function, answer in (("sum", [1.0, 3.0]), ("avg", [1.0, 1.5]), ("stddev", [None, 0.5**0.5])):
        assert folded(table, matches, function, "value")[2:] == answer


def test_each_label_can_have_an_argument_of_its_own() -> None:
    table = pa.table({"x": ["aaX", "bbX", "ccX"], "y": ["aaY", "bbY", "ccY"], "z": ["aaZ", "bbZ", "ccZ"]})
    matches = matches_of("ABC")
    assert folded(table, matches, "array_agg", "x", "y", "z") == [["aaX"], ["aaX", "bbY"], ["aaX", "bbY", "ccZ"]]
    assert folded(table, matches, "array_agg", "z", "x", labels=(2, 0), final=True) == [["aaX", "ccZ"]] * 3


def test_max_by_takes_the_earliest_of_equal_keys_and_no_null_key() -> None:
    table = pa.table({"value": ["p", "q", None, "s", "t"], "key": [1, 5, 5, None, 7]})
    matches = matches_of("AAAAB")
    assert folded(table, matches, "max_by", "value", by=("key",), labels=A, final=True) == ["q"] * 5
    assert folded(table, matches, "min_by", "value", by=("key",)) == ["p"] * 5


def test_both_zeros_are_equal_keys_and_every_nan_is_the_greatest() -> None:
    matches = matches_of("AAA", all_rows=False)
    zeros = pa.table({"value": [1, 2, 3], "key": [-0.0, 0.0, -1.0]})
    assert folded(zeros, matches, "max_by", "value", by=("key",)) == [1]
    # The bits of a NaN can have the sign of a negative number.
    nans = pa.table({"value": [1, 2, 3], "key": np.array([5.0, np.copysign(np.nan, -1.0), np.inf])})
    assert folded(nans, matches, "max_by", "value", by=("key",)) == [2]
    assert folded(nans, matches, "min_by", "value", by=("key",)) == [1]


def test_nulls_are_values_of_lists_and_of_first_and_last_only() -> None:
    table = values(None, 1, None)
    matches = matches_of("AAA", all_rows=False)
    assert folded(table, matches, "array_agg", "value") == [[None, 1, None]]
    assert folded(table, matches, "first", "value") == [None]
    assert folded(table, matches, "last", "value") == [None]
    assert folded(table, matches, "any_value", "value") == [1]
    assert folded(table, matches, "count", "value") == [1]


def test_distinct_counts_a_value_once_in_each_match() -> None:
    table = values(5, 5, 2, 5, 5)
    matches = matches_of("AAA", "AA")
    assert folded(table, matches, "count", "value", distinct=True) == [1, 1, 2, 1, 1]
    assert folded(table, matches, "sum", "value", distinct=True) == [5, 5, 7, 5, 5]
    assert folded(table, matches, "array_agg", "value", distinct=True, final=True) == [[5, 2]] * 3 + [[5]] * 2


def test_the_median_of_a_running_match_is_that_of_the_rows_so_far() -> None:
    assert folded(values(9, 1, 5, 7), matches_of("AAAA"), "median", "value") == [9.0, 5.0, 5.0, 6.0]


def test_the_median_of_equal_values_is_that_value_however_small() -> None:
    assert folded(values(5e-324, 5e-324), matches_of("AA"), "median", "value") == [5e-324, 5e-324]


# -- limits ---------------------------------------------------------------------------------------------


def test_a_sum_is_exact_to_the_last_digit_of_a_long() -> None:
    table = values(2**63 - 1, 5, -5, -(2**63))
    assert folded(table, matches_of("AAAA"), "sum", "value", labels=A, final=True) == [-1] * 4
    # Only what is shown must fit: on the way it may pass the range.
    assert folded(table, matches_of("AAA", all_rows=False), "sum", "value") == [2**63 - 1]


@pytest.mark.parametrize("numbers", [(2**63 - 1, 1), (-(2**63), -1)])
def test_a_sum_that_leaves_the_range_of_a_long_is_an_error(numbers: tuple[int, int]) -> None:
    with pytest.raises(PresageError, match=r"sum\(A.value\)") as caught:
        folded(values(*numbers), matches_of("AA"), "sum", "value", shown="A.value")
    assert caught.value.code == "ARITHMETIC_OVERFLOW"


def test_lists_that_arrow_cannot_hold_are_refused_before_they_are_made() -> None:
    rows = 70_000  # running lists of 1, 2, 3 … values: more than 2**31 of them
    with pytest.raises(PresageError, match="array_agg") as caught:
        folded(pa.table({"value": np.arange(rows)}), matches_of("A" * rows), "array_agg", "value")
    assert caught.value.code == "LIMIT"


@pytest.mark.parametrize("function", ["sum", "avg", "stddev", "median"])
def test_numbers_are_not_made_of_texts(function: str) -> None:
    with pytest.raises(PresageError) as caught:
        folded(pa.table({"value": ["1"]}), matches_of("A"), function, "value")
    assert caught.value.code == "UNSUPPORTED"


@pytest.mark.parametrize("function", ["min", "max"])
def test_structs_and_arrays_have_no_order(function: str) -> None:
    with pytest.raises(PresageError) as caught:
        folded(pa.table({"value": [[1]]}), matches_of("A"), function, "value")
    assert caught.value.code == "UNSUPPORTED"
