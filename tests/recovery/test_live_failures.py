"""A statement that fails is set aside alone: the others go on, its error is told, and resumed it has lost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.operators.windows.kernel.aggregate import AggregateKernel
from recovery.crashing import MemoryDisk
from recovery.living import Living
from recovery.ticks import STATEMENTS, STREAMS, at, quotes, ticks

OTHERS = ("filter", "join", "rated", "hot")


def begin(home: Living, *names: str) -> None:
    home.declare(STREAMS)
    home.load("Tick", ticks(0, 6))
    home.load("Quote", quotes(0, 5))
    for name in names:
        home.deploy(STATEMENTS[name], name)


def rows(home: Living) -> dict[str, Any]:
    return {name: home.rows(name) for name in home.deployments} | {"derived": home.derived("Hot")}


@contextmanager
def broken(kernel: type, monkeypatch: pytest.MonkeyPatch, failure: Exception | None = None) -> Iterator[None]:
    def fail(*_: Any, **__: Any) -> None:
        raise failure or ValueError("a fault of ours")

    with monkeypatch.context() as patch:
        patch.setattr(kernel, "step", fail)
        yield


@pytest.mark.parametrize("failing", ["window", "past"])
@pytest.mark.parametrize("shards", [1, 2])
def test_a_statement_that_fails_is_set_aside_alone_and_loses_nothing(
    failing: str, shards: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = {"rows_per_batch": 4, "shards": shards}
    whole = Living(tmp_path / "whole", MemoryDisk(), **job)
    disk = MemoryDisk()
    home = Living(tmp_path / "home", disk, **job)
    for each in (whole, home):
        begin(each, failing, *OTHERS)
        each.load("Tick", ticks(9, 6))
        each.load("Quote", quotes(8, 9))
    for _ in range(2):
        home.deployments.job.advance()
    with broken(AggregateKernel, monkeypatch):
        # `rated` needs the same kernel: it fails too, each by itself.
        home.load("Tick", ticks(18, 6))
        home.drain()
        for name in ("filter", "join", "hot"):
            assert home.deployments[name].status.state == "running"
        status = home.deployments[failing].status
        assert status.state == "failed"
        assert "ValueError: a fault of ours" in str(status.last_error)
        with pytest.raises(PresageError, match="a fault of ours") as told:
            home.deployments[failing].drain()
        assert told.value.code == "STATEMENT_FAILED"
    whole.load("Tick", ticks(18, 6))
    whole.drain()
    for name in ("filter", "join", "hot"):
        assert home.rows(name) == whole.rows(name)
    home.die()
    home = Living(tmp_path / "home", disk, **job)
    assert home.deployments[failing].status.state == "failed", "it stays so"
    for name in home.deployments:
        home.deployments[name].resume()
        home.deployments[name].drain()
    assert rows(home) == rows(whole)
    assert home.deployments[failing].status.last_error is None


def test_a_sum_that_overflows_fails_its_statement_by_name(tmp_path: Path) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home:
        home.declare("CREATE STREAM Big (n LONG, at TIMESTAMP) EVENT TIME at;")
        for name, column in (("sum", "sum(n)"), ("max", "max(n)")):
            home.deploy(f"SELECT {column} AS s FROM Big", name)
        home.load("Big", [{"n": 2**62, "at": at(i)} for i in range(1)])
        home.drain()
        home.load("Big", [{"n": 2**62, "at": at(i)} for i in range(1, 3)])
        home.drain()
        assert home.deployments["sum"].status.state == "failed"
        assert "[ARITHMETIC_OVERFLOW]" in str(home.deployments["sum"].status.last_error)
        assert [row["s"] for row in home.rows("sum")] == [2**62]
        assert [row["s"] for row in home.rows("max")] == [2**62] * 3


def test_one_that_fails_again_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Living(tmp_path / "home", MemoryDisk()) as home, Living(tmp_path / "whole", MemoryDisk()) as whole:
        for each in (home, whole):
            begin(each, "window")
        with broken(AggregateKernel, monkeypatch):
            for first in (9, 18):
                home.load("Tick", ticks(first, 6))
                home.deployments["window"].resume()
                home.drain()
                assert home.deployments["window"].status.state == "failed"
        home.deployments["window"].resume()
        home.drain()
        for first in (9, 18):
            whole.load("Tick", ticks(first, 6))
        whole.drain()
        assert home.rows("window") == whole.rows("window")


def test_a_resumed_statement_never_goes_back_to_the_clock_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Living(tmp_path / "home", MemoryDisk(), rows_per_batch=4) as home:
        begin(home, "window", "filter")
        home.deploy("SELECT sym, bid FROM Quote", "quotes")
        home.stop("filter")
        home.load("Tick", ticks(9, 6))
        home.drain()
        before = home.rows("window")
        with broken(AggregateKernel, monkeypatch):
            home.load("Tick", ticks(18, 6))
            home.drain()
        assert home.deployments["window"].status.state == "failed"
        # The statement is at 00:00:14.5. The others have much to read from before that time, in small batches.
        home.load("Quote", [{"sym": "a", "bid": float(i), "at": at(5 + i / 4)} for i in range(60)])
        home.deployments["window"].resume()
        home.drain()
        with Living(tmp_path / "whole", MemoryDisk()) as whole:
            begin(whole, "window")
            for first in (9, 18):
                whole.load("Tick", ticks(first, 6))
            whole.drain()
            assert home.rows("window") == whole.rows("window")
            assert len(before) < len(home.rows("window"))


def test_a_failed_statement_can_be_replaced_or_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    home = Living(tmp_path / "home", disk)
    begin(home, "window", "batch")
    with broken(AggregateKernel, monkeypatch):
        home.load("Tick", ticks(9, 6))
        home.drain()
    assert home.deploy(STATEMENTS["window"], "window").status.state == "failed", "it stands already"
    with pytest.raises(PresageError, match="window"):
        home.deploy(STATEMENTS["filter"], "window")
    home.deploy(STATEMENTS["filter"], "window", replace=True)
    home.stop("batch")
    states = [st.status for st in home.deployments.job.statements.values()]
    assert states == ["stopped", "stopped", "running"]
    assert not home.deployments.users("Quote")
    home.close()
    with Living(tmp_path / "home", disk) as home:
        assert [st.status for st in home.deployments.job.statements.values()] == states
        assert home.state_files() == (set(), set())
