"""Which statement takes in which span: whatever has piled up, every batch brings the job forward, to an end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from unittest.mock import PropertyMock, patch

import pytest

from presage.live import batch_planner
from presage.live.job import Job
from recovery.crashing import MemoryDisk
from recovery.living import Living
from recovery.ticks import STATEMENTS, STREAMS, quotes, ticks

MOST_BATCHES = 60


def drain(home: Living) -> int:
    """How many batches it takes."""
    for batches in range(MOST_BATCHES):
        if not home.deployments.job.advance():
            return batches
    raise AssertionError("the job does not come to an end")


def test_a_silent_stream_holds_up_only_those_that_read_it(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk(), rows_per_batch=2) as home:
        home.declare(STREAMS)
        home.deploy(STATEMENTS["filter"], "filter")
        home.deploy(STATEMENTS["join"], "join")
        home.load("Quote", quotes(0, 2))
        for first in (0, 9, 18, 27):
            home.load("Tick", ticks(first, 6))
        drain(home)
        # All up to max_delay before the last event.
        assert [row["price"] for row in home.rows("filter")] == [3.0, 4.0, 5.0] * 3 + [3.0, 4.0]
        assert home.deployments["join"].status.lag == 0
        home.load("Quote", quotes(30, 2))
        drain(home)
        assert home.deployments["join"].status.rows_out > 0


def test_batches_are_bounded(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk(), rows_per_batch=2) as home:
        home.declare(STREAMS)
        home.deploy("SELECT sym FROM Tick", "all")
        for first in (0, 9, 18):
            home.load("Tick", ticks(first, 6))
        assert drain(home) >= 6
        taken = home.deployments["all"].status.rows_in
        assert taken == home.deployments["all"].status.rows_out == 16


def test_a_statement_deployed_between_a_look_and_a_batch_misses_nothing(tmp_path: Path) -> None:
    """`now` is looked at, events come and a batch runs, and only then the statement is there."""
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAMS)
        home.deploy("SELECT sym FROM Tick", "first")
        home.load("Tick", ticks(0, 2))
        now = home.deployments.job.moment
        home.load("Tick", ticks(3, 4))
        home.load("Tick", ticks(9, 2))
        home.drain()
        with patch.object(Job, "moment", PropertyMock(return_value=now)):
            home.deploy("SELECT sym, price FROM Tick", "second")
        home.load("Tick", ticks(18, 4))
        home.drain()
        assert home.deployments["second"].status.rows_out == home.deployments["first"].status.rows_out - 2


def test_batches_are_smaller_where_many_statements_let_much_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_planner, "MOST_TAKEN", 60)
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare(STREAMS)
        for number in range(10):
            home.deploy(f"SELECT sym FROM Tick WHERE price > {-1 - number}", f"all{number}")
            home.deploy(f"SELECT sym FROM Tick WHERE price > {1_000 + number}", f"none{number}")
        for first in range(0, 90, 3):
            home.load("Tick", ticks(first, 3))
        taken = []
        while home.deployments.job.advance():
            taken.append(home.deployments["all0"].status.rows_in)
        assert taken[0] <= 3, "before anything is known, 20 statements could let 20 times as much pass"
        most = max(after - before for before, after in pairwise(taken))
        assert 2 <= most <= 6, "ten of them do: about twice as much is left room for"
        assert [home.deployments[f"all{n}"].status.rows_out for n in range(10)] == [taken[-1]] * 10


def test_an_event_that_many_statements_take_in_counts_once_wherever_they_began(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk(), rows_per_batch=40) as home:
        home.declare(STREAMS)
        for number in range(10):
            home.load("Tick", ticks(number, 1))
            home.deploy(f"SELECT sym FROM Tick WHERE price > {-1 - number}", f"s{number}")
        for first in range(10, 30, 4):
            home.load("Tick", ticks(first, 4))
        assert drain(home) == 1
        assert home.deployments["s0"].status.rows_out > home.deployments["s9"].status.rows_out > 0
