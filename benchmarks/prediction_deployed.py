"""A deployed window join over many objects that update every 30 seconds: does it keep up with time?

Objects at 26.8 m/s at the density of the fleet study (1,000 on 10 km²), each with an update every 30 seconds, at a
moment of its own; pairs within 400 m in x and in y, window 3 seconds: each object has some 64 neighbours at any time.
The kernel takes steps of ten seconds of updates, with its state written to bytes and read again between them, as in a
live job, and all cores. The ratio is seconds of events in a second of work, once all objects are known; the second one
counts processor time of all threads, which other work on the machine disturbs less: it is that of a single core.
Run as: python benchmarks/prediction_deployed.py [objects]
"""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import pyarrow as pa

from presage.model.operator_state import State
from presage.operators.prediction.kernel.query import SEQ, TIME, Pair, PredictionTables, Side, Stream
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, JoinTerm
from presage.operators.prediction.kernel.validator import PredictionKernel

SECOND = 1_000_000
PERIOD, STEP, STEPS = 30, 10, 9
SPEED, DENSITY = 26.8, 1_000 / 10e6


class Fleet:
    """Objects that go straight on from one update to the next, and then in another direction."""

    def __init__(self, objects: int) -> None:
        random = np.random.default_rng(1)
        self.random, self.side = random, np.sqrt(objects / DENSITY)
        self.place = random.uniform(0, self.side, (objects, 2))
        self.speed = np.zeros((objects, 2))
        self.due = random.uniform(0, PERIOD, objects)

    def updates(self, end: float) -> pa.Table:
        """Those up to a moment."""
        sends = np.flatnonzero(self.due < end)
        sends = sends[np.argsort(self.due[sends], kind="stable")]
        at = self.due[sends]
        place = np.abs(self.place[sends] + self.speed[sends] * PERIOD)
        self.place[sends] = place = self.side - np.abs(self.side - place)
        angle = self.random.uniform(0, 2 * np.pi, len(sends))
        self.speed[sends] = speed = SPEED * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        self.due[sends] += PERIOD
        columns = {TIME: (at * SECOND).astype(np.int64), SEQ: np.arange(len(sends)), "k": sends}
        for i, name in enumerate("xy"):
            columns |= {f"{name}v": place[:, i], f"{name}r": speed[:, i], f"{name}e": np.full(len(sends), 25.0)}
        return pa.table({name: pa.array(values) for name, values in columns.items()})


def main() -> None:
    objects = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    stream = Stream(("k",), ("xv", "yv"), ("xr", "yr"), ("xe", "ye"), PERIOD * SECOND)
    terms = tuple(JoinTerm(i, i, Comparator.LE, 400.0) for i in range(2))
    spec = JoinSpec(terms, 3 * SECOND, same=True)
    tables = PredictionTables((stream,), (Side(0), Side(0)), (Pair(0, 1, spec),), columns=("a", "b", "from", "to"))
    kernel = PredictionKernel(tables, threads=os.cpu_count() or 1)
    state = kernel.initial()
    fleet = Fleet(objects)
    spent, used, made, sent = [], [], 0, 0
    for number in range(STEPS):
        events = fleet.updates((number + 1) * STEP)
        start, begun = time.perf_counter(), time.process_time()
        state, rows = kernel.step(state, events, (number + 1) * STEP * SECOND)
        saved = state.to_bytes()
        state = State.from_bytes(saved)
        spent.append(time.perf_counter() - start)
        used.append(time.process_time() - begun)
        made, sent = made + rows.num_rows, sent + events.num_rows
        print(
            f"  step {number + 1}: {events.num_rows:>9,} updates {rows.num_rows:>9,} rows "
            f"{len(saved) / 1e6:7.1f} MB of state {spent[-1]:6.2f} s, processor {used[-1]:6.2f} s"
        )
    steady, processor = (sorted(several[4:])[len(several[4:]) // 2] for several in (spent, used))
    print(
        f"{objects:,} objects: {STEP / steady:.1f} seconds of events in a second of work (target: more than 1), "
        f"{STEP / processor:.1f} in a second of one processor"
    )


if __name__ == "__main__":
    main()
