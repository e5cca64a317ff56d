"""The rows of a step, grouped by event and key, with the filters that each row passes by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import grouped_order
from presage.arrays.columns import bools, column, ints, plain
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import changes
from presage.operators.epl.kernel.network.memory import Input
from presage.operators.epl.kernel.spec import SEQ, SOURCE, TIME, PatternTables

EVENT = "_event"  # column of kept rows: the event of a key that the row is a view of
MOST_CAUSE = (1 << 42) - 1  # the greatest arrival number that fits into an ordinal


@dataclass
class Keyed:
    """Events with the number of their key; the state's keys come first. `first`: one row of each key, counted through
    the state's keys and then the events."""

    events: pa.Table
    codes: Ints
    count: int
    first: Ints

    def of(self, touched: Bools) -> Keyed:
        """The same without the untouched keys of the state; all keys with an event are touched."""
        old, kept = len(touched), int(np.count_nonzero(touched))
        chosen = np.concatenate([touched, np.ones(self.count - old, np.bool_)])
        first = self.first[chosen]
        first[:kept] = np.arange(kept)
        first[kept:] += kept - old
        return Keyed(self.events, (np.cumsum(chosen) - 1)[self.codes], len(first), first)


def number_keys(spec: PatternTables, keys: pa.Table | None, events: pa.Table) -> Keyed:
    known = 0 if keys is None else keys.num_rows
    if not spec.keys:
        return Keyed(events, np.zeros(events.num_rows, np.int64), 1, np.zeros(1, np.int64))
    chunks = []
    for name in spec.keys:
        new = plain(events.column(name))
        old = keys.column(name).cast(new.type).chunks if keys is not None and known else []
        chunks.append(pa.chunked_array([*old, *new.chunks], new.type))
    codes, count = equality_codes(chunks, known + events.num_rows)
    first = np.full(count, -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return Keyed(events, codes[known:], count, first)


@dataclass
class Grouped:
    """The input of the loop, the number of events of keys (those of kept rows first), and by row, kept rows included,
    the number of its event in processing order."""

    source: Input
    events: int
    places: Ints


def build_input(spec: PatternTables, kept: pa.Table | None, keyed: Keyed) -> Grouped:
    events, codes = keyed.events, keyed.codes
    before = 0 if kept is None else kept.num_rows
    known = int(ints(kept, EVENT).max()) + 1 if kept is not None and before else 0
    keys = [ints(events, name) for name in (TIME, SEQ, *spec.order)]
    begins = changes(keys, events.num_rows)
    times, causes, sources = keys[0], np.clip(keys[1], 0, MOST_CAUSE), ints(events, SOURCE)
    filters = [node for node in spec.nodes if node.kind == "filter"]
    passes = np.zeros((events.num_rows, len(filters)), np.bool_)
    for f, node in enumerate(filters):
        passes[:, f] = sources == node.source
        if node.flag is not None:
            passes[:, f] &= bools(column(events, node.flag))
    single = bool(begins.all())  # each event has one row, as nearly always: no pass is needed to group them
    places: Ints = np.arange(events.num_rows) if single else np.cumsum(begins)
    order = np.arange(events.num_rows)
    bounds = np.array([0, events.num_rows])
    if spec.keys:
        # One key after the other, so that its terms stay in the processor's cache.
        order, bounds = grouped_order(codes, keyed.count)
        times, causes, sources, passes = times[order], causes[order], sources[order], passes[order]
        if not single:
            begins = changes([places[order], codes[order]], events.num_rows)
    starts = np.arange(events.num_rows) if single else np.flatnonzero(begins)
    own = np.empty(events.num_rows, np.int64)
    own[order] = (starts if single else np.cumsum(begins) - 1) + known
    source = Input(
        _owned(order + before),
        _owned(times),
        _owned(causes),
        _owned(sources),
        passes,
        _owned(np.append(starts, events.num_rows)),
        _owned(bounds if single else np.searchsorted(starts, bounds)),
        own if kept is None or not before else np.concatenate([ints(kept, EVENT), own]),
        np.zeros((len(filters), 2), np.int64),
    )
    if before:
        places = np.concatenate([np.zeros(before, np.int64), places])
    return Grouped(source, known + len(starts), places)


def _owned(values: Ints) -> Ints:
    """Writable and contiguous, so that the loop has one signature."""
    return np.require(values, np.int64, ["C", "W"])
