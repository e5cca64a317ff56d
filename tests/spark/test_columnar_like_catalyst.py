"""The columnar evaluator gives what Catalyst gives: every function that it supports, and random expressions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from presage.columnar.evaluate import Evaluator, supports
from presage.errors import InternalError
from presage.execution.spark.catalyst_fallback import catalyst
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.plan import expr as e
from reference.function_calls import all_calls, table_of_edge_values
from reference.random_expressions import TEXTS, batches, rows, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CALLS = [c for c in all_calls() if supports(c.call)]
EXPRESSIONS = 40
# Each is a Spark job, so they are few; the soak profile runs more.
EXAMPLES = max(3, settings().max_examples // 30)
# Texts that are read as numbers, times and truth values, or nearly.
READ = [
    *TEXTS,
    None,
    "1d",
    "1.5f",
    "0x1p3",
    "0x.8P1",
    "0x1p99999",
    "+NaN",
    "-inf",
    "Infinity",
    "infinityd",
    "\x001.5",
    "\x7f1",
    "1.5\u00a0",
    "1_000",
    "1e400",
    "-1e-400",
    ".5",
    "5.",
    ".",
    "1e",
    "１",
    "+ 1",
    "-0",
    "00000000000000000001",
    "2147483648",
    "-2147483648",
    "9223372036854775808",
    "\x7fyes\x00",
    "T",
    "no",
    "2012-05-07\u2028",
    "2012-05-07 24:00",
    "2012-05-07 23:59:60",
    "2012-05-07 09:00+18:00",
    "2012-05-07 09:00+18:01",
    "2012-05-07 09:00-0130",
    "2012-05-07 09:00+0160",
    "2012-05-07 09:00:00.123456789Z",
    "2012-02-30",
    "0001-01-01T00:00+18",
    "0000-01-01",
    "9999-12-31T23:59:59.999999-18",
    "\u00a02012-05-07",
    "2012-05-07 09:00:00.1  z",
]
DOUBLES = [
    None,
    2147483647.5,
    2147483648.0,
    -2147483648.9,
    -2147483649.0,
    9.223372036854775e18,
    2.0**63,
    -(2.0**63),
    -9.3e18,
    float("nan"),
    float("inf"),
    0.0,
    -0.0,
    1.9,
    -1.9,
]
TIMES = [None, 0, -1, 253402300800000000, -62135596800000001, 2**63 - 1, -(2**63), -62167219200000001, 10**18]
PATTERNS = ["%", "_", "a%", "%a", "%1%", "a_%", "\\%", "\\", "a\\%b", "%\\_%", "", "a%b", "%%", "x_y"]


def values(array: pa.Array) -> list[str]:
    """Told apart to the last bit, and to the sign of zero."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    return [repr(v) for v in array.to_pylist()]


def differences(spark: SparkSession, exprs: list[e.Expr], rows: pa.Table) -> list[tuple[e.Expr, str, str]]:
    ours, theirs = Evaluator().columns(exprs, rows), catalyst(spark)(exprs, rows)
    assert [column.type for column in (*ours, *theirs)] == [to_arrow(expr.type) for expr in exprs] * 2
    return [
        (expr, a, b)
        for expr, x, y in zip(exprs, ours, theirs, strict=True)
        for a, b in zip(values(x), values(y), strict=True)
        if a != b
    ]


def test_every_supported_function_gives_what_catalyst_gives(spark: SparkSession) -> None:
    assert len({c.call.name for c in CALLS}) > 120
    assert differences(spark, [c.call for c in CALLS], table_of_edge_values()) == []


# Shrinking would run a Spark job per step; the failing expression is told instead.
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(batch=batches(EXPRESSIONS), worlds=rows)
def test_random_expressions_give_what_catalyst_gives(
    spark: SparkSession, batch: list[e.Expr], worlds: list[dict[str, Any]]
) -> None:
    assert differences(spark, [expr for expr in batch if supports(expr)], table(worlds)) == []


def test_logarithms_powers_and_rounding_agree_to_the_last_bit(spark: SparkSession) -> None:
    random = np.random.default_rng(5)
    numbers = [
        random.random(1000) * 2,
        random.uniform(-750, 720, 1000),
        10.0 ** random.uniform(-320, 308, 1000),
        1 + random.normal(size=200) * 1e-6,
        np.arange(-100, 100) / 8,
        random.integers(-(10**7), 10**7, 1000) / 1000,
        np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324]),
    ]
    x = e.ColumnRef(t.DOUBLE, "x")
    exprs: list[e.Expr] = [e.FunctionCall(t.DOUBLE, f, (x,)) for f in ("ln", "log10", "log2", "exp", "sqrt", "rint")]
    exprs += [e.FunctionCall(t.DOUBLE, "log", (e.Constant(t.DOUBLE, base), x)) for base in (3.0, 1.0, -1.0)]
    exprs += [e.FunctionCall(t.DOUBLE, "power", (x, e.Constant(t.DOUBLE, y))) for y in (0.0, 0.5, 1.0, -1.0, 2.0)]
    scales = [e.Constant(t.INT, scale) for scale in (0, 1, 2, 5)]
    exprs += [e.FunctionCall(t.DOUBLE, f, (x, scale)) for f in ("round", "bround") for scale in scales]
    assert all(map(supports, exprs))
    assert differences(spark, exprs, pa.table({"x": np.concatenate(numbers)})) == []


def test_texts_with_constants_give_what_catalyst_gives(spark: SparkSession) -> None:
    a, b = e.ColumnRef(t.STRING, "STRING 0"), e.ColumnRef(t.STRING, "STRING 1")

    def text(value: str | None) -> e.Expr:
        return e.Constant(t.STRING, value)

    def number(value: int) -> e.Expr:
        return e.Constant(t.INT, value)

    parts, joined = (
        t.ArrayOf(t.STRING),
        [e.FunctionCall(t.STRING, "concat_ws", (text(x), a, b)) for x in ("", "-", "–·")],
    )
    exprs: list[e.Expr] = [*joined, e.FunctionCall(t.STRING, "concat_ws", (text(", "), a))]
    exprs += [e.FunctionCall(parts, "split", (a, text(pattern))) for pattern in (",", "b", "\\.", "l+", " ")]
    exprs += [e.FunctionCall(parts, "split", (a, text(","), number(limit))) for limit in (-1, 0, 1, 2)]
    exprs += [e.FunctionCall(t.INT, "locate", (text("b"), a, number(place))) for place in (-1, 0, 1, 2, 9)]
    exprs += [e.FunctionCall(t.STRING, "substring", (a, number(i), number(n))) for i in (1, 2, -3) for n in (0, 2, 99)]
    tests = itertools.product(("contains", "startswith", "endswith"), ("", "a", "本", " "))
    exprs += [e.FunctionCall(t.BOOLEAN, name, (a, text(part))) for name, part in tests]
    assert all(map(supports, exprs))
    assert differences(spark, exprs, table_of_edge_values()) == []


def test_casts_give_what_catalyst_gives(spark: SparkSession) -> None:
    text, number, time = (
        e.ColumnRef(t.STRING, "a.text"),
        e.ColumnRef(t.DOUBLE, "number"),
        e.ColumnRef(t.TIMESTAMP, "time"),
    )
    exprs: list[e.Expr] = [e.CastTo(target, text) for target in (t.INT, t.LONG, t.DOUBLE, t.BOOLEAN, t.TIMESTAMP)]
    exprs += [e.CastTo(target, number) for target in (t.INT, t.LONG, t.BOOLEAN)]
    exprs += [e.CastTo(t.STRING, time), e.Arithmetic(t.DOUBLE, "-", time, e.Constant(t.TIMESTAMP, -1))]
    exprs += [e.Like(t.BOOLEAN, text, e.Constant(t.STRING, pattern)) for pattern in PATTERNS]
    count = len(READ)
    rows = pa.table(
        {
            "a.text": READ,
            "number": pa.array([DOUBLES[i % len(DOUBLES)] for i in range(count)]),
            "time": pa.array([TIMES[i % len(TIMES)] for i in range(count)], to_arrow(t.TIMESTAMP)),
        }
    )
    assert differences(spark, exprs, rows) == []


def test_membership_and_nested_comparisons_give_what_catalyst_gives(spark: SparkSession) -> None:
    nan = float("nan")
    pair = t.StructOf((("x", t.DOUBLE), ("s", t.STRING)))
    rows = pa.table(
        {
            "i": pa.array([1, 2, None, 4, 0, 5], pa.int32()),
            "d": pa.array([nan, -0.0, 1.5, None, 0.0, 5.0]),
            "s": pa.array(["a", "b", None, "", "a", "c"]),
            "p": pa.array(
                [{"x": nan, "s": "a"}, {"x": -0.0, "s": None}, None, {"x": None, "s": "a"}] * 2, to_arrow(pair)
            )[:6],
            "q": pa.array([{"x": nan, "s": "b"}, {"x": 0.0, "s": None}, {"x": 1.0, "s": ""}] * 2, to_arrow(pair)),
            "m": pa.array([[1], [1, None], [], None, [2, 0], [1, 2]], to_arrow(t.ArrayOf(t.INT))),
            "n": pa.array([[1, 0], [1, 2], [None], [1], [2], [1, 2]], to_arrow(t.ArrayOf(t.INT))),
        }
    )
    relations = {
        "R": pa.table({"a": pa.array([1.0, nan, 0.0, None, 4.5]), "b": ["a", "b", "a", "a", None]}),
        "None": pa.table({"a": pa.array([], pa.float64())}),
    }
    i, d, s = e.ColumnRef(t.INT, "i"), e.ColumnRef(t.DOUBLE, "d"), e.ColumnRef(t.STRING, "s")
    exprs: list[e.Expr] = [
        e.InRelation(t.BOOLEAN, "R", ("a",), (i,)),
        e.InRelation(t.BOOLEAN, "R", ("a",), (d,)),
        e.InRelation(t.BOOLEAN, "R", ("a", "b"), (d, s)),
        e.InRelation(t.BOOLEAN, "R", ("b", "a"), (s, i)),
        e.InRelation(t.BOOLEAN, "None", ("a",), (d,)),
        e.InRelation(t.BOOLEAN, "R", (), ()),
        e.MakeStruct(t.StructOf((("i", t.INT), ("one", t.STRING))), ("i", "one"), (i, e.Constant(t.STRING, "1"))),
    ]
    for kind, left, right in ((pair, "p", "q"), (t.ArrayOf(t.INT), "m", "n")):
        for op in ("=", "<>", "<", "<=", ">", ">="):
            exprs.append(e.Comparison(t.BOOLEAN, op, e.ColumnRef(kind, left), e.ColumnRef(kind, right)))
    ours, theirs = Evaluator(relations).columns(exprs, rows), catalyst(spark, relations)(exprs, rows)
    for expr, x, y in zip(exprs, ours, theirs, strict=True):
        assert values(x) == values(y), expr


def test_what_is_not_supported_goes_to_catalyst_in_one_call(spark: SparkSession) -> None:
    price = e.ColumnRef(t.DOUBLE, "a.price")
    exprs = [e.FunctionCall(t.DOUBLE, "cbrt", (price,)), price, e.CastTo(t.STRING, price)]
    calls = []
    ask = catalyst(spark)

    def fallback(asked: Any, rows: pa.Table) -> list[pa.Array]:
        calls.append(len(asked))
        return ask(asked, rows)

    # More rows than Spark hands out at once, in several chunks: their order must come back.
    prices = pa.chunked_array([pa.array(range(start, start + 7_000), pa.float64()) for start in (0, 7_000, 14_000)])
    events = pa.table({"a.price": pa.compute.divide(prices, 1e3)})
    found = Evaluator(fallback=fallback).columns(exprs, events)
    assert calls == [2]
    assert found[2][20_999].as_py() == "20.999"
    assert found[0].to_pylist() == sorted(found[0].to_pylist())
    assert [len(column) for column in Evaluator(fallback=ask).columns(exprs, events.slice(0, 0))] == [0, 0, 0]
    with pytest.raises(InternalError, match="cbrt"):
        Evaluator().column(exprs[0], events)
