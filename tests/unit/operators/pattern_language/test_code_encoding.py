"""Columns as numbers: what each type becomes, and what the ranks of texts promise."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.programs.code import FLOAT, INT, TEXT, Code
from presage.arrays.programs.encoding import encode


def code(*columns: tuple[str, int], texts: tuple[str, ...] = ()) -> Code:
    return Code(columns=columns, texts=texts)


def test_truth_values_integers_and_times_become_integers():
    table = pa.table(
        {
            "b": [True, None, False],
            "i": pa.array([None, -5, 7], pa.int32()),
            "at": pa.array([1_000_001, 0, None], pa.timestamp("us", "UTC")),
            "micros": pa.array([3, 4, None], pa.int64()),
            "ms": pa.array([None, 2, 3], pa.timestamp("ms")),
        }
    )
    found = encode(table, code(*[(name, INT) for name in table.column_names]))
    assert found.ints.tolist() == [[1, 0, 0], [0, -5, 7], [1_000_001, 0, 0], [3, 4, 0], [0, 2000, 3000]]
    assert found.int_valid.tolist() == [[c is not None for c in table[n].to_pylist()] for n in table.column_names]


def test_doubles_have_lines_of_their_own():
    table = pa.table({"d": [1.5, None, float("nan")], "i": [1, 2, 3], "f": pa.array([4, None, 5], pa.int64())})
    found = encode(table, code(("d", FLOAT), ("i", INT), ("f", FLOAT)))
    np.testing.assert_array_equal(found.floats, [[1.5, 0.0, float("nan")], [4.0, 0.0, 5.0]])
    assert found.float_valid.tolist() == [[True, False, True], [True, False, True]]
    assert found.ints.tolist() == [[1, 2, 3]]


def test_texts_of_all_columns_and_programs_are_ranked_together_by_their_bytes():
    # In UTF-16 the last of these would come before the one ahead of it.
    ordered = ["", "\x00", "B", "a", "aa", "é", "\uffff", "\U0001f600"]
    table = pa.table({"s": [ordered[5], None, ordered[0], ordered[7]], "u": [ordered[3], ordered[5], None, ordered[6]]})
    found = encode(table, code(("s", TEXT), ("u", TEXT), texts=(ordered[2], ordered[1], ordered[4], ordered[5])))
    assert found.ints.tolist() == [[5, 0, 0, 7], [3, 5, 0, 6]]
    assert found.int_valid.tolist() == [[True, False, True, True], [True, True, False, True]]
    assert found.texts.tolist() == [2, 1, 4, 5]


def test_chunks_and_dictionaries_make_no_difference():
    texts, numbers = ["x", None, "a", "x", "b"], [5, 1, None, 7, 5]
    plain = pa.table({"s": texts, "n": numbers})
    chunked = pa.table(
        {
            "s": pa.chunked_array([pa.array(texts[:2]).dictionary_encode(), pa.array(texts[2:]).dictionary_encode()]),
            "n": pa.chunked_array([numbers[:1], numbers[1:3], [], numbers[3:]], pa.int64()).dictionary_encode(),
        }
    )
    # A null may also be a value of the dictionary.
    odd = pa.table({"s": pa.DictionaryArray.from_arrays([0, 1, 2, 0, 3], ["x", None, "a", "b"]), "n": numbers})
    wanted = encode(plain, code(("s", TEXT), ("n", INT)))
    for table in (chunked, odd):
        found = encode(table, code(("s", TEXT), ("n", INT)))
        np.testing.assert_array_equal(found.ints, wanted.ints)
        np.testing.assert_array_equal(found.int_valid, wanted.int_valid)


def test_a_column_that_the_table_does_not_have_is_null():
    table = pa.table({"there": [1, 2], "nothing": pa.nulls(2)})
    found = encode(table, code(("i", INT), ("s", TEXT), ("d", FLOAT), ("nothing", TEXT), ("there", INT)))
    assert found.int_valid.tolist() == [[False] * 2] * 3 + [[True] * 2]
    assert found.float_valid.tolist() == [[False] * 2]


def test_without_rows_or_columns_the_shapes_stay():
    found = encode(pa.table({"s": pa.array([], pa.string())}), code(("s", TEXT), ("d", FLOAT), texts=("b", "a")))
    assert (found.ints.shape, found.floats.shape, found.texts.tolist()) == ((1, 0), (1, 0), [1, 0])
    empty = encode(pa.table({"s": ["a"]}), code())
    assert (empty.ints.shape, empty.int_valid.shape, empty.floats.shape, empty.texts.shape) == ((0, 1),) * 3 + ((0,),)


def test_the_arrays_may_be_written_to():
    found = encode(pa.table({"i": [1], "d": [1.0]}), code(("i", INT), ("d", FLOAT)))
    for array in (found.ints, found.int_valid, found.floats, found.float_valid, found.texts):
        assert array.flags.writeable
        assert array.flags.c_contiguous
