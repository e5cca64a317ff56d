"""The automaton and the rules of a search as arrays for compiled loops, and the table of finds.

Rows are row numbers of the step's table, which holds the partitions one after the other. A find is a match, a partial
match that timed out, or an unmatched row; its columns are F_PARTITION to F_TIME. Its moment is when no later input can
change it: the row F_ROW, or, if that is TIMED, the timer due at F_TIME (OVER: the end of input).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from presage.arrays.calendar import moved_by_months
from presage.arrays.jit import Bools, Ints, inlined
from presage.operators.match.kernel.spec import ACCEPT, Automaton, MatchTables

F_PARTITION, F_KIND, F_START, F_LENGTH, F_OFFSET, F_ROW, F_TIME = range(7)
MATCH, TIMEOUT, UNMATCHED = 0, 1, 2  # F_KIND
TIMED = -1
UNBOUNDED = 1 << 61  # longer than any period, and as -UNBOUNDED before any event: both can be added to a time
OVER = 1 << 62

PAST_LAST, TO_NEXT, TO_FIRST, TO_LAST, TO_CURRENT = range(5)
SKIPS = {"past_last": PAST_LAST, "to_next": TO_NEXT, "to_first": TO_FIRST, "to_last": TO_LAST, "to_current": TO_CURRENT}

# Why a search failed: failed[0]. Then the partition, and the first row of the match (OVER_BUDGET: the label).
NO_TARGET, OWN_FIRST, OVER_BUDGET = 1, 2, 3

# By label and row, as bits: the condition holds; to decide it, further rows had to be read (`looks_ahead`).
Truth = npt.NDArray[np.uint8]
HOLDS, LOOKS = 1, 2


class Edges(NamedTuple):
    """Node i has the edges begin[i] to begin[i + 1], preferred first. Node 0 is the start, node p + 1 position p."""

    begin: Ints
    target: Ints
    at_start: Bools
    at_end: Bools
    label: Ints  # of each position
    accepting: Bools  # positions after which a match may end, wherever they are
    skip_to: Bools  # labels that the skip clause names
    runs: Ints  # positions runs[i] to runs[i + 1] lead to each other and to later runs, never to earlier ones


class Rules(NamedTuple):
    """The rules of one step. `wait_last`, `wait_first`: how many rows beyond the last, or the first, row of a match
    measures read."""

    watermark: int
    ended: bool
    within: int
    within_months: int
    gap: int
    gap_months: int
    bounded: bool
    steady: bool  # times never go back from row to row
    timeouts: bool
    unmatched: bool
    skip: int
    wait_last: int
    wait_first: int
    budget: int


class Partitions(NamedTuple):
    """Rows [begin, end) of each partition. `start`: where the search resumes. `fresh`: `begin` is the first row that
    the partition ever had. `covered`: rows from here on lie in no match. `come`: the first new row of this step."""

    begin: Ints
    end: Ints
    start: Ints
    fresh: Bools
    covered: Ints
    come: Ints


def edges_of(automaton: Automaton, skip_labels: tuple[int, ...]) -> Edges:
    nodes = [automaton.first, *automaton.follow]
    flat = [edge for ways in nodes for edge in ways]
    labels = np.zeros(max(len(automaton.variables), 1), np.bool_)
    labels[list(skip_labels)] = True
    return Edges(
        np.cumsum([0, *map(len, nodes)], dtype=np.int64),
        np.array([edge.target for edge in flat], np.int64),
        np.array([edge.at_start for edge in flat], np.bool_),
        np.array([edge.at_end for edge in flat], np.bool_),
        np.array(automaton.labels, np.int64),
        np.array([any(e.target == ACCEPT and not e.at_end for e in ways) for ways in automaton.follow], np.bool_),
        labels,
        np.array(_runs(automaton), np.int64),
    )


def _runs(automaton: Automaton) -> list[int]:
    """Where the shortest runs of positions begin that no edge leaves backwards."""
    begins, first = [len(automaton.follow)], len(automaton.follow)
    for position in range(len(automaton.follow) - 1, -1, -1):
        back = [edge.target for edge in automaton.follow[position] if edge.target != ACCEPT]
        first = min([first, position, *back])
        if first == position:
            begins.append(position)
    return begins[::-1]


def rules_of(spec: MatchTables, watermark: int, ended: bool) -> Rules:
    # Labels beyond the match are null, so CLASSIFIER waits for no row.
    moved = [m.place for m in spec.measures if m.place is not None and m.column is not None]
    moved += [place for m in spec.measures if m.fold is not None for place in m.fold.places]
    from_first = [p.offset + p.moved for p in moved if p.first and p.labels is None and not p.current and p.moved > 0]
    others = [p.moved for p in moved if not (p.first and p.labels is None) or p.current]
    return Rules(
        watermark,
        ended,
        UNBOUNDED if spec.within is None else spec.within,
        spec.within_months,
        UNBOUNDED if spec.gap is None else spec.gap,
        spec.gap_months,
        spec.within is not None or spec.gap is not None,
        spec.by_time,
        spec.timeouts,
        spec.rows == "all_unmatched",
        SKIPS[spec.skip.kind],
        max([0, *others]),
        max([0, *from_first]),
        spec.budget,
    )


@inlined
def within_ends(rules: Rules, first: int) -> int:
    """When WITHIN ends for a path whose first row has this time."""
    return (moved_by_months(first, rules.within_months) if rules.within_months else first) + rules.within


@inlined
def gap_ends(rules: Rules, last: int) -> int:
    """When GAP ends for a path whose last row has this time."""
    return (moved_by_months(last, rules.gap_months) if rules.gap_months else last) + rules.gap


@inlined
def append_find(
    finds: Ints, count: int, partition: int, kind: int, start: int, length: int, offset: int, row: int, time: int
) -> Ints:
    """The table with one more find; a longer copy if it is full."""
    if count == len(finds):
        longer = np.empty((2 * count + 16, 7), np.int64)
        # Plain loops here and below: each assignment of a slice costs a tenth of a second to compile.
        for i in range(count):
            for j in range(7):
                longer[i, j] = finds[i, j]
        finds = longer
    finds[count, F_PARTITION] = partition
    finds[count, F_KIND] = kind
    finds[count, F_START] = start
    finds[count, F_LENGTH] = length
    finds[count, F_OFFSET] = offset
    finds[count, F_ROW] = row
    finds[count, F_TIME] = time
    return finds


@inlined
def with_space(line: Ints, used: int, more: int) -> Ints:
    """The line, or a longer copy of its first `used` items, with space for `more`."""
    if used + more <= len(line):
        return line
    longer = np.empty(2 * (used + more) + 64, np.int64)
    for i in range(used):
        longer[i] = line[i]
    return longer


@inlined
def next_start(edges: Edges, skip: int, line: Ints, offset: int, length: int, start: int) -> int:
    """Where the search resumes after a match, by the skip clause; negative: why it cannot. The positions of the match
    are in `line` from `offset` on."""
    if length == 0 or skip == TO_NEXT:
        return start + 1
    if skip == PAST_LAST:
        return start + length
    target = -1
    for i in range(length):
        if edges.skip_to[edges.label[line[offset + i]]]:
            target = i
            if skip == TO_FIRST:
                break
    if target < 0:
        return -NO_TARGET
    return start + target if target > 0 else -OWN_FIRST
