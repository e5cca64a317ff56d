"""Codes of texts that come as a dictionary: those of the texts themselves."""

from __future__ import annotations

import pyarrow as pa
import pytest

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
