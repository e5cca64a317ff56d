"""Shapes of what the evaluator takes and gives: lengths, types, encodings, shared parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.columnar.evaluate import Evaluator, supports
from presage.errors import InternalError
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import ArrayOf, DataType, MapOf, StructOf
from presage.plan import expr as e

NESTED: dict[DataType, object] = {
    ArrayOf(t.INT): [1, None],
    MapOf(t.STRING, t.INT): {"a": 1},
    StructOf((("x", t.DOUBLE), ("at", t.TIMESTAMP))): {"x": 1.5, "at": 7},
}
CONSTANTS: dict[DataType, object] = {
    t.INT: 1,
    t.LONG: 2**40,
    t.DOUBLE: 0.5,
    t.BOOLEAN: True,
    t.STRING: "a",
    t.TIMESTAMP: 1_336_381_200_000_000,
    **NESTED,
}


def column(expr: e.Expr, table: pa.Table) -> pa.Array:
    return Evaluator().column(expr, table)


def call(result: DataType, name: str, *args: e.Expr) -> e.FunctionCall:
    return e.FunctionCall(result, name, args)


@pytest.mark.parametrize("rows", [0, 1, 3])
@pytest.mark.parametrize("data_type", [*CONSTANTS, t.NULL], ids=str)
def test_a_constant_is_as_long_as_the_table_and_of_its_type(data_type: DataType, rows: int) -> None:
    table = pa.table({"k": pa.array(range(rows), pa.int64())})
    for value in (CONSTANTS.get(data_type), None):
        found = column(e.Constant(data_type, value), table)
        assert found.type == to_arrow(data_type)
        assert found == pa.array([_plain(value)] * rows, to_arrow(data_type))


def _plain(value: Any) -> Any:
    return list(value.items()) if value == {"a": 1} else value


def test_a_table_without_columns_has_no_rows_to_fill() -> None:
    assert column(e.Constant(t.INT, 1), pa.table({})) == pa.array([], pa.int32())


def test_columns_are_taken_by_their_exact_name() -> None:
    table = pa.table({"a.price": [1.0, 2.0], "a": [3.0, 4.0]})
    assert column(e.ColumnRef(t.DOUBLE, "a.price"), table).to_pylist() == [1.0, 2.0]


def test_columns_may_come_in_another_encoding() -> None:
    table = pa.table(
        {
            "word": pa.array(["a", None, "a"]).dictionary_encode(),
            "text": pa.array(["a", None, "b"], pa.large_string()),
            "at": pa.array([1, 2, 3], pa.int64()),
            "tags": pa.array([["a"], None, []], pa.list_(pa.field("item", pa.large_string()))),
        }
    )
    same = e.Comparison(t.BOOLEAN, "=", e.ColumnRef(t.STRING, "word"), e.ColumnRef(t.STRING, "text"))
    assert column(same, table).to_pylist() == [True, None, False]
    assert column(e.ColumnRef(t.TIMESTAMP, "at"), table) == pa.array([1, 2, 3], to_arrow(t.TIMESTAMP))
    assert column(e.ColumnRef(ArrayOf(t.STRING), "tags"), table).type == to_arrow(ArrayOf(t.STRING))


def test_chunks_become_one_array() -> None:
    chunked = pa.chunked_array([pa.array([1, None]), pa.array([], pa.int64()), pa.array([3])])
    table = pa.table({"k": chunked})
    more = e.Arithmetic(t.LONG, "+", e.ColumnRef(t.LONG, "k"), e.Constant(t.LONG, 1))
    assert column(more, table) == pa.array([2, None, 4])


@pytest.mark.parametrize("offset", [1, 7, 8, 9])
def test_slices_are_read_from_where_they_start(offset: int) -> None:
    flags = [None if i % 5 == 0 else i % 2 == 0 for i in range(20)]
    lists = [None if i % 4 == 0 else list(range(i % 3)) for i in range(20)]
    maps = [None if i % 4 == 0 else [("a", i)] for i in range(20)]
    whole = pa.table(
        {
            "flag": flags,
            "n": pa.array([None if i % 3 == 0 else i for i in range(20)], pa.int32()),
            "list": pa.array(lists, to_arrow(ArrayOf(t.INT))),
            "map": pa.array(maps, to_arrow(MapOf(t.STRING, t.INT))),
        }
    )
    exprs = [
        e.Not(t.BOOLEAN, e.ColumnRef(t.BOOLEAN, "flag")),
        e.Negate(t.INT, e.ColumnRef(t.INT, "n")),
        e.ElementOf(t.INT, e.ColumnRef(ArrayOf(t.INT), "list"), e.Constant(t.INT, 0), True),
        e.ElementOf(t.INT, e.ColumnRef(MapOf(t.STRING, t.INT), "map"), e.Constant(t.STRING, "a")),
        e.CastTo(ArrayOf(t.DOUBLE), e.ColumnRef(ArrayOf(t.INT), "list")),
        e.CastTo(MapOf(t.STRING, t.LONG), e.ColumnRef(MapOf(t.STRING, t.INT), "map")),
        call(ArrayOf(t.INT), "array_sort", e.ColumnRef(ArrayOf(t.INT), "list")),
        call(ArrayOf(t.STRING), "map_keys", e.ColumnRef(MapOf(t.STRING, t.INT), "map")),
    ]
    evaluator = Evaluator()
    for all_rows, some in zip(
        evaluator.columns(exprs, whole), evaluator.columns(exprs, whole.slice(offset, 9)), strict=True
    ):
        assert some.to_pylist() == all_rows.slice(offset, 9).to_pylist()


def test_elements_below_a_null_array_are_not_seen() -> None:
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 4], pa.int32()),
        pa.array([1, 2, 3, 4], pa.int32()),
        type=to_arrow(ArrayOf(t.INT)),
        mask=pa.array([True, False]),
    )
    table = pa.table({"list": hidden})
    lists = e.ColumnRef(ArrayOf(t.INT), "list")
    has_one = call(t.BOOLEAN, "array_contains", lists, e.Constant(t.INT, 1))
    assert column(has_one, table).to_pylist() == [None, False]
    assert column(call(t.INT, "size", lists), table).to_pylist() == [None, 2]
    assert column(call(ArrayOf(t.INT), "concat", lists, lists), table).to_pylist() == [None, [3, 4, 3, 4]]
    assert column(e.CastTo(ArrayOf(t.LONG), lists), table).to_pylist() == [None, [3, 4]]


def test_the_two_zeros_are_different_constants() -> None:
    plus, minus = (call(t.STRING, "hex", e.CastTo(t.LONG, e.Constant(t.DOUBLE, z))) for z in (0.0, -0.0))
    table = pa.table({"k": [1]})
    found = Evaluator().columns([e.Constant(t.DOUBLE, 0.0), e.Constant(t.DOUBLE, -0.0), plus, minus], table)
    assert [np.signbit(found[i][0].as_py()) for i in (0, 1)] == [False, True]


def test_equal_parts_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from presage.columnar import compile as compiling

    runs: list[str] = []
    real = compiling.kernel_of

    def counting(expr: e.Expr) -> Any:
        kernel = real(expr)
        return kernel and (lambda *args: (runs.append(type(expr).__name__), kernel(*args))[1])

    monkeypatch.setattr(compiling, "kernel_of", counting)

    def twice() -> e.Expr:
        return e.Arithmetic(t.LONG, "*", e.ColumnRef(t.LONG, "k"), e.Constant(t.LONG, 2))

    evaluator, table = Evaluator(), pa.table({"k": [1, 2]})
    evaluator.columns([twice(), e.Negate(t.LONG, twice()), e.Arithmetic(t.LONG, "+", twice(), twice())], table)
    assert sorted(runs) == ["Arithmetic", "Arithmetic", "Negate"]


def test_what_only_spark_computes_is_not_supported_and_says_so() -> None:
    text = e.CastTo(t.STRING, e.ColumnRef(t.DOUBLE, "price"))
    assert not supports(e.IsNull(t.BOOLEAN, text))
    assert supports(e.IsNull(t.BOOLEAN, e.ColumnRef(t.DOUBLE, "price")))
    with pytest.raises(InternalError, match="price"):
        Evaluator().column(text, pa.table({"price": [1.0]}))


def test_strangers_are_asked_once_and_put_in_their_places() -> None:
    asked: list[int] = []

    def fallback(exprs: Any, table: pa.Table) -> list[pa.Array]:
        asked.append(len(exprs))
        return [pa.array([f"{i}"] * table.num_rows) for i in range(len(exprs))]

    price = e.ColumnRef(t.DOUBLE, "price")
    text = e.CastTo(t.STRING, price)
    found = Evaluator(fallback=fallback).columns(
        [text, price, call(t.STRING, "soundex", text)], pa.table({"price": [1.0]})
    )
    assert [c.to_pylist() for c in found] == [["0"], [1.0], ["1"]]
    assert asked == [2]


def test_a_mask_takes_null_for_false() -> None:
    table = pa.table({"price": [1.0, None, 3.0]})
    condition = e.Comparison(t.BOOLEAN, ">", e.ColumnRef(t.DOUBLE, "price"), e.Constant(t.DOUBLE, 2.0))
    assert Evaluator().mask(condition, table).tolist() == [False, False, True]
    assert Evaluator().mask(e.Constant(t.BOOLEAN, None), table).tolist() == [False] * 3
    assert Evaluator().mask(e.TRUE, table).tolist() == [True] * 3


def test_a_relation_that_was_not_given_is_our_own_mistake() -> None:
    with pytest.raises(InternalError, match="Hall"):
        Evaluator().mask(e.InRelation(t.BOOLEAN, "Hall", ("a",), (e.ColumnRef(t.LONG, "k"),)), pa.table({"k": [1]}))
