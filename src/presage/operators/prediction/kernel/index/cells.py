"""Cells of time and space, hashed to parts: pieces that can match share a cell, and so a part.

A piece that reaches into many cells goes to all parts.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.index.boxes import Boxes, build_boxes, in_time
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import Pair, PredictionTables
from presage.operators.prediction.kernel.regions.evaluation import ANY_TIME
from presage.operators.prediction.kernel.regions.sides import build_side

# The most cells of a piece that does not go to all parts.
MOST_CELLS = 64


def parts_of(pieces: Pieces, stream: int, tables: PredictionTables, sizes: Floats, parts: int) -> tuple[Ints, Ints]:
    """Pairs (piece, part), each once. `sizes`: of a cell, in microseconds and in the units of the indexed values."""
    pair = tables.pairs[0]
    columns = [
        _of_boxes(*_boxes(pieces, pair, reaching), sizes, parts)
        for side, reaching in ((pair.left, True), (pair.right, False))
        if tables.sides[side].stream == stream
    ]
    piece, part = (np.concatenate(column) for column in zip(*columns, strict=True))
    both = np.unique(piece * parts + part)
    return both // parts, both % parts


def _boxes(pieces: Pieces, pair: Pair, reaching: bool) -> tuple[Boxes, Ints]:
    spec = pair.spec
    attributes = tuple(term.left if reaching else term.right for term in spec.terms)
    side = build_side(pieces, attributes, spec.left if reaching else spec.right)
    return build_boxes(side, spec, 0, ANY_TIME.period, reaching), side.piece


def _of_boxes(boxes: Boxes, piece: Ints, sizes: Floats, parts: int) -> tuple[Ints, Ints]:
    kept = np.flatnonzero(in_time(boxes))
    low, high = np.floor(boxes.low[kept] / sizes), np.floor(boxes.high[kept] / sizes)
    wide = high - low + 1
    total = wide.prod(axis=1)
    small = np.isfinite(total) & (total <= MOST_CELLS)
    counts = total[small].astype(np.int64)
    row = np.repeat(np.arange(len(counts)), counts)
    left = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    mixed = np.zeros(len(row), np.uint64)
    for axis in range(low.shape[1]):
        width = wide[small, axis].astype(np.int64)[row]
        cell = low[small, axis].astype(np.int64)[row] + left % width
        left = left // width
        mixed = (mixed ^ cell.view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    near = (mixed % np.uint64(parts)).astype(np.int64)
    large = kept[~small]
    everywhere = np.tile(np.arange(parts), len(large))
    return (
        np.concatenate([piece[kept[small]][row], np.repeat(piece[large], parts)]),
        np.concatenate([near, everywhere]),
    )
