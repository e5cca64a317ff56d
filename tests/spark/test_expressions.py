"""Expressions compiled to Catalyst: null logic, arithmetic without values, access, time zones, names, relations."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.execution.spark.expressions import compile_expression
from presage.model import types as t
from presage.model.time import parse_timestamp
from presage.model.types import ArrayOf, DataType, MapOf, StructOf
from presage.plan import expr as e

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TRUTH = (True, False, None)
LEAST_INT, LEAST_LONG = -(2**31), -(2**63)
SETTINGS = [("true", "UTC"), ("false", "America/New_York"), ("true", "Asia/Kolkata")]


def const(data_type: DataType, value: object) -> e.Constant:
    return e.Constant(data_type, value)


def run(spark: SparkSession, *exprs: e.Expr, relations: dict[str, pa.Table] | None = None) -> list[list[Any]]:
    """Values of constant expressions under each of the settings; times as microseconds."""
    answers = []
    for ansi, zone in SETTINGS:
        session = spark.newSession()
        session.conf.set("spark.sql.ansi.enabled", ansi)
        session.conf.set("spark.sql.session.timeZone", zone)
        columns = [compile_expression(x, relations).alias(f"c{i}") for i, x in enumerate(exprs)]
        found = session.range(1).select(*columns).toArrow()
        answers.append([_cell(c) for c in found.columns])
    return answers


def _cell(column: pa.ChunkedArray) -> Any:
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()[0]


def same(answers: list[list[Any]], expected: list[Any]) -> None:
    for settings, answer in zip(SETTINGS, answers, strict=True):
        assert list(map(repr, answer)) == list(map(repr, expected)), settings


def test_AND_OR_and_NOT_follow_the_truth_tables_of_SQL(spark: SparkSession) -> None:
    exprs: list[e.Expr] = []
    expected: list[bool | None] = []
    for a, b in itertools.product(TRUTH, TRUTH):
        operands = (const(t.BOOLEAN, a), const(t.BOOLEAN, b))
        exprs += [e.And(t.BOOLEAN, operands), e.Or(t.BOOLEAN, operands)]
        expected.append(False if False in (a, b) else None if None in (a, b) else True)
        expected.append(True if True in (a, b) else None if None in (a, b) else False)
    exprs += [e.Not(t.BOOLEAN, const(t.BOOLEAN, a)) for a in TRUTH]
    expected += [False, True, None]
    same(run(spark, *exprs), expected)


def test_IN_is_null_where_only_a_null_could_have_matched(spark: SparkSession) -> None:
    def within(value: int | None, *items: int | None) -> e.Expr:
        return e.InList(t.BOOLEAN, const(t.INT, value), tuple(const(t.INT, i) for i in items))

    exprs = [within(1, 1, None), within(2, 1, None), within(None, 1), within(2, 1)]
    same(run(spark, *exprs), [True, None, None, False])


def test_a_long_list_of_doubles_finds_nan_and_both_zeros(spark: SparkSession) -> None:
    items = tuple(const(t.DOUBLE, float(x)) for x in [0, *range(20, 40), "nan"])
    exprs = [e.InList(t.BOOLEAN, const(t.DOUBLE, float(x)), items) for x in ("-0.0", "nan", "1")]
    same(run(spark, *exprs), [True, True, False])


@pytest.mark.parametrize(
    ("op", "data_type", "left", "right", "expected"),
    [
        ("+", t.INT, 2**31 - 1, 1, None),
        ("-", t.INT, LEAST_INT, 1, None),
        ("*", t.LONG, 2**62, 2, None),
        ("%", t.INT, 7, 0, None),
        ("%", t.INT, -7, 3, -1),
        ("%", t.LONG, LEAST_LONG, -1, 0),
        ("/", t.DOUBLE, 1.0, 0.0, None),
        ("/", t.DOUBLE, 7.0, 2.0, 3.5),
        ("%", t.DOUBLE, 7.5, 0.0, None),
        ("*", t.DOUBLE, 1e308, 10.0, float("inf")),
    ],
)
def test_arithmetic_without_a_value_is_null(
    spark: SparkSession, op: str, data_type: DataType, left: Any, right: Any, expected: Any
) -> None:
    expr = e.Arithmetic(data_type, op, const(data_type, left), const(data_type, right))
    assert repr(compiled_once(spark, expr)) == repr(expected)


def compiled_once(spark: SparkSession, expr: e.Expr) -> Any:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true")
    return _cell(session.range(1).select(compile_expression(expr).alias("x")).toArrow().column(0))


def test_the_least_number_has_no_opposite(spark: SparkSession) -> None:
    exprs = [
        e.Negate(t.INT, const(t.INT, LEAST_INT)),
        e.Negate(t.LONG, const(t.LONG, 5)),
        e.Negate(t.DOUBLE, const(t.DOUBLE, 0.0)),
    ]
    same(run(spark, *exprs), [None, -5, -0.0])


def test_nan_equals_nan_and_is_greatest(spark: SparkSession) -> None:
    nan, inf = const(t.DOUBLE, float("nan")), const(t.DOUBLE, float("inf"))
    exprs = [e.Comparison(t.BOOLEAN, op, a, b) for op, a, b in [("=", nan, nan), (">", nan, inf), ("<", nan, inf)]]
    same(run(spark, *exprs), [True, True, False])


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("abc", "a%", True),
        ("abc", "a_c", True),
        ("a%c", "a\\%c", True),
        ("abc", "a\\%c", False),
        ("a\\c", "a\\\\c", True),
        ("a\\bc", "a\\bc", True),  # a lone backslash is itself
        ("a\\", "a\\", True),
        ("a\nb", "a%b", True),
        ("ABC", "abc", False),
        ("abc", None, None),
    ],
)
def test_LIKE_knows_wildcards_and_the_backslash(
    spark: SparkSession, text: str, pattern: str | None, expected: bool | None
) -> None:
    assert compiled_once(spark, e.Like(t.BOOLEAN, const(t.STRING, text), const(t.STRING, pattern))) is expected


def test_outside_of_an_array_or_a_map_is_null(spark: SparkSession) -> None:
    array = const(ArrayOf(t.STRING), ["a", "b", "c"])
    mapped = const(MapOf(t.STRING, t.INT), {"k": 1})

    def at(index: int | None, from_end: bool = False, data_type: DataType = t.INT) -> e.Expr:
        return e.ElementOf(t.STRING, array, const(data_type, index), from_end)

    exprs = [
        at(0),
        at(3),
        at(-1),
        at(None),
        at(0, True),
        at(2, True),
        at(3, True),
        at(1, False, t.LONG),
        at(2**40, False, t.LONG),
        e.ElementOf(t.INT, mapped, const(t.STRING, "k")),
        e.ElementOf(t.INT, mapped, const(t.STRING, "x")),
    ]
    same(run(spark, *exprs), ["a", None, None, None, "c", "a", None, "b", None, 1, None])


def test_a_failed_cast_is_null(spark: SparkSession) -> None:
    casts: list[tuple[DataType, object, DataType, object]] = [
        (t.STRING, "x", t.INT, None),
        (t.STRING, "1.5", t.INT, None),
        (t.STRING, " 12 ", t.LONG, 12),
        (t.DOUBLE, 1e300, t.LONG, None),
        (t.DOUBLE, float("nan"), t.INT, None),
        (t.DOUBLE, -2.9, t.INT, -2),
        (t.LONG, 2**40, t.INT, None),
        (t.STRING, "maybe", t.BOOLEAN, None),
        (t.BOOLEAN, True, t.STRING, "true"),
        (t.DOUBLE, 1e7, t.STRING, "1.0E7"),
        (t.STRING, "09:00", t.TIMESTAMP, None),
        (t.STRING, "2012-02-30", t.TIMESTAMP, None),
    ]
    exprs = [e.CastTo(target, const(source, value)) for source, value, target, _ in casts]
    same(run(spark, *exprs), [expected for *_, expected in casts])


ISO_TEXTS = [
    "2012-05-07",
    "2012-05-07T09:00",
    "2012-05-07 09:00:01",
    "2012-05-07T09:00:01.5Z",
    "2012-05-07T09:00:01.1234567z",
    "2012-05-07T09:00+02",
    "2012-05-07T09:00:00-0530",
    " 2012-05-07T09:00:00+05:30 ",
    "2012-03-11T02:30",
    "12-05-07",
    "",
    "2012-05-07T24:00",
    "0000-01-01",
    "now",
    "2012-05-07T09",
    "9999-12-31T23:59:59.999999",
    "0001-01-01",
]


def test_a_text_is_read_as_the_model_reads_timestamps(spark: SparkSession) -> None:
    exprs = [e.CastTo(t.TIMESTAMP, const(t.STRING, text)) for text in ISO_TEXTS]
    same(run(spark, *exprs), [parse_timestamp(text) for text in ISO_TEXTS])


def test_times_are_in_utc_in_every_zone(spark: SparkSession) -> None:
    # 02:30 on that day does not exist in New York.
    at = const(t.TIMESTAMP, parse_timestamp("2012-03-11T02:30:15.25Z"))

    def call(result: DataType, name: str, *args: e.Expr) -> e.Expr:
        return e.FunctionCall(result, name, args)

    exprs = [
        e.CastTo(t.STRING, at),
        call(t.INT, "hour", at),
        call(t.TIMESTAMP, "date_trunc", const(t.STRING, "week"), at),
        call(t.STRING, "date_format", at, const(t.STRING, "EEE d MMM yyyy hh:mm a")),
        call(t.TIMESTAMP, "to_timestamp", const(t.STRING, "11/03/2012 02:30"), const(t.STRING, "dd/MM/yyyy HH:mm")),
        e.Arithmetic(t.TIMESTAMP, "+", at, e.Duration(t.LONG, 86_400_000_000)),
        e.Arithmetic(t.DOUBLE, "-", at, const(t.TIMESTAMP, parse_timestamp("2012-03-11T02:30:10Z"))),
    ]
    same(
        run(spark, *exprs),
        [
            "2012-03-11 02:30:15.25",
            2,
            parse_timestamp("2012-03-05"),
            "Sun 11 Mar 2012 02:30 AM",
            parse_timestamp("2012-03-11T02:30"),
            parse_timestamp("2012-03-12T02:30:15.25Z"),
            5.25,
        ],
    )


def test_names_with_dots_backticks_and_blanks_are_columns(spark: SparkSession) -> None:
    names = ["a.b", "we`ird", "two words", "select", "x;y", "`", "a.b.c"]
    frame = spark.createDataFrame(pa.table({name: [i] for i, name in enumerate(names)}))
    columns = [compile_expression(e.ColumnRef(t.LONG, name)).alias(f"c{i}") for i, name in enumerate(names)]
    assert list(frame.select(*columns).collect()[0]) == list(range(len(names)))


def test_fields_that_differ_in_case_are_told_apart(spark: SparkSession) -> None:
    struct = StructOf((("x", t.INT), ("X", t.INT), ("a.b", t.STRING)))
    base = const(struct, (1, 2, "z"))
    exprs = [e.FieldOf(t.INT, base, "x"), e.FieldOf(t.INT, base, "X"), e.FieldOf(t.STRING, base, "a.b")]
    made = e.MakeStruct(StructOf((("p.q", t.INT),)), ("p.q",), (const(t.INT, 3),))
    same(run(spark, *exprs, e.FieldOf(t.INT, made, "p.q")), [1, 2, "z", 3])


HALL = pa.table(
    {"location": ["h1", "h2", None], "floor": pa.array([1, None, 3], pa.int64()), "height": [-0.0, 2.5, 1.0]}
)


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({"location": const(t.STRING, "h1")}, True),
        ({"location": const(t.STRING, "h9")}, False),
        ({"location": const(t.STRING, None)}, False),
        ({"floor": const(t.INT, 3)}, True),
        ({"height": const(t.DOUBLE, 0.0)}, True),
        ({"location": const(t.STRING, "h1"), "floor": const(t.INT, 1)}, True),
        ({"location": const(t.STRING, "h1"), "floor": const(t.INT, 3)}, False),
        ({"location": const(t.STRING, "h2"), "floor": const(t.INT, None)}, False),
        ({}, True),
    ],
)
def test_a_relation_holds_for_its_rows_and_never_for_null(
    spark: SparkSession, terms: dict[str, e.Expr], expected: bool
) -> None:
    expr = e.InRelation(t.BOOLEAN, "Hall", tuple(terms), tuple(terms.values()))
    column = compile_expression(expr, {"Hall": HALL})
    assert spark.range(1).select(column.alias("x")).collect()[0].x is expected


def test_a_relation_with_too_many_rows_is_refused_by_name() -> None:
    big = pa.table({"n": pa.array(range(20_001), pa.int64())})
    with pytest.raises(PresageError, match="'Big' in a condition") as caught:
        compile_expression(e.InRelation(t.BOOLEAN, "Big", ("n",), (const(t.LONG, 1),)), {"Big": big})
    assert caught.value.code == "LIMIT"


def test_a_bad_constant_is_refused_before_any_job(spark: SparkSession) -> None:
    bad = e.FunctionCall(t.BOOLEAN, "regexp_like", (e.ColumnRef(t.STRING, "s"), const(t.STRING, "(")))
    with pytest.raises(PresageError) as caught:
        compile_expression(bad)
    assert caught.value.code == "BAD_VALUE"


def test_an_aggregate_is_no_expression_of_a_row() -> None:
    with pytest.raises(PresageError) as caught:
        compile_expression(e.AggregateCall(t.LONG, "count", None))
    assert caught.value.code == "INTERNAL"
