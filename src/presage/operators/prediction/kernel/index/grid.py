"""A grid of cells over time and space: a hash table of the boxes that reach into each cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled
from presage.operators.prediction.kernel.index.boxes import Boxes
from presage.operators.prediction.kernel.jit import bare

# Bits of a cell's number for each axis; three axes fit into 63.
BITS = 20
# A box in more cells than this is kept out of the grid, see `candidates`.
CROWD = 512
# The quantile of the sizes of boxes that sets the size of a cell, whatever the few largest are.
TYPICAL = 0.75


class Grid(NamedTuple):
    """`corner`: of the first cell; `size`: of a cell, for each axis. Buckets: `starts` into `cells` (numbers of cells),
    `boxes` (numbers of boxes) and `edges` (low and high of each box on three axes, adjacent for the processor's cache).
    `axes`: the number of axes of the cells, of those of the boxes."""

    corner: Floats
    size: Floats
    starts: Ints
    cells: Ints
    boxes: Ints
    edges: Floats
    axes: int


def size_cells(one: Boxes, other: Boxes) -> tuple[Floats, Floats]:
    """Corner and size of the cells, which are about as large as the larger boxes on every axis."""
    low = np.minimum(_least(one.low), _least(other.low))
    high = np.maximum(_greatest(one.high), _greatest(other.high))
    typical = np.zeros(len(low))
    for boxes in (one, other):
        widths = np.nan_to_num(boxes.high - boxes.low, nan=0.0, posinf=0.0)
        typical = np.maximum(typical, np.quantile(widths, TYPICAL, axis=0))
        # Outsize boxes are searched by time alone, so on average a box must lie in few cells of time.
        typical[0] = max(typical[0], float(widths[:, 0].mean()) / 4)
    size = np.maximum(typical, (high - low) / (1 << (BITS - 1)))
    size[~(size > 0)] = 1.0
    return low, size


def build_grid(boxes: Boxes, rows: Ints, low: Floats, size: Floats, axes: int) -> Grid:
    """The grid of some boxes. O(n) in the cells that they fill."""
    return Grid(low, size, *fill_table(boxes.low, boxes.high, rows, low, size, axes), axes)


@bare
def cell_of(at: float, low: float, size: float) -> int:
    """The number of a cell along one axis; outside of the grid that of the first or last one."""
    place = np.floor((at - low) / size)
    return int(min(max(place, 0.0), float((1 << BITS) - 1)))


@bare
def bucket_of(cell: int, mask: int) -> int:
    mixed = np.uint64(cell) * np.uint64(0x9E3779B97F4A7C15)
    return int((mixed >> np.uint64(20)) & np.uint64(mask))


@compiled
def count_cells(low: Floats, high: Floats, corner: Floats, size: Floats) -> Ints:
    """The number of cells of each box, capped."""
    result = np.ones(len(low), np.int64)
    for i in range(len(low)):
        for axis in range(low.shape[1]):
            first = cell_of(low[i, axis], corner[axis], size[axis])
            last = cell_of(high[i, axis], corner[axis], size[axis])
            result[i] = min(result[i] * (last - first + 1), 1 << 40)
    return result


@compiled
def fill_table(
    low: Floats, high: Floats, rows: Ints, corner: Floats, size: Floats, axes: int
) -> tuple[Ints, Ints, Ints, Floats]:
    """A counting sort into buckets. A missing axis is one cell wide, and boxes span it."""
    first, last = np.zeros(3, np.int64), np.zeros(3, np.int64)
    total = 0
    for row in rows:
        cells = 1
        for axis in range(axes):
            first[axis] = cell_of(low[row, axis], corner[axis], size[axis])
            cells *= cell_of(high[row, axis], corner[axis], size[axis]) - first[axis] + 1
        total += cells
    mask = 15
    while mask < total:
        mask = 2 * mask + 1
    starts = np.zeros(mask + 2, np.int64)
    cells_in, boxes_in = np.empty(total, np.int64), np.empty(total, np.int64)
    edges = np.empty((total, 6))
    for pass_number in range(2):
        for row in rows:
            for axis in range(axes):
                first[axis] = cell_of(low[row, axis], corner[axis], size[axis])
                last[axis] = cell_of(high[row, axis], corner[axis], size[axis])
            for x in range(first[0], last[0] + 1):
                for y in range(first[1], last[1] + 1):
                    for z in range(first[2], last[2] + 1):
                        cell = (x << (2 * BITS)) | (y << BITS) | z
                        bucket = bucket_of(cell, mask)
                        if pass_number == 0:
                            starts[bucket + 1] += 1
                        else:
                            place = starts[bucket]
                            cells_in[place], boxes_in[place] = cell, row
                            for axis in range(3):
                                there_is = axis < low.shape[1]
                                edges[place, 2 * axis] = low[row, axis] if there_is else -np.inf
                                edges[place, 2 * axis + 1] = high[row, axis] if there_is else np.inf
                            starts[bucket] += 1
        if pass_number == 0:
            for bucket in range(mask + 1):
                starts[bucket + 1] += starts[bucket]
        else:
            # Filling moved every start to the next one.
            for bucket in range(mask + 1, 0, -1):
                starts[bucket] = starts[bucket - 1]
            starts[0] = 0
    return starts, cells_in, boxes_in, edges


def _least(ends: Floats) -> Floats:
    least: Floats = np.where(np.isfinite(ends), ends, np.inf).min(axis=0, initial=np.inf)
    least[~np.isfinite(least)] = 0.0
    return least


def _greatest(ends: Floats) -> Floats:
    greatest: Floats = np.where(np.isfinite(ends), ends, -np.inf).max(axis=0, initial=-np.inf)
    greatest[~np.isfinite(greatest)] = 0.0
    return greatest
