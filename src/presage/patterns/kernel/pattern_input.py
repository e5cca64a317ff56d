"""Rows of a step come in, groups of rows by event and key go out, with what each filter says of them alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools, column, ints, plain
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Ints
from presage.arrays.rows import changes, take_rows
from presage.patterns.kernel.pattern_loop import Input
from presage.patterns.kernel.pattern_spec import SEQ, SOURCE, TIME, PatternTables

EVENT = "_event"  # column of kept rows: which event of which key they are a view of
MOST_CAUSE = (1 << 42) - 1  # an arrival number as the higher part of an ordinal


@dataclass
class Keyed:
    """Events with the number of their key; keys of the state are the first ones. `first`: a row of each key, among
    the state's keys and then the events."""

    events: pa.Table
    codes: Ints
    count: int
    first: Ints


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
    codes = codes[known:]
    same = ~changes([ints(events, name) for name in (TIME, SEQ, *spec.order)], events.num_rows)
    if np.any(same[1:] & (codes[1:] < codes[:-1])):
        # Views of one event with different keys: bring those of one key together.
        order = np.lexsort((codes, np.cumsum(~same)))
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        late = first >= known
        first[late] = place[first[late] - known] + known
        events, codes = take_rows(events, order), codes[order]
    return Keyed(events, codes, count, first)


def build_input(spec: PatternTables, kept: pa.Table | None, keyed: Keyed) -> tuple[Input, int]:
    """And how many events there are, those of kept rows first."""
    events = keyed.events
    before = 0 if kept is None else kept.num_rows
    total = before + events.num_rows
    keys = [ints(events, name) for name in (TIME, SEQ, *spec.order)]
    begins = changes([*keys, keyed.codes], events.num_rows)
    starts = np.flatnonzero(begins)
    known = int(ints(kept, EVENT).max()) + 1 if kept is not None and before else 0
    times = _after(kept, TIME, keys[0])
    causes = np.clip(_after(kept, SEQ, keys[1]), 0, MOST_CAUSE)
    sources = _after(kept, SOURCE, ints(events, SOURCE))
    filters = [node for node in spec.nodes if node.kind == "filter"]
    passes = np.zeros((total, len(filters)), np.bool_)
    for f, node in enumerate(filters):
        taken = sources[before:] == node.source
        if node.flag is not None:
            taken &= bools(column(events, node.flag))
        passes[before:, f] = taken
    own = np.cumsum(begins) - 1 + known
    numbers = own if not before or kept is None else np.concatenate([ints(kept, EVENT), own])
    some = passes[before:].any(axis=1)
    source = Input(
        np.ascontiguousarray(times),
        np.ascontiguousarray(causes),
        np.ascontiguousarray(sources),
        passes,
        np.append(starts + before, total).astype(np.int64),
        np.ascontiguousarray(keyed.codes[starts]),
        np.logical_or.reduceat(some, starts) if len(starts) else np.zeros(0, np.bool_),
        np.ascontiguousarray(numbers.astype(np.int64)),
        np.zeros((len(filters), 2), np.int64),
    )
    return Input(*(np.require(array, requirements=["C", "W"]) for array in source)), known + len(starts)


def _after(kept: pa.Table | None, name: str, new: Ints) -> Ints:
    return new if kept is None or not kept.num_rows else np.concatenate([ints(kept, name), new])
