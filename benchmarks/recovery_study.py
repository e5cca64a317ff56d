"""Outages of 10 to 115 minutes at 600 events a second: our plan against plain replay of a filter, a window and a join.

The home holds the last 60 or 120 minutes, the outage included; what lies before the outage must not cost anything. As
events older than the archive are lost to both, an outage that is longer than it is left out. Our plan is the engine's
own: native prefilter and pruned columns, then the kernel, in batches of up to 500,000 events. Plain replay feeds every
event with all its attributes to the statement as it was written, 10,000 at a time, as a real-time engine is fed. Both
in turn, in one session. First row and end are counted from opening the home, and both plans start the same query.
Run as: python benchmarks/recovery_study.py [most minutes] [rate] [file of the picture], `-` for none
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from airflow import RATE, STATEMENTS, leave_alone, without_driver
from charts import Panel, Series, Style, draw
from outage import recover, rows_before

from presage import Engine
from presage.execution.spark.session import own_session

OUTAGES = (10, 30, 60, 115)
ARCHIVES = (60, 120)
REPLAYED_AT_ONCE = 10_000
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "recovery.svg"
PLANS = {"ours": "our plan", "replay": "plain replay"}
COLOURS = {"filter": "#1f77b4", "window": "#c2410c", "join": "#2e7d32"}


@dataclass(frozen=True)
class Case:
    archive: int
    outage: int
    query: str
    plan: str


@dataclass(frozen=True)
class Figures:
    latency: float
    duration: float
    throughput: float


def left_home(folder: Path, archive: int, outage: int, plan: str, rate: int) -> tuple[Path, int]:
    """A home with all statements after an outage, and how many events it missed."""
    home = folder / f"{archive}-{outage}-{plan}"
    # Every home has lived for a minute more, before the outage: statements come back with a state.
    before = max(archive - outage - 1, 0)
    return home, leave_alone(home, list(STATEMENTS), before, outage, rate, optimize=plan == "ours")


def keep_only(home: Path, query: str, optimize: bool) -> None:
    with without_driver(home, optimize) as engine:
        for name, deployment in engine.deployments.items():
            if name != query:
                deployment.stop()


def measure(home: Path, case: Case, events: int) -> Figures:
    ours = case.plan == "ours"
    keep_only(home, case.query, ours)
    before = rows_before(home)
    how = {} if ours else {"rows_per_batch": REPLAYED_AT_ONCE}
    session = own_session()
    start = time.perf_counter()
    with Engine(spark=session, home=home, optimize=ours, **how) as engine:
        recovery = recover(engine, [case.query], before, start)
        engine.deployments[case.query].drain()  # the streaming query is up before it is stopped
        return Figures(recovery.first, recovery.all, events / recovery.all)


def study(outages: list[int], rate: int) -> dict[Case, Figures]:
    found = {}
    for archive in ARCHIVES:
        for outage in outages:
            if outage > archive:
                continue
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                homes = {plan: left_home(folder, archive, outage, plan, rate) for plan in PLANS}
                for query in STATEMENTS:
                    for plan, (home, events) in homes.items():
                        case = Case(archive, outage, query, plan)
                        copy = shutil.copytree(home, folder / "copy")
                        found[case] = measure(copy, case, events)
                        shutil.rmtree(copy)
                        show(case, found[case])
    return found


def show(case: Case, figures: Figures) -> None:
    print(
        f"  {case.archive:>7} {case.outage:>7}  {case.query:<7} {PLANS[case.plan]:<13}"
        f" {figures.latency:>8.2f} s {figures.duration:>8.2f} s {figures.throughput:>11,.0f}",
        flush=True,
    )


def picture(found: dict[Case, Figures], outages: list[int], rate: int) -> str:
    def series(figure: str) -> list[Series]:
        made = []
        for query, colour in COLOURS.items():
            for plan, name in PLANS.items():
                for archive in reversed(ARCHIVES):
                    wide = archive == max(ARCHIVES)
                    points = [
                        (float(case.outage), float(getattr(figures, figure)))
                        for case, figures in found.items()
                        if (case.query, case.plan, case.archive) == (query, plan, archive)
                    ]
                    style = Style(colour, dashed=plan == "replay", hollow=not wide, line=wide)
                    made.append(Series(f"{query}, {name}" if wide else "", points, style))
        return made

    panels = [
        Panel("First recovered row", "seconds", series("latency")),
        Panel("Caught up", "seconds", series("duration")),
        Panel("Throughput", "events a second", series("throughput")),
    ]
    title = f"Back from an outage at {rate} events a second"
    note = (
        f"Dots: the archive holds {max(ARCHIVES)} minutes. Rings: {min(ARCHIVES)} minutes. Logarithmic vertical axes."
    )
    return draw(title, panels, "outage, minutes", outages, note)


def warm_up(rate: int) -> None:
    """The first statement of a session pays for the session's first steps: that one is not measured."""
    with tempfile.TemporaryDirectory() as name:
        home, events = left_home(Path(name), 1, 1, "ours", rate)
        measure(home, Case(1, 1, "window", "ours"), events)


def main(most: int = max(OUTAGES), rate: int = RATE, file: str = str(PICTURE)) -> None:
    outages = [outage for outage in OUTAGES if outage <= most]
    session = own_session()
    warm_up(rate)
    print(f"recovery at {rate} events a second")
    names = f"{'first row':>10} {'caught up':>10} {'events/s':>11}"
    print(f"  {'archive':>7} {'outage':>7}  {'query':<7} {'plan':<13} {names}")
    found = study(outages, rate)
    session.stop()
    if file != "-":
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(picture(found, outages, rate))
        print(f"  {file}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
