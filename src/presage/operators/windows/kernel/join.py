"""The kernel of window joins: tuples of events of several items of FROM, each under its window.

A tuple has one member of each item. It enters at the step at which its last member enters its window, if all are live
then, and leaves with the first of them. A step emits its tuples in the arrival order of their members, item by item in
the order of FROM; with a changelog, the tuples that leave come first. State: only the events that are live or wait for
their batch. The cost of a call is linear in these, its new events and its tuples (with three or more items also in the
live tuples of the first ones).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import bools_of, ints
from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import append_rows, changes, ordinals, take_rows
from presage.errors import error
from presage.model.operator_state import State
from presage.operators.windows.kernel.chain import (
    Link,
    LinkCodes,
    Members,
    Tuples,
    chain_order,
    join_members,
    link_codes,
)
from presage.operators.windows.kernel.lifetimes import COUNTING, Lifetimes, find_lifetimes
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, SOURCE, TIME, Window
from presage.operators.windows.kernel.steps import BEFORE, EARLIER, NEVER, Steps, event_index
from presage.operators.windows.window_types import TIME_BATCH

__all__ = ["JoinKernel", "JoinSource", "Link"]

KERNEL = "join"
ORIGIN = "_origin"  # state of TIME_BATCH: the first time of each groupwin value, from which its intervals are counted


@dataclass(frozen=True)
class JoinSource:
    """One item of FROM. `static` is a relation: its rows live from the beginning, and never complete a tuple."""

    window: Window
    columns: tuple[str, ...]
    static: pa.Table | None = None


@dataclass(frozen=True)
class _Source:
    """The rows of an item in one call, those of the state first, and their lifetimes."""

    rows: pa.Table
    life: Lifetimes
    origins: pa.Table | None


@dataclass(frozen=True)
class JoinKernel:
    """Window join of two or more items. See `step`."""

    sources: tuple[JoinSource, ...]
    links: tuple[Link, ...]
    changelog: bool
    order: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for source in self.sources:
            if source.static is None and source.window.is_batch and source.window.size <= 0:
                raise error("INTERNAL", what=f"a {source.window.kind} window of size {source.window.size}")
        for link in self.links:
            if link.left == link.right or len(link.left_columns) != len(link.right_columns):
                raise error("INTERNAL", what=f"a join link that does not tie two items: {link}")

    def initial(self) -> State:
        return State(KERNEL, {}, {"clock": int(EARLIER)})

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """One step up to `clock`, the watermark. The end of input fires no timer, so `end` changes nothing.

        The rows of one event, for several items, are in one call. Emits TIME, SEQ, order, ORDINAL, CHANGE (with a
        changelog), the columns of all sources, and the identity of each member i: `_t{i}`, `_seq{i}` and
        `_o{i}_{order}`, or `_row{i}` of a relation.
        """
        clock = min(max(clock, state.numbers["clock"]), int(NEVER) - 1)
        index = event_index(events, self.order)
        sources = [
            None if source.static is not None else self._arrivals(i, state, events, index)
            for i, source in enumerate(self.sources)
        ]
        moments = [m for s in sources if s is not None for m in (s.life.enter, s.life.leave)]
        steps = Steps(events, index, moments, clock)
        tables = [self._table(i, source) for i, source in enumerate(sources)]
        codes = [link_codes(link, tables[link.left], tables[link.right]) for link in self.links]
        members = [self._members(i, source, tables[i], codes, steps) for i, source in enumerate(sources)]
        order = chain_order(len(sources), self.links, [s is None for s in sources])
        tuples = join_members(members, codes, order, steps.last, self.changelog)
        carried = self._carry(sources, members, steps.last)
        return State(KERNEL, carried, {"clock": clock}), self._rows(tuples, tables, steps)

    # -- arriving events ----------------------------------------------------------------------------

    def _arrivals(self, i: int, state: State, events: pa.Table, index: Ints) -> _Source:
        window = self.sources[i].window
        mine = np.flatnonzero(ints(events, SOURCE) == i)
        names = (TIME, SEQ, *self.order, *self._kept_columns(i))
        arriving = events.select(names)
        arriving = arriving.append_column(PASS, pa.array(bools_of(events, PASS)))
        if len(mine) < events.num_rows:
            arriving = take_rows(arriving, mine)
        rows = append_rows(state.tables.get(f"live{i}"), arriving)
        carried = rows.num_rows - arriving.num_rows
        at = np.concatenate((np.full(carried, -1, np.int64), index[mine]))
        known: pa.Table | None = None
        if window.type.retention == TIME_BATCH:
            cells, origins, known = self._origins(window, state.tables.get(f"origin{i}"), rows)
            count = len(origins)
        else:
            cells, count = equality_codes([rows[name] for name in window.key], rows.num_rows)
            origins = np.zeros(0, np.int64)
        clock = state.numbers["clock"]
        life = find_lifetimes(window, ints(rows, TIME), at, carried, cells, count, origins, clock)
        return _Source(rows, life, known)

    def _origins(self, window: Window, known: pa.Table | None, rows: pa.Table) -> tuple[Ints, Ints, pa.Table]:
        """Cell of each row, first time of each cell, and the same as a table for the state."""
        groups = rows.select([*window.group, TIME]).rename_columns([*window.group, ORIGIN])
        groups = append_rows(known, groups)
        codes, _ = equality_codes([groups[name] for name in window.group], groups.num_rows)
        first = np.flatnonzero(first_occurrences(codes))
        return codes[groups.num_rows - rows.num_rows :], ints(groups, ORIGIN)[first], take_rows(groups, first)

    def _kept_columns(self, i: int) -> tuple[str, ...]:
        source = self.sources[i]
        linked = [
            name
            for link in self.links
            for side, names in ((link.left, link.left_columns), (link.right, link.right_columns))
            if side == i
            for name in names
        ]
        return tuple(dict.fromkeys([*source.columns, *source.window.group, *source.window.by, *linked]))

    def _table(self, i: int, source: _Source | None) -> pa.Table:
        if source is not None:
            return source.rows
        static = self.sources[i].static
        assert static is not None
        return static.select(self._kept_columns(i))

    # -- members of tuples --------------------------------------------------------------------------

    def _members(
        self, i: int, source: _Source | None, table: pa.Table, codes: list[LinkCodes], steps: Steps
    ) -> Members:
        takes_part: Bools = np.ones(table.num_rows, np.bool_)
        if source is not None:
            takes_part = bools_of(table, PASS).copy()
        for code in codes:
            # A null key equals nothing, so its row takes no part.
            if code.link.left == i:
                takes_part &= code.left >= 0
            if code.link.right == i:
                takes_part &= code.right >= 0
        if source is None:
            rows = table.num_rows
            return Members(np.full(rows, BEFORE, np.int64), np.full(rows, steps.last, np.int64), takes_part)
        return Members(steps.ranks(source.life.enter), steps.ranks(source.life.leave), takes_part)

    def _carry(self, sources: list[_Source | None], members: list[Members], last: int) -> dict[str, pa.Table]:
        tables = {}
        for i, source in enumerate(sources):
            if source is None:
                continue
            keep = members[i].leave >= last
            if self.sources[i].window.type.retention not in COUNTING:
                keep &= members[i].takes_part
            tables[f"live{i}"] = take_rows(source.rows, np.flatnonzero(keep))
            if source.origins is not None:
                tables[f"origin{i}"] = source.origins
        return tables

    # -- emitted rows -------------------------------------------------------------------------------

    def _rows(self, tuples: Tuples, tables: list[pa.Table], steps: Steps) -> pa.Table:
        made = np.flatnonzero(tuples.enter > BEFORE)
        chosen, ranks, change = made, tuples.enter[made], np.ones(len(made), np.int8)
        if self.changelog:
            ended = np.flatnonzero(tuples.leave < steps.last)
            chosen = np.concatenate((ended, made))
            ranks = np.concatenate((tuples.leave[ended], ranks))
            change = np.concatenate((np.full(len(ended), -1, np.int8), change))
        members = [tuples.rows[i][chosen] for i in range(len(self.sources))]
        places = _canonical_places(2 * ranks + (change > 0), members)
        if places is not None:
            ranks, change, members = ranks[places], change[places], [rows[places] for rows in members]
        columns = steps.columns(ranks, self.order)
        columns[ORDINAL] = pa.array(ordinals(changes([ranks], len(ranks))))
        if self.changelog:
            columns[CHANGE] = pa.array(change)
        identity: dict[str, pa.Array] = {}
        for i, (source, rows) in enumerate(zip(self.sources, members, strict=True)):
            names = list(source.columns)
            if source.static is not None:
                identity[f"_row{i}"] = pa.array(rows)
            else:
                names += [TIME, SEQ, *self.order]
            taken = take_rows(tables[i].select(names), rows)
            columns.update((name, taken[name]) for name in source.columns)
            if source.static is None:
                # Events that timers emitted differ in time, not in arrival.
                identity[f"_t{i}"] = taken[TIME]
                identity[f"_seq{i}"] = taken[SEQ]
                identity.update((f"_o{i}_{name}", taken[name]) for name in self.order)
        return pa.table({**columns, **identity})


def _canonical_places(keys: Ints, members: list[Ints]) -> Ints | None:
    """The order by (key, members in the order of FROM); None if the rows are in that order, as most are."""
    tied, sorted_already = np.ones(max(len(keys) - 1, 0), np.bool_), True
    for values in (keys, *members):
        if np.any(tied & (values[1:] < values[:-1])):
            sorted_already = False
            break
        tied &= values[1:] == values[:-1]
    if sorted_already:
        return None
    places: Ints = np.lexsort((*reversed(members), keys))
    return places
