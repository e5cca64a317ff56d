"""History is read by a thread: the batches of other statements do not wait for it, and nothing else changes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from presage.live.history_reader import HistoryReader
from presage.operators.recall import archive_history
from recovery.living import Living
from recovery.recalling import recalling_home

STREAMS = """
CREATE STREAM Traffic (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Overload (sid STRING, bw DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sid)
"""
RECALL = "SELECT e.sid, r.n FROM Overload e RECALL ( SELECT count(*) AS n FROM Traffic h ) AS r"
PLAIN = "SELECT e.sid FROM Overload e"


class Gate:
    """History that answers when the gate is open."""

    def __init__(self) -> None:
        self.open, self.read = threading.Event(), threading.Event()
        self.failing = False
        self.asked: list[str] = []  # which RECALLs, in order
        self.reader = HistoryReader(self.read.set)

    def before(self, archive: Any) -> Any:
        return archive._replace(history=replace(archive.history, ask=lambda *asked: self._ask(archive, asked)))

    def _ask(self, archive: Any, asked: tuple[Any, ...]) -> Any:
        assert self.open.wait(30), "nobody opens the gate"
        self.asked.append(asked[0].alias)
        if self.failing:
            raise OSError("the disk is gone")
        return archive.history.ask(*asked)


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gate: Gate) -> Iterator[Living]:
    monkeypatch.setattr(archive_history, "CHUNK_ROWS", 4)
    with recalling_home(tmp_path / "home") as made:
        job = made.deployments.job
        ask = job._histories
        assert ask is not None
        job._histories = lambda node: gate.before(ask(node))
        made.declare(STREAMS)
        made.load("Traffic", [{"sid": "s", "bw": 1.0, "at": f"2024-01-01T00:00:{i:02}Z"} for i in range(12)])
        made.deploy(RECALL, "told")
        made.deploy(PLAIN, "plain")
        yield made
        gate.open.set()
        gate.reader.close()


def load(home: Living, second: int, sid: str) -> None:
    home.load("Overload", [{"sid": sid, "bw": 1.0, "at": f"2024-01-01T00:01:{second:02}Z"}])


def go_on(home: Living, gate: Gate) -> None:
    while home.deployments.job.advance(gate.reader):
        pass


def plain(home: Living) -> list[str]:
    return [row["sid"] for row in home.rows("plain")]


def test_rows_of_others_come_while_history_is_read(home: Living, gate: Gate) -> None:
    for second, sid in enumerate("abc"):
        load(home, second, sid)
        go_on(home, gate)
    assert plain(home) == ["a", "b", "c"]
    assert home.rows("told") == []
    assert not home.deployments.job.caught_up(home.deployments["told"]._number, home.log.point.arrivals)
    gate.open.set()
    while home.deployments["told"].status.recalls_ready:
        assert gate.read.wait(30)
        gate.read.clear()
        go_on(home, gate)
    rows = home.rows("told")
    assert {row["sid"]: row["n"] for row in rows if not row["extrapolated"]} == {"a": 12, "b": 12, "c": 12}
    assert [row["revision"] for row in rows if row["sid"] == "a"] == [1, 2, 3]


def test_one_who_waits_takes_what_is_being_read(home: Living, gate: Gate) -> None:
    load(home, 0, "a")
    go_on(home, gate)
    gate.open.set()
    home.drain()
    assert [row["n"] for row in home.rows("told")][-1] == 12


def test_a_failure_of_the_thread_is_one_of_the_statement_and_it_can_go_on(home: Living, gate: Gate) -> None:
    gate.failing = True
    gate.open.set()
    load(home, 0, "a")
    go_on(home, gate)
    assert gate.read.wait(30)
    go_on(home, gate)
    status = home.deployments["told"].status
    assert status.state == "failed"
    assert "the disk is gone" in str(status.last_error)
    assert plain(home) == ["a"]
    gate.failing = False
    home.deployments["told"].resume()
    home.drain()
    assert [row["n"] for row in home.rows("told")][-1] == 12


def test_one_event_with_a_huge_history_does_not_starve_a_hundred_small_ones(home: Living, gate: Gate) -> None:
    home.stop("told")
    moments = [f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z" for second in range(61, 1500)]
    home.load("Traffic", [{"sid": "s", "bw": 1.0, "at": at} for at in moments])
    asked = (
        "SELECT e.sid, {0}.n FROM Overload e RECALL {1} ( SELECT count(*) AS n FROM Traffic h ) AS {0} WHERE e.sid {2}"
    )
    home.deploy(asked.format("b", "", "= 'huge'"), "huge")
    small = home.deploy(asked.format("s", "LAST 2 sec", "<> 'huge'"), "small")
    home.load("Overload", [{"sid": "huge", "bw": 1.0, "at": "2024-01-01T00:30:00Z"}])
    go_on(home, gate)
    for ten in range(10):
        rows = [{"sid": f"{ten}-{i}", "bw": 1.0, "at": f"2024-01-01T00:30:{ten + 1:02}Z"} for i in range(10)]
        home.load("Overload", rows)
        go_on(home, gate)
    gate.open.set()
    while small.status.recalls_ready:
        assert gate.read.wait(30)
        gate.read.clear()
        go_on(home, gate)
    assert len({row["sid"] for row in home.rows("small") if not row["extrapolated"]}) == 100
    assert home.deployments["huge"].status.recalls_ready == 1, "its history is long"
    # They take turns, and both have theirs; who is a little late misses one.
    huge, others = gate.asked.count("b"), gate.asked.count("s")
    assert others // 2 - 2 <= huge <= 2 * others + 2
