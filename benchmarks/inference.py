"""Hidden Markov inference on one core: readings a second of FILTER and SMOOTH, against dense matrices in NumPy.

A building is a ladder: two corridors whose places are joined, so a place has three neighbours at the most. An antenna
covers five places and reads a tag with a chance of 0.65. 200 keys walk at once, one step a second; 50 and 500 places.
The rivals know that all keys have the same steps and write probabilities to one dense array: `one key at a time` is the
textbook (a vector times a matrix), `all keys at once` a product of two matrices for each step, by BLAS on one thread.
Ours starts from an Arrow table of readings in order of time and ends with rows of a stream. Interleaved runs, the
minimum of seven. Run as: python benchmarks/inference.py [steps]

PARTICLES: what twice the particles cost, and ten times the places. The antenna reads everywhere alike, so everybody
may be anywhere: FILTER then costs the places, a particle filter the particles.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from interleaved import minima, report

from presage.operators.sequence.inference.model import Model, parse_model
from presage.operators.sequence.inference.rows import filtered, sampled, smoothed, tables_of
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.spec import SEQ, TIME, Columns

THREADS = "OPENBLAS_NUM_THREADS"  # of the rivals: one core means one
KEYS = 200
SECOND = 1_000_000
COVERED = 5
READ = 0.65
COLUMNS = Columns(("tag",), ("antenna",))


def building(places: int) -> Model:
    half = places // 2
    edges = [[i, i + 1] for i in range(places - 1) if i + 1 != half] + [[i, i + half] for i in range(half)]
    table: dict[str, dict[str, float]] = {}
    for place in range(places):
        antenna = place // COVERED
        table[str(place)] = {f"a{antenna}": READ, f"a{(antenna + 1) % (places // COVERED)}": 0.02}
    content: dict[str, Any] = {
        "states": list(range(places)),
        "transition": {"graph": {"edges": edges, "stay": 0.6}},
        "emission": {"kind": "discrete", "table": table, "absent": "evidence"},
        "step": "1 sec",
    }
    return parse_model(content, "building")


def walks(model: Model, steps: int) -> tuple[pa.Table, np.ndarray]:
    """Readings as a table in order of time, and as symbols by (step, key), the last symbol standing for no reading."""
    tables = tables_of(model)
    random = np.random.default_rng(1)
    dense = tables.chain[4] if len(tables.chain[4]) else dense_transitions(model)
    ways = np.cumsum(dense, axis=1)
    chances = np.cumsum(np.vstack([tables.table, tables.absent]).T, axis=1)
    place = random.integers(0, tables.size, KEYS)
    symbols = np.empty((steps, KEYS), np.int64)
    for step in range(steps):
        symbols[step] = (random.random((KEYS, 1)) > chances[place]).sum(axis=1).clip(max=len(tables.table))
        place = (random.random((KEYS, 1)) > ways[place]).sum(axis=1).clip(max=tables.size - 1)
    names = pa.array([*tables.symbols, None])
    table = pa.table(
        {
            TIME: np.repeat(np.arange(steps) * SECOND, KEYS),
            SEQ: np.arange(steps * KEYS),
            "tag": pa.array([f"tag{k:04d}" for k in range(KEYS)]).take(pa.array(np.tile(np.arange(KEYS), steps))),
            "antenna": names.take(pa.array(symbols.ravel())),
        }
    )
    return table, symbols


def dense_transitions(model: Model) -> np.ndarray:
    dense = np.zeros((len(model.states), len(model.states)))
    for state, ways in enumerate(model.transition):
        for to, chance in ways:
            dense[state, to] = chance
    return dense


class Rival:
    """Scaled forward, and forward-backward, with dense matrices."""

    def __init__(self, model: Model, symbols: np.ndarray) -> None:
        tables = tables_of(model)
        self.initial = tables.initial
        self.dense = dense_transitions(model)
        self.table = np.vstack([tables.table, tables.absent])
        self.symbols = symbols

    def forward(self, symbols: np.ndarray) -> np.ndarray:
        """Beliefs by (step, key, state)."""
        beliefs = np.empty((*symbols.shape, len(self.initial)))
        belief = np.broadcast_to(self.initial, beliefs.shape[1:])
        for step in range(len(symbols)):
            predicted = belief @ self.dense if step else belief
            belief = predicted * self.table[symbols[step]]
            belief /= belief.sum(axis=-1, keepdims=True)
            beliefs[step] = belief
        return beliefs

    def smooth(self, symbols: np.ndarray) -> np.ndarray:
        beliefs = self.forward(symbols)
        later = np.ones(beliefs.shape[1:])
        for step in range(len(symbols) - 2, -1, -1):
            later = (later * self.table[symbols[step + 1]]) @ self.dense.T
            later /= later.max(axis=-1, keepdims=True)
            beliefs[step] *= later
            beliefs[step] /= beliefs[step].sum(axis=-1, keepdims=True)
        return beliefs

    def one_by_one(self, work: Callable[[np.ndarray], np.ndarray]) -> None:
        for key in range(self.symbols.shape[1]):
            work(self.symbols[:, key : key + 1])


def incremental(model: Model, table: pa.Table, batches: int) -> None:
    kernel = FilterKernel(tables_of(model), COLUMNS)
    state = kernel.initial()
    size = table.num_rows // batches
    for batch in range(batches):
        events = table.slice(batch * size, size)
        state, _ = kernel.step(state, events, int(events[TIME][-1].as_py()), batch == batches - 1)


def measure(places: int, steps: int) -> None:
    model = building(places)
    table, symbols = walks(model, steps)
    rival = Rival(model, symbols)
    count = table.num_rows
    cases = {
        "FILTER": {
            "FILTER, whole": lambda: filtered(model, table, COLUMNS).rows,
            "FILTER, in 10 batches with state": lambda: incremental(model, table, 10),
            "NumPy dense forward, one key at a time": lambda: rival.one_by_one(rival.forward),
            "NumPy dense forward, all keys at once": lambda: rival.forward(symbols),
        },
        "SMOOTH": {
            "SMOOTH, marginals": lambda: smoothed(model, table, COLUMNS, marginals=True).rows,
            "SMOOTH, conditional tables": lambda: smoothed(model, table, COLUMNS).rows,
            "SMOOTH, conditional tables pruned at 0.01": lambda: smoothed(model, table, COLUMNS, prune=0.01).rows,
            "NumPy dense forward-backward, one key at a time": lambda: rival.one_by_one(rival.smooth),
            "NumPy dense forward-backward, all keys at once": lambda: rival.smooth(symbols),
        },
    }
    for name, rivals in cases.items():
        best = minima(rivals)
        report(f"{name}, {places} places, {KEYS} keys × {steps} steps, one core", best, next(iter(rivals)))
        for case, seconds in best.items():
            print(f"  {case:<48} {count / seconds / 1e3:8.0f} thousand readings/s")


def blind(places: int) -> Model:
    """A ring of places, and an antenna that reads everywhere alike."""
    content: dict[str, Any] = {
        "states": list(range(places)),
        "transition": {"graph": {"edges": [[i, (i + 1) % places] for i in range(places)], "stay": 0.5}},
        "emission": {"kind": "discrete", "table": [{"a": 0.5}] * places},
    }
    return parse_model(content, "ring")


def measure_particles(steps: int) -> None:
    keys = 20
    table = pa.table(
        {
            TIME: np.repeat(np.arange(steps) * SECOND, keys),
            "tag": pa.array([f"tag{k}" for k in range(keys)] * steps),
            "antenna": pa.array(["a"] * (keys * steps)),
        }
    )
    best = {}
    for places in (1_000, 10_000):
        model = blind(places)
        cases: dict[str, Callable[[], object]] = {
            f"PARTICLES {n:,}, {places:,} places": lambda m=model, n=n: sampled(m, table, COLUMNS, n).rows  # type: ignore[misc]
            for n in (100, 200, 400, 800)
        }
        cases[f"FILTER, {places:,} places"] = lambda m=model: filtered(m, table, COLUMNS).rows  # type: ignore[misc]
        best |= minima(cases)
    report(f"PARTICLES, {keys} keys × {steps} steps, one core", best, "PARTICLES 200, 1,000 places")


def main() -> None:
    if os.environ.get(THREADS) != "1":
        # NumPy reads it once, when it is imported.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {THREADS: "1"})
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for places in (50, 500):
        measure(places, steps)
    measure_particles(steps)


if __name__ == "__main__":
    main()
