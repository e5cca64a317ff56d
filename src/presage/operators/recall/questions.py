"""Questions of events to a chunk of history, and the assignment of answers to events.

Equal questions of several events are one: a thousand alerts of one server cost what one costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.jit import Ints
from presage.operators.recall.history_chunks import Chunk
from presage.plan.nodes import SEQ

# Columns of a question: its number, and the bounds of its history in time and arrival.
EVENT, LOW, HIGH, BEFORE = "_event", "_low", "_high", "_before"
EVER = 2**62


@dataclass(frozen=True)
class Questions:
    """`table` has one row for each question; `of` is the question of each event."""

    table: pa.Table
    of: Ints

    @property
    def count(self) -> int:
        return int(self.table.num_rows)


def questions(
    events: pa.Table, parameters: Sequence[str], low: Ints, high: Ints, chunk: Chunk, last_arrival: int
) -> Questions:
    """The history of event i is in [low[i], high[i]) and arrived before it; a question is for its part in `chunk`.

    `last_arrival`: that of the chunk. Events that arrived later need no bound on arrival.
    """
    arrived = events[SEQ].to_numpy()
    before = np.where(arrived > last_arrival, EVER, arrived)
    bounds = {LOW: np.maximum(low, chunk.low), HIGH: np.minimum(high, chunk.high), BEFORE: before}
    columns = [*(events[name] for name in parameters), *(pa.chunked_array([pa.array(b)]) for b in bounds.values())]
    codes, _ = equality_codes(columns, events.num_rows)
    firsts = np.flatnonzero(first_occurrences(codes))
    taken = pa.array(firsts)
    made = {EVENT: pa.array(codes[firsts])} | {name: events[name].take(taken) for name in parameters}
    return Questions(pa.table(made | {name: pa.array(values[firsts]) for name, values in bounds.items()}), codes)


def answers_of(asked: Questions, answers: pa.Table) -> tuple[Ints, Ints]:
    """The event and the row of each answer, for every event; answers have the number of their question in EVENT."""
    question = answers[EVENT].to_numpy()
    order = np.argsort(question, kind="stable")
    counts = np.bincount(question, minlength=asked.count)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    lengths = counts[asked.of]
    event, within = counted_out(lengths)
    return event, order[starts[asked.of][event] + within]


def counted_out(lengths: Ints) -> tuple[Ints, Ints]:
    """Each place i, `lengths[i]` times, and 0, 1, 2 … for each of its repetitions."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
