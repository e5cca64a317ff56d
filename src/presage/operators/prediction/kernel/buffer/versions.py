"""What a buffer held and what changed with each arrival come in; versions go out: intervals, and the times at which
each was so.

What a buffer decides does not depend on the questions asked of it. So it is fed first, and all its states are asked at
once: a tuple whose interval an arrival moves is one version before and another one from then on, and two versions meet
only at times at which both were so.
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
from presage.operators.prediction.kernel.regions.evaluation import FOREVER, times_asked

# What happens at one time, in this order.
GO, COME, ASK = 0, 1, 2


class Versions(NamedTuple):
    """The tuple `arrival` is in force from `start` to `end` for whoever asks at a time t from known[:, 0] on and before
    known[:, 1]. By arrival, then time."""

    arrival: Ints
    start: Ints
    end: Ints
    end_open: Bools
    known: Ints


def versions_of(held: InForce, since: Ints, changes: Changes, moment: Ints) -> Versions:
    """`held`: in force before any of the changes, from the time `since` of each; `moment`: of each change, rising;
    before it, the old state is asked. Of what changes several times in one moment the last counts. O(n log n)."""
    arrival = np.concatenate([held.arrival, changes.piece])
    # Stable: in the order in which they were made.
    order = np.argsort(arrival, kind="stable")
    arrival = arrival[order]
    known = np.empty((len(arrival), 2), np.int64)
    known[:, 0] = np.concatenate([since, moment])[order]
    known[:, 1] = FOREVER
    same = arrival[1:] == arrival[:-1]
    known[:-1, 1][same] = known[1:, 0][same]
    start, end, end_open = (
        np.concatenate([getattr(held, name), getattr(changes, name)])[order] for name in ("start", "end", "end_open")
    )
    lives = np.flatnonzero((known[:, 0] < known[:, 1]) & ((start < end) | ((start == end) & ~end_open)))
    return Versions(arrival[lives], start[lives], end[lives], end_open[lives], known[lives])


def unchanged(held: InForce, since: Ints) -> Versions:
    """One of each tuple, for all times from that of it on."""
    known = np.stack([since, np.full(len(since), FOREVER)], axis=1)
    return Versions(held.arrival, held.start, held.end, held.end_open, known)


def shown_at(tables: PredictionTables, pieces: Sequence[Pieces], known: Sequence[Ints | None], spans: Spans) -> Floats:
    """The values of the attributes that are shown, at the beginning of each interval, from what was known then."""
    columns = [np.empty((len(spans), 0))]
    for number, side in enumerate(tables.sides):
        if side.shown:
            own = times_asked(np.arange(len(pieces[number])), None, None, known[number])
            at = last_begun_at(pieces[number], own, spans.codes[:, number], spans.start, spans.start)
            columns.append(values_at(pieces[number], at, spans.start, side.shown))
    return np.concatenate(columns, axis=1)


def values_at(pieces: Pieces, at: Ints, time: Ints, attributes: tuple[int, ...]) -> Floats:
    """What the functions of the pieces `at` say of each time, a column for each of the attributes."""
    chosen = np.array(attributes, np.int64)
    seconds = (time - pieces.start[at]) / 1e6
    with np.errstate(over="ignore", invalid="ignore"):
        found: Floats = pieces.value[at][:, chosen] + pieces.rate[at][:, chosen] * seconds[:, None]
    return found


def last_begun_at(pieces: Pieces, known: Ints, key: Ints, time: Ints, seen: Ints) -> Ints:
    """For each object and time the piece that was the last to have begun by then, as `seen` from another time; -1 if
    there was none. `known`: as `Versions` has it, of each piece, none without any time."""
    count = len(pieces)
    keys = np.concatenate([key, pieces.key, pieces.key])
    times = np.concatenate([seen, known[:, 1], known[:, 0]])
    kind = np.repeat(np.array([ASK, GO, COME]), [len(key), count, count])
    row = np.concatenate([np.arange(len(key)), np.arange(count), np.arange(count)])
    order = np.lexsort((kind, times, keys))
    return sweep(keys[order], kind[order], row[order], pieces.start, time)


@compiled
def sweep(key: Ints, kind: Ints, row: Ints, start: Ints, time: Ints) -> Ints:
    """What comes, goes and is asked, of each key in order of time. Few pieces of one key are known at once."""
    found = np.full(len(time), -1, np.int64)
    known, place = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    count = 0
    for i in range(len(key)):
        if i > 0 and key[i] != key[i - 1]:
            count = 0
        at = row[i]
        if kind[i] == COME:
            known[count], place[at] = at, count
            count += 1
        elif kind[i] == GO:
            count -= 1
            last = known[count]
            known[place[at]], place[last] = last, place[at]
        else:
            best = -1
            for k in range(count):
                if start[known[k]] <= time[at] and (best < 0 or start[known[k]] > start[best]):
                    best = known[k]
            found[at] = best
    return found
