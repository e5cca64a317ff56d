"""Sinks whose process dies: run again, files hold every row once, and servers have been told every row in order."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from presage.storage import committer
from presage.storage import failpoints as point
from recovery.crashing import Crash, CrashAt
from unit.sinks.delivering import Delivering, Server, in_files

LIVES = 3
ROWS = 20
POINTS = (*point.SINK_POINTS, point.RECORD_WRITTEN, point.COMMITTED, point.APPLIED, point.HEAD_WRITTEN)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def create(world: Delivering, server: Server) -> None:
    world.create(f"CREATE SINK files FROM odd WITH (sink = 'parquet', path = '{world.folder / 'out'}', rows = 3)")
    world.create(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{server.url}', rows = 2)")


def told_in_order(told: list[tuple[str, int]], expected: list[tuple[str, int]]) -> bool:
    """Every row, and none before those before it; one that comes again comes with all that followed it."""
    reached = 0
    for row in told:
        at = expected.index(row)
        if at > reached:
            return False
        reached = max(reached, at + 1)
    return reached == len(expected)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("where", POINTS)
def test_a_sink_that_dies_at_any_point_of_any_batch_delivers_every_row_once_or_at_least_once(
    where: str, k: int, tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    points = CrashAt()
    world = Delivering(tmp_path, points=points)
    create(world, server)
    died, loaded, going = 0, 0, True
    while going:
        points.arm(where, k)
        try:
            if loaded < ROWS:
                loaded += 5
                world.load(loaded - 5, 5)
            for sink in ("files", "hook"):
                world.drain(sink)
            going = loaded < ROWS
        except Crash:
            died += 1
            world.die()
            points.arm()
            world = Delivering(tmp_path, points=points)
            loaded = world.home.log.archive.describe("Tick").rows
            if loaded < ROWS:
                world.load(loaded, 5)
                loaded += 5
            for sink in ("files", "hook"):
                world.running(sink).hurry()
                world.step(sink)  # undisturbed, so that it comes to an end
    points.arm()
    for sink in ("files", "hook"):
        world.drain(sink)
    assert died
    assert in_files(tmp_path / "out") == world.expected()
    assert told_in_order(server.taken(), world.expected())
    assert world.sinks["files"].rows == world.sinks["hook"].rows == len(world.expected())
    assert list((tmp_path / "out").glob(".*")) == []
    world.close()


PROGRAM = """
import sys, time
from pathlib import Path
from unit.sinks.delivering import Delivering

world = Delivering(Path(sys.argv[1]))
if "files" not in world.home.catalog.sinks:
    out = f"path = '{sys.argv[1]}/out', rows = 7, every = '0 sec'"
    world.create(f"CREATE SINK files FROM odd WITH (sink = 'parquet', {out})")
    world.create(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{sys.argv[2]}', rows = 5)")
world.sinks.start()
x = world.home.log.archive.describe("Tick").rows
while True:
    world.load(x, 10)
    x += 10
    print("loaded", flush=True)
"""


def test_killed_again_and_again_a_sink_leaves_no_row_out_and_no_file_has_one_twice(
    tmp_path: Path, server: Server
) -> None:
    chance = random.Random(7)
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")])
    for _ in range(LIVES):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(tmp_path), server.url],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "loaded\n"
        time.sleep(chance.random() / 2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    world = Delivering(tmp_path)
    world.home.drain()
    for sink in ("files", "hook"):
        world.drain(sink)
    expected = world.expected()
    assert len(expected) > LIVES
    assert in_files(tmp_path / "out") == expected
    assert told_in_order(server.taken(), expected)
    world.close()
