"""One hour of a 1,000-hour archive: how many of its files a bounded read opens, as written and after compaction.

The rival of the read in seconds is the same hour picked out of all files by Arrow's own dataset scanner. Interleaved,
the minimum of seven of each. Run as: python benchmarks/archive_pruning.py [hours]
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from interleaved import minima, report

from presage.model.catalog import Attribute, EventType
from presage.model.types import DOUBLE, STRING, TIMESTAMP
from presage.storage import Log

HOURS = 1_000
PER_HOUR = 3_600
HOUR = 3_600_000_000
ROOMS = 50
MOST = 0.02
READING = EventType(
    "Reading",
    "stream",
    (Attribute("room", STRING), Attribute("celsius", DOUBLE), Attribute("at", TIMESTAMP)),
    event_time="at",
    key=("room",),
)


def hour(number: int) -> pa.Table:
    dice = np.random.default_rng(number)
    times = number * HOUR + np.sort(dice.integers(0, HOUR, PER_HOUR))
    return pa.table(
        {
            "room": pa.array([f"r{room}" for room in dice.integers(0, ROOMS, PER_HOUR)]),
            "celsius": pa.array(dice.normal(20, 3, PER_HOUR)),
            "at": pa.array(times, pa.timestamp("us", tz="UTC")),
        }
    )


def share(log: Log, title: str, hours: int) -> bool:
    """Print files read of all, the greatest over ten different hours."""
    everything = log.archive.snapshot("Reading")
    worst = 0
    for number in range(hours // 20, hours, hours // 10):
        read = log.archive.snapshot("Reading", low=number * HOUR, high=(number + 1) * HOUR)
        assert log.archive.read_arrow(read, ["room"]).num_rows == PER_HOUR
        worst = max(worst, len(read.paths))
    of = len(everything.paths)
    print(f"{title}: one hour reads {worst} of {of} files, {worst / of:.2%} (limit {MOST:.0%})")
    return worst / of <= MOST


def race(log: Log, hours: int) -> None:
    low, high = hours // 2 * HOUR, (hours // 2 + 1) * HOUR
    paths, kind = list(log.archive.snapshot("Reading").paths), pa.timestamp("us", tz="UTC")
    inside = (pc.field("_t") >= pa.scalar(low, kind)) & (pc.field("_t") < pa.scalar(high, kind))

    def ours() -> int:
        return int(log.archive.read_arrow(log.archive.snapshot("Reading", low=low, high=high)).num_rows)

    def scan() -> int:
        return int(ds.dataset(paths, format="parquet").to_table(filter=inside).num_rows)

    assert ours() == scan() == PER_HOUR
    report(
        "one hour read",
        minima({"all files, scanned by Arrow": scan, "snapshot and read": ours}),
        "all files, scanned by Arrow",
    )


def main(hours: int) -> bool:
    with Log.open(None) as log:
        log.create_stream(READING)
        for number in range(hours):
            log.append(READING, hour(number))
        well = share(log, "as written", hours)
        race(log, hours)
        before = log.archive.describe("Reading")
        gone = log.maintain([READING], grace=0).compacted
        after = log.archive.describe("Reading")
        print(f"compacted: {gone} files became {after.chunks['old'][0]}; {before.bytes:,} bytes became {after.bytes:,}")
        well = share(log, "compacted", hours) and well
        race(log, hours)
    return well


if __name__ == "__main__":
    sys.exit(0 if main(int(sys.argv[1]) if len(sys.argv) > 1 else HOURS) else 1)
