"""Marks of keys: equal keys have equal marks however their columns lie in memory, and few others share them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from presage.arrays.equality import equality_codes
from presage.arrays.key_marks import marks_of, rows_with

NANS = [float("nan"), np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]]
STRUCT = pa.struct([("p", pa.float64()), ("q", pa.string())])
KINDS = {
    pa.float64(): st.sampled_from([None, *NANS, 0.0, -0.0, 1.5]),
    pa.string(): st.sampled_from([None, "", "a", "ab", "é"]),
    pa.int32(): st.none() | st.integers(-2, 2),
    pa.bool_(): st.sampled_from([None, True, False]),
    pa.timestamp("us", tz="UTC"): st.none() | st.integers(0, 2),
    pa.null(): st.none(),
    STRUCT: st.none()
    | st.fixed_dictionaries({"p": st.sampled_from([None, 0.0, -0.0]), "q": st.sampled_from([None, ""])}),
    pa.list_(pa.string()): st.sampled_from([None, [], ["a"], ["b"]]),
    pa.map_(pa.string(), pa.int64()): st.sampled_from([None, [], [("a", 1), ("b", 2)], [("b", 2), ("a", 1)]]),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[list[pa.ChunkedArray], int]:
    """Up to three columns, in two pieces of which each is a slice."""
    rows = draw(st.integers(0, 12))
    cut = draw(st.integers(0, rows))
    found = []
    for kind in draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3)):
        values = draw(st.lists(KINDS[kind], min_size=rows, max_size=rows))
        whole = pa.array([None, *values], kind).slice(1)
        found.append(pa.chunked_array([whole.slice(0, cut), whole.slice(cut)], kind))
    return found, rows


@given(columns())
def test_equal_keys_have_equal_marks(drawn: tuple[list[pa.ChunkedArray], int]) -> None:
    keys, rows = drawn
    codes, count = equality_codes(keys, rows)
    marks = marks_of(keys, rows)
    assert all(len(set(marks[codes == code])) == 1 for code in range(count))
    found = rows_with(marks, marks[: rows // 2])
    assert set(np.flatnonzero(np.isin(codes, codes[: rows // 2]))) <= set(found)
    assert list(found) == sorted(found)


def test_texts_have_one_mark_in_every_form_of_text() -> None:
    texts = pa.array(["a", None, "bb", "a", ""])
    forms = [texts, texts.cast(pa.large_string()), texts.dictionary_encode()]
    marks = [marks_of([pa.chunked_array([form])], 5).tolist() for form in forms]
    assert marks[0] == marks[1] == marks[2]


def test_few_keys_are_found_that_were_not_asked_for() -> None:
    for keys in (pa.array(np.arange(100_000)), pa.array(np.arange(100_000) * 4096), pa.array(np.arange(100_000) / 7)):
        marks = marks_of([pa.chunked_array([keys])], len(keys))
        texts = marks_of([pa.chunked_array([keys.cast(pa.string())])], len(keys))
        for found in (marks, texts):
            assert len(np.unique(found)) > 99_900
            assert len(rows_with(found, found[:1_000])) < 1_000 + 0.03 * 100_000
