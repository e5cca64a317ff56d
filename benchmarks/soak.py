"""An hour at a steady rate: a `rate` source, a window, a pattern and a filter, all deployed, one of them subscribed to.

Every ten seconds the resident memory of the driver, of its JVM and of Spark's Python workers is looked up, and the size
of the home on disk. At the end the curves are printed and drawn, and a line is laid through each of them, the time in
which caches fill left out: the test fails where it rises by more than a twentieth of the mean within an hour.
Run as: python benchmarks/soak.py [--minutes 60] [--rate 2000] [--svg FILE] [--csv FILE]
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from charts import Panel, Series, Style, draw

import presage

EVERY = 10.0  # seconds between two looks
WARM_UP = 1 / 3  # of the time: kernels are loaded, windows and retention fill, the JVM finds its size
MOST_GROWTH = 0.05  # of the mean, in an hour
PARTS = ("driver", "JVM", "workers")
STYLES = {"driver": Style("#1b6ca8"), "JVM": Style("#c0562b"), "workers": Style("#4a8f3c")}
KEPT = "5 min"  # events, and rows of statements
STREAM = """
    CREATE STREAM Pulse (n LONG, sensor STRING, value DOUBLE, at TIMESTAMP) EVENT TIME at KEY (sensor)
      WITH (source = 'rate', rows_per_second = {rate}, keys = 1000, retention = '{kept}');
"""
STATEMENTS = {
    "window": "SELECT sensor, avg(value) AS mean FROM Pulse#time(1 min) GROUP BY sensor",
    "pattern": (
        "SELECT a.n AS first, b.n AS last FROM PATTERN [EVERY a=Pulse(value > 0.9) -> "
        "b=Pulse(value > 0.95 AND sensor = a.sensor) WHERE timer:within(30 sec)]"
    ),
    "filter": "SELECT n, value FROM Pulse WHERE value > 0.99",
}
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Curve:
    """Megabytes at minutes."""

    minutes: list[float] = field(default_factory=list)
    memory: dict[str, list[float]] = field(default_factory=lambda: {part: [] for part in PARTS})
    disk: list[float] = field(default_factory=list)

    def add(self, minute: float, memory: dict[str, float], disk: float) -> None:
        self.minutes.append(minute)
        for part in PARTS:
            self.memory[part].append(memory[part])
        self.disk.append(disk)


def resident() -> dict[str, float]:
    """Megabytes of this process, of its JVM, and of all other processes below it."""
    found = dict.fromkeys(PARTS, 0.0)
    parents = _parents()
    for pid in parents:
        above, place = pid, "driver" if pid == os.getpid() else ""
        while above in parents and above != os.getpid():
            above = parents[above]
        if above != os.getpid():
            continue
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        found[place or ("JVM" if name == "java" else "workers")] += pages * PAGE / 1e6
    return found


def _parents() -> dict[int, int]:
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                # The name, in parentheses, may hold anything.
                found[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def size_of(folder: Path) -> float:
    """Megabytes of all files of a folder that changes meanwhile."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                size += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:
                continue
    return size / 1e6


def run(minutes: float, rate: int, csv: Path | None) -> Curve:
    """Let it stand, and look."""
    curve, delivered = Curve(), 0

    def count(row: object) -> None:
        nonlocal delivered
        delivered += 1

    with tempfile.TemporaryDirectory() as folder, presage.Engine(home=Path(folder) / "home") as engine:
        engine.execute(STREAM.format(rate=rate, kept=KEPT))
        deployments = {name: engine.deploy(text, name=name, retention=KEPT) for name, text in STATEMENTS.items()}
        deployments["filter"].subscribe(count)
        start = time.monotonic()
        rows = csv.open("w", buffering=1) if csv is not None else None
        while time.monotonic() - start < 60 * minutes:
            time.sleep(EVERY)
            minute, memory = (time.monotonic() - start) / 60, resident()
            curve.add(minute, memory, size_of(engine.home))
            lag = max(statement.status.lag for statement in deployments.values())
            if rows is not None:
                figures = [minute, *(memory[part] for part in PARTS), curve.disk[-1], lag]
                print(*(f"{figure:.2f}" for figure in figures), sep=",", file=rows)
        for name, statement in deployments.items():
            status = statement.status
            print(
                f"{name}: {status.rows_in:,} events, {status.rows_out:,} rows, lag {status.lag:,}, "
                f"state {status.state_size / 1e6:.1f} MB, {status.last_error or 'no error'}"
            )
        events = engine.sources["Pulse"].rows
        print(f"{events:,} events came, {delivered:,} rows were handed to the subscriber")
        behind = max(statement.status.lag for statement in deployments.values())
        if behind > 5 * rate or any(statement.status.last_error for statement in deployments.values()):
            raise SystemExit(f"it does not keep up: {behind:,} events behind")
    return curve


def growth(minutes: list[float], values: list[float]) -> tuple[float, float]:
    """Megabytes an hour of the line through the curve after the warm-up, and the mean there."""
    first = next(i for i, minute in enumerate(minutes) if minute >= WARM_UP * minutes[-1])
    line = statistics.linear_regression(minutes[first:], values[first:])
    return 60 * line.slope, statistics.mean(values[first:])


def tell(curve: Curve) -> list[str]:
    """Print the curves; the parts that grow."""
    steps = 12
    print(f"{'minute':>8} {'driver':>9} {'JVM':>9} {'workers':>9} {'disk':>9}   MB, medians")
    for step in range(steps):
        part = slice(len(curve.minutes) * step // steps, len(curve.minutes) * (step + 1) // steps)
        several = [*(curve.memory[name][part] for name in PARTS), curve.disk[part]]
        if curve.minutes[part]:
            cells = " ".join(f"{statistics.median(values):9.0f}" for values in several)
            print(f"{curve.minutes[part][-1]:8.1f} {cells}")
    grown = []
    for part in PARTS:
        slope, mean = growth(curve.minutes, curve.memory[part])
        # Of a short run the line says little about an hour: what it has grown meanwhile counts.
        span = min(1.0, curve.minutes[-1] * (1 - WARM_UP) / 60)
        well = slope * span <= MOST_GROWTH * mean
        print(f"{part}: {slope:+.1f} MB an hour at {mean:.0f} MB{'' if well else ': it grows'}")
        grown += [] if well else [part]
    return grown


def picture(curve: Curve, rate: int) -> str:
    """Medians of a minute each."""
    marks = sorted({int(minute) for minute in curve.minutes})

    def points(values: list[float]) -> list[tuple[float, float]]:
        cut = [[v for m, v in zip(curve.minutes, values, strict=True) if int(m) == mark] for mark in marks]
        return [(mark, statistics.median(part)) for mark, part in zip(marks, cut, strict=True)]

    memory = [Series(part, points(curve.memory[part]), STYLES[part]) for part in PARTS]
    disk = [Series("", points(curve.disk), Style("#7a5195"))]
    most = max(10, 10 * -(-marks[-1] // 10))
    return draw(
        f"Resident memory at a steady rate of {rate:,} events a second",
        [Panel("memory", "MB", memory, even=True), Panel("home on disk", "MB", disk, even=True)],
        "minutes",
        range(0, most + 1, max(10, most // 6)),
        "a window over a minute of 1,000 keys, a pattern, a filter with a subscriber; events and rows kept for 5 min",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Memory over an hour at a steady rate")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=int, default=2_000)
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--csv", type=Path, help="every look, as it is taken")
    asked = parser.parse_args()
    curve = run(asked.minutes, asked.rate, asked.csv)
    grown = tell(curve)
    if asked.svg is not None:
        asked.svg.write_text(picture(curve, asked.rate), encoding="utf-8")
    if grown:
        sys.exit(f"memory is not flat: {', '.join(grown)}")


if __name__ == "__main__":
    main()
