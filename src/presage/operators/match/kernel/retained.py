"""The rows to search in a step, partition by partition, and the state after it.

Tables of a state: `rows` that a search still needs, with columns of its progress (names with #); `unsorted` rows, which
wait until no row of their time can come; `partitions`, all keys ever seen with the number of their matches, only if `^`
or MATCH_NUMBER() needs them. Partitions without new rows whose bounds have not ended are not touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.calendar import times_after
from presage.arrays.codes import grouped_order
from presage.arrays.columns import column, ints, plain, taken
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.arrays.order_keys import sorted_order
from presage.arrays.rows import append_rows, take_rows
from presage.operators.match.kernel.search.tables import UNBOUNDED, Partitions
from presage.operators.match.kernel.spec import TIME, MatchTables

BEFORE = "#before"  # the search has passed this row; later rows may read it
COVERED = "#covered"  # it lies in a match
OPEN = "#open"  # matches that start here are open
EDGE, CUT = "#edge", "#cut"  # the edge by which the path took the row; its position on a path that a bound has cut
NEXT, STEPS, PARTIAL = "#next", "#steps", "#partial"  # at the start row: see Progress
HEAD = "#head"  # the first row that its partition ever had
COUNT = "#count"
NO_COLUMN = "#"  # the only column of a table without columns, which could not hold rows
Tables = dict[str, pa.Table]


@dataclass(frozen=True)
class Work:
    """The rows of a step. `source` has them in order of arrival; row r of the step's table is source row `order[r]`.

    `time` and `held`, the progress columns of the state, are by row of the step's table.
    """

    source: pa.Table
    order: Ints
    time: Ints
    partitions: Partitions
    numbers: Ints  # matches of each partition before this step
    held: dict[str, Ints]
    idle: pa.Table | None  # rows of the state of partitions that the step does not touch
    keys: pa.Table | None  # of all partitions ever seen, one row each; those of `partitions` come first
    key_numbers: Ints

    def sorted(self, names: Sequence[str]) -> pa.Table:
        present = [name for name in names if name in self.source.column_names]
        return take_rows(self.source.select(present), self.order) if present else _no_columns(len(self.order))

    def take(self, name: str, rows: Ints) -> pa.Array:
        return taken(self.source, name, self.order[rows])


def _no_columns(rows: int) -> pa.Table:
    return pa.table({NO_COLUMN: np.zeros(rows, np.int8)})


def release(
    spec: MatchTables, tables: Tables, events: pa.Table, clock: int, end: bool
) -> tuple[pa.Table, pa.Table | None]:
    """Events to process now, in order, and events to hold back."""
    if not spec.sort and not spec.whole:
        return events, None
    everything = append_rows(tables.get("unsorted"), events)
    ready = np.ones(everything.num_rows, np.bool_)
    if not end:
        # An order that does not begin with time needs all rows.
        ready = ints(everything, TIME) < clock if spec.by_time else ~ready
    now = everything if ready.all() else everything.filter(pa.array(ready))
    later = everything.filter(pa.array(~ready))
    if spec.sort:
        now = take_rows(now, sorted_order(now, spec.sort))
    return now, later


def work_of(
    spec: MatchTables, tables: Tables, events: pa.Table, clock: int, end: bool, remember: bool, bookkeeping: list[str]
) -> Work:
    """`events`: those released. `remember`: keys are kept for ever."""
    kept, known = tables.get("rows"), tables.get("partitions")
    if not remember:
        known = None
    source = append_rows(kept.select(events.column_names) if kept else None, events)
    carried = source.num_rows - events.num_rows
    key_names = [*spec.keys, TIME] if spec.whole else [*spec.keys]
    codes, count, seen = _codes(key_names, known, source)
    order, bounds = grouped_order(codes, count)
    held = _bookkeeping(kept, bookkeeping)
    old = codes[:carried]
    time = _times(source, spec.event_time)

    passed = held[BEFORE] > 0
    start = bounds[:-1] + np.bincount(old[passed], minlength=count)
    # Rows that lie in matches come first.
    covered = start.copy()
    if COVERED in held:
        covered += np.bincount(old[~passed & (held[COVERED] > 0)], minlength=count)
    come = bounds[:-1] + np.bincount(old, minlength=count)
    active = come < bounds[1:]
    if end:
        active |= start < bounds[1:]
    elif spec.within is not None or spec.gap is not None:
        opened = np.flatnonzero(start < bounds[1:])
        within = UNBOUNDED if spec.within is None else spec.within
        gap = UNBOUNDED if spec.gap is None else spec.gap
        first, last = time[order[start[opened]]], time[order[bounds[1:][opened] - 1]]
        over = np.minimum(times_after(first, spec.within_months, within), times_after(last, spec.gap_months, gap))
        active[opened] |= over <= clock
    fresh = (np.arange(count) >= seen) & (come == bounds[:-1])
    if HEAD in held:
        heads = np.flatnonzero(come > bounds[:-1])
        fresh[heads] = held[HEAD][order[bounds[heads]]] > 0
    idle = None
    picked = np.arange(count)
    if not active.all():
        resting = ~active[codes]
        if resting.any() and not end and kept is not None:
            # Idle partitions have only rows of the state, which come first in the source.
            idle = take_rows(kept, np.flatnonzero(resting))
        picked = np.flatnonzero(active)
        rows = active[codes[order]]
        place = np.cumsum(rows) - rows
        place = np.append(place, int(rows.sum()))
        order = order[rows]
        begin, stop = place[bounds[:-1]][picked], place[bounds[1:]][picked]
        start, covered, come = (begin + (at - bounds[:-1])[picked] for at in (start, covered, come))
    else:
        begin, stop = bounds[:-1].copy(), bounds[1:].copy()
    numbers = np.zeros(count, np.int64)
    keys = None
    if remember:
        keys, numbers = _remembered(key_names, known, source, codes, count, seen)
    moved = np.concatenate([picked, np.flatnonzero(~active)]) if keys is not None else picked
    return Work(
        source,
        order,
        time[order],
        Partitions(begin, stop, start, fresh[picked], covered, come),
        numbers[picked],
        {name: _spread(values, order) for name, values in held.items()},
        idle,
        take_rows(keys, moved) if keys is not None else None,
        numbers[moved],
    )


def _codes(names: list[str], known: pa.Table | None, source: pa.Table) -> tuple[Ints, int, int]:
    """Codes of the rows' partitions, the number of partitions, and how many of them the state has."""
    if known is None:
        codes, count = equality_codes([source.column(name) for name in names], source.num_rows)
        return codes, count, 0
    columns = []
    for name in names:
        rows = plain(source.column(name))
        columns.append(pa.chunked_array([*known.column(name).cast(rows.type).chunks, *rows.chunks], rows.type))
    codes, count = equality_codes(columns, known.num_rows + source.num_rows)
    return codes[known.num_rows :], count, known.num_rows


def _remembered(
    names: list[str], known: pa.Table | None, source: pa.Table, codes: Ints, count: int, seen: int
) -> tuple[pa.Table, Ints]:
    """The keys of all partitions and their matches before this step."""
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    added = take_rows(source.select(names), first[seen:]) if names else _no_columns(count - seen)
    numbers = np.zeros(count, np.int64)
    if known is not None:
        numbers[:seen] = ints(known, COUNT)
        added = append_rows(known.select(added.column_names), added)
    return added, numbers


def _bookkeeping(kept: pa.Table | None, names: list[str]) -> dict[str, Ints]:
    return {name: np.zeros(0, np.int64) if kept is None else ints(kept, name) for name in (BEFORE, *names)}


def _spread(values: Ints, order: Ints) -> Ints:
    """By row of the step's table; new rows have 0. Rows of the state come first in the source."""
    spread = np.zeros(len(order), np.int64)
    if len(values) and values.any():
        carried = np.flatnonzero(order < len(values))
        spread[carried] = values[order[carried]]
    return spread


def _times(source: pa.Table, name: str) -> Ints:
    array = column(source, name)
    if pa.types.is_timestamp(array.type):
        array = pc.cast(array, pa.timestamp("us", array.type.tz)).cast(pa.int64())
    values: Ints = (array.fill_null(-UNBOUNDED) if array.null_count else array).to_numpy(zero_copy_only=False)
    return values.astype(np.int64, copy=False)


def with_heads(work: Work) -> Ints:
    """1 for the first row that a partition ever had."""
    heads = work.held[HEAD].copy()
    heads[work.partitions.begin[work.partitions.fresh]] = 1
    return heads


def kept_rows(work: Work, ahead: Ints, back: int) -> tuple[Ints, Bools]:
    """The rows to store when the searches resume at `ahead`, and which of them the search has passed."""
    parts = work.partitions
    first = np.maximum(parts.begin, ahead - back)
    size = parts.end - first
    total = int(size.sum())
    rows = np.arange(total) + np.repeat(first - (np.cumsum(size) - size), size)
    return rows, rows < np.repeat(ahead, size)


def next_tables(work: Work, rows: Ints, before: Bools, bookkeeping: dict[str, Ints], numbers: Ints) -> Tables:
    """The tables of the state after a step. `bookkeeping`: by row of the step's table."""
    kept = take_rows(work.source, work.order[rows])
    columns = {BEFORE: before.astype(np.int64)} | {name: values[rows] for name, values in bookkeeping.items()}
    for name, values in columns.items():
        kept = kept.append_column(name, pa.array(values))
    if work.idle is not None:
        kept = pa.concat_tables([work.idle.select(kept.column_names).cast(kept.schema), kept])
    tables = {"rows": kept} if kept.num_rows else {}
    if work.keys is not None:
        counts = work.key_numbers.copy()
        counts[: len(numbers)] = numbers
        keys = work.keys if COUNT not in work.keys.column_names else work.keys.drop_columns([COUNT])
        tables["partitions"] = keys.append_column(COUNT, pa.array(counts))
    return tables
