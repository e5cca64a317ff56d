"""Queries over probabilistic streams: Presage itself, with a home of its own, without Spark.

Each statement is deployed with an upper time bound that has passed, so it reads the archive in this process and ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from building import Building
from simulator import BEGIN, SECOND

import presage
from presage.operators.sequence.kernel.hidden_markov.spec import TIME

DECLARED = "CREATE STREAM {name} (person STRING, location STRING, at TIMESTAMP) EVENT TIME at KEY (person)"
# The streams of the study, and what is uncertain in them.
STREAMS = {
    "Filtered": "PROBABILISTIC (location)",
    "Particles": "PROBABILISTIC (location)",
    "Multinomial": "PROBABILISTIC (location)",
    "Marginals": "PROBABILISTIC (location)",
    "Smoothed": "PROBABILISTIC MARKOV (location)",
    "Path": "PROBABILISTIC (location)",
}


@dataclass(frozen=True)
class Answers:
    """`person`, `second` and `probability` of each row, and the seconds that the query took."""

    person: np.ndarray
    second: np.ndarray
    probability: np.ndarray
    took: float


class QueryEngine:
    """An engine with the streams of the study. Nothing goes on in it but what `ask` drives."""

    def __init__(self, home: Path, building: Building, streams: Mapping[str, pa.Table], seconds: int) -> None:
        self.engine = presage.Engine(home=home, live=False, driven=False)
        rooms = ", ".join(f"('{room}')" for room in building.of_kind("coffee"))
        self.engine.execute(f"CREATE RELATION CoffeeRoom (location STRING) VALUES {rooms}")
        self.end = BEGIN + seconds * SECOND
        for name, rows in streams.items():
            self.engine.execute(f"{DECLARED.format(name=name)} {STREAMS[name]}")
            times = rows[TIME].cast(pa.timestamp("us", tz="UTC"))
            report = self.engine.load(name, rows.drop_columns([TIME]).append_column("at", times))
            assert report.accepted == rows.num_rows, self.engine.rejected(name)
            self.engine.advance(name, _text(self.end + SECOND))

    def ask(self, select: str, subgoals: str, where: str, by: str = "") -> Answers:
        within = f"WITHIN [{_text(BEGIN)}, {_text(self.end)})"
        text = f"SELECT {select} FROM SEQUENCE [ {subgoals} ] {by} {within} WHERE {where}"
        start = time.perf_counter()
        deployment = self.engine.deploy(text, name="question", replace=True)
        while self.engine.deployments.job.advance():  # type: ignore[attr-defined]
            pass
        took = time.perf_counter() - start
        status = deployment.status
        assert status.last_error is None, status.last_error
        rows = deployment.table()
        deployment.stop()
        second = (pc.cast(rows["at"], pa.int64()).to_numpy() - BEGIN) // SECOND
        person = rows["p"].to_numpy(zero_copy_only=False) if "p" in rows.column_names else np.full(len(second), "")
        return Answers(person, second, rows["probability"].to_numpy(), took)

    def __enter__(self) -> QueryEngine:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()


def _text(micros: int) -> str:
    return str(np.datetime64(micros, "us"))[:19]
