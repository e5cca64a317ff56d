"""A campus in, homes in which its sensors are measured out: what the parts of `knowledge.py` have in common."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from interleaved import ROUNDS

from presage import Engine
from presage.demo import airflow_events, make_campus, read, write_campus
from presage.demo.campus_events import INTERVAL, START
from presage.demo.campus_ontology import AIRFLOW, PREFIXES

BATCH = 200_000
DAY_APART = 10_000_000  # events from one day's first to the next one's, more than are ever looked at


@dataclass(frozen=True)
class Sizes:
    buildings: int = 170
    sensors: int = 50_000
    events: int = 2_000_000  # in batch
    batches: int = 3  # of a deployed statement's round
    batch: int = BATCH
    asked: int = 5_000  # of a batch whose every reading is asked of the store
    rounds: int = ROUNDS


@dataclass
class World:
    """The files of a campus, what its sensors are called, and homes in which all of it is declared."""

    folder: Path
    sizes: Sizes
    homes: int = 0
    stack: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def sensors(self) -> list[str]:
        return make_campus(self.sizes.buildings, self.sizes.sensors).values(AIRFLOW)

    @cached_property
    def declarations(self) -> str:
        write_campus(self.folder / "campus", self.sizes.buildings, self.sizes.sensors, minutes=0)
        return re.sub(r"'([a-z]+\.(?:ttl|jsonld))'", rf"'{self.folder}/campus/\1'", read("campus.epl"))

    def events(self, count: int, offset: int = 0, day: int = 0, sensors: Sequence[str] | None = None) -> pa.Table:
        """Part of a morning. That of another day is at the same hours, and has values of its own."""
        names = self.sensors if sensors is None else sensors
        before = day * DAY_APART
        start = START + timedelta(days=day, microseconds=-before * INTERVAL)
        return airflow_events(count, names, start, offset=before + offset)

    def home(self) -> Path:
        self.homes += 1
        return self.folder / f"home-{self.homes}"

    def open(self, home: Path) -> Engine:
        """An engine without a session; statements go on when they are drained."""
        return Engine(home=home, roots=[self.folder], live=False, driven=False)

    def deploy(self, text: str) -> DeployedQuery:
        engine = self.stack.enter_context(self.open(self.home()))
        engine.execute(self.declarations)
        return DeployedQuery(engine, text)


class DeployedQuery:
    """One statement in a home of its own."""

    def __init__(self, engine: Engine, text: str) -> None:
        self.engine = engine
        self.deployment = engine.deploy(text, name="measured")

    def take_in(self, events: pa.Table) -> float:
        """The seconds from when the events are loaded until their rows are committed."""
        self.engine.load(AIRFLOW, events)
        start = time.perf_counter()
        self.deployment.drain()
        return time.perf_counter() - start


@dataclass
class Clock:
    """Seconds of each rival, by name; rounds in turn."""

    taken: dict[str, list[float]] = field(default_factory=dict)

    def note(self, name: str, seconds: float) -> None:
        self.taken.setdefault(name, []).append(seconds)

    def best(self, name: str) -> float:
        return min(self.taken[name])

    def spread(self, name: str) -> str:
        return f"spread {statistics.median(self.taken[name]) / self.best(name):4.2f}"


def query(number: int) -> str:
    """One of the paper's queries, as it is printed."""
    found = re.search(rf"-- Query {number}:.*?;\n", read("queries.epl"), re.DOTALL)
    assert found is not None
    return found[0]


def about(pattern: str) -> str:
    head = "\n".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
    return f"{head}\nSELECT e.sensorID FROM {AIRFLOW} AS e WHERE PATH {{ {pattern} }}"


def verdict(kept: bool, target: float) -> str:
    return f"   (target {target:g})" if kept else f"   (target {target:g}: MISSED)"
