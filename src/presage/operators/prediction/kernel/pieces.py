"""Pieces: for each update-tuple the linear functions of its attributes, and when they are in force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints


@dataclass(frozen=True)
class Pieces:
    """By key, then time. `key`: any numbers. `start`, `end`: microseconds; in force from `start` on, up to `end`, which
    belongs to it unless `end_open`. `value` (at `start`), `rate` (per second), `threshold`: a row for each piece, a
    column for each predicted attribute."""

    key: Ints
    start: Ints
    end: Ints
    end_open: Bools
    value: Floats
    rate: Floats
    threshold: Floats

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: np.ndarray) -> Pieces:
        """The chosen rows; they must keep the order."""
        return Pieces(*(getattr(self, name)[rows] for name in Pieces.__annotations__))


class InForce(NamedTuple):
    """By key, then time: the `row` of an update, and when it is in force."""

    row: Ints
    start: Ints
    end: Ints
    end_open: Bools


def build_pieces(key: Ints, at: Ints, value: Floats, rate: Floats, threshold: Floats, period: int) -> Pieces:
    """Each update is in force until the next of its key, at most for `period` microseconds. Of two at one time the
    later row wins. O(n log n)."""
    row, start, end, end_open = in_force(key, at, period)
    return Pieces(key[row], start, end, end_open, _rows(value, row), _rows(rate, row), _rows(threshold, row))


def in_force(key: Ints, at: Ints, period: int) -> InForce:
    """The interval of each update, see `build_pieces`."""
    order = np.lexsort((at, key))
    key, at = key[order], at[order]
    same_key = key[1:] == key[:-1]
    # Of two updates at one time the earlier row is never in force.
    last = np.ones(len(key), np.bool_)
    last[:-1] = ~(same_key & (at[1:] == at[:-1]))
    order, key, at = order[last], key[last], at[last]
    end = at + period
    end_open = np.zeros(len(key), np.bool_)
    replaced = (key[1:] == key[:-1]) & (at[1:] <= end[:-1])
    end[:-1][replaced] = at[1:][replaced]
    end_open[:-1] = replaced
    return InForce(order, at, end, end_open)


def usable(pieces: Pieces, attributes: tuple[int, ...]) -> Bools:
    """Pieces with a value, a rate and a threshold for each of these attributes. The others satisfy no term."""
    chosen = np.array(sorted(set(attributes)), np.int64)
    parts = (part[:, chosen] for part in (pieces.value, pieces.rate, pieces.threshold))
    return np.asarray(complete(*parts).all(axis=1))


def complete(value: Floats, rate: Floats, threshold: Floats) -> Bools:
    """Where value, rate and threshold are finite, and the threshold is not negative."""
    return np.isfinite(value) & np.isfinite(rate) & np.isfinite(threshold) & (threshold >= 0)


def _rows(columns: Floats, order: np.ndarray) -> Floats:
    taken: Floats = np.ascontiguousarray(np.asarray(columns, np.float64)[order])
    return taken
