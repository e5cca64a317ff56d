"""Two hours away at 600 events a second: how long until the first recovered row, and until all is caught up.

A home with a deployed statement is closed; 4.3 million events arrive in its log, minute by minute; an engine opens the
home again. Statements go on while the session starts, so that the clock begins with the opening; the limits count from
the session, as if nothing could be done without one. A row counts when it is published, for any reader to see.
Run as: python benchmarks/outage.py [minutes] [rate] [statement …], statements out of filter, window, join
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from airflow import RATE, leave_alone

from presage import Engine

FIRST_ROW, CAUGHT_UP, TIMES_LIVE = 5.0, 20.0, 300.0  # seconds, seconds, times the live rate
LOOK, LOOK_AGAIN = 0.005, 1.0  # seconds


@dataclass(frozen=True)
class Recovery:
    """Seconds from the start to the first row of every statement and to the end; rows that were made."""

    first: float
    all: float
    rows: int


def recover(engine: Engine, names: list[str], before: dict[str, int], start: float) -> Recovery:
    """Watch statements come back; `before`: the rows that each had made when it was left."""
    job = engine.deployments.job  # type: ignore[attr-defined]
    first: float | None = None
    looked = start
    while True:
        now = time.perf_counter()
        if first is None and all(engine.deployments[name].status.rows_out > before[name] for name in names):
            first = now
        # This waits for the batch that runs: not often before the first row, so that it is seen at once.
        if (first is not None or now - looked > LOOK_AGAIN) and job.idle:
            break
        looked = now if now - looked > LOOK_AGAIN else looked
        time.sleep(LOOK)
    end = time.perf_counter()
    statuses = {name: engine.deployments[name].status for name in names}
    failed = [f"{name}: {status.last_error}" for name, status in statuses.items() if status.last_error]
    if failed:
        raise SystemExit("\n".join(failed))
    rows = sum(status.rows_out - before[name] for name, status in statuses.items())
    return Recovery((first or end) - start, end - start, rows)


def note_session(engine: Engine, start: float, seconds: list[float]) -> None:
    assert engine.spark is not None
    seconds.append(time.perf_counter() - start)


def rows_before(home: Path) -> dict[str, int]:
    with Engine(home=home, live=False) as engine:
        return {name: deployment.status.rows_out for name, deployment in engine.deployments.items()}


def main(minutes: int = 120, rate: int = RATE, *names: str) -> None:
    chosen = list(names or ("window",))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        events = leave_alone(home, chosen, 0, minutes, rate)
        before = rows_before(home)
        start = time.perf_counter()
        with Engine(home=home) as engine:
            session: list[float] = []
            waiting = threading.Thread(target=note_session, args=(engine, start, session))
            waiting.start()
            recovery = recover(engine, chosen, before, start)
            waiting.join()
    (up,) = session
    # What was done before the session was up has taken its time, too.
    pace = events / (recovery.all - (up if up < recovery.first else 0))
    print(f"outage of {minutes} minutes at {rate} events a second: {events:,} events; {', '.join(chosen)}")
    print(f"  {'':<28} {'from opening':>12} {'from session':>13}")
    print(f"  {'session up':<28} {up:>10.2f} s")
    for name, seconds, limit in (
        ("first row of every statement", recovery.first, FIRST_ROW),
        ("caught up", recovery.all, CAUGHT_UP),
    ):
        print(f"  {name:<28} {seconds:>10.2f} s {max(seconds - up, 0):>11.2f} s   (limit {limit:g})")
    print(f"  {pace:,.0f} events a second, {pace / rate:.0f} times the live rate (limit {TIMES_LIVE:g})")
    print(f"  {recovery.rows:,} rows")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
