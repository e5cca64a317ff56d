"""Two hours away at 600 events a second: how long until the first recovered row, and until all is caught up.

A home with a standing statement is closed; 4.3 million events arrive in its log, minute by minute; an engine opens the
home again. The clock begins when the session is up. The first row counts when it is published, which is when any reader
of the home can see it.
Run as: python benchmarks/outage.py [minutes] [rate] [statement …], statements out of filter, window, join
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from airflow import RATE, leave_alone

from presage import Engine

FIRST_ROW, CAUGHT_UP, TIMES_LIVE = 5.0, 20.0, 300.0  # seconds, seconds, times the live rate
LOOK = 0.002  # seconds


@dataclass(frozen=True)
class Recovery:
    """Seconds from the session to the first row and to the last; rows that were made."""

    first: float
    all: float
    rows: int


def recover(engine: Engine, names: list[str], before: dict[str, int], start: float) -> Recovery:
    """Watch statements come back; `before`: the rows that each had made when it was left."""
    waiting, first = set(names), 0.0
    while waiting:
        statuses = {name: engine.deployments[name].status for name in waiting}
        for name, status in statuses.items():
            # A statement may have nothing to say of an outage: then it has said it when it is there.
            if status.rows_out > before[name] or status.lag == 0:
                waiting.remove(name)
        first = time.perf_counter() - start
        time.sleep(LOOK)
    for name in names:
        engine.deployments[name].drain()
    taken = time.perf_counter() - start
    return Recovery(first, taken, sum(engine.deployments[name].status.rows_out - before[name] for name in names))


def rows_before(home: Path) -> dict[str, int]:
    with Engine(home=home, live=False) as engine:
        return {name: deployment.status.rows_out for name, deployment in engine.deployments.items()}


def main(minutes: int = 120, rate: int = RATE, *names: str) -> None:
    chosen = list(names or ("window",))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        events = leave_alone(home, chosen, 0, minutes, rate)
        before = rows_before(home)
        opening = time.perf_counter()
        with Engine(home=home) as engine:
            assert engine.spark is not None
            start = time.perf_counter()
            recovery = recover(engine, chosen, before, start)
    pace = events / recovery.all
    print(f"outage of {minutes} minutes at {rate} events a second: {events:,} events; {', '.join(chosen)}")
    print(f"  session up after             {start - opening:8.2f} s")
    print(f"  first row of every statement {recovery.first:8.2f} s   (limit {FIRST_ROW:g})")
    print(f"  caught up                    {recovery.all:8.2f} s   (limit {CAUGHT_UP:g})")
    print(f"  events a second              {pace:8,.0f}")
    print(f"  times the live rate          {pace / rate:8.0f} x   (limit {TIMES_LIVE:g})")
    print(f"  rows                         {recovery.rows:8,}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
