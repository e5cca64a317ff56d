"""Versions of the intervals of a buffer, each with the times at which it was visible.

The decisions of a buffer do not depend on queries. So all arrivals of a step are fed first, and then all states of the
buffer are evaluated at once: a tuple whose interval is moved by an arrival has one version before it and another from
then on, and two versions are joined only at times at which both are visible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.operators.prediction.kernel.buffer.buffer import Changes, InForce
from presage.operators.prediction.kernel.intervals.spans import Spans
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import PredictionTables
from presage.operators.prediction.kernel.regions.sides import FOREVER, visible_times

# The kinds of entries in the sweep, in their order at one time.
EXPIRE, APPEAR, LOOKUP = 0, 1, 2


class Versions(NamedTuple):
    """The tuple `arrival` is in force from `start` to `end`, seen at times t with visible[:, 0] <= t < visible[:, 1].
    By arrival, then time."""

    arrival: Ints
    start: Ints
    end: Ints
    end_open: Bools
    visible: Ints


def versions_of(held: InForce, since: Ints, changes: Changes, moment: Ints) -> Versions:
    """`held`: in force before the changes, each visible since `since`; `moment`: of each change, ascending. Of several
    changes of a tuple in one moment the last counts. O(n log n)."""
    arrival = np.concatenate([held.arrival, changes.piece])
    order = np.argsort(arrival, kind="stable")
    arrival = arrival[order]
    visible = np.empty((len(arrival), 2), np.int64)
    visible[:, 0] = np.concatenate([since, moment])[order]
    visible[:, 1] = FOREVER
    same = arrival[1:] == arrival[:-1]
    visible[:-1, 1][same] = visible[1:, 0][same]
    start, end, end_open = (
        np.concatenate([getattr(held, name), getattr(changes, name)])[order] for name in ("start", "end", "end_open")
    )
    lives = np.flatnonzero((visible[:, 0] < visible[:, 1]) & ((start < end) | ((start == end) & ~end_open)))
    return Versions(arrival[lives], start[lives], end[lives], end_open[lives], visible[lives])


def unchanged(held: InForce, since: Ints) -> Versions:
    """One version of each tuple, visible since then."""
    visible = np.stack([since, np.full(len(since), FOREVER)], axis=1)
    return Versions(held.arrival, held.start, held.end, held.end_open, visible)


def shown_at(
    tables: PredictionTables, pieces: Sequence[Pieces], visible: Sequence[Ints | None], spans: Spans
) -> Floats:
    """The shown attributes at the beginning of each interval, from the versions that were visible then."""
    columns = [np.empty((len(spans), 0))]
    for number, side in enumerate(tables.sides):
        if side.shown:
            own = visible_times(len(pieces[number]), visible[number])
            at = last_begun_at(pieces[number], own, spans.codes[:, number], spans.start, spans.start)
            columns.append(values_at(pieces[number], at, spans.start, side.shown))
    return np.concatenate(columns, axis=1)


def values_at(pieces: Pieces, at: Ints, time: Ints, attributes: tuple[int, ...]) -> Floats:
    """The values of the pieces `at` at each time, a column for each attribute."""
    chosen = np.array(attributes, np.int64)
    seconds = (time - pieces.start[at]) / 1e6
    with np.errstate(over="ignore", invalid="ignore"):
        found: Floats = pieces.value[at][:, chosen] + pieces.rate[at][:, chosen] * seconds[:, None]
    return found


def last_begun_at(pieces: Pieces, visible: Ints, key: Ints, time: Ints, seen: Ints) -> Ints:
    """For each object and time the last piece that had begun by then and was visible at the moment `seen`; -1 if there
    is none. `visible`: of each piece, as in `Versions`, never empty."""
    count = len(pieces)
    keys = np.concatenate([key, pieces.key, pieces.key])
    times = np.concatenate([seen, visible[:, 1], visible[:, 0]])
    kind = np.repeat(np.array([LOOKUP, EXPIRE, APPEAR]), [len(key), count, count])
    row = np.concatenate([np.arange(len(key)), np.arange(count), np.arange(count)])
    order = np.lexsort((kind, times, keys))
    return sweep(keys[order], kind[order], row[order], pieces.start, time)


@compiled
def sweep(key: Ints, kind: Ints, row: Ints, start: Ints, time: Ints) -> Ints:
    """Process the entries of each key in order of time. Few pieces of one key are visible at once."""
    found = np.full(len(time), -1, np.int64)
    active, place = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    count = 0
    for i in range(len(key)):
        if i > 0 and key[i] != key[i - 1]:
            count = 0
        at = row[i]
        if kind[i] == APPEAR:
            active[count], place[at] = at, count
            count += 1
        elif kind[i] == EXPIRE:
            count -= 1
            last = active[count]
            active[place[at]], place[last] = last, place[at]
        else:
            best = -1
            for k in range(count):
                if start[active[k]] <= time[at] and (best < 0 or start[active[k]] > start[best]):
                    best = active[k]
            found[at] = best
    return found
