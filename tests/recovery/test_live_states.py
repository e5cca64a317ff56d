"""States that are lost, damaged or foreign: the statement makes them again from the log, and its rows go on."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from presage.live import state_delta
from presage.live.statement import Statement
from presage.operators.windows.kernel import live_rows
from recovery.crashing import MemoryDisk
from recovery.living import Living
from recovery.ticks import STATEMENTS, STREAMS, quotes, ticks

NAMES = ("filter", "window", "join", "batch", "rated", "hot", "over", "past")


@pytest.fixture(autouse=True)
def _small_states_change_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_delta, "ROWS_WORTH_A_LOOK", 1)
    for constant in ("LEAST_ROWS", "LEAST_TIMES", "LEAST_RECORDED", "MOST_TOUCHED"):
        monkeypatch.setattr(live_rows, constant, 1)


def begin(home: Living) -> None:
    home.declare(STREAMS)
    home.load("Tick", ticks(0, 6))
    home.load("Quote", quotes(0, 5))
    for name in NAMES:
        home.deploy(STATEMENTS[name], name)
    home.load("Tick", ticks(9, 6))
    home.load("Quote", quotes(8, 9))
    home.drain()


def go_on(home: Living) -> dict[str, Any]:
    home.load("Tick", ticks(18, 6))
    home.load("Quote", quotes(18, 9))
    home.drain()
    found = home.found()
    # That a state was lost is told, and took batches; all else is as if it had not been.
    statements = {}
    for number, (name, text, status, _, _, rows_out, to_skip, place, rows) in found["statements"].items():
        statements[number] = (name, text, status, rows_out, to_skip, place.watermark, rows)
    return found | {"statements": statements}


@cache
def undisturbed(rows_per_batch: int = 500_000, shards: int = 1) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        home = Living(Path(folder) / "home", MemoryDisk(), rows_per_batch=rows_per_batch, shards=shards)
        begin(home)
        found = go_on(home)
        home.close()
    return found


def states_of(home: Living) -> dict[str, Statement]:
    return {st.name: st for st in home.deployments.job.statements.values() if st.states}


def flip(path: Path, places: Iterable[int] | None = None) -> None:
    data = bytearray(path.read_bytes())
    for place in range(40, len(data), 40) if places is None else places:
        data[place] ^= 0xFF
    path.write_bytes(data)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:20]),
    "flipped": flip,
    "another version": lambda path: path.write_bytes(
        struct.pack("<8sH", path.read_bytes(), 9) + path.read_bytes()[10:]
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("shards", [1, 2])
def test_lost_states_are_made_again_and_no_row_is_missing_or_twice(damage: str, shards: int, tmp_path: Path) -> None:
    job = {"rows_per_batch": 5, "shards": shards}
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk, **job) as home:
        begin(home)
        lost = set(states_of(home))
        assert {"window", "join", "batch", "rated", "over", "past"} == lost
        files = sorted(home.log.home.states.iterdir())
    for path in files:
        DAMAGE[damage](path)
    with Living(tmp_path / "home", disk, **job) as home:
        assert go_on(home) == undisturbed(**job)
        for name in NAMES:
            status = home.deployments[name].status
            assert status.state == "running"
            assert (status.last_error is not None) == (name in lost)
            if damage == "another version" and name in lost:
                assert "[HOME_VERSION]" in str(status.last_error)


def test_a_state_of_another_version_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    with monkeypatch.context() as patch:
        patch.setattr("presage.model.operator_state.VERSION", 9)
        with Living(tmp_path / "home", disk) as home:
            begin(home)
    with Living(tmp_path / "home", disk) as home:
        assert go_on(home) == undisturbed()
        assert "state 9" in str(home.deployments["window"].status.last_error)


def test_states_of_another_plan_are_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = MemoryDisk()
    with monkeypatch.context() as patch:
        patch.setattr("presage.live.program.FORMAT", 0)
        with Living(tmp_path / "home", disk) as home:
            begin(home)
    with Living(tmp_path / "home", disk) as home:
        assert go_on(home) == undisturbed()
        assert "another plan" in str(home.deployments["window"].status.last_error)


def test_a_state_that_is_lost_again_while_it_is_made_again_changes_nothing(tmp_path: Path) -> None:
    disk, job = MemoryDisk(), {"rows_per_batch": 2}
    with Living(tmp_path / "home", disk, **job) as home:
        begin(home)
        whole = {name: home.rows(name) for name in NAMES}
    for batches in (2, 4, 3):
        for path in (tmp_path / "home" / "states").iterdir():
            path.unlink()
        with Living(tmp_path / "home", disk, **job) as home:
            home.load("Quote", quotes(17, 1), once="more")
            for _ in range(batches):
                home.deployments.job.advance()
            for name in NAMES:
                assert home.rows(name)[: len(whole[name])] == whole[name]
    with Living(tmp_path / "home", disk, **job) as home, Living(tmp_path / "whole", MemoryDisk(), **job) as other:
        begin(other)
        other.load("Quote", quotes(17, 1))
        home.drain(), other.drain()
        assert {n: home.rows(n) for n in NAMES} == {n: other.rows(n) for n in NAMES}


def test_only_the_statement_whose_state_is_lost_goes_back(tmp_path: Path) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        begin(home)
        (chain,) = states_of(home)["window"].states.values()
        flip(home.log.home.states / chain[-1].file, [chain[-1].start + chain[-1].length // 2])
    with Living(tmp_path / "home", disk) as home:
        assert go_on(home) == undisturbed()
        failed = {name for name in NAMES if home.deployments[name].status.last_error}
        assert failed == {"window"}
        assert "[HOME_CORRUPT]" in str(home.deployments["window"].status.last_error)
