"""Every allowed function, in every form, run by Spark over edge values: types, and independence from the session."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql import types as s

from presage.execution.spark.expressions import compile_expression
from presage.execution.spark.types import to_spark
from presage.functions.catalyst import BUILDERS
from presage.functions.resolve import resolve_function
from presage.functions.scalars import BY_NAME, FAMILIES
from presage.model import types as t
from presage.plan.expr import Constant, FunctionCall
from reference.function_calls import SampleCall, all_calls, table_of_edge_values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

CALLS = all_calls()
# Spark's own fails on some edge value, or gives what the language has no type for, or another answer on purpose: ceil
# and floor past LONG, the size of NULL, a second before 1970.
NO_TWIN = {
    "add_months",
    "array",
    "array_insert",
    "array_repeat",
    "base64",
    "bit_get",
    "ceil",
    "date_add",
    "date_sub",
    "element_at",
    "equal_null",
    "floor",
    "format_number",
    "from_unixtime",
    "if",
    "lpad",
    "make_date",
    "make_timestamp",
    "map",
    "map_concat",
    "map_from_arrays",
    "map_from_entries",
    "named_struct",
    "parse_url",
    "repeat",
    "rpad",
    "size",
    "slice",
    "space",
    "split_part",
    "struct",
    "timestamp_millis",
    "timestamp_seconds",
    "unbase64",
    "unhex",
    "unix_date",
    "unix_timestamp",
    "url_decode",
}


def session(spark: SparkSession, ansi: bool, zone: str) -> SparkSession:
    other = spark.newSession()
    other.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    other.conf.set("spark.sql.session.timeZone", zone)
    if not ansi:
        # Spark evaluates an expression compiled or interpreted: both are seen, and this one starts faster.
        other.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        other.conf.set("spark.sql.codegen.wholeStage", "false")
    return other


def edge_rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(table_of_edge_values()).coalesce(1)


@cache
def compiled(call: FunctionCall) -> Column:
    return compile_expression(call)


def named(calls: list[SampleCall]) -> list[Column]:
    return [compiled(c.call).alias(f"c{i}") for i, c in enumerate(calls)]


def values(frame: DataFrame) -> list[str]:
    """Each column as text: NaN equals itself there, -0.0 is not 0.0, and a time may lie outside of Python's years."""
    columns = frame.toArrow().columns
    return [repr((c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c).to_pylist()) for c in columns]


@pytest.fixture(scope="module")
def with_ansi_in_utc(spark: SparkSession) -> DataFrame:
    return edge_rows(session(spark, True, "UTC")).select(*named(CALLS))


@pytest.fixture(scope="module")
def values_with_ansi_in_utc(with_ansi_in_utc: DataFrame) -> list[str]:
    return values(with_ansi_in_utc)


def test_every_function_of_the_table_is_called() -> None:
    assert {c.call.name for c in CALLS} == {e.names[0] for entries in FAMILIES.values() for e in entries}


def test_the_table_names_the_type_that_spark_gives(with_ansi_in_utc: DataFrame) -> None:
    wrong = [
        (c.title, field.dataType.simpleString(), str(c.call.type))
        for c, field in zip(CALLS, with_ansi_in_utc.schema.fields, strict=True)
        if field.dataType.simpleString() != to_spark(c.call.type).simpleString()
    ]
    assert wrong == []


def test_every_function_gives_a_value_for_some_row(values_with_ansi_in_utc: list[str]) -> None:
    # Else the comparisons below would compare nothing but NULLs.
    called = zip(CALLS, values_with_ansi_in_utc, strict=True)
    given = {c.call.name for c, v in called if v.replace("None", "").strip("[], ")}
    assert {c.call.name for c in CALLS} - given == set()


def test_values_do_not_depend_on_ansi_rules_nor_on_the_time_zone(
    spark: SparkSession, values_with_ansi_in_utc: list[str]
) -> None:
    # New York skips and repeats hours that are among the edge values.
    other = values(edge_rows(session(spark, False, "America/New_York")).select(*named(CALLS)))
    differ = [c.title for c, a, b in zip(CALLS, values_with_ansi_in_utc, other, strict=True) if a != b]
    assert differ == []


def test_rewritten_functions_agree_with_sparks_own_where_that_gives_an_answer(spark: SparkSession) -> None:
    """In UTC and without ANSI rules, the one setting in which Spark's own means the same."""
    calls = [c for c in CALLS if c.call.name in BUILDERS.keys() - NO_TWIN and not has_no_twin(c.call)]
    assert len({c.call.name for c in calls}) > 30
    frame = edge_rows(session(spark, False, "UTC"))
    ours, theirs = (
        frame.select(*named(calls)).toArrow(),
        frame.select(*[native(c, i) for i, c in enumerate(calls)]).toArrow(),
    )
    differ = []
    for i, c in enumerate(calls):
        pairs = zip(plain(ours.column(i)), plain(theirs.column(i)), strict=True)
        if any(a is not None and repr(a) != repr(b) for a, b in pairs):
            differ.append((c.title, plain(ours.column(i)), plain(theirs.column(i))))
    assert differ == []


def has_no_twin(call: FunctionCall) -> bool:
    """An ISO text is read by our own rules; a date is compared through date functions alone."""
    return (
        call.name in ("to_timestamp", "to_date", "unix_timestamp")
        and len(call.args) == 1
        and call.args[0].type == t.STRING
    )


def native(sample: SampleCall, index: int) -> Column:
    call = sample.call
    column = F.call_function(call.name, *[compile_expression(a) for a in call.args])
    return column.cast(to_spark(call.type)).alias(f"c{index}")


def plain(column: pa.ChunkedArray) -> list[object]:
    found: list[object] = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    return found


def test_every_function_takes_null_for_every_argument(spark: SparkSession) -> None:
    """NULL has a type of its own that fits everywhere; Spark must be able to run what it is cast to."""
    seen: Counter[str] = Counter()
    columns = []
    for sample in CALLS:
        call = sample.call
        if seen[call.name] or call.name == "named_struct":
            continue
        fixed = BY_NAME[call.name].constants
        nulls = [a if i in fixed else Constant(t.NULL, None) for i, a in enumerate(call.args)]
        constants = {i: a.value for i, a in enumerate(nulls) if a.type != t.NULL}
        resolved = resolve_function(call.name, tuple(a.type for a in nulls), None, constants)
        args = tuple(
            Constant(c, a.value) if isinstance(a, Constant) else a for a, c in zip(nulls, resolved.coerced, strict=True)
        )
        columns.append(compile_expression(FunctionCall(resolved.result, call.name, args)).alias(call.name))
        seen[call.name] += 1
    rows = spark.range(1).select(*columns).collect()
    assert len(rows) == 1
    given = {name for name, value in rows[0].asDict().items() if value is not None}
    # Those that answer about NULL itself, or build something around it.
    assert given == {
        "array",
        "e",
        "equal_null",
        "hash",
        "isnan",
        "isnotnull",
        "isnull",
        "map",
        "pi",
        "struct",
        "xxhash64",
        "zeroifnull",
    }


def test_spark_reads_dates_as_the_type_that_the_table_promises(spark: SparkSession) -> None:
    frame = edge_rows(session(spark, True, "Asia/Kolkata"))
    call = next(c for c in CALLS if c.title.startswith("last_day"))
    assert frame.select(*named([call])).schema[0].dataType == s.TimestampType()
