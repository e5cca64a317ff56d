"""Minutes in, events out: airflow sensors of a building, 600 reports a second from 1,000 sensors, and a few alarms.

What the benchmarks of deployed statements have in common: the streams, the statements, and a home that was left alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from presage import Engine

RATE = 600  # reports a second
SENSORS = 1_000
ALARMS_PER_MINUTE = 60
MINUTE = 60_000_000
BEGIN = 1_700_000_000_000_000
DECLARATIONS = """
CREATE STREAM AirflowReport (sensorID STRING, flowrate DOUBLE, temperature DOUBLE, status STRING, at TIMESTAMP)
  EVENT TIME at;
CREATE STREAM FilterAlarm (sensorID STRING, severity INT, at TIMESTAMP) EVENT TIME at;
"""
STATEMENTS = {
    "filter": "SELECT sensorID, flowrate, at FROM AirflowReport WHERE flowrate > 495",
    "window": "SELECT sensorID, avg(flowrate) AS mean FROM AirflowReport#time(1 min) GROUP BY sensorID",
    "join": "SELECT a.sensorID, a.severity, r.flowrate FROM AirflowReport#time(1 min) AS r"
    " JOIN FilterAlarm#time(1 min) AS a ON r.sensorID = a.sensorID WHERE r.flowrate > 400",
}
_NAMES = pa.array([f"S{i:04d}" for i in range(SENSORS)])
_STATES = pa.array(["ok", "ok", "ok", "dirty", "blocked"])


def reports(minute: int, rows: int = 60 * RATE) -> pa.Table:
    """The reports of one minute: flow rates from 0 to 500, evenly, so that one in a hundred is above 495."""
    random = np.random.default_rng(minute)
    return pa.table(
        {
            "sensorID": _NAMES.take(pa.array(random.integers(0, SENSORS, rows))),
            "flowrate": random.uniform(0, 500, rows),
            "temperature": random.normal(21, 2, rows),
            "status": _STATES.take(pa.array(random.integers(0, len(_STATES), rows))),
            "at": _times(minute, rows),
        }
    )


def alarms(minute: int) -> pa.Table:
    random = np.random.default_rng(minute)
    return pa.table(
        {
            "sensorID": _NAMES.take(pa.array(random.integers(0, SENSORS, ALARMS_PER_MINUTE))),
            "severity": pa.array(random.integers(1, 4, ALARMS_PER_MINUTE), pa.int32()),
            "at": _times(minute, ALARMS_PER_MINUTE),
        }
    )


def load_minutes(engine: Engine, first: int, last: int, rate: int = RATE) -> int:
    """Load the minutes from first to before last, one load each as a collector would; how many events they have."""
    count = 0
    for minute in range(first, last):
        count += engine.load("AirflowReport", reports(minute, 60 * rate)).accepted
        count += engine.load("FilterAlarm", alarms(minute)).accepted
    return count


def without_driver(home: Path, optimize: bool = True) -> Engine:
    """An engine that starts no session: statements go on only when they are drained, or not at all."""
    return Engine(home=home, live=False, driven=False, optimize=optimize)


def leave_alone(home: Path, statements: list[str], before: int, away: int, rate: int = RATE, **how: bool) -> int:
    """A home with statements that lived for a minute after `before` minutes, and the events of an outage after that.

    How many events the outage has.
    """
    with without_driver(home, **how) as engine:
        engine.execute(DECLARATIONS)
        load_minutes(engine, 0, before, rate)
        for name in statements:
            engine.deploy(STATEMENTS[name], name=name)
        load_minutes(engine, before, before + 1, rate)
        for name in statements:
            engine.deployments[name].drain()
    # Loaded by another process, say: nothing of the statements is in memory when the outage ends.
    with without_driver(home) as engine:
        return load_minutes(engine, before + 1, before + 1 + away, rate)


def _times(minute: int, rows: int) -> pa.Array:
    return pa.array(BEGIN + minute * MINUTE + np.arange(rows) * MINUTE // rows, pa.timestamp("us", "UTC"))
