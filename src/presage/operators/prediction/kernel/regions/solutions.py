"""The intervals of values that satisfy a term. Called from loops."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats
from presage.operators.prediction.kernel.jit import bare
from presage.operators.prediction.kernel.spec import Comparator, Mode

LE, LT, GT, GE, NE, EQ = (int(c) for c in Comparator)
MAY, MUST = int(Mode.MAY), int(Mode.MUST)
INF = np.inf

# A term has at most three intervals, or two that are cut in three places. A row: low, high, low open, high open.
MOST = 5


@bare
def solutions(comparator: int, constant: float, slack: float, mode: int, distance: bool, found: Floats) -> int:
    """Write the disjoint intervals to `found` in ascending order, return their number. `distance`: of z with
    |z| ⊙ constant; else of x with x ⊙ constant. `slack`: how far the real value may be off."""
    count = _plain_distance(comparator, constant, found) if distance else _plain(comparator, constant, found)
    if slack == 0.0:
        return count
    if mode == MAY:
        return _widened(count, slack, found)
    if mode == MUST:
        return _narrowed(count, slack, found)
    return count


@bare
def _put(found: Floats, row: int, low: float, high: float, low_open: float, high_open: float) -> None:
    found[row, 0] = low
    found[row, 1] = high
    found[row, 2] = low_open
    found[row, 3] = high_open


@bare
def _plain(comparator: int, constant: float, found: Floats) -> int:
    if comparator in (LE, LT):
        _put(found, 0, -INF, constant, 0.0, 1.0 if comparator == LT else 0.0)
        return 1
    if comparator in (GE, GT):
        _put(found, 0, constant, INF, 1.0 if comparator == GT else 0.0, 0.0)
        return 1
    if comparator == EQ:
        _put(found, 0, constant, constant, 0.0, 0.0)
        return 1
    _put(found, 0, -INF, constant, 0.0, 1.0)
    _put(found, 1, constant, INF, 1.0, 0.0)
    return 2


@bare
def _plain_distance(comparator: int, constant: float, found: Floats) -> int:
    if comparator in (LE, LT):
        if constant < 0.0 or (constant == 0.0 and comparator == LT):
            return 0
        is_open = 1.0 if comparator == LT else 0.0
        _put(found, 0, -constant, constant, is_open, is_open)
        return 1
    if comparator == EQ:
        if constant < 0.0:
            return 0
        _put(found, 0, -constant, -constant, 0.0, 0.0)
        _put(found, 1, constant, constant, 0.0, 0.0)
        return 1 if constant == 0.0 else 2
    if constant < 0.0 or (constant == 0.0 and comparator == GE):
        _put(found, 0, -INF, INF, 0.0, 0.0)
        return 1
    is_open = 0.0 if comparator == GE else 1.0
    _put(found, 0, -INF, -constant, 0.0, is_open)
    if comparator == NE and constant > 0.0:
        _put(found, 1, -constant, constant, 1.0, 1.0)
        _put(found, 2, constant, INF, 1.0, 0.0)
        return 3
    _put(found, 1, constant, INF, is_open, 0.0)
    return 2


@bare
def _widened(count: int, slack: float, found: Floats) -> int:
    """MAY: widen each interval by the slack, and merge those that then touch."""
    kept = 0
    for i in range(count):
        low, high, low_open, high_open = found[i, 0] - slack, found[i, 1] + slack, found[i, 2], found[i, 3]
        if kept > 0 and (
            low < found[kept - 1, 1] or (low == found[kept - 1, 1] and (low_open == 0.0 or found[kept - 1, 3] == 0.0))
        ):
            found[kept - 1, 1] = high
            found[kept - 1, 3] = high_open
        else:
            _put(found, kept, low, high, low_open, high_open)
            kept += 1
    return kept


@bare
def _narrowed(count: int, slack: float, found: Floats) -> int:
    """MUST: all values within the slack must lie in one interval, so shrink each by the slack."""
    kept = 0
    for i in range(count):
        low, high, low_open, high_open = found[i, 0] + slack, found[i, 1] - slack, found[i, 2], found[i, 3]
        if low < high or (low == high and low_open == 0.0 and high_open == 0.0):
            _put(found, kept, low, high, low_open, high_open)
            kept += 1
    return kept


@bare
def split(count: int, at: float, found: Floats) -> int:
    """Cut the interval that contains a value; the value then belongs to both parts."""
    for i in range(count):
        if found[i, 0] < at < found[i, 1]:
            for j in range(count, i + 1, -1):
                for column in range(4):
                    found[j, column] = found[j - 1, column]
            _put(found, i + 1, at, found[i, 1], 0.0, found[i, 3])
            found[i, 1] = at
            found[i, 3] = 0.0
            return count + 1
    return count
