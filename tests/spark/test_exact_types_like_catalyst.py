"""DECIMAL, DATE and BYTES: the columnar evaluator gives what Catalyst gives, to the last digit, over random types."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.scope import Scope, ScopeItem
from presage.columnar.evaluate import Evaluator, supports
from presage.errors import PresageError
from presage.execution.spark.catalyst_fallback import catalyst
from presage.lang.parser import parse_expression
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType, DecimalOf
from presage.plan import expr as e
from reference.exact_calls import calls_with_exact_types, table_of_exact_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = max(4, settings().max_examples // 20)  # each is a Spark job
ROWS = 40
OPERATORS = ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=")


def bound(text: str, columns: dict[str, DataType]) -> e.Expr | None:
    """A bound expression over plain columns; None if the types are refused."""
    binder = ExpressionBinder(Scope([ScopeItem("t", "t", tuple(columns.items()))]))

    def plain(x: e.Expr) -> e.Expr:
        return e.ColumnRef(x.type, x.name.rpartition(".")[2]) if isinstance(x, e.ColumnRef) else x

    try:
        return binder.bind(parse_expression(text)).rewrite(plain)
    except PresageError:
        return None


@st.composite
def decimal_types(draw: st.DrawFn) -> DecimalOf:
    precision = draw(st.integers(1, 38))
    return DecimalOf(precision, draw(st.integers(0, precision)))


def numbers_of(kind: DecimalOf) -> st.SearchStrategy[Decimal | None]:
    most = 10**kind.precision - 1
    edges = [0, 1, -1, 5, -5, most, -most, most // 2, most // 2 + 1, 10 ** (kind.precision // 2)]
    wholes = st.sampled_from([each for each in edges if abs(each) <= most]) | st.integers(-most, most)
    small = st.integers(-min(most, 1000), min(most, 1000))
    made = (wholes | small).map(lambda n: Decimal((n < 0, tuple(map(int, str(abs(n)))), -kind.scale)))
    return st.none() | made


@st.composite
def worlds(draw: st.DrawFn) -> tuple[dict[str, DataType], pa.Table, list[str]]:
    """Columns of random DECIMAL types, their rows, and expressions over them."""
    a, b, wanted = draw(decimal_types()), draw(decimal_types()), draw(decimal_types())
    columns: dict[str, DataType] = {"a": a, "b": b, "n": t.INT, "k": t.LONG, "x": t.DOUBLE}
    made: dict[str, Any] = {
        "a": draw(st.lists(numbers_of(a), min_size=ROWS, max_size=ROWS)),
        "b": draw(st.lists(numbers_of(b), min_size=ROWS, max_size=ROWS)),
        "n": draw(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), min_size=ROWS, max_size=ROWS)),
        "k": draw(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=ROWS, max_size=ROWS)),
        "x": draw(st.lists(st.none() | st.floats(), min_size=ROWS, max_size=ROWS)),
    }
    arrays = {name: pa.array(made[name], to_arrow(kind)) for name, kind in columns.items()}
    texts = [f"a {op} {other}" for op in OPERATORS for other in ("b", "n", "k", "x", "7", "1.5", "NULL", "a")]
    texts += [f"{other} {op} a" for op in OPERATORS for other in ("n", "k", "12", "0.25")]
    casts = (wanted, t.INT, t.LONG, t.DOUBLE, t.STRING, t.BOOLEAN)
    texts += [f"CAST(a AS {kind})" for kind in casts] + [f"CAST({name} AS {wanted})" for name in ("n", "k", "x", "b")]
    texts += [f"CAST(CAST(a AS STRING) AS {wanted})", f"CAST(n > 0 AS {wanted})"]
    places = draw(st.integers(-40, 40))
    texts += [f"round(a, {places})", "round(a)", "ceil(a)", "floor(a)", "abs(a)", "-a", "negative(a)", "mod(a, b)"]
    texts += ["nullifzero(a)", "zeroifnull(a)", "coalesce(a, b)", "greatest(a, b, 1)", "least(a, b)", "nullif(a, b)"]
    texts += ["CASE WHEN a > 0 THEN a ELSE 0 END", "a IN (0, 1, 0.5)", "a IN (b, 1)", "a BETWEEN -1 AND 1", "a IS NULL"]
    texts += ["array_max(array(a, b))", "array_contains(array(a, b), a)", "array_sort(array(b, a))", "a * b + a / b"]
    return columns, pa.table(arrays), texts


def shown(array: pa.Array) -> list[str]:
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.cast(pa.int32())
    return [repr(value) for value in array.to_pylist()]


def differences(spark: SparkSession, exprs: list[tuple[str, e.Expr]], rows: pa.Table) -> list[tuple[Any, ...]]:
    plain = [expr for _, expr in exprs]
    ours, theirs = Evaluator().columns(plain, rows), catalyst(spark)(plain, rows)
    found: list[tuple[Any, ...]] = []
    for (text, expr), x, y in zip(exprs, ours, theirs, strict=True):
        assert (x.type, y.type) == (to_arrow(expr.type),) * 2, text
        pairs = enumerate(zip(shown(x), shown(y), strict=True))
        found += [(text, str(expr.type), rows.slice(i, 1).to_pylist(), a, b) for i, (a, b) in pairs if a != b][:2]
    return found


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(world=worlds())
def test_decimals_have_the_digits_that_catalyst_gives(
    spark: SparkSession, world: tuple[dict[str, DataType], pa.Table, list[str]]
) -> None:
    columns, rows, texts = world
    exprs = [(text, expr) for text in texts if (expr := bound(text, columns)) is not None]
    assert all(supports(expr) for _, expr in exprs)
    assert len(exprs) > len(texts) // 2
    assert differences(spark, exprs, rows) == []


DAYS = [0, 1, -1, 19_782, 19_781, -719_162, 2_932_896, 2_932_897, 106_751_990, 106_751_992, 2**31 - 1, -(2**31), None]
DAY_TEXTS = [
    "2024-01-31",
    " 2024-01-31 ",
    "2024-01-31 12:00:00Z",
    "2024-02-30",
    "2024-1-1",
    "0000-01-01",
    "",
    "x",
    None,
]
BYTES = [b"", b"\x00", b"\xff", b"a", b"ab", b"\xc3\xa4", b"\xc3", None]
NUMBER_TEXTS = ["1", " 1.5 ", "1e3", "-1.25e-2", "1e400", "1e-999", ".5", "5.", ".", "", "0x1", "1_0", "١", "+7", None]
NUMBER_TEXTS += ["99999999999999999999999999999999999999", "1" * 39, "0.00000000000000000000000000000000000005", "NaN"]


def test_days_bytes_and_texts_are_converted_as_catalyst_does(spark: SparkSession) -> None:
    length = 20
    columns: dict[str, DataType] = {"d": t.DATE, "e": t.DATE, "at": t.TIMESTAMP, "s": t.STRING}
    columns |= {"r": t.BYTES, "q": t.BYTES, "w": t.STRING, "n": t.INT}

    def column(kind: DataType, values: list[Any], step: int = 1) -> pa.Array:
        return pa.array([values[i * step % len(values)] for i in range(length)], to_arrow(kind))

    rows = pa.table(
        {
            "d": column(t.DATE, DAYS),
            "e": column(t.DATE, DAYS, 5),
            "at": column(t.TIMESTAMP, [0, -1, 1_706_659_200_000_000, 1_706_659_200_000_001, 2**63 - 1, -(2**63), None]),
            "s": column(t.STRING, DAY_TEXTS),
            "r": column(t.BYTES, BYTES),
            "q": column(t.BYTES, BYTES, 3),
            "w": column(t.STRING, NUMBER_TEXTS),
            "n": column(t.INT, [0, 1, -40, 400_000, None]),
        }
    )
    texts = [f"{a} {op} {b}" for op in OPERATORS[5:] for a, b in (("d", "e"), ("d", "at"), ("r", "q"), ("at", "d"))]
    texts += [f"d {op} DATE '2024-02-29'" for op in OPERATORS[5:]] + [f"r {op} X'FF'" for op in OPERATORS[5:]]
    texts += ["d = '2024-01-31'", "d IN ('2024-01-31', '1970-01-01')", "r IN (X'', X'61')", "coalesce(d, at)"]
    texts += ["CAST(d AS TIMESTAMP)", "CAST(at AS DATE)", "CAST(d AS STRING)", "CAST(s AS DATE)", "CAST(s AS BYTES)"]
    texts += ["CAST(r AS STRING)", "coalesce(r, X'00')", "greatest(d, e)", "least(r, q)", "nullif(d, e)"]
    texts += ["d + 1 day", "d - 1 week", "d + 1 month", "d - 13 months", "d + 1 month 2 days", "d + 1 hour", "d + n"]
    texts += ["d - n", "n + d", "d - e", "at - d", "d - at", "date_add(d, n)", "date_sub(d, n)", "add_months(d, n)"]
    texts += ["last_day(d)", "next_day(d, 'Monday')", "trunc(d, 'year')", "trunc(d, 'week')", "to_date(d)", "year(d)"]
    texts += [
        "month(d)",
        "day(d)",
        "quarter(d)",
        "dayofweek(d)",
        "weekofyear(d)",
        "dayname(d)",
        "hour(d)",
        "unix_date(d)",
    ]
    texts += ["datediff(d, e)", "datediff(at, d)", "date_trunc('month', d)", "unix_micros(d)", "array_max(array(d, e))"]
    texts += ["array_sort(array(r, q))", "CASE WHEN n > 0 THEN d ELSE e END", "array_contains(array(r), q)"]
    texts += ["hash(d, r)", "xxhash64(d, r)", "hash(CAST(n AS DECIMAL(12,2)), CAST(n AS DECIMAL(38,2)))"]
    texts += ["xxhash64(CAST(n AS DECIMAL(12,2)), CAST(n AS DECIMAL(38,2)))"]
    texts += [f"CAST(w AS {kind})" for kind in ("DECIMAL(38,0)", "DECIMAL(38,38)", "DECIMAL(10,2)", "DECIMAL(3,3)")]
    exprs = []
    for text in texts:
        expr = bound(text, columns)
        assert expr is not None, text
        exprs.append((text, expr))
    supported = [(text, expr) for text, expr in exprs if supports(expr)]
    assert len(exprs) - len(supported) <= 4
    assert differences(spark, supported, rows) == []
    assert len(catalyst(spark)([expr for _, expr in exprs], rows)) == len(exprs)


@pytest.mark.parametrize("value", [datetime.date(1, 1, 1), Decimal("1.50"), b"\x00\xff"])
def test_constants_reach_catalyst_whole(spark: SparkSession, value: Any) -> None:
    text = {"date": f"DATE '{value}'", "Decimal": f"DECIMAL '{value}'", "bytes": "X'00FF'"}[type(value).__name__]
    expr = bound(text, {})
    assert expr is not None
    (array,) = catalyst(spark)([expr], pa.table({"row": [0]}))
    assert array.to_pylist() == [value]


def test_every_function_over_exact_types_gives_what_catalyst_gives(spark: SparkSession) -> None:
    table = table_of_exact_values()
    calls = [(title, call) for title, call in calls_with_exact_types() if not isinstance(call, PresageError)]
    assert differences(spark, [(title, call) for title, call in calls if supports(call)], table) == []
    others = [call for _, call in calls if not supports(call)]
    assert len(catalyst(spark)(others, table)) == len(others)
