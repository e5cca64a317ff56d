"""Local queries give the rows of a job of Spark's, in the same order: over files as written, and as compacted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine, PresageError
from presage.execution import placement
from presage.storage.chunks import Shape

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = """CREATE STREAM Tick (sym STRING, price DOUBLE, n LONG, at TIMESTAMP) EVENT TIME at KEY (sym);
CREATE RELATION Named (sym STRING) VALUES ('s1'), ('s3'), ('s5');"""
FALL = "PATTERN (A B+) DEFINE B AS B.price < PREV(B.price)"
PLACE = "== Placement ==\nin this process: 900 events"
LOCAL = [
    f"SELECT sym, top, k FROM Tick MATCH_RECOGNIZE (PARTITION BY sym MEASURES A.price AS top, count(*) AS k {FALL})",
    # Expressions and a condition above the kernel, conditions below it; the key is compared, too.
    f"""SELECT upper(sym) AS s, top - low AS fall, k * 2 AS double FROM Tick MATCH_RECOGNIZE (PARTITION BY sym
        MEASURES FIRST(price) AS top, LAST(B.price) AS low, count(B.*) AS k {FALL}) WHERE k > 1""",
    f"""SELECT * FROM Tick(n > 3) MATCH_RECOGNIZE (PARTITION BY sym ALL ROWS PER MATCH
        MEASURES CLASSIFIER() AS c, MATCH_NUMBER() AS m, A.sym AS own {FALL} AND B.sym <> 's4')""",
    f"SELECT sym, low FROM Tick(Named(sym)) MATCH_RECOGNIZE (PARTITION BY sym MEASURES LAST(price) AS low {FALL})",
    # The end of input settles matches, and a bound that cuts through files.
    f"""SELECT sym, k FROM Tick MATCH_RECOGNIZE (PARTITION BY sym, n % 2 MEASURES count(*) AS k {FALL})
        WITHIN [2024-01-01T00:02:00Z, 2024-01-01T00:11:30Z)""",
    f"""SELECT sym, k FROM Tick MATCH_RECOGNIZE (PARTITION BY sym MEASURES count(*) AS k
        AFTER MATCH SKIP TO NEXT ROW {FALL.replace(") D", ") WITHIN 90 seconds D")})""",
    # Nothing is found.
    f"SELECT sym, top FROM Tick(n > 99) MATCH_RECOGNIZE (PARTITION BY sym MEASURES A.price AS top {FALL})",
]
# Old chunks are divided by another key, or nothing divides the rows at all.
UNDIVIDED = [
    f"SELECT top FROM Tick MATCH_RECOGNIZE (MEASURES FIRST(price) AS top {FALL})",
    f"SELECT n, top FROM Tick MATCH_RECOGNIZE (PARTITION BY n MEASURES FIRST(price) AS top {FALL})",
    f"SELECT top FROM Tick MATCH_RECOGNIZE (PARTITION BY n * 2 MEASURES FIRST(price) AS top {FALL})",
]


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with (
        pytest.MonkeyPatch.context() as patch,
        Engine(spark, tmp_path_factory.mktemp("old") / "home", placement="local") as made,
    ):
        small = Shape(slice=300_000_000, least_rows=1, buckets=4, rows_per_bucket=1)
        patch.setattr("presage.storage.maintenance.Shape", lambda: small)
        made.execute(TICK)
        made.load("Tick", ticks(900))
        made.advance("Tick", "2024-01-02T00:00:00Z")
        made.maintain()
        yield made


@pytest.fixture(scope="module")
def recent(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with (
        pytest.MonkeyPatch.context() as patch,
        Engine(spark, tmp_path_factory.mktemp("new") / "home", placement="local") as made,
    ):
        patch.setattr("presage.execution.step_stages.ROWS_PER_THREAD", 100)
        patch.setattr("os.cpu_count", lambda: 3)
        made.execute(TICK)
        for part in range(3):
            made.load("Tick", ticks(900)[part * 300 : part * 300 + 300])
        yield made


def ticks(count: int) -> list[dict[str, Any]]:
    """Several events of one time, keys that are null, prices that are null or equal."""
    chance = random.Random(7)
    return [
        {
            "sym": chance.choice([None, *(f"s{k}" for k in range(9))]),
            "price": chance.choice([None, *map(float, range(12))]),
            "n": chance.randrange(10),
            "at": f"2024-01-01T00:{i // 60:02d}:{i % 60 // 2 * 2:02d}Z",
        }
        for i in range(count)
    ]


def check(engine: Engine, query: str) -> None:
    result = engine.query(query)
    assert "WITHIN [" in query or result.explain().endswith(PLACE)
    local = result.to_arrow()
    assert local.to_pylist() == engine.query(query).df.toArrow().cast(local.schema).to_pylist()
    assert (local.num_rows > 0) == ("n > 99" not in query)


@pytest.mark.parametrize("query", [*LOCAL, *UNDIVIDED])
def test_compacted_files_give_the_rows_that_spark_gives(engine: Engine, query: str) -> None:
    check(engine, query)


@pytest.mark.parametrize("query", [*LOCAL, *UNDIVIDED])
def test_files_as_written_give_the_rows_that_spark_gives(recent: Engine, query: str) -> None:
    check(recent, query)


def test_EXPLAIN_says_where_a_query_runs(engine: Engine) -> None:
    lines = engine.query(f"EXPLAIN {LOCAL[0]}").to_arrow()["plan"].to_pylist()
    assert lines[-2:] == PLACE.splitlines()
    assert engine.explain(f"EXPLAIN {LOCAL[0]} FORMAT svg").startswith("<svg")


def test_large_files_are_placed_on_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "MOST_ROWS", 4)
    with Engine(spark) as engine:
        engine.execute(TICK)
        engine.load("Tick", ticks(4))
        assert "in this process" in engine.explain(LOCAL[0])
        monkeypatch.setattr(placement, "MOST_BYTES", 1)
        assert engine.explain(LOCAL[0]).endswith("bytes are more than 1")


def test_more_events_than_fit_in_memory_are_placed_on_spark(spark: SparkSession, engine: Engine) -> None:
    engine.close()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placement, "MOST_ROWS", 10_000)
        with Engine(spark, engine.home, rows_in_memory=899) as careful:
            assert careful.explain(LOCAL[0]).endswith("on Spark: 900 events are more than 899")
        with Engine(spark, engine.home, rows_in_memory=900) as enough:
            result = enough.query(LOCAL[0])
            assert result.explain().endswith("in this process: 900 events are at most 900")
    with pytest.raises(PresageError, match="closed"):
        result.to_arrow()
