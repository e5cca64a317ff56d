"""A standing window join over many objects that update every 30 seconds: does it keep up with time?

Objects at 26.8 m/s at the density of the fleet study (1,000 on 10 km²), each with an update every 30 seconds at a moment
of its own; pairs within 400 m in x and in y, window 3 seconds. The kernel takes steps of so many seconds of updates, with
its state written to bytes and read again between them, as in a live job. One thread; the ratio is seconds of events per
second of work, after a first step that only fills the state. Run as: python benchmarks/prediction_standing.py [objects]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

from presage.model.state import State
from presage.prediction.kernel.matching import PredictionKernel
from presage.prediction.kernel.query import SEQ, TIME, Pair, PredictionTables, Side, Stream
from presage.prediction.kernel.spec import Comparator, JoinSpec, JoinTerm

SECOND = 1_000_000
PERIOD, STEP, STEPS = 30, 10, 9
SPEED, DENSITY = 26.8, 1_000 / 10e6


def updates(objects: int, begin: float, end: float, phase: np.ndarray, seed: int) -> pa.Table:
    """The updates of a span of time; every object begins anew somewhere near where it was."""
    number = np.ceil((begin - phase) / PERIOD)
    at = phase + number * PERIOD
    sends = np.flatnonzero((at >= begin) & (at < end))
    sends = sends[np.argsort(at[sends], kind="stable")]
    random = np.random.default_rng(seed)
    angle = random.uniform(0, 2 * np.pi, len(sends))
    side = np.sqrt(objects / DENSITY)
    place = np.random.default_rng(1).uniform(0, side, (objects, 2))[sends]
    columns: dict[str, np.ndarray] = {
        TIME: (at[sends] * SECOND).astype(np.int64),
        SEQ: np.arange(len(sends)),
        "k": sends,
    }
    for i, (name, part) in enumerate((("x", np.cos(angle)), ("y", np.sin(angle)))):
        columns |= {f"{name}v": place[:, i], f"{name}r": SPEED * part, f"{name}e": np.full(len(sends), 25.0)}
    return pa.table({name: pa.array(values) for name, values in columns.items()})


def main() -> None:
    objects = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    stream = Stream(("k",), ("xv", "yv"), ("xr", "yr"), ("xe", "ye"), PERIOD * SECOND)
    terms = tuple(JoinTerm(i, i, Comparator.LE, 400.0) for i in range(2))
    spec = JoinSpec(terms, 3 * SECOND, same=True)
    tables = PredictionTables((stream,), (Side(0), Side(0)), (Pair(0, 1, spec),), columns=("a", "b", "from", "to"))
    kernel = PredictionKernel(tables)
    state = kernel.initial()
    phase = np.random.default_rng(3).uniform(0, PERIOD, objects)
    spent, made, sent = [], 0, 0
    for number in range(STEPS):
        events = updates(objects, number * STEP, (number + 1) * STEP, phase, number)
        start = time.perf_counter()
        state, rows = kernel.step(state, events, (number + 1) * STEP * SECOND)
        saved = state.to_bytes()
        state = State.from_bytes(saved)
        spent.append(time.perf_counter() - start)
        made, sent = made + rows.num_rows, sent + events.num_rows
        print(f"  step {number + 1}: {events.num_rows:>9,} updates {rows.num_rows:>9,} rows "
              f"{len(saved) / 1e6:7.1f} MB of state {spent[-1]:6.2f} s")  # fmt: skip
    steady = sorted(spent[4:])[len(spent[4:]) // 2]
    print(f"{objects:,} objects: {STEP / steady:.1f} seconds of events in a second of work (target: more than 1)")


if __name__ == "__main__":
    main()
