"""Codes of numbers, and of texts that come as a dictionary: those of the texts themselves."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.arrays.columns import taken
from presage.arrays.equality import equality_codes

# Chunks with dictionaries of their own, one of which holds a null and a text twice.
TEXTS = pa.chunked_array(
    [
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.int32()), pa.array(["a", "b", "unused"])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), pa.array(["c", None, "a", "c"])),
        pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string())),
    ]
)


def test_texts_of_a_dictionary_are_numbered_as_they_appear() -> None:
    codes, count = equality_codes([TEXTS], len(TEXTS))
    assert (codes.tolist(), count) == ([0, 1, 2, 0, 3, 2, 1, 3], 4)
    plain = TEXTS.cast(pa.string())
    assert codes.tolist() == equality_codes([plain], len(plain))[0].tolist()
    numbers = pa.chunked_array([pa.array([1, 1, 1, 2, 1, 1, 1, 1])])
    assert equality_codes([TEXTS, numbers], 8)[0].tolist() == equality_codes([plain, numbers], 8)[0].tolist()


@pytest.mark.parametrize("texts", [TEXTS.slice(0, 0), pa.chunked_array([], TEXTS.type)])
def test_no_texts_have_no_codes(texts: pa.ChunkedArray) -> None:
    codes, count = equality_codes([texts], 0)
    assert (codes.tolist(), count) == ([], 0)


@pytest.mark.parametrize("texts", [TEXTS, TEXTS.cast(pa.string())])
def test_rows_that_are_taken_have_the_plain_type(texts: pa.ChunkedArray) -> None:
    rows = taken(pa.table({"x": texts}), "x", equality_codes([texts], 8)[0][:4])
    assert rows.type == pa.string()
    assert rows.to_pylist() == ["b", "a", None, "b"]


@given(
    st.lists(st.lists(st.none() | st.integers(-3, 3) | st.sampled_from((-(2**63), 2**63 - 1, 2**40))), max_size=3),
    st.sampled_from((pa.int64(), pa.int32(), pa.timestamp("us"))),
)
def test_numbers_are_numbered_as_they_appear_close_together_or_far_apart(chunks: list[list[Any]], kind: Any) -> None:
    small = kind == pa.int32()
    chunks = [[v for v in chunk if not small or v is None or abs(v) < 2**31] for chunk in chunks]
    column = pa.chunked_array([pa.array(chunk, pa.int64()).cast(kind) for chunk in chunks], kind)
    values = [v for chunk in chunks for v in chunk]
    codes, count = equality_codes([column], len(values))
    known: dict[Any, int] = {}
    assert codes.tolist() == [known.setdefault(v, len(known)) for v in values]
    assert count == len(known)
