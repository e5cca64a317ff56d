"""A process that stands by, takes over and loads events until it is told to leave: `python -m integration.taking_over`.

It says on stdout what it does, with the time: `standing-by`, `open`, `acknowledged N`, `row N` at the first row of an
event that it has loaded itself, `closed`. On a line from stdin it closes its engine.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

import presage
from presage.errors import PresageError

EVERY = 0.02  # seconds between two loads: sinks of a bucket are to keep up
STREAM = "CREATE STREAM IF NOT EXISTS Tick (sym STRING, n LONG, at TIMESTAMP) EVENT TIME at"
STATEMENTS = {
    "sums": "SELECT sym, n, sum(n) AS total FROM Tick#length(5) GROUP BY sym",
    "pairs": "SELECT a.n AS first, b.n AS second FROM PATTERN [EVERY a=Tick(sym = 'a') -> b=Tick(sym = 'b')]",
}
PARQUET = "CREATE SINK files_{0} FROM {0} WITH (sink = 'parquet', path = '{1}/{0}', rows = 7, every = '0 sec')"


def event(n: int) -> dict[str, Any]:
    return {"sym": "abc"[n * n % 7 % 3], "n": n, "at": f"2024-03-01T{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}Z"}


def prepare(engine: presage.Engine, folder: str) -> None:
    """Declare and deploy what is not there yet."""
    engine.execute(STREAM)
    for name, text in STATEMENTS.items():
        engine.deploy(text, name=name)
        if f"files_{name}" not in engine.sinks:
            engine.execute(PARQUET.format(name, folder))


def say(*words: object) -> None:
    print(*words, time.time(), flush=True)


def main(home: str, folder: str) -> None:
    standby = presage.Standby(lambda leader: say("standing-by"))
    with presage.Engine(home=home, standby=standby) as engine:
        say("open")
        prepare(engine, folder)
        # Only this process appends now: what it counts is what it continues.
        begin = int(engine.metrics().values["streams"]["Tick"]["events"])
        told = os.open(os.path.join(folder, "told"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def receive(row: Any) -> None:
            os.write(told, f"{row.id} {row['n']} {row['total']}\n".encode())

        sums = engine.deployments["sums"]
        sums.subscribe(receive, name="told")
        leave = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.readline(), leave.set()), daemon=True).start()
        n, said = begin, False
        while not leave.is_set():
            engine.load("Tick", [event(n)])
            say("acknowledged", n)
            n += 1
            time.sleep(EVERY)
            if not said and sums.status.rows_out > begin:  # one row for each event
                say("row", begin)
                said = True
        for name in STATEMENTS:
            engine.deployments[name].drain()
        engine.sinks.flush()
    say("closed")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except PresageError as problem:
        print(problem.code, file=sys.stderr, flush=True)
        sys.exit(1)
