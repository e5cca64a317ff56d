"""Joins behind a RECALL through the engine: the data of the event's time, or of the moment a revision is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presage import Engine
from presage.operators.recall import archive_history

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = """
CREATE STREAM Traffic (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid);
CREATE STREAM Overload (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid);
CREATE STREAM Ping (sid STRING, ms LONG, at TIMESTAMP) EVENT TIME at;
CREATE RELATION Owner (sid STRING, who STRING, least DOUBLE)
  VALUES ('s0', 'ann', 3.5), ('s0', 'abe', 9.0), ('s1', 'bob', 0.0), (NULL, 'eve', 0.0);
"""
MEAN = "{} RECALL LAST 1 day ( SELECT avg(h.bw) AS mean, count(*) AS n FROM Traffic h WHERE h.sid = e.sid ) AS r {}"
Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(archive_history, "CHUNK_ROWS", 20)
    return


def at(minute: float) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def traffic(count: int = 100) -> Rows:
    return [{"sid": f"s{i % 2}", "bw": float(i % 10), "at": at(i)} for i in range(count)]


OVERLOADS: Rows = [
    {"sid": sid, "bw": 9.0, "at": at(minute)} for sid, minute in [("s0", 40.5), ("s1", 70.5), ("s2", 80.5)]
]
PINGS: Rows = [
    {"sid": sid, "ms": ms, "at": at(minute)}
    for ms, (sid, minute) in enumerate(
        [("s0", 30), ("s1", 38), ("s0", 39), ("s0", 41), ("s1", 69), ("s1", 70), ("s0", 71), (None, 84), ("s1", 88)]
    )
]


def last_of_each(rows: Rows) -> Rows:
    return list({row["sid"]: row for row in rows}.values())


def younger(minutes: int) -> Callable[[Rows, datetime], Rows]:
    return lambda rows, now: [row for row in rows if row["at"] > now - timedelta(minutes=minutes)]


# What a window holds of the events that have come, at a moment.
WINDOWS: dict[str, Callable[[Rows, datetime], Rows]] = {
    "#time(20 min)": younger(20),
    "#length(3)": lambda rows, now: rows[-3:],
    "#lastevent": lambda rows, now: rows[-1:],
    "#unique(sid)": lambda rows, now: last_of_each(rows),
    "#firstunique(sid)": lambda rows, now: last_of_each(rows[::-1]),
    "": lambda rows, now: rows,
}


def join(window: str, analysis: str) -> str:
    return f"""SELECT e.sid, r.n, p.ms FROM Overload e {MEAN.format("FINAL", "")}
               JOIN Ping{window} p ON p.sid = e.sid AND p.ms < r.n {analysis}"""


def wanted(window: str, now: datetime | None) -> Counter[tuple[Any, ...]]:
    """`now`: when all of them look; None: each at its own time."""
    made: Counter[tuple[Any, ...]] = Counter()
    for event in OVERLOADS:
        n = sum(row["sid"] == event["sid"] and row["at"] < event["at"] for row in traffic())
        moment = now or event["at"]
        inside = WINDOWS[window]([ping for ping in PINGS if ping["at"] <= moment], moment)
        made.update((event["sid"], n, ping["ms"]) for ping in inside if ping["sid"] == event["sid"] and ping["ms"] < n)
    return made


def shown(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter((row["sid"], row["n"], row["ms"]) for row in rows)


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(spark, tmp_path_factory.mktemp("present") / "home") as made:
        made.execute(DECLARED)
        made.load("Traffic", traffic())
        made.load("Ping", PINGS)
        made.load("Overload", OVERLOADS)
        yield made


@pytest.mark.parametrize("window", WINDOWS)
def test_EVENT_meets_what_the_window_held_at_the_time_of_the_event(engine: Engine, window: str) -> None:
    expected = wanted(window, None)
    assert shown(engine.query(join(window, ""))) == expected
    assert shown(engine.query(join(window, "ANALYSIS EVENT"), mode="stream", batches=4)) == expected


@pytest.mark.parametrize("window", WINDOWS)
def test_PRESENT_meets_what_the_window_holds_when_the_query_ends(engine: Engine, window: str) -> None:
    # The last event of Overload and Ping; Traffic goes on, and is history.
    expected = wanted(window, at(88))
    assert expected != wanted(window, None) or window == "#firstunique(sid)"
    assert shown(engine.query(join(window, "ANALYSIS PRESENT"))) == expected
    assert shown(engine.query(join(window, "ANALYSIS PRESENT"), mode="stream", batches=1)) == expected


OWNERS = "SELECT e.sid, r.mean, o.who FROM Overload e {} JOIN Owner o ON o.sid = e.sid AND o.least < r.mean {}"


def test_over_a_relation_that_does_not_change_both_give_the_same_rows_everywhere(engine: Engine) -> None:
    told = [
        [
            (row["sid"], row["mean"], row["who"])
            for row in engine.query(OWNERS.format(MEAN.format("FINAL", ""), analysis))
        ]
        for analysis in ("", "ANALYSIS EVENT", "ANALYSIS PRESENT")
    ]
    assert (
        told[0] == told[1] == told[2] == [("s0", pytest.approx(80 / 21), "ann"), ("s1", pytest.approx(175 / 35), "bob")]
    )
    for batches in (1, 4):
        replayed = engine.query(
            OWNERS.format(MEAN.format("FINAL", ""), "ANALYSIS PRESENT"), mode="stream", batches=batches
        )
        assert [(row["sid"], row["mean"], row["who"]) for row in replayed] == told[0]


def test_a_row_that_a_revision_no_longer_gives_a_partner_is_taken_back(engine: Engine) -> None:
    rows = list(engine.query(OWNERS.format(MEAN.format("", ""), "ANALYSIS PRESENT")))
    of_s0 = [(row["who"], row["change"]) for row in rows if row["sid"] == "s0"]
    left: Counter[str] = Counter()
    for who, change in of_s0:
        left[who] += {"insert": 1, "update": 0, "delete": -1}[change]
    assert {who for who, count in left.items() if count} == {"ann"}
    assert max(row["revision"] for row in rows) > 1


PAUSED = "SELECT e.sid, r.n, p.ms FROM Overload e {} JOIN Ping#unique(sid) p ON p.sid = e.sid ANALYSIS {}"


def test_a_standing_statement_meets_the_present_of_each_revision(spark: SparkSession, tmp_path: Path) -> None:
    pace = MEAN.format("", "PAUSE EVERY 1 CHUNKS")
    with Engine(spark, home=tmp_path) as engine:
        engine.execute(DECLARED)
        engine.deploy(PAUSED.format(pace, "PRESENT"), name="present")
        engine.deploy(PAUSED.format(pace, "EVENT"), name="event")
        engine.load("Traffic", traffic())
        engine.load("Ping", [{"sid": "s0", "ms": 1, "at": at(99)}, {"sid": "s1", "ms": 7, "at": at(99)}])
        engine.load("Overload", [{"sid": "s0", "bw": 9.0, "at": at(100)}])
        for stream in ("Ping", "Overload"):
            engine.advance(stream, at(101))
        for name in ("present", "event"):
            engine.deployments[name].drain(timeout=120)
            assert [(r["ms"], r["change"]) for r in engine.deployments[name].results()] == [(1, "insert")]
    with Engine(spark, home=tmp_path) as engine:
        # In another life: what the window held is still known, and newer data comes.
        engine.load("Ping", [{"sid": "s0", "ms": 2, "at": at(102)}])
        for stream in ("Ping", "Overload"):
            engine.advance(stream, at(103))
        told: dict[str, Rows] = {}
        for name in ("present", "event"):
            live = engine.deployments[name]
            live.drain(timeout=120)
            while open_now := [row for row in engine.query("SHOW RECALLS") if row["statement"] == name]:
                engine.execute(f"CONTINUE RECALL '{open_now[0]['event_id']}' OF {name}")
                live.drain(timeout=120)
            told[name] = list(live.results())
    assert [row["ms"] for row in told["event"]] == [1] * len(told["event"])
    assert {row["change"] for row in told["event"][1:]} == {"update"}
    second = [(row["ms"], row["change"]) for row in told["present"] if row["revision"] == 2]
    assert sorted(second) == [(1, "delete"), (2, "insert")]
    assert {(row["ms"], row["change"]) for row in told["present"] if row["revision"] > 2} == {(2, "update")}
    assert told["present"][-1]["n"] == told["event"][-1]["n"] == 50
    assert not told["present"][-1]["extrapolated"]
