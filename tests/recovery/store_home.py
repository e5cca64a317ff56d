"""Writes the home that `test_stored_homes.py` opens: streams, statements in every state, states, rows, unfinished work.

A home of an earlier version stays as it was written; run this only to add one for a new version, under a new name:
`PYTHONPATH=src:tests python -m recovery.store_home /srv/plant/NAME`, and move it to `stored_homes`. Its Delta
tables name the folder in entries with checksums, so it is written where the path says nothing about a machine.

`format-1` and `format-1-closed` have no checksums; the second was closed, and has a head instead of records.
`capabilities-1` has states of every capability, under the names that kernels had in that release.
"""

from __future__ import annotations

import sys
from pathlib import Path

from recovery.living import Living
from recovery.recalling import recalling_home
from recovery.ticks import (
    CAPABILITIES,
    OTHER_WINDOW,
    STATEMENTS,
    STREAMS,
    UNCERTAIN_STREAMS,
    cars,
    quotes,
    sightings,
    ticks,
)

STORED = Path(__file__).parent / "stored_homes"
JOB = {"rows_per_batch": 8, "shards": 2}


def begin(home: Living) -> None:
    """The life of the home up to the moment in which it was copied: much is done, and something has just come."""
    home.declare(STREAMS)
    home.load("Tick", ticks(0, 6), "t0")
    home.load("Quote", quotes(0, 5), "q0")
    for name, text in STATEMENTS.items():
        home.deploy(text, name)
    home.load("Tick", ticks(9, 6), "t1")
    home.load("Quote", quotes(8, 9), "q1")
    home.drain()
    home.deploy(OTHER_WINDOW, "window", replace=True)
    home.stop("filter")
    home.load("Tick", ticks(18, 4), "t2")


def go_on(home: Living) -> None:
    home.load("Tick", ticks(18, 4), "t2")
    home.load("Quote", quotes(18, 9), "q2")
    home.load("Tick", ticks(25, 6), "t3")
    home.drain()


def begin_capabilities(home: Living) -> None:
    """As `begin`, of the other kind of home: every capability has a state when it is copied."""
    home.declare(STREAMS + UNCERTAIN_STREAMS)
    for name, text in CAPABILITIES.items():
        home.deploy(text, name)
    _load_all(home, 0)
    home.drain()


def go_on_with_capabilities(home: Living) -> None:
    _load_all(home, 9)
    home.drain()


def _load_all(home: Living, first: int) -> None:
    for stream, rows in {"Quote": quotes, "Tick": ticks, "Seen": sightings, "Car": cars}.items():
        home.load(stream, rows(first, 6), f"{stream}{first}")


def store(folder: Path, closed: bool) -> None:
    if "capabilities" in folder.name:
        home = recalling_home(folder, **JOB)
        begin_capabilities(home)
    else:
        home = Living(folder, **JOB)
        begin(home)
    if closed:
        home.close()
    home.die()
    (folder / "lock").unlink()  # it names the process that wrote it


if __name__ == "__main__":
    store(Path(sys.argv[1]), closed="closed" in sys.argv[1])
