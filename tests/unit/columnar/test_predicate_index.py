"""What the index does with values at the edge, and with conditions that only Spark computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.columnar import compile as compiling
from presage.columnar.evaluate import Evaluator
from presage.columnar.predicate_index import PredicateIndex
from presage.model import types as t
from presage.plan import expr as e

NAN = float("nan")
PRICE, SYM = e.ColumnRef(t.DOUBLE, "price"), e.ColumnRef(t.STRING, "sym")
EVENTS = pa.table({"price": [NAN, 0.0, None, -0.0, 7.5, NAN], "sym": ["a", "b", "a", None, "a", "b"]})


def asks(op: str, value: object, column: e.Expr = PRICE) -> e.Expr:
    return e.Comparison(t.BOOLEAN, op, column, e.Constant(column.type, value))


def both(*parts: e.Expr) -> e.Expr:
    return e.And(t.BOOLEAN, parts)


CASES: list[tuple[e.Expr | None, list[int]]] = [
    (asks("=", NAN), [0, 5]),
    (asks("=", 0.0), [1, 3]),
    (asks("=", -0.0), [1, 3]),
    (asks(">", 7.5), [0, 5]),
    (asks(">=", NAN), [0, 5]),
    (asks("<", NAN), [1, 3, 4]),
    (asks("<=", NAN), [0, 1, 3, 4, 5]),
    (asks(">", NAN), []),
    (asks("<>", 7.5), [0, 1, 3, 5]),
    (asks("=", None), []),
    (None, [0, 1, 2, 3, 4, 5]),
    (e.TRUE, [0, 1, 2, 3, 4, 5]),
    (asks(">", "a", SYM), [1, 5]),
    (asks("<", "b", SYM), [0, 2, 4]),
    (both(asks("=", "a", SYM), asks(">", 0.0)), [0, 4]),
    (both(asks("=", "a", SYM), asks("=", "b", SYM)), []),
    (both(asks(">=", -0.0), asks("<=", 7.5)), [1, 3, 4]),
    (both(asks(">", 7.5), asks("<", 0.0)), []),
    (both(asks("=", "b", SYM), asks("=", NAN)), [5]),
    (e.InList(t.BOOLEAN, PRICE, tuple(e.Constant(t.DOUBLE, v) for v in (NAN, 7.5, None))), [0, 4, 5]),
    (both(asks("=", "b", SYM), e.Not(t.BOOLEAN, e.IsNull(t.BOOLEAN, PRICE))), [1, 5]),
]


def test_nan_zero_and_null_are_what_they_are_everywhere() -> None:
    found = PredicateIndex([condition for condition, _ in CASES]).matches(EVENTS)
    assert [m.tolist() for m in found] == [rows for _, rows in CASES]
    assert {m.dtype for m in found} == {np.dtype(np.int64)}


def test_no_rows_and_no_conditions_match_nothing() -> None:
    index = PredicateIndex([condition for condition, _ in CASES])
    assert [m.tolist() for m in index.matches(EVENTS.slice(0, 0))] == [[]] * len(CASES)
    assert len(PredicateIndex([]).matches(EVENTS)) == 0


def test_conditions_of_spark_are_asked_on_the_candidates_alone_in_one_call() -> None:
    asked: list[tuple[int, int]] = []

    def fallback(exprs: Any, table: pa.Table) -> list[pa.Array]:
        asked.append((len(exprs), table.num_rows))
        return [pa.array([price == 7.5 for price in table["price"].to_pylist()])] * len(exprs)

    root = e.Comparison(t.BOOLEAN, ">", e.FunctionCall(t.DOUBLE, "cbrt", (PRICE,)), e.Constant(t.DOUBLE, 1.0))
    conditions = [both(asks("=", sym, SYM), root) for sym in ("a", "a", "b", "c", "d")]
    found = PredicateIndex(conditions, Evaluator(fallback=fallback)).matches(EVENTS)
    assert [m.tolist() for m in found] == [[4], [4], [], [], []]
    assert asked == [(3, 5)]


def test_relations_may_stand_in_conditions() -> None:
    hall = {"Hall": pa.table({"name": ["b"]})}
    inside = e.InRelation(t.BOOLEAN, "Hall", ("name",), (SYM,))
    conditions = [inside, *[both(asks(">=", low), inside) for low in (0.0, 1.0, NAN, 8.0)]]
    assert [m.tolist() for m in PredicateIndex(conditions, hall).matches(EVENTS)] == [[1, 5], [1, 5], [5], [5], [5]]


def test_what_was_forgotten_is_not_mixed_up_with_what_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "MAX_CACHED", 4)
    evaluator = Evaluator()
    for value in range(20):
        more = e.Arithmetic(t.DOUBLE, "+", PRICE, e.Constant(t.DOUBLE, float(value)))
        condition = both(asks("=", "a", SYM), e.Comparison(t.BOOLEAN, "=", more, e.Constant(t.DOUBLE, 7.5 + value)))
        assert np.flatnonzero(evaluator.mask(condition, EVENTS)).tolist() == [4]
