"""Output rows of the finds of a search, in order, each with its moment.

Rows are ordered by moment, then by the arrival of the match's first row, then by their number among the rows of that
start row. A moment is that of a row (TIME, SEQ, order), of a timer, or the end of input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.calendar import times_after
from presage.arrays.columns import ints
from presage.arrays.jit import Bools, Ints, compiled
from presage.arrays.rows import changes, lexical_order, ordinals
from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.retained import Work
from presage.operators.match.kernel.search.tables import (
    F_KIND,
    F_LENGTH,
    F_OFFSET,
    F_PARTITION,
    F_ROW,
    F_START,
    F_TIME,
    MATCH,
    OVER,
    TIMED,
    TIMEOUT,
    UNMATCHED,
)
from presage.operators.match.kernel.spec import ENDED, SEQ, TIME, TIMER, MatchTables

ONE, ALL, OMIT = 0, 1, 2
LAST, LAST_SEQ = "#last", "#last_seq"  # time and arrival of the match's last row
FIRST = "#first."  # prefix of an order column of the first row, in rows that are held back


@dataclass(frozen=True)
class Emission:
    """`columns` are TIME, SEQ, order and placed columns; `firsts` the order columns of the match's first row, which
    break ties between partitions."""

    matches: Matches
    columns: dict[str, Ints]
    firsts: dict[str, Ints]
    timed_out: Bools
    numbers: Ints  # matches of each partition after this step


def emit(spec: MatchTables, work: Work, finds: Ints, line: Ints, watermark: int) -> Emission:
    labels = np.array(spec.automaton.labels, np.int64)
    excluded = np.array(spec.automaton.excluded, np.bool_)
    moments = _moments(spec, work, finds)
    counter = _counters(spec, finds)
    source_rows = work.order[finds[:, F_START]]
    firsts = {name: ints(work.source, name)[source_rows] for name in (SEQ, *spec.order)}
    keys = [*moments.values(), firsts[SEQ], *(firsts[name] for name in spec.order), counter, finds[:, F_LENGTH]]
    order = lexical_order(keys)
    finds = finds[order]
    numbers, counts = _numbered(spec, work, finds, order)

    mode = ONE if spec.rows == "one" else OMIT if spec.rows == "all_omit" else ALL
    lengths = np.where(finds[:, F_KIND] == UNMATCHED, 0, finds[:, F_LENGTH])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    spots = np.arange(offsets[-1]) + np.repeat(finds[:, F_OFFSET] - offsets[:-1], lengths)
    positions = line[spots]
    shown = ~excluded[positions] if excluded.any() else np.ones(positions.size, np.bool_)
    find, row, at = _shown_rows(finds[:, F_KIND], finds[:, F_START], lengths, offsets, shown, mode)
    # Rows of one find are adjacent.
    nth = ordinals(changes([find], find.size))
    parts = finds[:, F_PARTITION]
    matches = Matches(
        finds[:, F_START],
        lengths,
        offsets,
        labels[positions] if labels.size else positions,
        numbers,
        work.partitions.begin[parts],
        work.partitions.end[parts],
        np.where(finds[find, F_KIND] == UNMATCHED, -1, find),
        row,
        at,
    )
    old = order[find]
    columns = {name: values[old] for name, values in moments.items()}
    # The time of the end of input is the last watermark.
    columns[TIME] = np.where(columns[TIME] == OVER, watermark, columns[TIME])
    last = work.order[finds[:, F_START] + np.maximum(lengths, 1) - 1][find]
    columns[LAST] = ints(work.source, TIME)[last]
    columns[LAST_SEQ] = ints(work.source, SEQ)[last]
    columns[spec.placed[1]] = firsts[SEQ][old]
    columns[spec.placed[2]] = counter[old] + nth
    tied = {FIRST + name: firsts[name][old] for name in spec.order}
    return Emission(matches, columns, tied, finds[find, F_KIND] == TIMEOUT, counts)


def _moments(spec: MatchTables, work: Work, finds: Ints) -> dict[str, Ints]:
    """TIME (OVER: the end of input), SEQ and order columns of each find's moment."""
    row, time = finds[:, F_ROW], finds[:, F_TIME]
    if spec.whole:
        row = work.partitions.end[finds[:, F_PARTITION]] - 1
    elif not spec.by_time:
        row = _latest(work, finds)
    elif spec.held and spec.within is not None:
        # Not before the bound ends, however early the match is certain.
        due = times_after(work.time[finds[:, F_START]], spec.within_months, spec.within)
        early = (finds[:, F_KIND] == MATCH) & (np.where(row == TIMED, time, work.time[row]) < due)
        row, time = np.where(early, TIMED, row), np.where(early, due, time)
    timed = row == TIMED
    rows = work.order[row]
    moments = {TIME: np.where(timed, time, ints(work.source, TIME)[rows])}
    moments[SEQ] = np.where(timed, np.where(time == OVER, ENDED, TIMER), ints(work.source, SEQ)[rows])
    for name in spec.order:
        moments[name] = np.where(timed, 0, ints(work.source, name)[rows])
    return moments


def _latest(work: Work, finds: Ints) -> Ints:
    """The row of each find that arrived last, where rows are not in order of arrival."""
    time, seq = ints(work.source, TIME), ints(work.source, SEQ)
    arrival = np.empty(len(time), np.int64)
    arrival[np.lexsort((np.arange(len(time)), seq, time))] = np.arange(len(time))
    return _last_arrived(arrival[work.order], finds[:, F_START], finds[:, F_LENGTH])


@compiled
def _last_arrived(arrival: Ints, start: Ints, length: Ints) -> Ints:
    last = start.copy()
    for i in range(len(start)):
        for row in range(start[i] + 1, start[i] + length[i]):
            if arrival[row] > arrival[last[i]]:
                last[i] = row
    return last


def _counters(spec: MatchTables, finds: Ints) -> Ints:
    """The number of each find's first row among the rows of its start row (`whole`: of its partition)."""
    length = finds[:, F_LENGTH]
    if spec.skip.kind == "to_current" and not spec.whole:
        # Shorter matches come first; a match needs at most as many numbers as it has rows.
        after = np.where(finds[:, F_KIND] == UNMATCHED, length, 0)
        base = np.where(finds[:, F_KIND] == MATCH, length * (length - 1) // 2, after)
    else:
        base = np.zeros(len(finds), np.int64)
    most = np.maximum(length, 1)
    if spec.whole:
        same, run = finds[:, F_PARTITION], most
    else:
        # The first row of a partial match that timed out may follow as an unmatched row.
        same, run = finds[:, F_START], np.where(finds[:, F_KIND] == TIMEOUT, most, 0)
    before = np.cumsum(run) - run
    heads = np.ones(len(finds), np.bool_)
    heads[1:] = same[1:] != same[:-1]
    first = np.maximum.accumulate(np.where(heads, np.arange(len(finds)), 0)) if len(finds) else before
    counters: Ints = base + before - before[first]
    return counters


def _numbered(spec: MatchTables, work: Work, finds: Ints, order: Ints) -> tuple[Ints, Ints]:
    """MATCH_NUMBER() of each find (0: it is no match), and matches of each partition after this step."""
    turns = np.empty(len(order), np.int64)
    turns[order] = np.arange(len(order))
    if spec.skip.kind == "to_current":
        # Matches are numbered in the order of their moments. Other searches find them in that order.
        row = finds[:, F_ROW]
        time = np.where(row == TIMED, finds[:, F_TIME], work.time[row])
        turns = np.lexsort((finds[:, F_LENGTH], finds[:, F_START], row, time))
    return _count_on(finds[:, F_PARTITION], finds[:, F_KIND] == MATCH, turns, work.numbers)


@compiled
def _count_on(partition: Ints, is_match: Bools, turns: Ints, counts: Ints) -> tuple[Ints, Ints]:
    after = counts.copy()
    numbers = np.zeros(len(partition), np.int64)
    for i in turns:
        if is_match[i]:
            after[partition[i]] += 1
            numbers[i] = after[partition[i]]
    return numbers, after


@compiled
def _shown_rows(
    kind: Ints, start: Ints, length: Ints, offset: Ints, shown: Bools, mode: int
) -> tuple[Ints, Ints, Ints]:
    """For each output row its find, the row, and its place in the match."""
    size = 0
    for i in range(len(kind)):
        size += max(length[i], 1)
    find, row, at = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    used = 0
    for i in range(len(kind)):
        if length[i] == 0:
            if mode != OMIT or kind[i] == UNMATCHED:
                find[used], row[used], at[used] = i, start[i], 0
                used += 1
        elif mode == ONE:
            find[used], row[used], at[used] = i, start[i] + length[i] - 1, length[i]
            used += 1
        else:
            for j in range(length[i]):
                if shown[offset[i] + j]:
                    find[used], row[used], at[used] = i, start[i] + j, j + 1
                    used += 1
    return find[:used].copy(), row[:used].copy(), at[:used].copy()


def merged(spec: MatchTables, rows: pa.Table) -> pa.Table:
    """Sorts rows that were held back together with new ones."""
    names = (TIME, SEQ, *spec.order, spec.placed[1], *(FIRST + name for name in spec.order), spec.placed[2])
    return rows.take(pa.array(lexical_order([ints(rows, name) for name in names])))


def finished(spec: MatchTables, rows: pa.Table) -> pa.Table:
    """The output rows, with the columns that depend on whether the end of input completed them."""
    ended = ints(rows, SEQ) == ENDED
    last = pa.array(np.where(ended, ints(rows, LAST_SEQ), 0))
    if spec.shown_time is not None:
        shown = pa.array(np.where(ended, ints(rows, LAST), ints(rows, TIME)))
        rows = rows.append_column(spec.shown_time, shown)
    rows = rows.drop_columns([LAST, LAST_SEQ])
    rows = rows.add_column(rows.column_names.index(spec.placed[1]), spec.placed[0], last)
    tied = [FIRST + name for name in spec.order]
    if ended.any():
        names = (TIME, SEQ, *spec.order, *spec.placed[:2], *tied, spec.placed[2])
        rows = rows.take(pa.array(lexical_order([ints(rows, name) for name in names])))
    return rows.drop_columns(tied)
