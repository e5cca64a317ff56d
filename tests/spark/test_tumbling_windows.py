"""`#tumble`: rows of aligned spans, in every mode, against a plain loop."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from presage import Engine

TICK = "CREATE STREAM Tick (sym STRING, x LONG, at TIMESTAMP) EVENT TIME at;"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
GROUPED = (
    "SELECT sym, count(*) AS n, sum(x) AS s, window_start AS a, window_end AS b FROM Tick#tumble(5 min, 2 min) "
    "WHERE x > 0 GROUP BY sym HAVING window_end < '2030-01-01T00:00:00Z'"
)
WHOLE = (
    "SELECT 'all' AS sym, count(*) AS n, sum(x) AS s, window_start AS a, window_end AS b FROM Tick#tumble(5 min, 2 min)"
)
Row = tuple[Any, ...]


def ticks() -> list[dict[str, Any]]:
    # No event comes in the minutes from 13 to 29.
    minutes = [*range(13), *range(30, 44)]
    return [{"sym": "ab"[m % 2], "x": m, "at": BEGIN + timedelta(minutes=m, seconds=59)} for m in minutes]


def expected(grouped: bool) -> list[Row]:
    spans: dict[Any, list[int]] = {}
    for tick in ticks():
        if grouped and not tick["x"]:
            continue
        minute = (tick["x"] - 2) // 5 * 5 + 2
        spans.setdefault((minute, tick["sym"] if grouped else "all"), []).append(tick["x"])
    made = []
    for minute, sym in spans:  # groups of a span as they appear
        start, end = (BEGIN + timedelta(minutes=minute + more) for more in (0, 5))
        made.append((sym, len(spans[minute, sym]), sum(spans[minute, sym]), start, end, end))
    return made


def rows_of(result: Any) -> list[Row]:
    return [tuple(row.values()) for row in result.to_arrow().to_pylist()]


@pytest.mark.parametrize("grouped", [True, False])
def test_bounded_queries_emit_the_open_span_at_its_end(spark: SparkSession, tmp_path: Path, grouped: bool) -> None:
    text = GROUPED if grouped else WHOLE
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.load("Tick", ticks())
        wanted = expected(grouped)
        assert rows_of(engine.query(text)) == wanted
        assert rows_of(engine.query(text, mode="stream", batches=3)) == wanted
        by_spark = [tuple(row) for row in engine.query(text).df.collect()]
        naive = [tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row) for row in wanted]
        assert sorted((row[0], row[1], row[2]) for row in by_spark) == sorted(row[:3] for row in naive)


def test_rows_of_the_open_span_are_events_of_the_next_statement(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        engine.execute("CREATE STATEMENT five AS INSERT INTO Five SELECT count(*) AS n FROM Tick#tumble(5 min)")
        engine.load("Tick", ticks())
        for text in (
            "SELECT sum(n) AS n FROM Five#tumble(1 hour)",
            "SELECT sum(n) AS n FROM Five OUTPUT LAST EVERY 1 hour",
        ):
            ((n, at),) = rows_of(engine.query(text))
            assert (n, at) == (len(ticks()), BEGIN + timedelta(hours=1))
            assert rows_of(engine.query(text, mode="stream", batches=3)) == [(n, at)]


@pytest.mark.parametrize("rows_on_driver", [100_000, 0])
def test_deployed_spans_close_when_the_watermark_passes(
    spark: SparkSession, tmp_path: Path, rows_on_driver: int
) -> None:
    with Engine(spark, tmp_path / "home", rows_on_driver=rows_on_driver) as engine:
        engine.execute(TICK)
        # Two of each template share a state.
        texts = [GROUPED, GROUPED.replace("x > 0", "x > 5"), WHOLE, WHOLE.replace("'all'", "'every'")]
        live = [engine.deploy(text, name=f"s{i}") for i, text in enumerate(texts)]
        for some in (ticks()[:9], ticks()[9:20], ticks()[20:]):
            engine.load("Tick", some)
            for each in live:
                each.drain(timeout=120)
        last = ticks()[-1]["at"]
        for each, grouped in ((live[0], True), (live[2], False)):
            found, wanted = rows_of(each.results()), expected(grouped)
            assert found == wanted[: len(found)]
            assert len(found) >= sum(row[5] <= last - timedelta(minutes=5) for row in wanted)
            assert len(found) < len(wanted)
        assert rows_of(live[3].results()) == [("every", *row[1:]) for row in rows_of(live[2].results())]
