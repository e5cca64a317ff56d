"""Data files are read by the thread that asks: Arrow's own would keep the memory that they once took."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TASKS = Path("/proc/self/task")
# In a process of its own: here others have made Arrow's threads long ago.
SCRIPT = """
import os, sys
from pathlib import Path
from presage.log import Log
from presage.log.chunks import Shape
from presage.log.reading import read_events
from recovery.crashing import row, stream

def tasks():
    return len(os.listdir("/proc/self/task"))

with Log.open(Path(sys.argv[1]) / "home", durable=False) as log:
    kind = stream()
    log.create_stream(kind)
    for second in range(32):
        log.append(kind, [row(second, second)])
    log.append(kind, [row(99, 0)])
    before = tasks()
    log.maintenance.compact(kind, Shape(fan=2))
    read = read_events(log.archive.snapshot("Tick"), ["x"])
    late = log.archive.read_late("Tick")
    print(read.num_rows, late.num_rows, len(log.archive.snapshot("Tick").paths), tasks() - before)
"""


@pytest.mark.skipif(not TASKS.exists(), reason="only Linux tells the threads of a process so")
def test_merging_and_reading_begin_no_threads(tmp_path: Path) -> None:
    where = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    made = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path], capture_output=True, text=True, check=False, env=where
    )
    assert made.stderr == ""
    rows, late, files, threads = map(int, made.stdout.split())
    assert (rows, late) == (32, 1)
    assert files < 32
    assert threads == 0
