"""A batch of 1,000 events with 1, 10, 100 and 1,000 deployed statements: what a statement costs.

Series: filters that pass 0.1 % of the events each, and windows over as much, each of a size of its own; every other one
a window; those, deployed while events come; the same passing 10 %; and 1,000 statements of 1, 10, 50, 200 and 1,000
forms. No session and no trigger: the batch is called directly, with its states, rows and position committed to a home
that is durable. The homes take turns, the minimum of seven, by the wall and by the processor. Last: how long a home of
1,000 statements takes to its first row when it is opened again.
Run as: python benchmarks/many_statements.py [most] [rounds]
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from airflow import DECLARATIONS, SENSORS, reports, without_driver
from interleaved import ROUNDS

from presage import Engine

EVENTS = 1_000
LIMIT = 10  # times one statement, where each passes 0.1 % of the events
Text = Callable[[int], str]
Homes = dict[str, Any]  # by label: what `deployed` is given


def sensor(number: int) -> str:
    """One sensor has 0.1 % of the events."""
    return f"S{number * 7 % SENSORS:04d}"


def reading(number: int) -> str:
    least = number % 7 / 1_000
    return f"SELECT sensorID, flowrate FROM AirflowReport WHERE sensorID = '{sensor(number)}' AND flowrate > {least}"


def window(number: int) -> str:
    return f"SELECT avg(flowrate) AS mean FROM AirflowReport(sensorID = '{sensor(number)}')#time({60 + number} sec)"


def mixed(number: int) -> str:
    return window(number) if number % 2 else reading(number)


def wide_reading(number: int) -> str:
    """A tenth of the flow rates."""
    least = number % 450
    condition = f"flowrate > {least} AND flowrate < {least + 50}"
    return f"SELECT sensorID, flowrate FROM AirflowReport WHERE {condition}"


def wide_window(number: int) -> str:
    least, size = number % 450, 60 + number
    events = f"AirflowReport(flowrate > {least} AND flowrate < {least + 50})#time({size} sec)"
    return f"SELECT sensorID, avg(temperature) AS mean FROM {events} GROUP BY sensorID"


def of_forms(forms: int) -> Text:
    """Statements that differ in what they are called, too: so many forms of them."""
    return lambda number: mixed(number).replace(" FROM", f", {number} AS rule{number % forms} FROM", 1)


def deployed(home: Path, count: int, text: Text, between: int = 0) -> tuple[Engine, float]:
    """An engine with so many statements, and the seconds that deploying them took. `between`: events that arrive before
    each of them, so that every one begins at a position of its own."""
    engine = without_driver(home)
    engine.execute(DECLARATIONS)
    start = time.perf_counter()
    for number in range(count):
        if between:
            engine.load("AirflowReport", reports(0, between))
        engine.deploy(text(number), name=f"s{number}")
    return engine, time.perf_counter() - start


def run_batch(engine: Engine, minute: int) -> tuple[float, float]:
    """Seconds of one batch, by the wall and by the processor."""
    engine.load("AirflowReport", reports(minute, EVENTS))
    job = engine.deployments.job  # type: ignore[attr-defined]
    start, spent = time.perf_counter(), time.process_time()
    assert job.advance()
    return time.perf_counter() - start, time.process_time() - spent


def series(title: str, homes_of: Homes, rounds: int) -> None:
    """`homes_of`: by label how many statements, their texts, and perhaps how many events come between them; the first
    is what the others are held to."""
    best = {label: (float("inf"), float("inf")) for label in homes_of}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        homes = {label: deployed(folder / label, *given) for label, given in homes_of.items()}
        for engine, _ in homes.values():
            stack.enter_context(engine)
        for number in range(rounds + 1):
            for label, (engine, _) in homes.items():
                taken = run_batch(engine, number + 1)
                best[label] = (min(best[label][0], taken[0]), min(best[label][1], taken[1])) if number else best[label]
        print(f"{title}, batches of {EVENTS:,} events")
        print(f"  {'':>12} {'deployed in':>12} {'batch':>10} {'to one':>8} {'processor':>10} {'to one':>8}")
        one = best[next(iter(homes_of))]
        for label, (wall, spent) in best.items():
            print(
                f"  {label:>12} {homes[label][1]:>10.2f} s {wall * 1e3:>7.1f} ms {wall / one[0]:>6.1f} x"
                f" {spent * 1e3:>7.1f} ms {spent / one[1]:>6.1f} x"
            )


def numbered(counts: list[int], text: Text) -> Homes:
    return {f"{count:,}": (count, text) for count in counts}


def reopened(count: int) -> None:
    """From opening a home to the first batch of its statements."""
    with tempfile.TemporaryDirectory() as folder:
        engine, _ = deployed(Path(folder), count, mixed)
        with engine:
            run_batch(engine, 0)
            engine.load("AirflowReport", reports(1, EVENTS))
        start, spent = time.perf_counter(), time.process_time()
        with without_driver(Path(folder)) as engine:
            opened = time.perf_counter() - start
            assert engine.deployments.job.advance()  # type: ignore[attr-defined]
            wall, used = time.perf_counter() - start, time.process_time() - spent
    print(f"{count:,} statements opened again: {opened:.2f} s, first rows after {wall:.2f} s (processor {used:.2f} s)")


def main(most: int = 1_000, rounds: int = ROUNDS) -> None:
    counts = [count for count in (1, 10, 100, 1_000, 10_000) if count <= most]
    ends = [1, most]
    series(f"filters, 0.1 % each (limit {LIMIT} x one)", numbered(counts, reading), rounds)
    series(f"windows of different sizes, 0.1 % each (limit {LIMIT} x one)", numbered(ends, window), rounds)
    series(f"every other one a window, 0.1 % each (limit {LIMIT} x one)", numbered(counts, mixed), rounds)
    apart: Homes = {"1": (1, mixed), f"{most:,}": (most, mixed, 1)}
    series(f"the same, each begun at a position of its own (limit {LIMIT} x one)", apart, rounds)
    series("filters, 10 % each", numbered(ends, wide_reading), rounds)
    series("windows of different sizes, 10 % each", numbered(ends, wide_window), rounds)
    forms = {f"{n:,} forms": (most, of_forms(n)) for n in (1, 10, 50, 200, 1_000) if n <= most}
    series(f"{most:,} statements of so many forms, 0.1 % each", {"one": (1, of_forms(1)), **forms}, rounds)
    reopened(most)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
