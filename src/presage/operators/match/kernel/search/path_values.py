"""What conditions can ask of a path: places and running aggregates, updated row by row.

Everything is kept by row, as it is when the path has come to that row; so a path that goes back finds the values of its
earlier rows unharmed, and a step costs the same however long the path is. All are parts of the search's loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.columns import HIGH_BITS, LOW_MASK
from presage.arrays.jit import Bools, Floats, Ints, inlined
from presage.arrays.programs.machine import evaluate
from presage.operators.match.kernel.search.path_tables import (
    ANY_ROW,
    AVG,
    COUNT,
    CURRENT,
    FIRST,
    LAST,
    MAX,
    MAX_BY,
    MIN,
    MIN_BY,
    P_FIRST,
    P_MOVED,
    P_OFFSET,
    P_SET,
    STDDEV,
    SUM,
    Paths,
    Programs,
)

MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)
WHOLE = float(1 << HIGH_BITS)


class Trace(NamedTuple):
    """By row; sets and aggregates come first: (sets, rows), (aggregates, rows)."""

    label: Ints  # of rows on the path
    members: Ints  # how many rows of a set come up to here
    member: Ints  # the rows of a set, one after the other, from the path's first row on
    values: Ints  # values that an aggregate has counted up to here
    a: Ints  # high half of a sum; the value kept
    b: Ints  # low half of a sum; whether the value kept is not null
    key: Ints  # what max_by and min_by compare
    x: Floats  # a sum, a mean; the value kept
    y: Floats  # the sum of squares; what max_by and min_by compare


class Scratch(NamedTuple):
    """Memory for one condition at a time."""

    rows: Ints
    given_i: Ints
    given_f: Floats
    given_valid: Bools
    stack_i: Ints
    stack_f: Floats
    stack_valid: Bools


def new_trace(paths: Paths, rows: int) -> Trace:
    sets, folds = len(paths.member), len(paths.function)

    def whole(count: int) -> Ints:
        return np.zeros((count, rows), np.int64)

    def real() -> Floats:
        return np.zeros((folds, rows), np.float64)

    of_folds = whole(folds), whole(folds), whole(folds), whole(folds), real(), real()
    return Trace(np.zeros(rows, np.int64), whole(sets), whole(sets), *of_folds)


def new_scratch(paths: Paths, depth: int) -> Scratch:
    places = len(paths.places) + 1
    given = len(paths.given) + len(paths.places) + 1
    return Scratch(
        np.zeros(places, np.int64),
        np.zeros(given, np.int64),
        np.zeros(given, np.float64),
        np.zeros(given, np.bool_),
        np.zeros(depth + 1, np.int64),
        np.zeros(depth + 1, np.float64),
        np.zeros(depth + 1, np.bool_),
    )


@inlined
def run(programs: Programs, program: int, scratch: Scratch) -> None:
    evaluate(
        programs.ops,
        programs.starts[program],
        programs.starts[program + 1],
        scratch.rows,
        programs.ints,
        programs.int_valid,
        programs.floats,
        programs.float_valid,
        programs.const_i,
        programs.const_f,
        programs.const_t,
        scratch.given_i,
        scratch.given_f,
        scratch.given_valid,
        scratch.stack_i,
        scratch.stack_f,
        scratch.stack_valid,
    )


@inlined
def row_at(paths: Paths, trace: Trace, place: int, start: int, row: int, begin: int) -> int:
    """The row at a place, seen from `row` of a path that began at `start`; -1: none. It may not have come yet."""
    among, offset = paths.places[place, P_SET], paths.places[place, P_OFFSET]
    if among == CURRENT:
        at = row
    elif among == ANY_ROW:
        at = start + offset if paths.places[place, P_FIRST] else row - offset
        if at < start or at > row:
            return -1
    else:
        count = trace.members[among, row]
        if offset >= count:
            return -1
        at = trace.member[among, start + (offset if paths.places[place, P_FIRST] else count - 1 - offset)]
    at += paths.places[place, P_MOVED]
    return at if at >= begin else -1


@inlined
def rows_at(
    paths: Paths, trace: Trace, first: int, last: int, start: int, row: int, begin: int, end: int, scratch: Scratch
) -> int:
    """Writes the rows of the places [first, last) to `scratch.rows`; the last row that was looked at, `end` if it lies
    beyond what has come."""
    seen = row
    for place in range(first, last):
        at = row_at(paths, trace, place, start, row, begin)
        if at >= end:
            seen = end
            at = -1
        seen = max(seen, at)
        scratch.rows[place - first] = at
    return seen


@inlined
def less(a: float, b: float) -> bool:
    """NaN is greatest."""
    return a < b or (b != b and a == a)


@inlined
def extend(
    paths: Paths,
    programs: Programs,
    trace: Trace,
    scratch: Scratch,
    start: int,
    row: int,
    begin: int,
    end: int,
    label: int,
) -> int:
    """The path takes `row` with `label`. Returns as `rows_at`."""
    seen = row
    trace.label[row] = label
    for s in range(len(paths.member)):
        count = trace.members[s, row - 1] if row > start else 0
        if paths.member[s, label]:
            trace.member[s, start + count] = row
            count += 1
        trace.members[s, row] = count
    for f in range(len(paths.function)):
        if row > start:
            trace.values[f, row] = trace.values[f, row - 1]
            trace.a[f, row] = trace.a[f, row - 1]
            trace.b[f, row] = trace.b[f, row - 1]
            trace.key[f, row] = trace.key[f, row - 1]
            trace.x[f, row] = trace.x[f, row - 1]
            trace.y[f, row] = trace.y[f, row - 1]
        else:
            trace.values[f, row] = 0
            trace.a[f, row] = 0
            trace.b[f, row] = 0
            trace.key[f, row] = 0
            trace.x[f, row] = 0.0
            trace.y[f, row] = 0.0
        if not paths.member[paths.among[f], label]:
            continue
        column = paths.argument[f, label]
        whole, real, valid = 0, 0.0, True
        if paths.program[f] >= 0:
            first, last = paths.program_begin[f], paths.program_begin[f + 1]
            seen = max(seen, rows_at(paths, trace, first, last, start, row, begin, end, scratch))
            run(programs, paths.program[f], scratch)
            whole, real, valid = scratch.stack_i[0], scratch.stack_f[0], scratch.stack_valid[0]
        elif column >= 0 and paths.is_float[f]:
            real, valid = programs.floats[column, row], programs.float_valid[column, row]
        elif column >= 0:
            whole, valid = programs.ints[column, row], programs.int_valid[column, row]
        fold(paths, programs, trace, f, row, label, whole, real, valid)
    return seen


@inlined
def fold(
    paths: Paths, programs: Programs, trace: Trace, f: int, row: int, label: int, whole: int, real: float, valid: bool
) -> None:
    """The aggregate takes one value more. Only first, last, max_by and min_by take nulls for values."""
    function, values = paths.function[f], trace.values[f, row]
    if function in (MAX_BY, MIN_BY):
        column = paths.by[f, label]
        if paths.by_float[f]:
            if not programs.float_valid[column, row]:
                return
            real_key = programs.floats[column, row]
            better = less(real_key, trace.y[f, row]) if function == MIN_BY else less(trace.y[f, row], real_key)
            if values > 0 and not better:
                return
            trace.y[f, row] = real_key
        else:
            if not programs.int_valid[column, row]:
                return
            key = programs.ints[column, row]
            better = key < trace.key[f, row] if function == MIN_BY else key > trace.key[f, row]
            if values > 0 and not better:
                return
            trace.key[f, row] = key
    elif not valid and function != FIRST and function != LAST:
        return
    trace.values[f, row] = values + 1
    if function == COUNT:
        return
    if function in (SUM, AVG):
        trace.a[f, row] += whole >> HIGH_BITS
        trace.b[f, row] += whole & LOW_MASK
        trace.x[f, row] += real
    elif function == STDDEV:
        value = real if paths.is_float[f] else float(whole)
        delta = value - trace.x[f, row]
        trace.x[f, row] += delta / (values + 1)
        trace.y[f, row] += delta * (value - trace.x[f, row])
    else:
        if values > 0:
            if function in (MIN, MAX):
                if paths.is_float[f]:
                    best = trace.x[f, row]
                    better = less(real, best) if function == MIN else less(best, real)
                else:
                    better = whole < trace.a[f, row] if function == MIN else whole > trace.a[f, row]
                if not better:
                    return
            elif function != LAST and function != MAX_BY and function != MIN_BY:
                return
        trace.a[f, row] = whole
        trace.x[f, row] = real
        trace.b[f, row] = 1 if valid else 0


@inlined
def give(paths: Paths, trace: Trace, f: int, row: int, at: int, scratch: Scratch) -> None:
    """The aggregate's value at `row`, as what GIVEN `at` of a program takes."""
    function, values = paths.function[f], trace.values[f, row]
    scratch.given_i[at], scratch.given_f[at], scratch.given_valid[at] = 0, 0.0, values > 0
    if function == COUNT:
        scratch.given_i[at], scratch.given_valid[at] = values, True
    elif function in (SUM, AVG):
        total = trace.x[f, row]
        if not paths.is_float[f]:
            high = trace.a[f, row] + (trace.b[f, row] >> HIGH_BITS)
            low = trace.b[f, row] & LOW_MASK
            total = high * WHOLE + low
            if function == SUM:
                # A sum that no LONG holds is null, as a program's own additions are.
                fits = -MOST_HIGH <= high < MOST_HIGH
                scratch.given_valid[at] = values > 0 and fits
                scratch.given_i[at] = (high << HIGH_BITS) + low if fits else 0
        scratch.given_f[at] = total if function == SUM else total / max(values, 1)
    elif function == STDDEV:
        scratch.given_valid[at] = values > 1
        scratch.given_f[at] = np.sqrt(trace.y[f, row] / max(values - 1, 1))
    else:
        scratch.given_i[at] = trace.a[f, row]
        scratch.given_f[at] = trace.x[f, row]
        scratch.given_valid[at] = values > 0 and trace.b[f, row] != 0
