"""presage.match_recognize on plain DataFrames: batch and streaming, through Spark."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import presage
from conformance.cases import Case, cases, differences
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.lang.print_patterns import print_match

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2024, 3, 31, tzinfo=UTC)  # in many zones clocks change on that day
FALLING = (
    "PARTITION BY sym ORDER BY at MEASURES FIRST(at) AS begun, LAST(DOWN.price) AS low, COUNT(*) AS n {} "
    "PATTERN (STRT DOWN+ UP) {} DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)"
)
TICKS = "sym string, at timestamp, price double, paid decimal(10,2), lots tinyint"
Tick = tuple[str | None, datetime, float | None, Decimal | None, int | None]


def ticks(rows: int = 120) -> list[Tick]:
    """Ticks of three symbols, one of them null, a second apart; some without a price."""
    pick = random.Random(7)
    return [
        (
            pick.choice(["a", "b", None]),
            START + timedelta(seconds=i),
            pick.choice([None, *map(float, range(1, 9))]),
            pick.choice([None, Decimal("1.25")]),
            pick.choice([None, 1, 2]),
        )
        for i in range(rows)
    ]


def found(frame: DataFrame) -> list[str]:
    """The rows, in an order of our own."""
    return sorted(repr(row.asDict()) for row in frame.collect())


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    names = {key.replace("_", "."): value for key, value in values.items()}
    before = {name: spark.conf.get(name) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


# -- the cases of the language ------------------------------------------------------------------------


def query_of(case: Case) -> s.Query:
    query = parse_statement(case.query)
    assert isinstance(query, s.Query)
    return query


def fits(case: Case) -> bool:
    """One stream through MATCH_RECOGNIZE and nothing else, in columns that are there."""
    query = query_of(case)
    (item, *more) = query.items
    plain = all(isinstance(x.expr, s.Name | s.Member) for x in query.select if isinstance(x, s.SelectItem))
    others = (query.where, query.within, query.output, item.condition, *item.windows)
    return item.match is not None and plain and not more and not any(others)


def rows_of(case: Case, spark: SparkSession) -> DataFrame:
    """The rows of a case as text, with its id."""
    from pyspark.sql import functions as F

    query = query_of(case)
    (item,) = query.items
    assert item.match is not None
    clause = print_match(item.match).strip().removeprefix("MATCH_RECOGNIZE").strip()[1:-1]
    types = {k: {"long": "bigint"}.get(v, v) for k, v in case.schemas[item.name].items()}
    names = [*types, "ts"]
    values = [tuple(row.get(name) for name in names) for row in case.rows(item.name)]
    frame = spark.createDataFrame(values, ", ".join(f"{k} {v}" for k, v in {**types, "ts": "bigint"}.items()))
    frame = frame.withColumn("ts", F.timestamp_micros("ts")).coalesce(1)
    order = "" if item.match.order_by else "ORDER BY ts "
    made = presage.match_recognize(frame, order + clause)
    chosen = [F.col(x.expr.name).alias(x.alias or x.expr.name) for x in query.select]  # type: ignore[attr-defined]
    return made.select(F.lit(case.id).alias("id"), F.to_json(F.struct(*chosen), {"ignoreNullFields": "false"}))


FITTING = [case for case in cases() if "match_recognize" in case.file and fits(case)]


def test_rows_of_a_dataframe_are_those_of_the_engine(spark: SparkSession) -> None:
    # Cases far apart, in one job; the next test takes them all.
    assert len(FITTING) > 60
    check(FITTING[::25], spark)


@pytest.mark.soak
def test_every_case_of_the_language_holds_for_dataframes(spark: SparkSession) -> None:
    for start in range(0, len(FITTING), 20):
        check(FITTING[start : start + 20], spark)


def check(chosen: list[Case], spark: SparkSession) -> None:
    with settings(spark, spark_sql_shuffle_partitions="1"):
        made = reduce(lambda a, b: a.union(b), [rows_of(case, spark) for case in chosen]).collect()
    wrong = {}
    for case in chosen:
        # The rows of a DataFrame have no time of their own, and no order.
        rows = [{**json.loads(text), "at": None} for id_, text in made if id_ == case.id]
        timeless = replace(case, expected=tuple({**row, "at": None} for row in case.expected), ordered=False)
        if text := differences(timeless, rows):
            wrong[case.id] = text
    assert wrong == {}


# -- batch --------------------------------------------------------------------------------------------


def test_all_rows_keep_all_columns_in_their_own_types_whatever_the_zone(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ticks(), TICKS)
    clause = FALLING.format("ALL ROWS PER MATCH WITH UNMATCHED ROWS", "WITHIN 10 min")
    here = found(presage.match_recognize(frame, clause))
    assert len(here) == 120
    with settings(spark, spark_sql_session_timeZone="America/New_York", spark_sql_adaptive_enabled="false"):
        made = presage.match_recognize(frame, clause)
        assert found(made) == here
    assert made.columns == ["sym", "at", "begun", "low", "n", "price", "paid", "lots"]
    kinds = dict(made.dtypes)
    assert [kinds[name] for name in ("begun", "paid", "lots")] == ["timestamp", "decimal(10,2)", "tinyint"]


def test_a_session_is_left_as_it_was_and_nothing_runs_before_rows_are_asked_for(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    before = spark.conf.getAll
    # Whoever computed a row of this would fail.
    trap = spark.range(3).select(
        F.col("id"), F.raise_error(F.lit("it ran")).cast("timestamp").alias("at"), F.lit(1).alias("x")
    )
    made = presage.match_recognize(trap, "ORDER BY at PATTERN (A B) WITHIN 5 sec EMIT TIMEOUT DEFINE B AS x > 0")
    assert made.columns == ["timed_out"]
    assert spark.conf.getAll == before


def test_no_rows_make_no_rows(spark: SparkSession) -> None:
    frame = spark.createDataFrame([], TICKS)
    for clause in (FALLING.format("", ""), "ORDER BY at MEASURES COUNT(*) AS n PATTERN (A*) DEFINE A AS price > 1"):
        assert presage.match_recognize(frame, clause).collect() == []


def test_names_that_spark_takes_for_something_else_pass_through(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, 10, "x", 5), (2, 20, "y", 6)], "id int, a int, A string, `b.c d` int")
    clause = "ORDER BY id MEASURES LAST(a) AS last, LAST(`b.c d`) AS `e.f` ALL ROWS PER MATCH PATTERN (V+)"
    made = presage.match_recognize(frame, clause)
    assert made.columns == ["id", "last", "e.f", "a", "A", "b.c d"]
    assert sorted(map(tuple, made.collect())) == [(1, 10, 5, 10, "x", 5), (2, 20, 6, 20, "y", 6)]


def test_partial_matches_run_out_by_the_last_row_of_all_partitions(spark: SparkSession) -> None:
    def at(second: int) -> datetime:
        return START + timedelta(seconds=second)

    frame = spark.createDataFrame([("a", at(0), 1), ("b", at(2), 1), ("c", at(9), 0)], "k string, at timestamp, v int")
    clause = (
        "PARTITION BY k ORDER BY at MEASURES A.v AS v PATTERN (A B) WITHIN 8 sec EMIT TIMEOUT "
        "DEFINE A AS v = 1, B AS v = 2"
    )
    with settings(spark, spark_sql_adaptive_enabled="false", spark_sql_shuffle_partitions="5"):
        assert [tuple(row) for row in presage.match_recognize(frame, clause).collect()] == [("a", 1, True)]


# -- streaming ----------------------------------------------------------------------------------------


def write_ticks(folder: Path, rows: list[Tick], delay: int, cuts: int) -> None:
    """Files that are read one by one, the rows out of order within the delay; the last file ends all waiting."""
    pick = random.Random(1)
    late = sorted(rows, key=lambda row: row[1].timestamp() + pick.uniform(0, delay))
    end: Tick = ("end", START + timedelta(days=1), None, None, None)
    parts = [late[i * len(late) // cuts : (i + 1) * len(late) // cuts] for i in range(cuts)] + [[end]]
    for number, part in enumerate(parts):
        path = folder / f"{number}.json"
        path.write_text(
            "".join(
                json.dumps({"sym": sym, "at": at.isoformat(), "price": price, "paid": paid and str(paid), "lots": lots})
                + "\n"
                for sym, at, price, paid, lots in part
            )
        )
        os.utime(path, (number, number))


def streamed(frame: DataFrame, folder: Path, name: str, spark: SparkSession) -> list[Any]:
    query = (
        frame.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return found(spark.table(name))


# Over Connect a streaming query does not have the wheel that its session was sent.
@pytest.mark.on("local", "cluster")
def test_a_stream_gives_the_rows_of_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    write_ticks(events, ticks(), delay=5, cuts=3)
    clause = FALLING.format("ALL ROWS PER MATCH", "WITHIN 1 min")
    frame = spark.readStream.schema(TICKS).option("maxFilesPerTrigger", 1).json(str(events))
    made = presage.match_recognize(frame.withWatermark("at", "5 seconds"), clause, shards=4)
    rows = streamed(made, tmp_path / "checkpoint", "falling", spark)
    whole = presage.match_recognize(spark.createDataFrame(ticks(), TICKS), clause)
    assert rows == found(whole)
    assert len(rows) > 20
    assert made.dtypes == whole.dtypes


@pytest.mark.on("local", "cluster")
def test_a_stream_goes_on_where_its_checkpoint_stands(spark: SparkSession, tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    frame = spark.readStream.schema("at timestamp, v int").json(str(events)).withWatermark("at", "0 seconds")
    clause = "ORDER BY at MEASURES A.v AS a, B.v AS b PATTERN (A B) DEFINE B AS v > A.v"
    for number, values in enumerate([[1], [2, 0, 9]]):
        lines = [{"at": (START + timedelta(seconds=10 * number + i)).isoformat(), "v": v} for i, v in enumerate(values)]
        (events / f"{number}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
        made = presage.match_recognize(frame, clause)
        kept = tmp_path / "kept"
        writer = made.writeStream.format("json").option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start(str(kept)).awaitTermination()
    assert [tuple(row) for row in spark.read.schema("a int, b int").json(str(kept)).collect()] == [(1, 2)]


def test_measures_that_are_constants_alone_lose_no_row(spark: SparkSession) -> None:
    frame = spark.createDataFrame(ticks(6), TICKS)
    made = presage.match_recognize(frame, "ORDER BY at MEASURES 42 AS m, 'x' AS n PATTERN (A A)")
    assert found(made) == [repr({"m": 42, "n": "x"})] * 3


@pytest.mark.parametrize("bound", ["WITHIN 5 sec", "INTERVAL 5 sec", "GAP 3 sec"])
def test_bounds_count_the_time_of_order_by_as_the_engine_does(spark: SparkSession, bound: str) -> None:
    pick = random.Random(11)
    rows = [
        {
            "k": pick.choice("ab"),
            "v": i,
            "at": START + timedelta(seconds=i),
            "seen": pick.choice([None, START + timedelta(seconds=pick.randrange(40))]),
        }
        for i in range(40)
    ]
    clause = f"PARTITION BY k ORDER BY seen, v MEASURES A.v AS a, LAST(B.v) AS b, count(*) AS n PATTERN (A B+) {bound}"
    frame = spark.createDataFrame(
        [tuple(row.values()) for row in rows], "k string, v int, at timestamp, seen timestamp"
    )
    with presage.Engine(spark) as engine:
        engine.execute("CREATE STREAM T (k STRING, v INT, at TIMESTAMP, seen TIMESTAMP) EVENT TIME at")
        engine.load("T", rows)
        asked = engine.query(f"SELECT m.k, m.a, m.b, m.n FROM T MATCH_RECOGNIZE ( {clause} ) AS m")
        told = sorted(repr({name: row[name] for name in ("k", "a", "b", "n")}) for row in asked)
    assert told == found(presage.match_recognize(frame, clause))
    assert told
