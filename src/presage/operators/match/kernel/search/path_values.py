"""Values of a path that conditions refer to: places and running aggregates, updated row by row.

All functions are parts of the loops of the path searches.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.columns import HIGH_BITS, LOW_MASK
from presage.arrays.jit import inlined, inlined_always
from presage.arrays.programs.machine import evaluate
from presage.operators.match.kernel.search.path_state import Path, PathSearch, Trace
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
)

MOST_HIGH = 1 << 31  # a LONG is high * 2**32 + low with high in [-2**31, 2**31)
WHOLE = float(1 << HIGH_BITS)


@inlined_always
def row_at(search: PathSearch, path: Path, place: int) -> int:
    """The row at a place, seen from the path's current row; -1: none. It may not have come yet."""
    places, trace = search.paths.places, search.trace
    among, offset = places[place, P_SET], places[place, P_OFFSET]
    if among == CURRENT:
        at = path.row
    elif among == ANY_ROW:
        at = path.start + offset if places[place, P_FIRST] else path.row - offset
        if at < path.start or at > path.row:
            return -1
    else:
        count = trace.members[among, path.row]
        if offset >= count:
            return -1
        at = trace.member[among, path.start + (offset if places[place, P_FIRST] else count - 1 - offset)]
    at += places[place, P_MOVED]
    return at if at >= path.begin else -1


@inlined_always
def rows_at(search: PathSearch, path: Path, first: int, last: int) -> int:
    """Writes the rows of the places [first, last) to `scratch.rows`. Returns the last row that was read; `path.end` if
    it has not come."""
    seen = path.row
    for place in range(first, last):
        at = row_at(search, path, place)
        if at >= path.end:
            seen = path.end
            at = -1
        seen = max(seen, at)
        search.scratch.rows[place - first] = at
    return seen


@inlined
def less(a: float, b: float) -> bool:
    """NaN is greatest."""
    return a < b or (b != b and a == a)


@inlined_always
def extend(search: PathSearch, path: Path, label: int) -> int:
    """Updates sets and aggregates for the current row with `label`. Returns as `rows_at`."""
    paths, programs, trace, scratch = search.paths, search.programs, search.trace, search.scratch
    row, seen = path.row, path.row
    trace.label[row] = label
    for s in range(len(paths.member)):
        count = trace.members[s, row - 1] if row > path.start else 0
        if paths.member[s, label]:
            trace.member[s, path.start + count] = row
            count += 1
        trace.members[s, row] = count
    for f in range(len(paths.function)):
        carry_over(trace, f, row, row > path.start)
        if not paths.member[paths.among[f], label]:
            continue
        column = paths.argument[f, label]
        whole, real, valid = 0, 0.0, True
        if paths.program[f] >= 0:
            seen = max(seen, rows_at(search, path, paths.program_begin[f], paths.program_begin[f + 1]))
            evaluate(programs, paths.program[f], scratch)
            whole, real, valid = scratch.stack_i[0], scratch.stack_f[0], scratch.stack_valid[0]
        elif column >= 0 and paths.is_float[f]:
            real, valid = programs.floats[column, row], programs.float_valid[column, row]
        elif column >= 0:
            whole, valid = programs.ints[column, row], programs.int_valid[column, row]
        fold(search, f, row, label, whole, real, valid)
    return seen


@inlined_always
def carry_over(trace: Trace, f: int, row: int, goes_on: bool) -> None:
    """An aggregate begins a row with its values of the row before, or empty."""
    trace.values[f, row] = trace.values[f, row - 1] if goes_on else 0
    trace.a[f, row] = trace.a[f, row - 1] if goes_on else 0
    trace.b[f, row] = trace.b[f, row - 1] if goes_on else 0
    trace.key[f, row] = trace.key[f, row - 1] if goes_on else 0
    trace.x[f, row] = trace.x[f, row - 1] if goes_on else 0.0
    trace.y[f, row] = trace.y[f, row - 1] if goes_on else 0.0


@inlined_always
def fold(search: PathSearch, f: int, row: int, label: int, whole: int, real: float, valid: bool) -> None:
    """Adds a value to an aggregate. Only first, last, max_by and min_by count nulls as values."""
    paths, programs, trace = search.paths, search.programs, search.trace
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


@inlined_always
def give_aggregate(search: PathSearch, f: int, row: int, at: int) -> None:
    """The aggregate's value at `row` becomes GIVEN `at` of a program."""
    paths, trace, scratch = search.paths, search.trace, search.scratch
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
