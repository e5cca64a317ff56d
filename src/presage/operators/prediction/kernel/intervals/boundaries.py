"""The boundary column: for each row the polygons of (t_a, t_b), as lists of corners."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Ints
from presage.operators.prediction.kernel.intervals.rows import MOMENT
from presage.operators.prediction.kernel.intervals.spans import Spans, equal_rows
from presage.operators.prediction.kernel.join import join_with_boundary
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import PredictionTables
from presage.operators.prediction.kernel.regions.polygons import Polygons


def boundaries_of(tables: PredictionTables, pieces: list[Pieces], spans: Spans) -> pa.Array:
    """For each row its polygons by their begin: one or several for each pair of functions."""
    (pair,) = tables.pairs
    matches, polygons = join_with_boundary(pieces[pair.left], pieces[pair.right], pair.spec)
    corner = np.maximum(polygons.t_a, polygons.t_b)
    starts = polygons.starts[:-1]
    whole = np.diff(polygons.starts) > 0
    low, high = np.zeros(len(starts), np.int64), np.zeros(len(starts), np.int64)
    if whole.any():
        low[whole], high[whole] = (edge.reduceat(corner, starts[whole]) for edge in (np.minimum, np.maximum))
    codes = np.stack([matches.left, matches.right], axis=1)[polygons.row]
    row, polygon = _overlapping(spans, codes, low, high, whole, pair.left, pair.right)
    order = np.lexsort((polygons.right[polygon], polygons.left[polygon], low[polygon], row))
    row, polygon = row[order], polygon[order]
    counts = np.diff(polygons.starts)[polygon]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    # Begin with the first corner: where clipping began depends on ends that a step does not know yet.
    first = _first_corners(polygons)[polygon]
    at = np.repeat(starts[polygon], counts) + (within + np.repeat(first, counts)) % np.repeat(counts, counts)
    points = pa.StructArray.from_arrays(
        [pa.array(polygons.t_a[at]).cast(MOMENT), pa.array(polygons.t_b[at]).cast(MOMENT)], names=["t_a", "t_b"]
    )
    inner = pa.ListArray.from_arrays(pa.array(_offsets(counts), pa.int32()), points)
    return pa.ListArray.from_arrays(pa.array(_offsets(np.bincount(row, minlength=len(spans))), pa.int32()), inner)


def _first_corners(polygons: Polygons) -> Ints:
    """In each polygon the position of the corner with the least (t_a, t_b)."""
    counts = np.diff(polygons.starts)
    polygon = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((polygons.t_b, polygons.t_a, polygon))
    first = np.zeros(len(counts), np.int64)
    whole = counts > 0
    first[whole] = order[polygons.starts[:-1][whole]] - polygons.starts[:-1][whole]
    return first


def _overlapping(
    spans: Spans, codes: Ints, low: Ints, high: Ints, whole: np.ndarray, left: int, right: int
) -> tuple[Ints, Ints]:
    """Pairs (row, polygon) of the same objects whose times overlap."""
    row, polygon = equal_rows(spans.codes[:, [left, right]], codes)
    kept = whole[polygon] & (low[polygon] <= spans.end[row]) & (high[polygon] >= spans.start[row])
    return row[kept], polygon[kept]


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
