"""`presage demo campus`: a campus that lives, a statement of each kind over it, on the terminal and in the console."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import chdir, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from presage.cli.script_results import opened
from presage.cli.server import served
from presage.cli.tables import console_for_stdout
from presage.demo.campus_live import DECLARATIONS, NOW, STATEMENTS, LiveCampus
from presage.demo.campus_ontology import SENSORS
from presage.demo.campus_view import CampusView
from presage.engine import Engine
from presage.errors import PresageError
from presage.lang import parse
from presage.lang.command_syntax import CreateStatement

# The whole campus where there are two cores; a minute of the campus in a second of ours.
SENSORS_PER_CORE = 25_000
MINUTE_SECONDS = 1.0
# Two minutes are promised, the start of Spark and the end included: what is left is for events.
WHOLE_SECONDS, LIVE_SECONDS, END_SECONDS = 95.0, 45.0, 12.0
WIDTH = 110  # of a demonstration that goes into a file
# Live statements may be this far behind before the next minute waits for them.
MOST_BEHIND = 2
NOT_SERVED = (None, None)


@dataclass
class Course:
    """How far the demonstration is."""

    sensors: int
    history: int = 0
    events: int = 0
    minutes: int = 0
    began: float = field(default_factory=time.perf_counter)
    live_began: float = 0.0

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def live_seconds(self) -> float:
        return time.perf_counter() - self.live_began

    @property
    def moment(self) -> str:
        return f"{NOW + timedelta(minutes=self.minutes):%H:%M}"


def sensors_for_machine() -> int:
    return min(SENSORS, SENSORS_PER_CORE * (os.cpu_count() or 1))


def demonstrate_campus(sensors: int | None, seconds: float | None, serve: bool, port: int, debug: bool) -> None:
    """History, then `seconds` of events, then a summary; an interrupt among the events comes to the summary at once."""
    course = Course(sensors or sensors_for_machine())
    console = console_for_stdout(WIDTH)
    with TemporaryDirectory() as passing, chdir(passing):
        campus = LiveCampus(course.sensors)
        campus.write(Path())
        view = CampusView(console, kinds_of(Path(STATEMENTS).read_text(encoding="utf-8")))
        # The engine is closed last: requests that are still answered need it.
        with (
            opened(Path("home"), debug, roots=[Path.cwd()]) as engine,
            served(engine, port) if serve else nullcontext(NOT_SERVED) as at,
        ):
            view.introduce(course, len(campus.campus.floors), *at)
            _prepare(engine, campus, course, view)
            left = max(10.0, min(LIVE_SECONDS, WHOLE_SECONDS - END_SECONDS - course.seconds))
            left = left if seconds is None else seconds
            try:
                # From here on an interrupt comes to the summary: who reads the line may send one.
                stand = (
                    f"{len(engine.deployments)} statements are deployed; from now on a second is a minute on the campus"
                )
                view.step(course, stand)
                with view.following(engine):
                    _live(engine, campus, course, left, view.show)
                    _settle(engine, END_SECONDS)
            except KeyboardInterrupt:
                view.interrupted()
            view.summarize(engine, course)


def kinds_of(text: str) -> dict[str, tuple[str, str]]:
    """For each statement of the text, its kind and what it asks, from the comment before it."""
    found, end = {}, 0
    for statement in parse(text, STATEMENTS).statements:
        before = text[end : statement.span.start]
        end = statement.span.end
        if isinstance(statement, CreateStatement):
            comment = " ".join(line.removeprefix("--").strip() for line in before.splitlines() if line.startswith("--"))
            kind, _, told = comment.partition(": ")
            found[statement.name] = (kind, told)
    return found


def _prepare(engine: Engine, campus: LiveCampus, course: Course, view: CampusView) -> None:
    with view.waiting("reading what is known of the campus"):
        engine.execute(Path(DECLARATIONS).read_text(encoding="utf-8"), DECLARATIONS)
    view.step(course, "what is known of the campus is read and closed under its rules")
    with view.waiting("loading the day before"):
        for stream, events in campus.history():
            course.history += engine.load(stream, events).accepted
    view.step(course, f"{course.history:,} events of the day before are in the archive")
    with view.waiting("Spark is starting"):
        _ = engine.spark
    with view.waiting("deploying statements"):
        engine.execute(Path(STATEMENTS).read_text(encoding="utf-8"), STATEMENTS)


def _live(
    engine: Engine, campus: LiveCampus, course: Course, seconds: float, show: Callable[[Course, float], None]
) -> None:
    """Minute by minute, none before its time, and none while the statements are too far behind."""
    course.live_began = time.perf_counter()
    arrived: list[int] = []
    for events in campus.minutes():
        while course.live_seconds < seconds and (
            course.live_seconds < course.minutes * MINUTE_SECONDS or _behind(engine, arrived) > MOST_BEHIND
        ):
            show(course, seconds)
            time.sleep(0.1)
        if course.live_seconds >= seconds:
            return
        for stream, rows in events.items():
            course.events += engine.load(stream, rows).accepted
        course.minutes += 1
        arrived.append(sum(len(rows) for rows in events.values()))


def _settle(engine: Engine, seconds: float) -> None:
    """Let the statements take in what has come, for so long."""
    until = time.monotonic() + seconds
    for deployment in engine.deployments.values():
        try:
            deployment.drain(timeout=max(0.1, until - time.monotonic()))
        except PresageError as problem:
            if problem.code != "TIMEOUT":
                raise
            return


def _behind(engine: Engine, arrived: list[int]) -> int:
    """How many of the last minutes the slowest statement has not taken in."""
    lag = max((d.status.lag for d in engine.deployments.values() if d.status.state == "running"), default=0)
    minutes = 0
    for count in reversed(arrived):
        if lag <= 0:
            break
        lag -= count
        minutes += 1
    return minutes
