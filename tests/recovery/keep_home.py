"""Writes the home that `test_live_kept.py` opens: streams, statements in every state, states, rows, and work left over.

A home of an earlier version is kept as it was written; run this only to add one for a new version, under a new name:
`PYTHONPATH=src:tests python -m recovery.keep_home NAME`. `format-1` and `format-1-closed` have no checksums; the second
was closed, and has a head instead of records.
"""

from __future__ import annotations

import sys
from pathlib import Path

from recovery.living import Living
from recovery.ticks import OTHER_WINDOW, STATEMENTS, STREAMS, quotes, ticks

KEPT = Path(__file__).parent / "kept"
JOB = {"rows_per_batch": 8, "shards": 2}


def begin(home: Living) -> None:
    """The life of the home up to the moment in which it was kept: much is done, and something has just come."""
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


def keep(folder: Path, closed: bool) -> None:
    home = Living(folder, **JOB)
    begin(home)
    if closed:
        home.close()
    home.die()
    # Who wrote it, and where, is nobody's business.
    (folder / "lock").unlink()
    for entry in folder.glob("**/_delta_log/*.json"):
        entry.write_text(entry.read_text().replace(folder.as_uri(), "file:///home"))


if __name__ == "__main__":
    keep(KEPT / sys.argv[1], closed="closed" in sys.argv[1])
