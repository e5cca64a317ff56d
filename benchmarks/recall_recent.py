"""How much of history must be ready for an event to be answered soon? After Moirae's Fig. 7.

An archive of failures and logins in 200 chunks. Past failures are ready when they have been computed with their
contexts, as a deployed RECALL SIMILAR keeps them; what is not ready is computed when an event asks for it. A new
failure asks for the k past ones most like it, and is answered when k were found: with all chunks ready, with the newest
half, and with none. Each failure has something in common with those of its own server alone, one of 200.
Processor time, the minimum of some repetitions. With a third argument the curves are drawn there.
Run as: python benchmarks/recall_recent.py [failures] [repetitions] [picture.svg]
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from charts import Panel, Series, Style, draw

import presage
from presage.columnar.evaluate import Evaluator
from presage.operators.recall.nodes import Recall, Similar
from presage.operators.recall.past_events import Past
from presage.operators.recall.past_index import PastIndex
from presage.operators.recall.questions import EVER
from presage.operators.recall.spark_history import SparkHistory
from presage.plan.nodes import SEQ, TIME

CHUNKS, SERVERS, SECOND = 200, 200, 1_000_000
BEGIN = 1_767_225_600 * SECOND
ASKED = """
SELECT e.server, s.rank, s.similarity, s.at AS was FROM Failure e
RECALL SIMILAR 1000 ( CONTEXT SELECT e.server,
                      CONTEXT SELECT u.user FROM Login u WINDOW 1 min WHERE u.server = e.server ) AS s
"""


def moments(first: int, count: int) -> pa.Array:
    return pa.array(BEGIN + np.arange(first, first + count) * SECOND, pa.timestamp("us", "UTC"))


def servers(random: np.random.Generator, count: int) -> np.ndarray:
    return random.integers(0, SERVERS, count)


def load_chunk(engine: presage.Engine, number: int, rows: int) -> None:
    """A failure every second, and as many logins to the servers."""
    random = np.random.default_rng(number)
    at, failing, used = moments(number * rows, rows), servers(random, rows), servers(random, rows)
    names = pa.array([f"server-{i}" for i in range(SERVERS)])
    users = pa.array([f"user-{i}-{j}" for i, j in zip(used, random.integers(0, 50, rows), strict=True)])
    engine.load("Login", pa.table({"user": users, "server": names.take(pa.array(used)), "at": at}))
    engine.load("Failure", pa.table({"server": names.take(pa.array(failing)), "at": at}))


class Trial:
    """One archive, and a new failure."""

    def __init__(self, engine: presage.Engine, rows: int) -> None:
        bound = engine._workspace.bind(engine._workspace.parse(ASKED).statements[0])
        plan = engine._workspace.optimize(bound).plan
        self.node = next(node for node in plan.walk() if isinstance(node, Recall))
        (self.similar,) = (recall for recall in self.node.recalls if isinstance(recall, Similar))
        history = SparkHistory(self.node, engine._bounded._context_of(self.node.histories), rows // CHUNKS)
        self.archive, self.units = history.past_events(), history.chunks()
        self.horizon = BEGIN + rows * SECOND
        at = pa.array([self.horizon])
        self.event = pa.table(
            {TIME: at, SEQ: [2**40], "e.server": ["server-7"], "e.at": at.cast(pa.timestamp("us", "UTC"))}
        )

    def past(self, back: int) -> Past:
        """What is ready: all that lies after a time, and the new event."""
        past = Past(self.node, Evaluator({}), PastIndex((self.similar,)))
        past.begin(self.units, self.horizon, self.archive)
        past.extend(self.event, self.horizon, self.archive)
        while not past.complete and past.low > back:
            past.read_next(self.archive)
        return past

    def answer(self, past: Past, k: int) -> int:
        """Reads as much as it must, and says how many units that was."""
        similar, read = replace(self.similar, count=k), past.read
        past.similars = (similar,)
        while True:
            found = past.similar_rows(similar, self.event, past.low, self.archive)
            alike = np.count_nonzero(found["s.similarity"].to_numpy() > 0)
            if alike >= k or past.complete:
                return past.read - read
            past.read_next(self.archive)


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as home, presage.Engine(home=home) as engine:
        engine.execute("""
            CREATE STREAM Failure (server STRING, at TIMESTAMP) EVENT TIME at KEY (server);
            CREATE STREAM Login (user STRING, server STRING, at TIMESTAMP) EVENT TIME at;
        """)
        for number in range(CHUNKS):
            load_chunk(engine, number, rows // CHUNKS)
        trial = Trial(engine, rows)
        ready = {"all": -EVER, "half": BEGIN + rows // 2 * SECOND, "none": EVER}
        print(f"{rows:,} past failures in {CHUNKS} chunks, {len(trial.units)} units; processor ms (units computed)")
        print(f"{'k':>5} " + " ".join(f"{name:>16}" for name in ready))
        curves: dict[str, list[tuple[float, float]]] = {name: [] for name in ready}
        for k in (1, 2, 5, 10, 20, 50, 100, 200, 300, 400):
            shown = []
            for name, back in ready.items():
                best, units = float("inf"), 0
                for _ in range(times):
                    past = trial.past(back)
                    trial.answer(past, 1) if past.count > 1 else None  # the index is there already
                    begin = time.process_time()
                    units = trial.answer(past, k)
                    best = min(best, time.process_time() - begin)
                shown.append(f"{best * 1e3:10.1f} ({units:3})")
                curves[name].append((k, best * 1e3))
            print(f"{k:>5} " + " ".join(f"{text:>16}" for text in shown), flush=True)
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(picture(curves, rows))


def picture(curves: dict[str, list[tuple[float, float]]], rows: int) -> str:
    """After the paper's Fig. 7: how long an answer takes, by k and by how much of history is ready."""
    looks = {"all": Style("#1b6ca8"), "half": Style("#d1495b"), "none": Style("#777777", dashed=True)}
    names = {"all": "all chunks ready", "half": "the newest half ready", "none": "none ready"}
    series = [Series(names[name], points, looks[name]) for name, points in curves.items()]
    note = f"{rows:,} past failures in {CHUNKS} chunks; each has something in common with one in {SERVERS}"
    panel = Panel("until k similar failures are found", "ms of processor time", series)
    return draw("How much of history must be ready", [panel], "k", (0, 100, 200, 300, 400), note)


if __name__ == "__main__":
    main()
