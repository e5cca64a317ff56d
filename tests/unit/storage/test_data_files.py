"""Data files: damage is noticed; they are read by the thread that asks, for Arrow's own would keep memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from presage.errors import PresageError
from presage.storage.data_files import data_writer, open_data, read_data

TASKS = Path("/proc/self/task")
# In a process of its own: here others have made Arrow's threads long ago.
SCRIPT = """
import os, sys
from pathlib import Path
from presage.storage import Log
from presage.storage.chunks import Shape
from presage.storage.event_reader import read_events
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


# -- damage --------------------------------------------------------------------------------------------------

ROWS = pa.table({"_seq": range(200), "x": [float(n % 7) for n in range(200)], "k": ["a", "b"] * 100})


def written(path: Path) -> bytes:
    with path.open("x+b") as file, data_writer(file, path.name, ROWS.schema) as writer:
        writer.write_table(ROWS, row_group_size=100)
    return path.read_bytes()


def test_no_flipped_bit_of_a_data_file_goes_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    data = written(path)
    assert read_data(path, ROWS.schema).equals(ROWS)
    wrong = []
    for place in range(0, len(data), 5):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        try:
            wrong += [] if read_data(path, ROWS.schema).equals(ROWS) else [place]
        except PresageError as problem:
            wrong += [] if problem.code == "HOME_CORRUPT" else [place]
    assert not wrong


def test_a_data_file_is_parquet_for_everybody_and_one_without_checksums_is_read_as_it_is(tmp_path: Path) -> None:
    written(tmp_path / "file.parquet")
    assert pq.read_table(tmp_path / "file.parquet").equals(ROWS)
    pq.write_table(ROWS, tmp_path / "older.parquet")
    assert read_data(tmp_path / "older.parquet", ROWS.schema).equals(ROWS)


def test_a_file_under_another_name_is_not_the_file(tmp_path: Path) -> None:
    written(tmp_path / "file.parquet")
    (tmp_path / "file.parquet").rename(tmp_path / "other.parquet")
    with pytest.raises(PresageError, match="place of another"):
        read_data(tmp_path / "other.parquet", ROWS.schema)
    assert open_data(tmp_path / "other.parquet").read().equals(ROWS)  # as a file of events it is as good as any
