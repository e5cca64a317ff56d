"""A folder of files into the log, against PyArrow alone reading the same files into memory: the floor.

JSON lines, CSV and Parquet, a few large files and many small ones; to a durable home, with order, lateness, the checks
of `load`, numbers and cursor. Then growth: what a look at a folder costs by its files, and the memory of one
file of hundreds of megabytes. Run as: python benchmarks/sources.py [rows]
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from presage.model.catalog import Attribute, EventType
from presage.model.types import DOUBLE, LONG, STRING, TIMESTAMP
from presage.sources.files import FilesSource
from presage.storage import Log

ROWS = 1_000_000
LARGE, SMALL = 4, 2_000  # files
TURNS = 3
FOLDERS = (1_000, 10_000, 100_000)
READ: dict[str, Callable[[Path], pa.Table]] = {
    "json": lambda path: pa.json.read_json(path),
    "csv": lambda path: pa.csv.read_csv(path),
    "parquet": lambda path: pq.ParquetFile(path).read(),
}


def stream(folder: Path) -> EventType:
    attributes = (Attribute("camera", STRING), Attribute("n", LONG), Attribute("x", DOUBLE), Attribute("at", TIMESTAMP))
    options = {"source": "files", "path": str(folder), "settle": "0 sec"}
    return EventType("Motion", "stream", attributes, event_time="at", key=("camera",), options=options)


def rows(first: int, count: int) -> pa.Table:
    n = np.arange(first, first + count)
    times = pa.array(1_704_067_200_000_000 + n * 1_000).cast(pa.timestamp("us", tz="UTC"))
    cameras = pa.array([f"camera-{i}" for i in range(100)]).take(pa.array(n % 100))
    return pa.table({"camera": cameras, "n": n, "x": np.sin(n), "at": times})


def write(folder: Path, kind: str, files: int, count: int) -> None:
    folder.mkdir()
    each = count // files
    for i in range(files):
        table, path = rows(i * each, each), folder / f"{i:06d}.{kind}"
        if kind == "parquet":
            pq.write_table(table, path)
            continue
        values = table.to_pydict()
        values["at"] = [moment.isoformat() for moment in values["at"]]
        lines = zip(*values.values(), strict=True)
        if kind == "json":
            path.write_text("".join(json.dumps(dict(zip(values, line, strict=True))) + "\n" for line in lines))
        else:
            path.write_text("camera,n,x,at\n" + "".join(",".join(map(str, line)) + "\n" for line in lines))


def floor(folder: Path, kind: str) -> float:
    begin = time.perf_counter()
    for path in sorted(folder.iterdir()):
        READ[kind](path)
    return time.perf_counter() - begin


def taken(folder: Path, home: Path, count: int) -> float:
    event_type = stream(folder)
    with Log.open(home) as log:
        log.create_stream(event_type)
        begin = time.perf_counter()
        source = FilesSource(event_type, Path, log.deliveries.taken("Motion", "files"))
        while (delivery := source.read(log.deliveries.state("Motion", "files").cursor)) is not None:
            log.deliver(event_type, delivery)
            source.settle(delivery)
        seconds = time.perf_counter() - begin
        assert log.archive.describe("Motion").rows == count
    return seconds


def throughput(work: Path, count: int) -> None:
    print(f"{count:,} rows of four attributes into a durable home; floor: PyArrow reads the files; best of {TURNS}")
    print(f"{'files':>16} {'million rows/s':>15} {'floor':>7} {'ratio':>6}")
    for kind in READ:
        for files in (LARGE, SMALL):
            folder = work / f"{kind}-{files}"
            write(folder, kind, files, count)
            turns = [
                (taken(folder, work / f"home-{kind}-{files}-{i}", count), floor(folder, kind)) for i in range(TURNS)
            ]
            ours, least = (min(several) for several in zip(*turns, strict=True))
            speed, best = count / ours / 1e6, count / least / 1e6
            print(f"{files:>8,} {kind:<7} {speed:>15.2f} {best:>7.2f} {least / ours:>6.2f}", flush=True)


def looking(work: Path) -> None:
    print("\na look at a folder whose files are all taken; milliseconds, and bytes kept for each file")
    for files in FOLDERS:
        folder = work / f"many-{files}"
        folder.mkdir()
        names = [f"events-{i:08d}.json" for i in range(files)]
        for name in names:
            (folder / name).touch()
        known = pa.table({"partition": names, "size": [0] * files, "modified": pa.array([0] * files, pa.int64())})
        source = FilesSource(stream(folder), Path, known.slice(0, files))
        source._recent.clear()
        begin = time.perf_counter()
        assert source.read(None) is None
        spent = (time.perf_counter() - begin) * 1e3
        print(f"{files:>9,} files {spent:>8.1f} ms {source._taken[0].nbytes / files:>6.1f} bytes", flush=True)


def memory(work: Path, count: int) -> None:
    def most() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    before = most()
    folder = work / "huge"
    folder.mkdir()
    with open(folder / "a.csv", "w") as file:
        file.write("camera,n,x,at\n")
        line = "camera-1,1,0.5,2024-01-01T00:00:00Z\n" * 10_000
        for _ in range(4 * count // 10_000):
            file.write(line)
    size = (folder / "a.csv").stat().st_size >> 20
    taken(folder, work / "home-huge", 4 * count)
    print(f"\none CSV file of {size} MB, {4 * count:,} rows: {most() - before:.0f} MB more than before")


if __name__ == "__main__":
    given = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as made:
        throughput(Path(made), given)
        looking(Path(made))
        memory(Path(made), given)
