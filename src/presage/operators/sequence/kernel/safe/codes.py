"""Loops of the joins: rows by code, and pairs of lines and rows. One loop each, because rows are mostly few."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled, inlined
from presage.operators.sequence.kernel.facts import NOTHING

SMALL = 1_024  # values of a variable


@inlined
def _counted(codes, count, order):  # type: ignore[no-untyped-def]
    """Counting sort: rows in `order` by code, and where each code begins. Negative codes are left out."""
    starts = np.zeros(count + 1, np.int64)
    for row in order:
        if codes[row] >= 0:
            starts[codes[row] + 1] += 1
    for code in range(count):
        starts[code + 1] += starts[code]
    free = starts.copy()
    found = np.empty(starts[count], np.int64)
    for row in order:
        if codes[row] >= 0:
            found[free[codes[row]]] = row
            free[codes[row]] += 1
    return found, starts


@inlined
def _code(columns, row, sizes):  # type: ignore[no-untyped-def]
    """The number of a combination, -1 if a value is negative or not below `sizes`."""
    code = 0
    for column in range(len(columns)):
        value = columns[column, row]
        if value < 0 or value >= sizes[column]:
            return -1
        code = code * sizes[column] + value
    return code


@inlined
def _sizes(columns, most):  # type: ignore[no-untyped-def]
    """Upper bounds of the values of each column, and the number of combinations; -1 if that exceeds `most`."""
    sizes, size = np.zeros(len(columns), np.int64), 1
    for column in range(len(columns)):
        for row in range(columns.shape[1]):
            sizes[column] = max(sizes[column], columns[column, row] + 1)
        if sizes[column] > most // max(size, 1):
            return sizes, -1
        size *= sizes[column]
    return sizes, size


@compiled
def first_rows(columns: Ints, most: int) -> tuple[Ints, bool]:
    """The first row of each combination in columns[column, row] without a negative value, by combination. False if more
    than `most` combinations are possible."""
    sizes, size = _sizes(columns, most)
    if size < 0:
        return np.empty(0, np.int64), False
    found = np.full(size, -1, np.int64)
    for row in range(columns.shape[1]):
        code = _code(columns, row, sizes)
        if code >= 0 and found[code] < 0:
            found[code] = row
    return found[found >= 0], True


@compiled
def rows_by_values(columns: Ints, most: int) -> tuple[Ints, Ints, Ints]:
    """Rows of columns[column, row] by combination, where each combination begins, and `_sizes`. Rows with a negative
    value are left out. No beginnings if more than `most` combinations are possible."""
    sizes, size = _sizes(columns, most)
    codes = np.empty(columns.shape[1] if size >= 0 else 0, np.int64)
    for row in range(len(codes)):
        codes[row] = _code(columns, row, sizes)
    found, starts = _counted(codes, max(size, 0), np.arange(len(codes)))
    return found, starts if size >= 0 else starts[:0].copy(), sizes


@compiled
def known_values(columns: Ints, sizes: Ints, starts: Ints) -> Ints:
    """The number of each combination that has rows; -1 for all others."""
    found = np.empty(columns.shape[1], np.int64)
    for i in range(len(found)):
        code = _code(columns, i, sizes)
        found[i] = code if code >= 0 and starts[code] < starts[code + 1] else -1
    return found


@compiled
def pairs_of(codes: Ints, starts: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Pairs of a line and a row of its code, both ascending; -1 is no code."""
    count = 0
    for code in codes:
        if code >= 0:
            count += starts[code + 1] - starts[code]
    line, row = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for i in range(len(codes)):
        if codes[i] >= 0:
            for k in range(starts[codes[i]], starts[codes[i] + 1]):
                line[count], row[count] = i, rows[k]
                count += 1
    return line, row


@compiled
def single_rows(columns: Ints, sizes: Ints, starts: Ints, rows: Ints, meaning: Ints) -> tuple[Ints, bool]:
    """The meaning of the only row of each line's combination, -1 without rows. False if a combination has several."""
    found = np.empty(columns.shape[1], np.int64)
    single = True
    for i in range(len(found)):
        code = _code(columns, i, sizes)
        count = starts[code + 1] - starts[code] if code >= 0 else 0
        found[i] = meaning[rows[starts[code]]] if count else -1
        single = single and count <= 1
    return found, single


@compiled
def united(
    line: Ints, row: Ints, bits: Ints, other_line: Ints, other_row: Ints, other_bits: Ints
) -> tuple[Ints, Ints, Ints]:
    """Merge two lists of lines, rows and bits, sorted by line and row; bits of equal lines and rows are united."""
    size, i, k, count = len(line) + len(other_line), 0, 0, 0
    lines, rows, found = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    while i < len(line) or k < len(other_line):
        first, second = i < len(line), k < len(other_line)
        if first and second:
            same = line[i] == other_line[k]
            first, second = (
                line[i] < other_line[k] or (same and row[i] <= other_row[k]),
                line[i] > other_line[k] or (same and row[i] >= other_row[k]),
            )
        found[count] = 0
        if first:
            lines[count], rows[count], found[count] = line[i], row[i], bits[i]
            i += 1
        if second:
            lines[count], rows[count] = other_line[k], other_row[k]
            found[count] |= other_bits[k]
            k += 1
        count += 1
    return lines[:count].copy(), rows[:count].copy(), found[:count].copy()


@compiled
def chains_read(chains: int, chain: Ints, line: Ints, row: Ints) -> tuple[Ints, Ints, bool]:
    """Pairs of a line and a chain it reads, both ascending; whether no chain is read by two lines. Lines ascend."""
    reader = np.full(chains, -1, np.int64)
    lines, found = np.empty(len(line), np.int64), np.empty(len(line), np.int64)
    count, first, alone = 0, 0, True
    for i in range(len(line)):
        if i > 0 and line[i] != line[i - 1]:
            found[first:count].sort()
            first = count
        own = chain[row[i]]
        if reader[own] != line[i]:
            alone = alone and reader[own] < 0
            reader[own] = line[i]
            lines[count], found[count] = line[i], own
            count += 1
    found[first:count].sort()
    return lines[:count].copy(), found[:count].copy(), alone


@compiled
def ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """first[0] … last[0] - 1, first[1] … last[1] - 1, …; and the number of the range of each."""
    count = 0
    for i in range(len(first)):
        count += last[i] - first[i]
    found, own = np.empty(count, np.int64), np.empty(count, np.int64)
    count = 0
    for i in range(len(first)):
        for k in range(first[i], last[i]):
            found[count], own[count] = k, i
            count += 1
    return found, own


@compiled
def steps_of(steps: int, step: Ints, row: Ints, wanted: Bools) -> Ints:
    """The distinct steps of the wanted rows."""
    seen = np.zeros(steps, np.bool_)
    for i in range(len(row)):
        if wanted[i]:
            seen[step[row[i]]] = True
    return np.flatnonzero(seen)


@compiled
def rows_by_chain(
    chains: int, chain: Ints, step: Ints, value: Ints, prev: Ints, chance: Floats
) -> tuple[Ints, Ints, Ints]:
    """Possible rows by chain, step and value; where each chain begins; its number of values, including no event."""
    sizes = np.ones(chains, np.int64)
    steps, values = 0, 0
    for i in range(len(chain)):
        sizes[chain[i]] = max(sizes[chain[i]], value[i] + 2)
        steps, values = max(steps, step[i] + 1), max(values, value[i] + 1)
    order = np.empty(len(chain), np.int64)
    count = 0
    for i in range(len(chain)):
        # Skip rows after a value that the chain never has.
        if chance[i] > 0.0 and (prev[i] == NOTHING or prev[i] + 1 < sizes[chain[i]]):
            order[count] = i
            count += 1
    order, _ = _counted(value, values, order[:count])
    order, _ = _counted(step, steps, order)
    order, starts = _counted(chain, chains, order)
    return order, starts, sizes


@compiled
def chains_seen(candidate: Bools, accepted: Bools, chance: Floats, chain: Ints, chains: int) -> Ints:
    """One row of each chain with a row that can be accepted."""
    leader = np.full(chains, -1, np.int64)
    count, i = 0, 0
    while i < len(chain) and count < chains:
        own = np.uint64(chain[i])
        if leader[own] < 0 and candidate[i] and accepted[i] and chance[i] > 0.0:
            leader[own] = i
            count += 1
        i += 1
    return leader[leader >= 0]


@compiled
def values_seen(
    candidate: Bools, accepted: Bools, chance: Floats, column: Ints, most: int, domain: int
) -> tuple[Ints, bool]:
    """The distinct values, at most `domain`, of rows that can be accepted, ascending. Negative ones are no values.
    False if a value is not below `most`."""
    # Values are mostly small: the array grows for a larger one.
    seen = np.zeros(min(most, SMALL), np.bool_)
    high, count, i = -1, 0, 0
    while i < len(column) and count < domain:
        if candidate[i] and accepted[i] and chance[i] > 0.0 and column[i] >= 0:
            if column[i] >= len(seen):
                if column[i] >= most:
                    return column[:0].copy(), False
                more = np.zeros(most, np.bool_)
                more[: len(seen)] = seen
                seen = more
            value = np.uint64(column[i])
            count += not seen[value]
            seen[value] = True
            high = max(high, column[i])
        i += 1
    return np.flatnonzero(seen[: high + 1]), True
