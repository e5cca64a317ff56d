"""Standbys that take over at random moments under load: no row is lost, and none comes twice."""

from __future__ import annotations

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import presage
from integration.taking_over import STATEMENTS, STREAM, event
from integration.test_object_store import home, server

__all__ = ["home", "server"]
ROOT = Path(__file__).parents[2]
# Seconds from the end of a process to the first new row; the machine of tests may be busy. `benchmarks/takeover.py` has
# the figures.
MOST = {"kill": 40.0, "pause": 40.0, "leave": 20.0}


class Member:
    """A process that has the home, or waits for it."""

    def __init__(self, home: str, folder: Path) -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "integration.taking_over", home, str(folder)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.acknowledged: list[int] = []
        self._said: queue.Queue[tuple[str, float]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # it was killed in the middle of a line
            word, *number, at = line.split()
            if word == "acknowledged":
                self.acknowledged.append(int(number[0]))
            else:
                self._said.put((word, float(at)))
        self._said.put(("", 0.0))

    def wait_for(self, word: str, seconds: float = 120.0) -> float:
        """When it said so."""
        until = time.monotonic() + seconds
        while True:
            said, at = self._said.get(timeout=max(0.1, until - time.monotonic()))
            if said == word:
                return at
            assert said, f"it ended before it said '{word}': {self._errors()}"

    def _errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("leave\n")
        self.process.stdin.flush()

    def end(self) -> str:
        """What it said on stderr until it ended."""
        errors = self._errors()
        self.process.wait(60)
        self._reader.join(60)
        self.close()
        return errors

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()


def take_over(holder: Member, standby: Member, how: str) -> float:
    """End or pause the holder; the seconds until the standby's first new row."""
    assert holder.process.poll() is None  # nobody took over from a process that was alive
    if how == "leave":
        holder.leave()
        began = holder.wait_for("closed")
    else:
        began = time.time()
        holder.process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGSTOP)
    row = standby.wait_for("row")
    if how == "pause":
        holder.process.send_signal(signal.SIGCONT)
        assert "HOME_OVERTAKEN" in holder.end()
        assert holder.process.returncode == 1
    return row - began


def ids_and_rows(engine: presage.Engine, name: str) -> list[tuple[str, dict[str, Any]]]:
    deployment = engine.deployments[name]
    deployment.drain()
    number = deployment._number
    return [(f"{name}/{number}/{i}", {**row}) for i, row in enumerate(deployment.results())]


def undisturbed(count: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of the same events in an engine that nothing happens to."""
    with presage.Engine() as engine:
        engine.execute(STREAM)
        for name, text in STATEMENTS.items():
            engine.deploy(text, name=name)
        engine.load("Tick", [event(n) for n in range(count)])
        return {name: [row for _, row in ids_and_rows(engine, name)] for name in STATEMENTS}


def check_takeovers(home: str, folder: Path, seed: int, takeovers: int) -> None:
    chance = random.Random(seed)
    members = [Member(home, folder)]
    try:
        members[0].wait_for("row")
        for _ in range(takeovers):
            how = chance.choice(("kill", "pause", "leave"))
            members.append(Member(home, folder))
            members[-1].wait_for("standing-by")
            time.sleep(2 * chance.random())
            seconds = take_over(members[-2], members[-1], how)
            print(f"{how}: {seconds:.1f} s")
            assert seconds < MOST[how], (seed, how)
        members[-1].leave()
        members[-1].wait_for("closed")
    finally:
        for member in members:
            member.close()
    acknowledged = [n for member in members for n in member.acknowledged]
    with presage.Engine(home=home, live=False) as engine:
        loaded = engine.query("SELECT n FROM Tick").to_arrow()["n"].to_pylist()
        results = {name: ids_and_rows(engine, name) for name in STATEMENTS}
    assert loaded == list(range(len(loaded))), seed
    # What was durable when its process ended may not have been acknowledged.
    assert sorted(set(acknowledged)) == sorted(acknowledged)
    assert set(acknowledged) <= set(loaded)
    assert len(loaded) - len(acknowledged) <= takeovers
    expected = undisturbed(len(loaded))
    for name, rows in results.items():
        assert [row for _, row in rows] == expected[name], (seed, name)
        files = [path for path in sorted((folder / name).iterdir()) if not path.name.startswith(".")]
        written = [row for path in files for row in pq.read_table(path).to_pylist()]
        assert [(row.pop("_id"), row) for row in written] == rows, (seed, name)
        assert list((folder / name).glob(".*")) == []
    # At least once, with their ids, and in order but for repetitions.
    told = [line.split() for line in (folder / "told").read_text().splitlines()]
    rows = {identity: (row["n"], row["total"]) for identity, row in results["sums"]}
    assert {identity: (int(n), int(total)) for identity, n, total in told} == rows
    reached = -1
    for identity, *_ in told:
        at = int(identity.rpartition("/")[2])
        assert at <= reached + 1
        reached = max(reached, at)


def test_standbys_of_a_home_in_a_folder_take_over_at_random_moments(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    check_takeovers(str(tmp_path / "home"), folder, random.SystemRandom().getrandbits(32), 5)


def test_standbys_of_a_home_in_a_bucket_take_over_at_random_moments(home: str, tmp_path: Path) -> None:
    check_takeovers(home, tmp_path, random.SystemRandom().getrandbits(32), 5)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_standbys_take_over_a_hundred_times(seed: int, home: str, tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    check_takeovers(str(tmp_path / "home") if seed % 2 else home, folder, random.SystemRandom().getrandbits(32), 10)
