"""1,000 deployed patterns on one stream against one: what a batch of 1,000 events costs.

Each statement passes 0.1 % of the events: `EVERY a -> b` over one sensor, with a guard. As in `many_statements.py`, the
batch is called directly, with its states, rows and position committed; the homes take turns, the minimum of seven.
Run as: python benchmarks/pattern_statements.py [most] [rounds]
"""

from __future__ import annotations

import sys

from airflow import SENSORS
from interleaved import ROUNDS
from many_statements import numbered, series

LIMIT = 15


def pattern(number: int) -> str:
    sensor = f"S{number * 7 % SENSORS:04d}"
    return (
        f"SELECT a.flowrate AS high, b.flowrate AS low FROM PATTERN [ EVERY a=AirflowReport(sensorID = '{sensor}' "
        f"AND flowrate > 300) -> b=AirflowReport(sensorID = '{sensor}' AND flowrate < a.flowrate) "
        "WHERE timer:within(1 min) ]"
    )


def main(most: int = 1_000, rounds: int = ROUNDS) -> None:
    series(f"patterns (limit {LIMIT} x one)", numbered([1, most], pattern), rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
