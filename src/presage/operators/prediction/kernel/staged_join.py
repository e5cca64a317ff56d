"""A join in three stages, for many workers: pieces by key, intervals by part, merged rows.

The first stage makes the pieces of each key and sends them to the parts in which they can match others (`cells`). The
second joins the pieces of a part. Two pieces may share several parts, and an interval may consist of several: the last
stage merges all intervals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of
from presage.arrays.columns import bools, column, floats, ints, taken
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Ints
from presage.arrays.rows import append_rows
from presage.model.operator_state import State
from presage.operators.prediction.kernel.index.cells import parts_of
from presage.operators.prediction.kernel.intervals.merge import Intervals, merge
from presage.operators.prediction.kernel.intervals.rows import object_column, row_table, shown_values
from presage.operators.prediction.kernel.intervals.spans import Spans, groups_of, of_pair
from presage.operators.prediction.kernel.join import join
from presage.operators.prediction.kernel.pieces import InForce
from presage.operators.prediction.kernel.query import ORDINAL, SEQ, SOURCE, TIME, PredictionTables
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.updates import Updates, read_updates

PART, START, END, END_OPEN = "_part", "_start", "_end", "_end_open"
FROM, TO, FROM_OPEN, TO_OPEN, PROBABILITY = "_from", "_to", "_from_open", "_to_open", "_p"
WAITING = "waiting"


class _AtTheEnd(ABC):
    """A kernel that collects all rows and processes them at the end."""

    def initial(self) -> State:
        return State("meeting")

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        rows = append_rows(state.tables.get(WAITING), events)
        if not end:
            return State("meeting", {WAITING: rows}), self.made(rows.slice(0, 0))
        return State("meeting"), self.made(rows)

    @abstractmethod
    def made(self, rows: pa.Table) -> pa.Table:
        """The output for all rows."""


class PieceKernel(_AtTheEnd):
    """Makes the pieces of one stream, once for each part. `sizes`: of a cell."""

    def __init__(self, tables: PredictionTables, stream: int, sizes: tuple[float, ...], parts: int) -> None:
        self.tables = tables
        self.stream = stream
        self.sizes = sizes
        self.parts = parts

    def made(self, rows: pa.Table) -> pa.Table:
        stream = self.tables.streams[self.stream]
        updates = read_updates(stream, rows)
        alive = updates.alive(stream.period)
        pieces = updates.pieces(alive, updates.key, None)
        piece, part = parts_of(pieces, self.stream, self.tables, np.array(self.sizes), self.parts)
        table = rows.take(pa.array(alive.row[piece]))
        more = {PART: part, START: alive.start[piece], END: alive.end[piece], END_OPEN: alive.end_open[piece]}
        more[ORDINAL] = np.zeros(len(part), np.int64)
        for name, values in more.items():
            table = table.append_column(name, pa.array(values))
        return table


class JoinKernel(_AtTheEnd):
    """Joins the pieces of some parts."""

    def __init__(self, tables: PredictionTables) -> None:
        self.tables = tables

    def made(self, rows: pa.Table) -> pa.Table:
        tables = self.tables
        (pair,) = tables.pairs
        streams = [_updates_of(rows, number, tables) for number in range(len(tables.streams))]
        objects, codes, pieces = [], [], []
        for number, side in enumerate(tables.sides):
            updates, alive = streams[side.stream]
            names = (*tables.streams[side.stream].key, *side.identity)
            identity = updates.rows.select(list(names))
            objects.append(identity.rename_columns([object_column(number, i) for i in range(len(names))]))
            codes.append(equality_codes(identity.columns, identity.num_rows))
            chosen = bools(column(updates.rows, side.eligible)) if side.eligible is not None else None
            pieces.append(updates.pieces(alive, codes[-1][0], chosen))
        found = join(pieces[0], pieces[1], pair.spec, Times(until=tables.until))
        one, other = (first_of(*codes[i])[code] for i, code in enumerate((found.left, found.right)))
        if tables.sides[0].stream == tables.sides[1].stream:
            keys = streams[tables.sides[0].stream][0].key
            apart = np.flatnonzero(keys[one] != keys[other])
        else:
            apart = np.arange(len(found))
        spans = of_pair(found, 0, 1, 2).take(apart)
        columns = {TIME: pa.array(spans.end), SEQ: pa.array(np.zeros(len(spans), np.int64))}
        columns[ORDINAL] = pa.array(np.zeros(len(spans), np.int64))
        for number, places in enumerate((one[apart], other[apart])):
            own = objects[number]
            columns |= {name: taken(own, name, places) for name in own.column_names}
        columns |= {
            FROM: pa.array(spans.start),
            TO: pa.array(spans.end),
            FROM_OPEN: pa.array(spans.start_open),
            TO_OPEN: pa.array(spans.end_open),
            PROBABILITY: pa.array(spans.probability),
        }
        shown = shown_values(tables, pieces, spans)
        return pa.table(columns | {f"x{i}": pa.array(shown[:, i]) for i in range(shown.shape[1])})


class MergeKernel(_AtTheEnd):
    """Merges the intervals of all parts: a row for each maximal interval."""

    def __init__(self, tables: PredictionTables) -> None:
        self.tables = tables

    def made(self, rows: pa.Table) -> pa.Table:
        tables = self.tables
        objects = []
        codes = np.zeros((rows.num_rows, len(tables.sides)), np.int64)
        for number, side in enumerate(tables.sides):
            count = len(tables.streams[side.stream].key) + len(side.identity)
            objects.append(rows.select([object_column(number, i) for i in range(count)]))
            codes[:, number] = equality_codes(objects[-1].columns, rows.num_rows)[0]
        start, end = ints(rows, FROM), ints(rows, TO)
        zeros = np.zeros(rows.num_rows)
        from_open, to_open = (bools(column(rows, name)) for name in (FROM_OPEN, TO_OPEN))
        found = Intervals(groups_of(codes), start, end, zeros, zeros, from_open, to_open, floats(rows, PROBABILITY))
        merged, row = merge(found)
        # Of the parts of an interval, one that begins where it does.
        order = np.lexsort((start, row))
        first = order[np.searchsorted(row[order], np.arange(len(merged)))]
        spans = Spans(codes[first], merged.start, merged.end, merged.start_open, merged.end_open, merged.probability)
        shown = [floats(rows, f"x{i}")[first] for i in range(sum(len(side.shown) for side in tables.sides))]
        values = np.stack(shown, axis=1) if shown else np.empty((len(spans), 0))
        return row_table(tables, [part.take(pa.array(first)) for part in objects], spans, values)


def _updates_of(rows: pa.Table, number: int, tables: PredictionTables) -> tuple[Updates, InForce]:
    """The updates of one stream, each once, and their intervals."""
    if len(tables.streams) > 1:
        rows = rows.filter(pa.array(ints(rows, SOURCE) == number))
    # A worker may have several parts, and a piece in several of them.
    _, first = np.unique(ints(rows, SEQ), return_index=True)
    rows = rows.take(pa.array(first))
    updates = read_updates(tables.streams[number], rows)
    order: Ints = np.lexsort((updates.time, updates.key))
    start, end = (ints(rows, name)[order] for name in (START, END))
    return updates, InForce(order, start, end, bools(column(rows, END_OPEN))[order])
