"""Events of a campus over a day as Arrow tables: air, warmth, people and power.

Event i of a stream depends on the seed and on i alone (randomness is counter-based, SplitMix64 of the number), so that
`offset` gives any batch of an endless stream without those before it. All arithmetic is exact or rounded once, so that
tables are the same on every machine. Sensors report in turn, neighbours in the list far from each other in time.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from presage.demo.campus_ontology import (
    AIRFLOW,
    AIRVOLUME,
    BUILDINGS,
    METER,
    OCCUPANCY,
    SEED,
    SENSORS,
    TEMPERATURE,
    make_campus,
    read,
    vocabulary,
    write_turtle,
)

START = datetime(2012, 5, 7, 9, tzinfo=UTC)
INTERVAL = 1_200  # microseconds between two events: 833 a second, as 50,000 sensors that report once a minute
MINUTE = 60_000_000
DAY = 24 * 60 * MINUTE
CONTEXTS = ("airflow.jsonld", "airvolume.jsonld", "temperature.jsonld", "occupancy.jsonld", "meter.jsonld")

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def airflow_events(
    count: int, sensors: Sequence[str], start: datetime = START, seed: int = SEED, **how: float
) -> pa.Table:
    """AirflowReport(sensorID, flowrate, at): cubic feet per minute, about one in twelve above 500 by day, few at night.

    `how`, here and below: `offset`, the number of the first event; `interval`, microseconds between events; `unknown`,
    the share of events whose sensor has a name that no ontology knows, a new one each time.
    """
    turn = _Turn(AIRFLOW, count, sensors, start, seed, **how)
    return turn.table("sensorID", "flowrate", turn.flows())


def airvolume_events(
    count: int, sensors: Sequence[str], start: datetime = START, seed: int = SEED, **how: float
) -> pa.Table:
    """AirVolume(device, airvolume, at): the same measure under another name."""
    turn = _Turn(AIRVOLUME, count, sensors, start, seed, **how)
    return turn.table("device", "airvolume", turn.flows())


def temperature_events(
    count: int, sensors: Sequence[str], start: datetime = START, seed: int = SEED, **how: float
) -> pa.Table:
    """TemperatureReport(sensor, celsius, at): around 22 degrees, warmer by day."""
    turn = _Turn(TEMPERATURE, count, sensors, start, seed, **how)
    degrees = 20.0 + 2.0 * turn.habit() + 1.5 * turn.day() + 0.8 * turn.noise()
    return turn.table("sensor", "celsius", np.round(degrees, 1))


def occupancy_events(
    count: int, sensors: Sequence[str], start: datetime = START, seed: int = SEED, **how: float
) -> pa.Table:
    """OccupancyReport(sensor, people, at): none at night, often none by day."""
    turn = _Turn(OCCUPANCY, count, sensors, start, seed, **how)
    people = np.floor(turn.day() * (1.0 + 5.0 * turn.habit()) * turn.luck()).astype(np.int32)
    return turn.table("sensor", "people", people)


def meter_events(
    count: int, sensors: Sequence[str], start: datetime = START, seed: int = SEED, **how: float
) -> pa.Table:
    """MeterReport(meter, kilowatts, at): 10 to 120, half of it by day only."""
    turn = _Turn(METER, count, sensors, start, seed, **how)
    power = (20.0 + 40.0 * turn.habit()) * (1.0 + turn.day()) + 4.0 * turn.noise()
    return turn.table("meter", "kilowatts", np.round(np.maximum(power, 0.0), 1))


GENERATORS = {
    AIRFLOW: airflow_events,
    AIRVOLUME: airvolume_events,
    TEMPERATURE: temperature_events,
    OCCUPANCY: occupancy_events,
    METER: meter_events,
}


def write_campus(
    folder: Path,
    buildings: int = BUILDINGS,
    sensors: int = SENSORS,
    seed: int = SEED,
    minutes: int = 10,
    start: datetime = START,
    unknown: float = 0.0,
) -> list[Path]:
    """A campus as files that can be run: the ontology, contexts, statements, and events of all sensors as JSON lines.

    Each sensor reports once a minute. `campus.epl` declares, `queries.epl` declares and asks. The files written.
    """
    campus = make_campus(buildings, sensors, seed)
    declarations = read("campus.epl")
    texts = {name: read(name) for name in CONTEXTS}
    texts |= {"vocabulary.ttl": vocabulary(), "campus.ttl": write_turtle(campus)}
    texts |= {"campus.epl": declarations, "queries.epl": declarations + "\n" + read("queries.epl")}
    for stream, generate in GENERATORS.items():
        values = campus.values(stream)
        if values:
            how = {"interval": MINUTE / len(values), "unknown": unknown}
            texts[f"{stream.lower()}.jsonl"] = _lines(generate(minutes * len(values), values, start, seed, **how))
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


def write_example(folder: Path) -> list[Path]:
    """A campus to look at: small, and every one of the queries finds something."""
    return write_campus(folder, buildings=2, sensors=40, seed=242, minutes=15, unknown=0.02)


class _Turn:
    """Events offset, offset + 1, …: which sensor each is of, when it is, and what chance gives it."""

    def __init__(
        self,
        stream: str,
        count: int,
        sensors: Sequence[str],
        start: datetime,
        seed: int,
        offset: float = 0,
        interval: float = INTERVAL,
        unknown: float = 0.0,
    ) -> None:
        if not len(sensors):
            raise ValueError(f"no sensor reports to {stream}")
        self.seed = (seed << 8) + list(GENERATORS).index(stream)
        self.number = np.arange(int(offset), int(offset) + count, dtype=np.int64)
        self.sensors = pa.array(sensors, pa.string())
        self.sensor = self.number % len(sensors) * _coprime(len(sensors)) % len(sensors)
        began = int(start.timestamp()) * 1_000_000 + start.microsecond
        self.at: Numbers = began + np.floor(self.number * interval).astype(np.int64)
        self.unknown = unknown

    def table(self, source: str, measure: str, measured: npt.NDArray[Any]) -> pa.Table:
        times = pa.array(self.at, pa.timestamp("us", "UTC"))
        return pa.table({source: self.values(), measure: measured, "at": times})

    def values(self) -> pa.Array:
        """What the events call their sensors: those that nobody knows are named after one, and numbered."""
        known = self.sensors.take(pa.array(self.sensor))
        if not self.unknown:
            return known
        strange = pa.array(self._uniform(1, self.number) < self.unknown)
        number = pc.cast(pa.array(self.number), pa.string())
        return pc.if_else(strange, pc.binary_join_element_wise(known, number, "-N"), known)

    def flows(self) -> Floats:
        flow = (100.0 + 500.0 * self.habit()) * (0.6 + 0.45 * self.day()) + 40.0 * self.noise()
        return np.asarray(np.round(np.maximum(flow, 0.0), 1), dtype=np.float64)

    def day(self) -> Floats:
        """How busy the campus is: 0 from 20:00 to 6:00, 1 at 13:00, a parabola in between."""
        away: Floats = (self.at % DAY / (60 * MINUTE) - 13.0) / 7.0
        return np.asarray(np.maximum(0.0, 1.0 - away * away), dtype=np.float64)

    def habit(self) -> Floats:
        """What is a sensor's own, from 0 to 1, the same for all of its events."""
        return self._uniform(2, self.sensor)

    def luck(self) -> Floats:
        """From 0 to 1, by event."""
        return self._uniform(3, self.number)

    def noise(self) -> Floats:
        """Mean 0 and deviation 1, by event: four uniform numbers are as good as a normal one here, and exact."""
        total = sum(self._uniform(4 + each, self.number) for each in range(4))
        return np.asarray((total - 2.0) * math.sqrt(3.0), dtype=np.float64)

    def _uniform(self, purpose: int, number: Numbers) -> Floats:
        """SplitMix64 (Steele, Lea, Flood 2014) of (seed, purpose, number), its upper 53 bits as [0, 1)."""
        key = np.uint64(((self.seed * 16 + purpose) * 0xD1342543DE82EF95) % 2**64)
        # Wraps around, as it should: arrays of unsigned integers do so silently.
        mixed = (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + key
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        return np.asarray((mixed >> np.uint64(11)) * 2.0**-53, dtype=np.float64)


def _coprime(count: int) -> int:
    """A step through `count` sensors that visits each once and goes far: near the golden section."""
    step = max(1, round(count * 0.618))
    while math.gcd(step, count) != 1:
        step += 1
    return step


def _lines(events: pa.Table) -> str:
    rows = events.set_column(2, "at", pc.strftime(events["at"].cast(pa.timestamp("ms", "UTC"), safe=False), "%FT%TZ"))
    return "".join(json.dumps(row) + "\n" for row in rows.to_pylist())
