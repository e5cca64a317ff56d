"""A batch of 1,000 events with 1, 10, 100 and 1,000 standing statements: what a statement costs.

First series: each statement asks for the high readings of one sensor. Second series: every other one is a window over
one sensor. No session and no trigger: the batch is called directly, with its states, rows and position committed to a
durable home. The homes take turns, the minimum of seven. Run as: python benchmarks/many_statements.py [most] [rounds]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from airflow import DECLARATIONS, SENSORS, reports, without_driver
from interleaved import ROUNDS

from presage import Engine

EVENTS = 1_000


def reading(number: int) -> str:
    sensor, least = f"S{number * 7 % SENSORS:04d}", 480 - number % 100
    return f"SELECT sensorID, flowrate FROM AirflowReport WHERE sensorID = '{sensor}' AND flowrate > {least}"


def window(number: int) -> str:
    sensor = f"S{number * 7 % SENSORS:04d}"
    return f"SELECT avg(flowrate) AS mean FROM AirflowReport(sensorID = '{sensor}')#time(1 min)"


def mixed(number: int) -> str:
    return window(number) if number % 2 else reading(number)


def deployed(home: Path, count: int, text: Callable[[int], str]) -> tuple[Engine, float]:
    """An engine with so many statements, and the seconds that deploying them took."""
    engine = without_driver(home)
    engine.execute(DECLARATIONS)
    start = time.perf_counter()
    for number in range(count):
        engine.deploy(text(number), name=f"s{number}")
    return engine, time.perf_counter() - start


def run_batch(engine: Engine, minute: int) -> float:
    engine.load("AirflowReport", reports(minute, EVENTS))
    job = engine.deployments.job  # type: ignore[attr-defined]
    start = time.perf_counter()
    assert job.advance()
    return time.perf_counter() - start


def series(title: str, text: Callable[[int], str], counts: list[int], rounds: int) -> None:
    best = dict.fromkeys(counts, float("inf"))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        homes = {count: deployed(folder / str(count), count, text) for count in counts}
        for engine, _ in homes.values():
            stack.enter_context(engine)
        for number in range(rounds + 1):
            for count, (engine, _) in homes.items():
                taken = run_batch(engine, number)
                best[count] = min(best[count], taken) if number else best[count]
        print(f"{title}, batches of {EVENTS:,} events")
        print(f"  {'statements':>10} {'deployed in':>12} {'batch':>10} {'a statement':>12} {'to one':>8}")
        for count, seconds in best.items():
            each, ratio = seconds / count * 1e6, seconds / best[counts[0]]
            spent = homes[count][1]
            print(f"  {count:>10,} {spent:>10.2f} s {seconds * 1e3:>7.1f} ms {each:>9.0f} us {ratio:>6.1f} x")


def main(most: int = 1_000, rounds: int = ROUNDS) -> None:
    counts = [count for count in (1, 10, 100, 1_000, 10_000) if count <= most]
    series("one sensor's high readings", reading, counts, rounds)
    series("every other one a window", mixed, counts, rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
