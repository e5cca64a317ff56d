"""Aggregates of several arguments, in every mode: against sums over plain lists."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from presage import Engine
from reference.aggregate_worlds import close
from reference.window_aggregates import correlation, percentile

TICK = "CREATE STREAM Tick (sym STRING, x LONG, y DOUBLE, at TIMESTAMP) EVENT TIME at;"
CALLS = "count_if({0}x > 3) AS n, corr({0}x, {0}y) AS r, percentile({0}y, 0.9) AS p"
QUERY = f"SELECT sym, {CALLS.format('')} FROM Tick#length(5) GROUP BY sym"
CLAUSE = f"MEASURES {CALLS.format('A.')} PATTERN (A{{8}}) DEFINE A AS sym IS NOT NULL"
MATCH = f"SELECT sym, n, r, p FROM Tick MATCH_RECOGNIZE (PARTITION BY sym {CLAUSE})"
RECALL = f"SELECT t.sym, r.* FROM Tick#lastevent t RECALL ( SELECT {CALLS.format('h.')} FROM Tick h " + (
    "WHERE h.sym = t.sym ) AS r"
)


def ticks() -> list[dict[str, Any]]:
    ys = [1.0, None, math.nan, 2.5, -3.0, 4.0, math.inf, 0.1, 7.0]
    return [
        {"sym": "ab"[i % 2], "x": i * i % 11, "y": ys[i % 9], "at": f"2024-01-01T00:{i:02d}:00Z"} for i in range(48)
    ]


def expected(rows: list[dict[str, Any]]) -> tuple[int, float | None, float | None]:
    ys = [row["y"] for row in rows if row["y"] is not None]
    pairs = [(float(row["x"]), row["y"]) for row in rows if row["y"] is not None]
    return sum(row["x"] > 3 for row in rows), correlation(pairs), percentile(ys, 0.9) if ys else None


def windows() -> list[tuple[Any, ...]]:
    own: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    made = []
    for i, tick in enumerate(ticks()):
        own[tick["sym"]].append(tick)
        inside = [each for each in ticks()[max(i - 4, 0) : i + 1] if each["sym"] == tick["sym"]]
        made.append((tick["sym"], *expected(inside)))
    return made


def matches() -> list[tuple[Any, ...]]:
    own = {sym: [tick for tick in ticks() if tick["sym"] == sym] for sym in "ab"}
    return [(sym, *expected(rows[i : i + 8])) for sym, rows in own.items() for i in range(0, 24, 8)]


def found(result: Any) -> list[tuple[Any, ...]]:
    return [(row["sym"], row["n"], row["r"], row["p"]) for row in result.to_arrow().to_pylist()]


def assert_same(rows: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]]) -> None:
    assert [row[:2] for row in rows] == [row[:2] for row in wanted]
    for row, wish in zip(rows, wanted, strict=True):
        assert all(close(value, wanted) for value, wanted in zip(row[2:], wish[2:], strict=True)), (row, wish)


@pytest.mark.parametrize("mode", ["local", "batch", "stream"])
def test_bounded_queries_and_matches(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.load("Tick", ticks())
        for text, wanted in ((QUERY, windows()), (MATCH, matches())):
            result = engine.query(text, mode="stream", batches=3) if mode == "stream" else engine.query(text)
            rows = [tuple(row)[:4] for row in result.df.collect()] if mode == "batch" else found(result)
            by_group = text == MATCH
            assert_same(sorted(rows, key=lambda row: row[0]) if by_group else rows, wanted)
        shown = engine.explain(QUERY)
        assert "corr(Tick.x, Tick.y)" in shown
        assert "percentile(Tick.y, 0.9)" in shown


@pytest.mark.parametrize("rows_on_driver", [100_000, 0])
def test_deployed_on_the_driver_and_on_workers(spark: SparkSession, tmp_path: Path, rows_on_driver: int) -> None:
    with Engine(spark, tmp_path / "home", rows_on_driver=rows_on_driver) as engine:
        engine.execute(TICK)
        # Two of one template, and one with another constant, which is not of it.
        live = [engine.deploy(QUERY.replace("> 3", f"> {3 + i}"), name=f"s{i}") for i in range(2)]
        other = engine.deploy(QUERY.replace("0.9", "0"), name="least")
        for some in (ticks()[:25], ticks()[25:]):
            engine.load("Tick", some)
            for each in (*live, other):
                each.drain(timeout=120)
        assert_same(found(live[0].results()), windows())
        assert found(live[1].results())[-1][1] <= found(live[0].results())[-1][1]
        assert found(other.results())[0][3] == 1.0


def test_recall_over_history_and_over_parts_of_it(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.load("Tick", ticks())
        rows = found(engine.query(RECALL))
        own: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
        wanted = []
        for tick in ticks():
            wanted.append((tick["sym"], *expected(own[tick["sym"]])))
            own[tick["sym"]].append(tick)
        assert_same(rows, wanted)
        over = "SELECT t.sym, r.n FROM Tick t RECALL ( SELECT count_if(h.x > 3) OVER () AS n FROM Tick h ) AS r"
        assert engine.query(over).to_arrow().num_rows


SHARES = (0, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.9, 0.95, 1)
SPECIAL = [None, math.nan, math.inf, -math.inf, 0.0, 1e308, -1e308, 5e-324]


def test_they_are_those_of_spark_over_random_values(spark: SparkSession, tmp_path: Path) -> None:
    dice = Random(27)
    rows = []
    for k in range(400):
        values = [
            lambda: dice.gauss(0.0, 1.0),
            lambda: float(dice.randint(-3, 3)),
            lambda: dice.gauss(0.0, 1.0) * 10 ** dice.randint(-9, 9),
            lambda: dice.choice([*SPECIAL, 1.5, 2.5, 2.5]),
        ][k % 4]
        for _ in range(dice.choice([1, 2, 3, 4, 9, 30])):
            rows.append((k, values(), values(), dice.choice([7, -7, 2**53 + 1, None, dice.randint(-99, 99)])))
    table = spark.createDataFrame(rows, "k int, x double, y double, n long")
    calls = [F.percentile(c, share).alias(f"{c}{i}") for c in "xn" for i, share in enumerate(SHARES)]
    calls += [F.corr("x", "y").alias("r"), F.corr("x", "x").alias("s"), F.count_if(F.expr("x > n")).alias("c")]
    wanted = {row["k"]: row.asDict() for row in table.groupBy("k").agg(*calls).collect()}
    written = [f"percentile({c}, {share!r}) AS {c}{i}" for c in "xn" for i, share in enumerate(SHARES)]
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute("CREATE STREAM T (k INT, x DOUBLE, y DOUBLE, n LONG, at TIMESTAMP) EVENT TIME at;")
        engine.load("T", [dict(zip("kxyn", row, strict=True), at="2024-01-01T00:00:00Z") for row in rows])
        text = (
            f"SELECT k, {', '.join(written)}, corr(x, y) AS r, corr(x, x) AS s, count_if(x > n) AS c FROM T GROUP BY k"
        )
        made = engine.query(f"{text} OUTPUT LAST").to_arrow().drop_columns("at").to_pylist()
    assert len(made) == len(wanted)
    for row in made:
        own = wanted[row["k"]]
        for name in own.keys() - {"r", "s"}:  # to the bit
            assert repr(row[name]) == repr(own[name]), (name, row, own)
        for name in ("r", "s"):  # sums in another order
            both_numbers = None not in (row[name], own[name]) and not math.isnan(own[name])
            same = abs(row[name] - own[name]) <= 1e-9 if both_numbers else repr(row[name]) == repr(own[name])
            assert same, (name, row, own)


def test_a_column_correlates_with_itself_entirely(tmp_path: Path) -> None:
    with Engine(home=tmp_path / "home", placement="local") as engine:
        engine.execute(TICK)
        engine.load("Tick", [{"sym": "a", "x": x, "y": -1e200 * x, "at": "2024-01-01"} for x in (1, 2, 3, 2)])
        text = "SELECT corr(x, x) AS a, corr(x, -x) AS b, corr(x * 1e-150, y * 1e-50) AS c FROM Tick OUTPUT LAST"
        (row,) = engine.query(text).to_arrow().to_pylist()
        assert (row["a"], row["b"]) == (1.0, -1.0)
        assert math.isclose(row["c"], -1.0)
