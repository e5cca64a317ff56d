"""Deployed statements that recall: streams that they fill, what users see and say of open events, and the pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.execute_statement import command_event, show_open_events
from presage.lang import parse_statement
from presage.lang.recall_syntax import RecallCommand
from presage.live.deployment import show_statements
from presage.live.trigger import Trigger
from presage.model.time import format_timestamp, to_micros
from presage.operators.recall import archive_history
from recovery.living import Living
from recovery.recalling import recalling_home

STREAMS = """
CREATE STREAM Traffic (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Overload (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid)
"""
RECALL = """SELECT e.sid, r.n FROM Overload e EVENT ID (e.sid)
{} RECALL LAST 1 hour ( SELECT count(*) AS n FROM Traffic h ) AS r {}"""
FILL = "INSERT INTO Told " + RECALL.format("FINAL", "{}")
SECOND = 1_000_000


class Clock:
    """The wall clock, microseconds, as the test sets it."""

    def __init__(self) -> None:
        self.now = 1_700_000_000 * SECOND


def eventually(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "time_ns", lambda: made.now * 1_000)
    return made


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Living]:
    monkeypatch.setattr(archive_history, "CHUNK_ROWS", 2)
    with recalling_home(tmp_path / "home") as made:
        made.declare(STREAMS)
        yield made


def moment(second: int) -> str:
    return f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z"


def load(home: Living, *overloads: tuple[int, str], traffic: int = 12) -> None:
    """Events of history, a minute of them, and then those that recall it."""
    if traffic:
        home.load("Traffic", [{"sid": "s", "bw": 1.0, "at": moment(5 * i)} for i in range(traffic)])
    for second, sid in overloads:
        home.load("Overload", [{"sid": sid, "bw": 1.0, "at": moment(second)}])


def execute(home: Living, text: str) -> None:
    command = parse_statement(text)
    assert isinstance(command, RecallCommand)
    command_event(home.deployments.job, command)


def shown(home: Living) -> dict[str, dict[str, Any]]:
    names, rows = show_open_events(home.deployments.job)
    found = [dict(zip(names, row, strict=True)) for row in rows]
    return {row["event_id"]: row for row in found}


def rows_of(home: Living, name: str = "told") -> list[tuple[str, int]]:
    return [(row["sid"], row["n"]) for row in home.rows(name)]


# -- streams that are filled ---------------------------------------------------------------------------------


def test_a_paused_event_holds_back_the_stream_and_those_who_read_it(home: Living) -> None:
    home.deploy(FILL.format("PAUSE EVERY 1 CHUNKS"), "told")
    home.deploy("SELECT sid, count(*) AS n FROM Told#length(9)", "reader")
    load(home, (100, "a"), (101, "b"), (102, "c"))
    home.drain()
    while shown(home).keys() - {"b"}:
        execute(home, f"CONTINUE RECALL '{min(shown(home).keys() - {'b'})}'")
    home.drain()
    assert rows_of(home) == [("a", 12)]
    assert [row["sid"] for row in home.rows("reader")] == ["a"], "'c' is later than 'b', which is open"
    assert home.deployments.job.caught_up(home.deployments["reader"]._number, home.log.point.arrivals)
    execute(home, "CANCEL RECALL 'b' OF told")
    home.drain()
    assert rows_of(home) == [("a", 12), ("c", 12)], "only answers over all of history become events"
    assert [(row["sid"], row["n"]) for row in home.rows("reader")] == [("a", 1), ("c", 2)]


def test_a_statement_that_is_stopped_gives_what_waited_for_a_paused_event(home: Living) -> None:
    home.deploy(FILL.format("PAUSE EVERY 1 CHUNKS"), "told")
    home.deploy("SELECT sid, n FROM Told", "reader")
    load(home, (100, "a"), (101, "b"))
    home.drain()
    while "b" in shown(home):
        execute(home, "CONTINUE RECALL 'b'")
    assert rows_of(home) == []
    home.stop("told")
    home.drain()
    assert rows_of(home) == rows_of(home, "reader") == [("b", 12)]


def test_a_statement_that_ends_answers_what_is_open_and_its_readers_have_it(home: Living) -> None:
    home.deploy(FILL.format("PAUSE EVERY 1 CHUNKS") + " WITHIN [, 2024-01-01T00:02:00)", "told")
    home.deploy("SELECT sid, n FROM Told", "reader")
    load(home, (100, "a"), (101, "b"))
    home.drain()
    assert rows_of(home) == []
    load(home, (130, "c"), traffic=0)
    home.drain()
    assert home.deployments["told"].status.state == "finished"
    assert rows_of(home) == rows_of(home, "reader") == [("a", 12), ("b", 12)]


def test_a_reader_waits_for_answers_and_then_goes_on(home: Living) -> None:
    home.deploy(FILL.format(""), "told")
    home.deploy("SELECT sid, n FROM Told", "reader")
    number = home.deployments["reader"]._number
    load(home, (100, "a"))
    job = home.deployments.job
    assert job.advance()
    assert home.deployments["told"].status.recalls_ready == 1
    assert rows_of(home) == rows_of(home, "reader") == []
    assert not job.caught_up(number, home.log.point.arrivals)
    batches = 0
    while not job.caught_up(number, home.log.point.arrivals):
        assert job.advance()
        batches += 1
    assert batches > 3, "history was read in several chunks"
    assert rows_of(home) == rows_of(home, "reader") == [("a", 12)]


def test_events_of_the_moment_that_was_reached_before_are_not_missed(home: Living) -> None:
    home.deploy(FILL.format(""), "told")
    home.deploy("SELECT sid, n FROM Told", "reader")
    load(home, (100, "a"))
    home.drain()
    load(home, (100, "b"), (100, "c"), traffic=0)
    home.drain()
    assert rows_of(home) == rows_of(home, "reader") == [("a", 12), ("b", 12), ("c", 12)]


def test_a_reader_that_begins_later_sees_what_comes_after(home: Living) -> None:
    home.deploy(FILL.format(""), "told")
    load(home, (100, "a"))
    home.drain()
    home.deploy("SELECT sid, n FROM Told", "now")
    home.deploy("SELECT sid, n FROM Told WITHIN [2024-01-01, )", "always")
    load(home, (101, "b"), traffic=0)
    home.drain()
    assert rows_of(home, "now") == [("b", 12)]
    assert rows_of(home, "always") == [("a", 12), ("b", 12)]


def test_open_events_and_their_boundary_survive_a_death(home: Living, tmp_path: Path) -> None:
    home.deploy(FILL.format("PAUSE EVERY 1 CHUNKS"), "told")
    home.deploy("SELECT sid, n FROM Told", "reader")
    load(home, (100, "a"), (101, "b"))
    home.drain()
    while "b" in shown(home):
        execute(home, "CONTINUE RECALL 'b'")
    before = home.deployments["told"].explain()
    home.die()
    with recalling_home(tmp_path / "home") as again:
        again.drain()
        assert again.deployments["told"].explain() == before
        assert "all have been made up to: 2024-01-01T00:01:39.999999Z" in before
        assert rows_of(again, "reader") == []
        while "a" in shown(again):
            execute(again, "CONTINUE RECALL 'a'")
        again.drain()
        assert rows_of(again, "reader") == [("a", 12), ("b", 12)]


def test_lost_states_are_made_again_and_readers_miss_nothing(home: Living, tmp_path: Path) -> None:
    home.deploy(FILL.format(""), "told")
    home.deploy("SELECT sid, count(*) AS n FROM Told#length(9)", "reader")
    load(home, (100, "a"), (101, "b"))
    home.drain()
    load(home, (102, "c"), traffic=0)
    home.deployments.job.advance()
    assert home.deployments["told"].status.recalls_ready
    home.die()
    for path in (tmp_path / "home" / "states").iterdir():
        path.unlink()
    with recalling_home(tmp_path / "home") as again:
        load(again, (103, "d"), traffic=0)
        again.drain()
        assert rows_of(again) == [("a", 12), ("b", 12), ("c", 12), ("d", 12)]
        assert [(row["sid"], row["n"]) for row in again.rows("reader")] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def test_a_lost_state_of_revisions_is_told_not_guessed(home: Living, tmp_path: Path) -> None:
    """How many revisions there were depends on when history was read: they cannot be counted off."""
    home.deploy(RECALL.format("", ""), "means")
    load(home, (100, "a"), (101, "b"))
    home.deployments.job.advance()
    assert home.deployments["means"].status.recalls_ready
    home.die()
    for path in (tmp_path / "home" / "states").iterdir():
        path.unlink()
    with recalling_home(tmp_path / "home") as again:
        load(again, (103, "d"), traffic=0)
        again.deployments.job.advance()
        status = again.deployments["means"].status
        assert status.state == "failed"
        assert "deploy it again with replace=True" in status.last_error


def test_rows_that_are_revised_cannot_fill_a_stream(home: Living) -> None:
    with pytest.raises(PresageError, match="write FINAL RECALL"):
        home.deploy("INSERT INTO Told " + RECALL.format("", ""), "told")


# -- what is seen --------------------------------------------------------------------------------------------


def test_what_is_open_is_shown_with_what_it_has_read(home: Living) -> None:
    live = home.deploy(RECALL.format("", "PAUSE EVERY 2 CHUNKS"), "means")
    load(home, (100, "a"), (101, "b"))
    home.drain()
    found = shown(home)
    assert list(found["a"]) == [
        "statement",
        "event_id",
        "state",
        "tickets",
        "chunks",
        "of_chunks",
        "results",
        "covered_from",
        "covered_to",
        "priority",
    ]
    assert {row["state"] for row in found.values()} == {"suspended"}
    assert [(row["statement"], row["chunks"], row["of_chunks"]) for row in found.values()] == [("means", 2, 6)] * 2
    row = next(row for row in home.rows("means") if row["sid"] == "a" and row["revision"] == 2)
    assert found["a"]["covered_from"] == format_timestamp(to_micros(row["covered_from"]))
    assert found["a"]["covered_to"] == moment(100)
    assert (live.status.recalls_ready, live.status.recalls_suspended, live.status.partial_matches) == (0, 2, 0)
    names, ((*row_of,),) = show_statements({"means": live})
    assert dict(zip(names, row_of, strict=True))["recalls_suspended"] == 2
    assert "recalls that are open now: 0 ready, 2 suspended" in live.explain()


def test_an_open_pattern_is_no_open_recall(home: Living) -> None:
    text = "SELECT a.sid, r.n FROM PATTERN [ EVERY a=Overload -> b=Overload(sid = a.sid) ] "
    home.deploy(text + "RECALL LAST 1 hour ( SELECT count(*) AS n FROM Traffic h ) AS r", "pairs")
    load(home, (100, "a"), (101, "b"), (102, "a"))
    for _ in range(20):
        if not home.deployments.job.advance():
            break
    else:
        raise AssertionError("the job does not come to an end")
    status = home.deployments["pairs"].status
    assert (status.partial_matches, status.recalls_ready, status.recalls_suspended) == (2, 0, 0)
    assert {row["n"] for row in home.rows("pairs") if not row["extrapolated"]} == {12}


# -- the pace ------------------------------------------------------------------------------------------------


def test_reports_are_spaced_by_the_wall_clock(home: Living, clock: Clock) -> None:
    home.deploy(RECALL.format("", "REPORT EVERY 10 sec"), "means")
    load(home, (100, "a"))
    while home.deployments.job.advance():
        clock.now += 4 * SECOND
    # Six chunks, one each four seconds: the first, those ten seconds after one that was told, and the last.
    chunks = [row["extrapolated"] for row in home.rows("means")]
    assert chunks == [True, True, False]


def test_what_is_known_when_an_event_begins_to_wait_is_told(home: Living, clock: Clock) -> None:
    home.deploy(RECALL.format("", "REPORT EVERY 1 hour PAUSE EVERY 2 CHUNKS"), "means")
    load(home, (100, "a"))
    home.drain()
    assert [row["revision"] for row in home.rows("means")] == [1, 2]
    last = home.rows("means")[-1]["covered_from"]
    assert format_timestamp(to_micros(last)) == shown(home)["a"]["covered_from"]


def test_an_event_that_nobody_asks_for_is_dropped_although_nothing_arrives(home: Living, clock: Clock) -> None:
    home.deploy(FILL.format("PAUSE EVERY 1 CHUNKS DROP AFTER 1 min"), "told")
    load(home, (100, "a"), (101, "b"))
    home.drain()
    clock.now += 40 * SECOND
    execute(home, "CONTINUE RECALL 'b'")
    clock.now += 15 * SECOND
    assert not home.deployments.job.overdue
    assert not home.deployments.job.advance()
    assert set(shown(home)) == {"a", "b"}
    clock.now += 10 * SECOND
    assert home.deployments.job.overdue
    home.drain()
    assert set(shown(home)) == {"b"}, "somebody has asked for it since"
    assert not home.deployments.job.overdue
    while shown(home):
        execute(home, "CONTINUE RECALL 'b'")
    assert rows_of(home) == [("b", 12)]


def test_the_trigger_drops_an_event_when_the_wall_clock_says_so(home: Living, clock: Clock) -> None:
    running = Trigger(home.log, home.deployments.job)
    home.deploy(RECALL.format("", "PAUSE EVERY 1 CHUNKS DROP AFTER 1 min"), "means")
    load(home, (100, "a"))
    running.ensure_running()
    eventually(lambda: shown(home).get("a", {}).get("state") == "suspended")
    clock.now += 61 * SECOND
    running.wake()
    eventually(lambda: not shown(home))
    running.stop()
