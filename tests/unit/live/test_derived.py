"""Statements that read what other statements make, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.live.statement import FAILED, RUNNING
from presage.operators.windows.kernel.aggregate import AggregateKernel
from recovery.living import Living

STREAM = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at"
HIGH = "INSERT INTO High SELECT sym, price FROM Tick WHERE price > 10"
COUNT = "SELECT sym, count(*) AS n FROM High#time(1 min) GROUP BY sym"


def tick(second: int, price: float, sym: str = "a") -> dict[str, Any]:
    return {"sym": sym, "price": price, "at": f"2024-01-01T00:00:{second:02d}"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Living]:
    with Living(tmp_path / "home") as made:
        made.declare(STREAM)
        yield made


def counts(home: Living) -> list[int]:
    return [row["n"] for row in home.rows("counts")]


def test_a_reader_goes_on_with_whoever_fills_the_stream(home: Living) -> None:
    home.deploy(HIGH, "high")
    home.deploy(COUNT, "counts")
    home.load("Tick", [tick(1, 5), tick(2, 20)])
    home.drain()
    home.deploy(HIGH.replace("10", "100"), "high", replace=True)
    home.load("Tick", [tick(3, 50), tick(4, 200)])
    home.drain()
    home.deploy("INSERT INTO High SELECT sym, price FROM Tick WHERE price < 0", "low")
    home.load("Tick", [tick(5, -1), tick(6, 300)])
    home.drain()
    assert counts(home) == [1, 2, 3, 4]
    home.stop("high")
    home.load("Tick", [tick(7, 500), tick(8, -2)])
    home.drain()
    assert counts(home) == [1, 2, 3, 4, 5]


def test_a_reader_that_begins_in_the_past_finds_what_was_made_then(home: Living) -> None:
    home.deploy(HIGH, "high")
    home.load("Tick", [tick(1, 11), tick(2, 12)])
    home.drain()
    home.stop("high")
    home.deploy("SELECT price FROM High WITHIN [2024-01-01T00:00:02, )", "past")
    home.deploy(HIGH, "again")
    home.load("Tick", [tick(3, 13)])
    home.drain()
    assert [row["price"] for row in home.rows("past")] == [12, 13]


def test_events_of_the_moment_that_was_reached_before_keep_their_place(home: Living) -> None:
    """Rows of equal time stand behind their own events, also when those come in a later batch."""
    home.deploy(HIGH, "high")
    home.deploy("SELECT h.price AS high, t.price AS price FROM High#lastevent AS h, Tick#length(9) AS t", "pairs")
    for price in (20, 5, 30, 6):
        home.load("Tick", [tick(1, price)])
        home.drain()
    one_by_one = [(row["high"], row["price"]) for row in home.rows("pairs")]
    home.deploy(HIGH.replace("High", "Higher"), "higher")
    home.deploy("SELECT h.price AS high, t.price AS price FROM Higher#lastevent AS h, Tick#length(9) AS t", "more")
    home.load("Tick", [tick(2, price) for price in (20, 5, 30, 6)])
    home.drain()
    assert [(row["high"], row["price"]) for row in home.rows("more")] == one_by_one


def test_a_chain_of_statements_is_done_in_one_batch(home: Living) -> None:
    home.deploy(HIGH, "high")
    home.deploy("INSERT INTO Higher SELECT sym, price FROM High WHERE price > 20", "higher")
    home.deploy("SELECT price FROM Higher", "last")
    home.drain()
    home.load("Tick", [tick(1, 15), tick(2, 25)])
    assert home.deployments.job.advance()
    assert [row["price"] for row in home.rows("last")] == [25]
    assert not home.deployments.job.advance()


def test_readers_of_a_statement_that_fails_wait_and_lose_nothing(home: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    home.deploy("INSERT INTO Mean SELECT sym, avg(price) AS price FROM Tick#length(2) GROUP BY sym", "mean")
    home.deploy("INSERT INTO Large SELECT sym, price FROM Mean WHERE price > 1", "large")
    home.deploy("SELECT price FROM Large", "reader")
    home.deploy("SELECT price FROM Tick", "other")
    home.load("Tick", [tick(1, 2)])
    home.drain()
    with monkeypatch.context() as patch:
        patch.setattr(AggregateKernel, "step", lambda *_: 1 / 0)
        home.load("Tick", [tick(2, 4)])
        home.drain()
        home.load("Tick", [tick(3, 6)])
        home.drain()
    states = {name: home.deployments.job.find(name) for name in ("mean", "large", "reader", "other")}
    assert [state.status for state in states.values() if state] == [FAILED, RUNNING, RUNNING, RUNNING]
    assert home.deployments["large"].status.state == "waiting"
    assert home.deployments["mean"].status.lag > 0
    assert [row["price"] for row in home.rows("other")] == [2, 4, 6]
    assert [row["price"] for row in home.rows("reader")] == [2]
    home.deployments["mean"].resume()
    home.drain()
    assert [row["price"] for row in home.rows("reader")] == [2, 3, 5]
    home.load("Tick", [tick(4, 8)])
    home.drain()
    assert [row["price"] for row in home.rows("reader")] == [2, 3, 5, 7]


def test_rows_that_choose_their_own_time_are_read_at_that_time(home: Living) -> None:
    home.deploy("INSERT INTO Later SELECT sym, price, at + 5 sec AS at FROM Tick", "later")
    home.deploy("SELECT price FROM Later", "reader")
    home.load("Tick", [tick(1, 1), tick(2, 2)])
    home.drain()
    assert [(row["price"], row["at"].second) for row in home.rows("reader")] == [(1, 6), (2, 7)]
    assert [row["_t"].second for row in home.derived("Later")] == [6, 7]


def test_who_waits_for_a_statement_goes_on_when_it_is_stopped(home: Living) -> None:
    home.declare("CREATE STREAM Other (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at")
    home.deploy("INSERT INTO Tick SELECT sym, price FROM Other", "maker")
    live = home.deploy("SELECT price FROM Tick", "reader")
    home.load("Tick", [tick(2, 2)])
    live.drain()
    assert home.rows("reader") == []
    home.stop("maker")
    live.drain()
    assert [row["price"] for row in home.rows("reader")] == [2]


def test_a_column_that_would_hide_ours_is_refused(home: Living) -> None:
    with pytest.raises(PresageError, match="_cause"):
        home.deploy("INSERT INTO High SELECT price AS _cause FROM Tick", "high")
    assert "High" not in home.catalog.types
    assert not home.deployments.job.statements


def test_a_derived_stream_without_rows_lets_time_go_on(home: Living) -> None:
    home.deploy(HIGH, "high")
    home.deploy("SELECT count(*) AS n FROM High#time_batch(5 sec)", "counts")
    home.load("Tick", [tick(1, 20)])
    home.load("Tick", [tick(30, 1)])
    home.drain()
    assert counts(home) == [1]
