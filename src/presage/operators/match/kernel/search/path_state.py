"""What the path searches read and write in a step: the progress of each partition, and the path at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.arrays.programs.machine import Programs, Scratch
from presage.operators.match.kernel.search.path_tables import Paths
from presage.operators.match.kernel.search.tables import OVER, Edges, Partitions, Rules, Truth

UNKNOWN = -1  # Progress.answer


class Trace(NamedTuple):
    """Values of the path at hand, by row; sets and aggregates come first: (sets, rows), (aggregates, rows).

    Each row holds the values as of that row. So backtracking needs no undo, and a step costs the same however long the
    path is.
    """

    label: Ints
    members: Ints  # how many rows of a set come up to here
    member: Ints  # the rows of a set, one after the other, from the path's first row on
    values: Ints  # values that an aggregate has counted up to here
    a: Ints  # high half of a sum; the value kept
    b: Ints  # low half of a sum; whether the value kept is not null
    key: Ints  # what max_by and min_by compare
    x: Floats  # a sum, a mean; the value kept
    y: Floats  # the sum of squares; what max_by and min_by compare


class Progress(NamedTuple):
    """Where the search of each partition is, between the calls of one step. First by partition."""

    start: Ints
    length: Ints  # rows on the path
    edge: Ints  # the edge to try next; -1: the node's first one
    steps: Ints  # tests since the start row was first tried
    asking: Ints  # the label whose condition the host must evaluate, or -1
    asked: Ints  # (partitions, places): rows of its places
    answer: Ints  # 0, 1 or UNKNOWN
    seen: Ints  # the last row that was read
    timer: Ints  # the last timer that was used
    partial: Ints  # length of the first path that WITHIN or GAP has cut
    number: Ints  # matches so far
    # By row.
    taken: Ints  # the edge by which the path took it
    cut: Ints  # its position on the path that was cut
    opened: Ints  # 1: matches that start here are still open


class PathSearch(NamedTuple):
    edges: Edges
    rules: Rules
    paths: Paths
    programs: Programs
    trace: Trace
    scratch: Scratch
    progress: Progress
    truth: Truth
    look: Ints
    time: Ints
    partitions: Partitions


class Path(NamedTuple):
    """The path at hand: its first row, the row to take next, and the rows [begin, end) of its partition."""

    start: int
    row: int
    begin: int
    end: int


def new_trace(paths: Paths, rows: int) -> Trace:
    sets, folds = len(paths.member), len(paths.function)

    def whole(count: int) -> Ints:
        return np.zeros((count, rows), np.int64)

    def real() -> Floats:
        return np.zeros((folds, rows), np.float64)

    of_folds = whole(folds), whole(folds), whole(folds), whole(folds), real(), real()
    return Trace(np.zeros(rows, np.int64), whole(sets), whole(sets), *of_folds)


def new_progress(partitions: Partitions, numbers: Ints, places: int, rows: int) -> Progress:
    count = len(partitions.begin)

    def filled(value: int, size: int = count) -> Ints:
        return np.full(size, value, np.int64)

    return Progress(
        start=partitions.start.copy(),
        length=filled(0),
        edge=filled(-1),
        steps=filled(0),
        asking=filled(-1),
        asked=np.full((count, max(places, 1)), -1, np.int64),
        answer=filled(UNKNOWN),
        seen=partitions.start.copy(),
        timer=filled(-OVER),
        partial=filled(0),
        number=numbers.copy(),
        taken=filled(-1, rows),
        cut=filled(-1, rows),
        opened=filled(0, rows),
    )
