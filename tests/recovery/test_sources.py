"""Sources whose process dies: run again, the log is the one of an undisturbed run."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from presage.sources import file_reader, files
from presage.storage import Log, committer
from presage.storage import failpoints as point
from recovery.crashing import Crash, CrashAt, contents, crash, sequence_numbers
from unit.sources.folders import Stepped, event, lines, put, stream

REPEATED = {point.STAGED_ONE: 4, point.TABLE_COMMITTED: 4}
CASES = [(p, k) for p in point.POINTS for k in range(1, REPEATED.get(p, 1) + 1)]
FILES = 12
LIVES = settings().max_examples // 20


def fill(folder: Path) -> None:
    """Rows in order, late ones, bad ones, several pieces to a file."""
    for i in range(FILES):
        rows = lines(*(event(10 * i + j, 10 * i + (j if j != 7 else -50)) for j in range(10)))
        put(folder, f"{i:03d}.json", rows + ("bad\n" if i % 2 else ""))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (file_reader, files):
        monkeypatch.setattr(module, "PIECE_BYTES", 300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("world") / "incoming"
    fill(made)
    return made


@pytest.fixture
def undisturbed(folder: Path, tmp_path: Path, small: None) -> dict[str, Any]:
    with Log.open(tmp_path / "whole", durable=False) as log:
        log.create_stream(stream(folder))
        Stepped(log, stream(folder)).drain()
        return contents(log)


@pytest.mark.parametrize(("where", "k"), CASES)
def test_a_source_that_dies_at_any_point_of_any_delivery_reads_nothing_twice_and_loses_nothing(
    where: str, k: int, folder: Path, undisturbed: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    points = CrashAt()
    home = tmp_path / "home"
    log = Log.open(home, durable=False, points=points)
    log.create_stream(stream(folder))
    source = Stepped(log, stream(folder))
    died, going = 0, True
    while going:
        points.arm(where, k)
        try:
            going = source.step() is not None
        except Crash:
            died += 1
            crash(log)
            points.arm()
            log = Log.open(home, durable=False, points=points)
            source = Stepped(log, stream(folder))
            source.step()  # undisturbed, so that it comes to an end
    points.arm()
    assert died
    assert contents(log) == undisturbed
    assert sequence_numbers(log) == list(range(1, log.position + 1))
    assert sorted(source.positions()) == sequence_numbers(log)
    assert log.deliveries.taken("Tick", "files").num_rows == FILES
    log.close()


PROGRAM = """
import sys, time
from pathlib import Path
from presage.storage import Log
from presage.sources import Sources
from unit.sources.folders import stream

tick = stream(Path(sys.argv[2]))
log = Log.open(sys.argv[1], durable=False)
if "Tick" not in log.archive.streams():
    log.create_stream(tick)
sources = Sources(log, lambda: [tick], Path)
sources.start()
print("begun", flush=True)
time.sleep(600)
"""


def start(home: Path, folder: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "src")])
    environment = {**os.environ, "PYTHONPATH": path}
    program = [sys.executable, "-c", PROGRAM, str(home), str(folder)]
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_killed_again_and_again_while_files_come_it_has_each_row_once(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "incoming"
    chance = random.Random(9)
    folder.mkdir()
    written = 0
    for _ in range(LIVES):
        process = start(home, folder)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        for _ in range(chance.randrange(1, 6)):
            put(folder, f"{written:05d}.json", lines(*(event(100 * written + j) for j in range(100))))
            written += 1
            time.sleep(chance.random() * 0.02)
        time.sleep(chance.random() * 0.4)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    shutil.copytree(home, tmp_path / "found")
    with Log.open(tmp_path / "found", durable=False) as log:
        source = Stepped(log, stream(folder))
        source.drain()
        assert sorted(source.events()) == list(range(100 * written))
        assert sorted(source.positions().values()) == [
            (f"{i:05d}.json", j + 1) for i in range(written) for j in range(100)
        ]
