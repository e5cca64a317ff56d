"""The output table of a pattern, from the bindings of its matches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ELEMENT, Universe, lists_of
from presage.arrays.jit import Ints, compiled
from presage.operators.epl.kernel.network.memory import (
    BEFORE,
    BOUND_ROW,
    BOUND_TAG,
    OUT_MATCH,
    OUT_ORDINAL,
    OUT_ROW,
    OUT_TIME,
    bound_row,
)
from presage.operators.epl.kernel.spec import SEQ, TIME, TIMER, PatternTables


@compiled
def rows_bound(memory: Ints, matches: Ints, tag: int, index: int) -> Ints:
    """The row of a tag in each match; -1: none."""
    rows = np.empty(matches.size, np.int64)
    for k in range(matches.size):
        rows[k] = bound_row(memory, matches[k], tag, index)
    return rows


@compiled
def lists_bound(memory: Ints, matches: Ints, tag: int) -> tuple[Ints, Ints]:
    """All rows of a tag in each match, in order, and where each match's rows begin."""
    offsets = np.zeros(matches.size + 1, np.int64)
    for k in range(matches.size):
        at = matches[k]
        offsets[k + 1] = offsets[k]
        while at >= 0:
            if memory[at + BOUND_TAG] == tag:
                offsets[k + 1] += 1
            at = memory[at + BEFORE]
    rows = np.empty(offsets[-1], np.int64)
    for k in range(matches.size):
        at, place = matches[k], offsets[k + 1]
        while at >= 0:
            if memory[at + BOUND_TAG] == tag:
                place -= 1
                rows[place] = memory[at + BOUND_ROW]
            at = memory[at + BEFORE]
    return offsets, rows


def taken(array: pa.Array, rows: Ints) -> pa.Array:
    """Values at rows; null where the row is -1."""
    missing = rows < 0
    return array.take(pa.array(rows, mask=missing) if missing.any() else pa.array(rows))


def output_table(spec: PatternTables, universe: Universe, memory: Ints, results: Ints) -> pa.Table:
    """`results` are lines of `Work.rows`."""
    matches = np.ascontiguousarray(results[:, OUT_MATCH])
    by_event = np.ascontiguousarray(results[:, OUT_ROW])
    columns: dict[str, pa.Array] = {TIME: pa.array(results[:, OUT_TIME])}
    timed = by_event < 0
    columns[SEQ] = _of_event(universe.column(SEQ), by_event, timed, TIMER)
    for name in spec.order:
        columns[name] = _of_event(universe.column(name), by_event, timed, 0)
    columns[spec.ordinal] = pa.array(results[:, OUT_ORDINAL])
    places: dict[tuple[int, int], Ints] = {}
    for shown in spec.shown:
        source = universe.column(shown.column)
        if spec.tags[shown.tag].repeated and shown.index is None:
            if not len(matches):
                columns[shown.output] = pa.array([], pa.list_(pa.field(ELEMENT, source.type)))
                continue
            offsets, rows = lists_bound(memory, matches, shown.tag)
            columns[shown.output] = lists_of(source, offsets, rows)
            continue
        place = (shown.tag, -1 if shown.index is None else shown.index)
        if place not in places:
            places[place] = rows_bound(memory, matches, *place)
        columns[shown.output] = taken(source, places[place])
    return pa.table(columns)


def in_order(results: Ints, places: Ints) -> Ints:
    """Results of many keys, which come one key after the other, sorted by their moments, then by ordinal. `places`: by
    row the number of its event in processing order. At one time timers come before events."""
    rows = results[:, OUT_ROW]
    event = np.where(rows < 0, -1, places[rows]) if len(places) else rows
    ordered: Ints = results[np.lexsort((results[:, OUT_ORDINAL], event, results[:, OUT_TIME]))]
    return ordered


def _of_event(array: pa.Array, rows: Ints, timed: np.ndarray, otherwise: int) -> pa.Array:
    values = np.full(len(rows), otherwise, np.int64)
    values[~timed] = array.cast(pa.int64()).to_numpy(zero_copy_only=False)[rows[~timed]]
    return pa.array(values).cast(array.type)
