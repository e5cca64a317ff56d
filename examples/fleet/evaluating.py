"""Update-tuples in, pairs that match at each second out: what the engine's own kernel answers.

A pair matches at time t when some (t_a, t_b) with max(t_a, t_b) = t and |t_a − t_b| ≤ window brings the two within
reach, horizontally and vertically. The kernel gives maximal intervals; of these the whole seconds are looked at.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from sending import Updates
from simulator import SECOND, Scenario

from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec
from presage.operators.prediction.kernel.buffer.versions import versions_of
from presage.operators.prediction.kernel.join import join
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import SEQ, TIME, Pair, PredictionTables, Side, Stream
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, JoinTerm
from presage.operators.prediction.kernel.validator import PredictionKernel

UNLIMITED = 1 << 40
AXES = ("x", "y")
Matches = np.ndarray  # sorted numbers, one for each pair and second at which it matches


class Memory(NamedTuple):
    """Tuples evicted in all; tuples held, on average over the seconds."""

    evicted: int
    held: float


def question(scenario: Scenario, window: int) -> JoinSpec:
    terms = tuple(JoinTerm(axis, axis, Comparator.LE, scenario.reach) for axis in range(len(AXES)))
    return JoinSpec(terms, window * SECOND, same=True)


def matches(
    scenario: Scenario, updates: Updates, window: int, *, limit: int = UNLIMITED, policy: str = "min-c", seed: int = 0
) -> Matches:
    """What a query over a predicted stream answers, `JOIN … WINDOW window sec`: one step of the room's kernel, with all
    updates in order of time, as the log hands them out however late they came."""
    value, rate, threshold = (tuple(f"{axis}_{name}" for axis in AXES) for name in ("value", "rate", "threshold"))
    bound = None if limit == UNLIMITED else limit
    stream = Stream(("car",), value, rate, threshold, round(scenario.period * SECOND), bound, policy)
    tables = PredictionTables(
        (stream,),
        (Side(0), Side(0)),
        (Pair(0, 1, question(scenario, window)),),
        until=scenario.seconds * SECOND + 1,
        columns=("a", "b", "valid_from", "valid_to"),
        seed=seed,
    )
    kernel = PredictionKernel(tables, threads=os.cpu_count() or 1)
    rows = kernel.step(kernel.initial(), as_table(updates, scenario.threshold), scenario.seconds * SECOND, end=True)[1]
    a, b = rows["a"].to_numpy(), rows["b"].to_numpy()
    start, end = (rows[name].cast(pa.int64()).to_numpy() for name in ("valid_from", "valid_to"))
    return at_seconds(a, b, start, end, scenario)


def as_table(updates: Updates, threshold: float) -> pa.Table:
    """Rows as the kernel takes them, in order of time."""
    order = np.lexsort((updates.key, updates.time))
    columns = {TIME: updates.time[order], SEQ: np.arange(len(order)), "car": updates.key[order]}
    for i, axis in enumerate(AXES):
        columns[f"{axis}_value"], columns[f"{axis}_rate"] = updates.values[order, i], updates.rates[order, i]
        columns[f"{axis}_threshold"] = np.full(len(order), threshold)
    return pa.table({name: pa.array(np.ascontiguousarray(column)) for name, column in columns.items()})


def late_matches(
    scenario: Scenario, updates: Updates, window: int, max_delay: float, *, limit: int, policy: str, seed: int = 0
) -> Matches:
    """As in the paper: the buffer hears of updates in order of arrival, and each moment is answered `max_delay` later
    from what is then held. (The engine's buffer hears of them in order of time, after the log has settled them.)"""
    delay = round(max_delay * SECOND)
    buffer = Buffer(BufferSpec(limit, window * SECOND + delay, round(scenario.period * SECOND), 2, policy, seed))
    held = buffer.in_force()
    changes = buffer.feed(updates.time, updates.key, updates.values, updates.rates, watermark=updates.arrival).changes
    made = versions_of(held, np.empty(0, np.int64), changes, updates.arrival[changes.at] - delay)
    rates = updates.rates[made.arrival]
    value = updates.values[made.arrival] + rates * ((made.start - updates.time[made.arrival]) / SECOND)[:, None]
    pieces = Pieces(updates.key[made.arrival], made.start, made.end, made.end_open, value, rates, np.zeros(rates.shape))
    asked = question(scenario, window)
    times, seen = Times(until=scenario.seconds * SECOND), (made.visible, made.visible)
    found = join(pieces, pieces, asked, times, False, os.cpu_count() or 1, seen)
    return at_seconds(found.left, found.right, found.valid_from, found.valid_to, scenario)


def memory(
    scenario: Scenario, updates: Updates, window: int, max_delay: float = 0.0, *, limit: int, policy: str, seed: int = 0
) -> Memory:
    """How full the buffer is, second by second."""
    delay = round(max_delay * SECOND)
    buffer = Buffer(BufferSpec(limit, window * SECOND + delay, round(scenario.period * SECOND), 2, policy, seed))
    cuts = np.searchsorted(updates.arrival, np.arange(1, scenario.seconds + 1) * SECOND + delay, side="right")
    columns = (updates.time, updates.key, updates.values, updates.rates, updates.arrival)
    before, evicted, held = 0, 0, []
    for t, cut in enumerate(cuts, 1):
        time, key, values, rates, clock = (column[before:cut] for column in columns)
        evicted += int((buffer.feed(time, key, values, rates, watermark=clock).evicted >= 0).sum())
        buffer.advance(t * SECOND + delay)
        held.append(buffer.count)
        before = cut
    return Memory(evicted, float(np.mean(held)))


def at_seconds(a: np.ndarray, b: np.ndarray, start: np.ndarray, end: np.ndarray, scenario: Scenario) -> Matches:
    """Rows of an answer, times in microseconds, as pairs of the seconds 1, 2, … of the scenario. Both orders of a pair
    are one."""
    first = np.maximum(-(-start // SECOND), 1)
    counts = np.maximum(np.minimum(end // SECOND, scenario.seconds) - first + 1, 0)
    second = np.repeat(first - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    pair = np.minimum(a, b) * scenario.objects + np.maximum(a, b)
    found = np.sort(np.repeat(pair, counts) * (scenario.seconds + 1) + second)
    return found[np.diff(found, prepend=-1) > 0]
