"""The filter step: pairs of boxes that overlap, each once, in blocks.

The right side is indexed by a grid of cells over time and up to two dimensions; each box of the left probes the cells
that it reaches. A pair with several common cells is reported from the one that holds the lower corner of their overlap.
Boxes far larger than the others would fill the grid: they are joined by time alone. At constant density the cost is
linear in the number of boxes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints, compiled
from presage.operators.prediction.kernel.index.boxes import Boxes, in_time, take_boxes
from presage.operators.prediction.kernel.index.grid import (
    BITS,
    CROWD,
    Grid,
    bucket_of,
    build_grid,
    cell_of,
    count_cells,
    size_cells,
)

# Pairs of a block: enough to amortize a call, few enough for the processor's cache.
BLOCK = 1 << 17
# Rows of the left in one share of the work.
SHARE = 1 << 12
# Which keys may be paired: any, different ones, the smaller with the greater.
ANY, DIFFERENT, RISING = 0, 1, 2


class Probe(NamedTuple):
    """Rows of the left that probe a grid of the right."""

    rows: Ints
    grid: Grid


class Search:
    """The boxes of two sides, searched by ranges of the left's keys."""

    def __init__(self, left: Boxes, right: Boxes, key_left: Ints, key_right: Ints, pairing: int) -> None:
        self._left, self._keys, self._pairing = left, (key_left, key_right), pairing
        self._probes = [
            Probe(probe.rows[np.argsort(key_left[probe.rows], kind="stable")], probe.grid)
            for probe in _probes(left, right)
        ]

    def cuts(self) -> Ints:
        """Keys of the left that cut the work into shares."""
        keys = [self._keys[0][probe.rows[SHARE::SHARE]] for probe in self._probes]
        return np.unique(np.concatenate([np.empty(0, np.int64), *keys]))

    def pairs(self, first: int | None = None, stop: int | None = None) -> Iterator[tuple[Ints, Ints]]:
        """Blocks of pairs (row of the left, row of the right) for the left keys from `first` up to, without, `stop`."""
        for probe in self._probes:
            keys = self._keys[0][probe.rows]
            begin = 0 if first is None else int(np.searchsorted(keys, first))
            end = len(keys) if stop is None else int(np.searchsorted(keys, stop))
            rows, begin, room = probe.rows[begin:end], 0, BLOCK
            while begin < len(rows):
                a, b, reached = probe_block(self._left, *self._keys, self._pairing, rows, begin, probe.grid, room)
                # One row may have more pairs than a block.
                room = 2 * room if reached == begin else BLOCK
                begin = reached
                if len(a):
                    yield a, b


def candidates(left: Boxes, right: Boxes, key_left: Ints, key_right: Ints, pairing: int) -> Iterator[tuple[Ints, Ints]]:
    """Blocks of pairs (row of the left, row of the right)."""
    return Search(left, right, key_left, key_right, pairing).pairs()


def _probes(left: Boxes, right: Boxes) -> list[Probe]:
    """Most boxes by all axes; then the outsize ones of the right, and those of the left, by time alone."""
    rows, others = np.flatnonzero(in_time(left)), np.flatnonzero(in_time(right))
    if not len(rows) or not len(others):
        return []
    axes = left.low.shape[1]
    # Boxes outside of the requested times are inverted and must not shrink the cells.
    low, size = size_cells(take_boxes(left, rows), take_boxes(right, others))
    big_left = count_cells(left.low, left.high, low, size)[rows] > CROWD
    big_right = count_cells(right.low, right.high, low, size)[others] > CROWD
    probes = [Probe(rows[~big_left], build_grid(right, others[~big_right], low, size, axes))]
    for these, those in ((rows[~big_left], others[big_right]), (rows[big_left], others)):
        if len(these) and len(those):
            probes.append(Probe(these, build_grid(right, those, low, size, 1)))
    return probes


@compiled
def probe_block(
    left: Boxes, key_a: Ints, key_b: Ints, pairing: int, rows: Ints, begin: int, grid: Grid, room: int
) -> tuple[Ints, Ints, int]:
    """The pairs of rows from `begin` on, as long as there is space for all pairs of a row, and where to continue."""
    low_a, high_a = left
    corner, size, starts, cells, boxes, edges, axes = grid
    found_a, found_b = np.empty(room, np.int64), np.empty(room, np.int64)
    made, whole = 0, 0
    first, last = np.zeros(3, np.int64), np.zeros(3, np.int64)
    at, reach = np.zeros(3, np.int64), np.zeros((3, 2))
    mask = len(starts) - 2
    place = begin
    while place < len(rows) and made < room:
        a = rows[place]
        for axis in range(low_a.shape[1]):
            reach[axis, 0], reach[axis, 1] = low_a[a, axis], high_a[a, axis]
        for axis in range(axes):
            first[axis] = cell_of(low_a[a, axis], corner[axis], size[axis])
            last[axis] = cell_of(high_a[a, axis], corner[axis], size[axis])
        for x in range(first[0], last[0] + 1):
            for y in range(first[1], last[1] + 1):
                for z in range(first[2], last[2] + 1):
                    at[0], at[1], at[2] = x, y, z
                    cell = (x << (2 * BITS)) | (y << BITS) | z
                    bucket = bucket_of(cell, mask)
                    for i in range(starts[bucket], starts[bucket + 1]):
                        if cells[i] != cell:
                            continue
                        b = boxes[i]
                        if pairing == RISING and key_a[a] >= key_b[b]:
                            continue
                        if pairing == DIFFERENT and key_a[a] == key_b[b]:
                            continue
                        if edges[i, 0] > reach[0, 1] or edges[i, 1] < reach[0, 0]:
                            continue
                        if edges[i, 2] > reach[1, 1] or edges[i, 3] < reach[1, 0]:
                            continue
                        if edges[i, 4] > reach[2, 1] or edges[i, 5] < reach[2, 0]:
                            continue
                        here = True
                        for axis in range(axes):
                            shared = max(reach[axis, 0], edges[i, 2 * axis])
                            here = here and cell_of(shared, corner[axis], size[axis]) == at[axis]
                        if not here:
                            continue
                        if made < room:
                            found_a[made], found_b[made] = a, b
                        made += 1
        if made <= room:
            whole = made
            place += 1
    return found_a[:whole].copy(), found_b[:whole].copy(), place
