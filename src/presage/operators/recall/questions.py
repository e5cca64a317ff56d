"""Questions of events to a chunk of history, and the way of answers back to their events.

Events that ask the same of the same history ask once: a thousand alerts of one server cost what one costs.
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

# Columns of a question: its number, between which times its history lies, and before which arrival.
EVENT, LOW, HIGH, BEFORE = "_event", "_low", "_high", "_before"
EVER = 2**62


@dataclass(frozen=True)
class Questions:
    """`table` has one row for each question; `of` gives the question of each event that was asked for."""

    table: pa.Table
    of: Ints

    @property
    def count(self) -> int:
        return int(self.table.num_rows)


def questions(
    events: pa.Table, parameters: Sequence[str], low: Ints, high: Ints, chunk: Chunk, last_arrival: int
) -> Questions:
    """The history of event i is what lies in [low[i], high[i]) and arrived before it; asked is the part in `chunk`.

    `last_arrival`: nothing in the chunk arrived after that, so that later events need not ask for it.
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
    """Answers by their question in EVENT -> for every event and each answer to its question: (event, row)."""
    question = answers[EVENT].to_numpy()
    order = np.argsort(question, kind="stable")
    counts = np.bincount(question, minlength=asked.count)
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    lengths = counts[asked.of]
    event, within = counted_out(lengths)
    return event, order[starts[asked.of][event] + within]


def counted_out(lengths: Ints) -> tuple[Ints, Ints]:
    """Each number of the list as often as the length at its place says, and 0, 1, 2 … beside each."""
    owner = np.repeat(np.arange(len(lengths)), lengths)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
