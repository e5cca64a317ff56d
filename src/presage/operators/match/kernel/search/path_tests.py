"""Whether a row may be taken with a label, given the path so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.operators.match.kernel.search.path_tables import Paths, Programs
from presage.operators.match.kernel.search.path_values import Scratch, Trace, extend, give, row_at, rows_at, run
from presage.operators.match.kernel.search.reach import HOLDS, LOOKS, Truth
from presage.operators.match.kernel.search.tables import OVER, Partitions

NO, YES, WAIT, ASK = 0, 1, 2, 3  # what a test says; WAIT: rows that it looks at have not come; ASK: the host must say
UNKNOWN = -1


class Progress(NamedTuple):
    """Where each partition's search stands, between the calls of one step. First by partition."""

    start: Ints
    length: Ints  # rows that the path has taken
    edge: Ints  # the way on that is to be tried next; -1: the first one
    steps: Ints  # tests since the start row was first tried
    asking: Ints  # the label whose condition the host must answer, or -1
    asked: Ints  # (partitions, places): rows of its places
    answer: Ints  # NO, YES or UNKNOWN
    seen: Ints  # the last row that was looked at
    timer: Ints  # the last timer that was used
    partial: Ints  # length of the first path that a bound has cut
    number: Ints  # matches so far
    # By row.
    taken: Ints  # the way on by which the path took it
    cut: Ints  # the position of the cut path there
    opened: Ints  # 1: matches that start here are still open


def new_progress(partitions: Partitions, numbers: Ints, places: int, rows: int) -> Progress:
    count = len(partitions.begin)

    def filled(value: int, size: int = count) -> Ints:
        return np.full(size, value, np.int64)

    return Progress(
        partitions.start.copy(),
        filled(0),
        filled(-1),
        filled(0),
        filled(-1),
        np.full((count, max(places, 1)), -1, np.int64),
        filled(UNKNOWN),
        partitions.start.copy(),
        filled(-OVER),
        filled(0),
        numbers.copy(),
        filled(-1, rows),
        filled(-1, rows),
        filled(0, rows),
    )


@inlined
def look_at(progress: Progress, g: int, row: int, end: int) -> None:
    """Nothing can be settled before that row; beyond the end: before the input is over."""
    if row < end:
        progress.seen[g] = max(progress.seen[g], row)
    else:
        progress.timer[g] = OVER


@inlined
def holds_here(
    paths: Paths,
    programs: Programs,
    trace: Trace,
    scratch: Scratch,
    progress: Progress,
    truth: Truth,
    look: Ints,
    partitions: Partitions,
    g: int,
    start: int,
    row: int,
    label: int,
    ended: bool,
) -> int:
    begin, end = partitions.begin[g], partitions.end[g]
    reaches = row
    if truth[label, row] & LOOKS:
        reaches = row + look[label]
        if reaches >= end and not ended:
            return WAIT
    if truth[label, row] & HOLDS == 0:
        look_at(progress, g, reaches, end)
        return NO
    reaches = max(reaches, extend(paths, programs, trace, scratch, start, row, begin, end, label))
    if paths.bound[label] >= 0 or paths.asked[label]:
        at = 0
        for i in range(paths.given_begin[label], paths.given_begin[label + 1]):
            give(paths, trace, paths.given[i], row, at, scratch)
            at += 1
        for place in range(paths.classified_begin[label], paths.classified_begin[label + 1]):
            found = row_at(paths, trace, place, start, row, begin)
            # Rows before the match and after the current one have no label.
            labelled = start <= found <= row
            scratch.given_i[at] = trace.label[found] if labelled else -1
            scratch.given_valid[at] = labelled
            at += 1
        if paths.numbered[label]:
            scratch.given_i[at] = progress.number[g] + 1
            scratch.given_valid[at] = True
        first, last = paths.place_begin[label], paths.place_begin[label + 1]
        reaches = max(reaches, rows_at(paths, trace, first, last, start, row, begin, end, scratch))
        if reaches >= end and not ended:
            return WAIT
        look_at(progress, g, reaches, end)
        if paths.bound[label] >= 0:
            run(programs, paths.bound[label], scratch)
            if not scratch.stack_valid[0] or scratch.stack_i[0] == 0:
                return NO
        if paths.asked[label]:
            if progress.answer[g] == UNKNOWN:
                progress.asking[g] = label
                for i in range(last - first):
                    progress.asked[g, i] = scratch.rows[i]
                return ASK
            said = YES if progress.answer[g] == YES else NO
            progress.answer[g] = UNKNOWN
            return said
        return YES
    if reaches >= end and not ended:
        return WAIT
    look_at(progress, g, reaches, end)
    return YES
