"""An engine with deployed statements, under load; as a program it goes on until it is killed.

`python -m recovery.under_load HOME FIRST LOADS [POINT K]` does what is left to do in the home, and says how far it is.
With a point it kills itself when the point is passed for the K-th time after the first load of this life.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Container
from typing import Any, Protocol

from recovery.ticks import BOUNDED, STATEMENTS, STREAMS

NAMES = ("filter", "window", "join", "batch", "rated", "hot", "over", "past", "spans", "means")
ROWS_PER_LOAD = 5


class Home(Protocol):
    """What engines and homes without Spark have in common."""

    def load(self, stream: str, rows: list[dict[str, Any]], once: str) -> object: ...


def begin(known: Container[str], declare: Callable[[str], object], deploy: Callable[[str, str], object]) -> None:
    """Some or all of it may have been done before."""
    for line in STREAMS.strip().splitlines():
        if line.split()[2] not in known:
            declare(line)
    for name in NAMES:
        deploy((STATEMENTS | BOUNDED)[name], name)


def load(home: Home, number: int) -> None:
    """The events of one load, in both streams; out of order within what is allowed."""
    first = number * ROWS_PER_LOAD
    ticks = [
        {"sym": "abc"[i % 3], "price": float(i % 5 + 1), "at": at(i ^ 1)} for i in range(first, first + ROWS_PER_LOAD)
    ]
    home.load("Tick", ticks, f"tick-{number}")
    home.load("Quote", [{"sym": "abc"[number % 3], "bid": number / 4, "at": at(first)}], f"quote-{number}")


def at(half_seconds: int) -> str:
    seconds, half = divmod(half_seconds, 2)
    return f"2024-01-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{5 * half}"


class Kill:
    """Kills this process when a point is passed for the k-th time."""

    def __init__(self, point: str, k: int) -> None:
        self.point, self.left, self.armed = point, k, False

    def reach(self, point: str) -> None:
        if self.armed and point == self.point:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main(home: str, first: str, loads: str, point: str = "never", k: str = "1") -> None:
    from presage import Engine
    from presage.storage import failpoints

    kill = Kill(point, int(k))
    failpoints.Failpoints.reach = lambda _, point: kill.reach(point)  # type: ignore[method-assign]
    with Engine(home=home) as engine:
        engine.spark  # noqa: B018 (the session is started before time is taken)
        begin(engine.catalog.types, engine.execute, engine.deploy)
        print("ready", flush=True)
        for number in range(int(first), int(loads)):
            kill.armed = True
            load(engine, number)
            print(number, flush=True)
            if number % 4 == 3:
                engine.deployments[NAMES[0]].drain(60)  # so that there is more than one batch
        for name in NAMES:
            engine.deployments[name].drain(60)
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
