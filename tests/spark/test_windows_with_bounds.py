"""Windows with bounds and OUTPUT at the end of input: rows in every mode, against plain loops."""

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


def minute_of(tick: dict[str, Any]) -> int:
    return int((tick["at"] - BEGIN).total_seconds() // 60)


def hops() -> list[Row]:
    made = []
    # From the epoch; the first minute of 2024 is a multiple of three.
    for begin in range(-60, 120, 3):
        end = begin + 8
        inside = [t for t in ticks() if begin <= minute_of(t) < end]
        for sym in dict.fromkeys(t["sym"] for t in inside):
            xs = [t["x"] for t in inside if t["sym"] == sym]
            start, stop = (BEGIN + timedelta(minutes=m) for m in (begin, end))
            made.append((sym, len(xs), sum(xs), start, stop, stop))
    return made


def sessions() -> list[Row]:
    made = []
    for span in (range(13), range(30, 44)):
        for sym in "ab":
            xs = [m for m in span if "ab"[m % 2] == sym]
            start, stop = (BEGIN + timedelta(minutes=m, seconds=59) for m in (xs[0], xs[-1] + 10))
            made.append((sym, len(xs), sum(xs), start, stop, stop))
    return sorted(made, key=lambda row: row[-1])


COLUMNS = "SELECT sym, count(*) AS n, sum(x) AS s, window_start AS a, window_end AS b FROM Tick"
BOUNDED = {
    COLUMNS + "#hop(8 min, 3 min) GROUP BY sym": hops(),
    COLUMNS + "#session(10 min, sym) GROUP BY sym": sessions(),
}


@pytest.mark.parametrize("text", BOUNDED)
def test_hops_and_sessions(spark: SparkSession, tmp_path: Path, text: str) -> None:
    wanted = BOUNDED[text]
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        live = engine.deploy(text, name="live")
        for some in (ticks()[:9], ticks()[9:20], ticks()[20:]):
            engine.load("Tick", some)
            live.drain(timeout=120)
        assert rows_of(engine.query(text)) == wanted
        assert rows_of(engine.query(text, mode="stream", batches=3)) == wanted
        naive = [tuple(v.replace(tzinfo=None) if isinstance(v, datetime) else v for v in row) for row in wanted]
        assert sorted(tuple(row)[:3] for row in engine.query(text).df.collect()) == sorted(row[:3] for row in naive)
        found = rows_of(live.results())
        last = ticks()[-1]["at"]
        assert found == wanted[: len(found)]
        assert len(found) >= sum(row[-1] <= last for row in wanted)
        assert len(found) < len(wanted)


END = BEGIN + timedelta(minutes=36)
UNTIL = f" WITHIN [, '{END:%Y-%m-%dT%H:%M:%SZ}') "
AT_END = {
    "SELECT sym, count(*) AS n, sum(x) AS s FROM Tick" + UNTIL + "GROUP BY sym OUTPUT LAST": [
        ("a", 10, sum(range(0, 13, 2)) + 30 + 32 + 34, END),
        ("b", 9, sum(range(1, 13, 2)) + 31 + 33 + 35, END),
    ],
    # Rows before the last one do not count: the average of b was below 14 for a while.
    "SELECT sym, avg(x) AS mean FROM Tick" + UNTIL + "GROUP BY sym HAVING avg(x) < 14 OUTPUT LAST": [("a", 13.8, END)],
    "SELECT DISTINCT sum(x) > 0 AS some FROM Tick" + UNTIL + "GROUP BY sym OUTPUT LAST": [(True, END)],
    "SELECT sym, count(*) AS n, sum(x) AS s FROM Tick#time(4 min)" + UNTIL + "GROUP BY sym OUTPUT SNAPSHOT": [
        ("a", 2, 66, END),
        ("b", 2, 68, END),
    ],
    "SELECT sym, x, sum(x) AS s FROM Tick#length(2)" + UNTIL + "OUTPUT SNAPSHOT": [
        ("a", 34, 69, END),
        ("b", 35, 69, END),
    ],
    "SELECT count(*) AS n FROM Tick#time(2 min) AS t JOIN Tick#lastevent AS l ON t.x <= l.x"
    + UNTIL
    + "OUTPUT SNAPSHOT": [(2, END)],
}


@pytest.mark.parametrize("text", AT_END)
def test_output_at_the_end(spark: SparkSession, tmp_path: Path, text: str) -> None:
    wanted = AT_END[text]
    with Engine(spark, tmp_path / "home") as engine:
        engine.execute(TICK)
        live = engine.deploy(text, name="live")
        for some in (ticks()[:9], ticks()[9:20], ticks()[20:]):
            engine.load("Tick", some)
            live.drain(timeout=120)
        assert rows_of(engine.query(text)) == wanted
        assert rows_of(engine.query(text, mode="stream", batches=3)) == wanted
        assert [tuple(row)[:-1] for row in engine.query(text).df.collect()] == [row[:-1] for row in wanted]
        assert rows_of(live.results()) == wanted


# Their last events are later than the last Tick, and the filters of the queries below drop them.
MOVED = """INSERT INTO Moved SELECT sym, x, at + 10 min AS at FROM Tick;
INSERT INTO Ended SELECT sym, max(x) AS x FROM Tick#time_batch(2 min) WITHIN [, '2024-01-01T01:00:00Z')
  GROUP BY sym;
INSERT INTO Again SELECT sym, x, at FROM Ended;"""
LAST_MOVED = ticks()[-1]["at"] + timedelta(minutes=10)
LAST_ENDED = BEGIN + timedelta(minutes=44, seconds=59)
DROPPED = {
    "SELECT sym, count(*) AS n FROM Moved(x < 42)#time_batch(2 min) WHERE x >= 39 GROUP BY sym": [
        ("b", 1, LAST_MOVED - timedelta(minutes=3)),
        ("a", 1, LAST_MOVED - timedelta(minutes=1)),
        ("b", 1, LAST_MOVED - timedelta(minutes=1)),
    ],
    "SELECT count(*) AS n FROM Moved#time(5 min) WHERE x < 42 OUTPUT SNAPSHOT": [(3, LAST_MOVED)],
    # The pattern waits on a stream of the log, and the events of another item of FROM tell that time has passed.
    "SELECT p.t.x, m.x AS y FROM PATTERN [t=Tick(x = 43) -> timer:interval(9 min)] AS p, Moved(x = 9)#lastevent AS m": [
        (43, 9, LAST_MOVED - timedelta(minutes=1)),
    ],
    "SELECT count(*) AS n FROM Ended(x < 42)#time(10 min) OUTPUT SNAPSHOT": [(8, LAST_ENDED)],
    "SELECT sym, count(*) AS n FROM Ended#time(10 min) GROUP BY sym HAVING sym = 'c' OUTPUT SNAPSHOT": [],
    "SELECT count(*) AS n FROM Again(x < 42)#time(10 min) OUTPUT SNAPSHOT": [(8, LAST_ENDED)],
}


@pytest.mark.parametrize("text", DROPPED)
def test_events_of_a_derived_stream_that_a_filter_drops_advance_time_in_every_mode(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    found: dict[str, list[Row]] = {}
    for optimize in (True, False):
        with Engine(spark, tmp_path / f"home{optimize}", optimize=optimize) as engine:
            engine.execute(TICK)
            engine.execute(MOVED)
            live = engine.deploy(text, name="live") if "SNAPSHOT" not in text else None
            for some in (ticks()[:9], ticks()[9:20], ticks()[20:]):
                engine.load("Tick", some)
            found[f"local {optimize}"] = rows_of(engine.query(text))
            naive = [tuple(row) for row in engine.query(text).df.collect()]
            found[f"spark {optimize}"] = [(*r[:-1], r[-1].replace(tzinfo=UTC)) for r in naive]
            found[f"stream {optimize}"] = rows_of(engine.query(text, mode="stream", batches=3))
            if live is not None:
                live.drain(timeout=120)
                made = rows_of(live.results())
                assert made == found["local True"][: len(made)]
    assert found == dict.fromkeys(found, DROPPED[text])
