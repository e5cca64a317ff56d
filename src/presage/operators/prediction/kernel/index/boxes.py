"""Bounding boxes of segments: the times at which each is in force, and its values then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.regions.ends import NEAR
from presage.operators.prediction.kernel.regions.evaluation import Period
from presage.operators.prediction.kernel.regions.sides import Side
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, Mode

# More dimensions than these make more cells than they save pairs.
INDEXED = 2


class Boxes(NamedTuple):
    """`low`, `high`: a row for each segment; microseconds (as float64, from an origin), then the indexed values."""

    low: Floats
    high: Floats


def indexed_terms(spec: JoinSpec) -> tuple[int, ...]:
    """The numbers of the terms that bound a distance: the first few with <=, <, =."""
    close = (Comparator.LE, Comparator.LT, Comparator.EQ)
    return tuple(k for k, term in enumerate(spec.terms) if term.comparator in close)[:INDEXED]


def build_boxes(side: Side, spec: JoinSpec, origin: int, period: Period, reaching: bool) -> Boxes:
    """Boxes that overlap wherever two segments can match at a requested time; the earlier of a pair may be older by the
    window. `reaching`: this side's boxes are widened by the window and by the reach of the terms, those of the other
    side by their thresholds alone."""
    terms, arrays = indexed_terms(spec), side.arrays
    shift = (arrays.start - origin).astype(np.float64)
    # Exact as floats; missing bounds stay far away.
    first = np.maximum(arrays.visible[:, 0], period.after) - float(origin)
    last = np.minimum(arrays.visible[:, 1], period.until) - float(origin)
    # A microsecond on either side, for rounding.
    low = np.maximum(shift + arrays.ends[:, 0] * 1e6, first - spec.window) - 1
    high = np.minimum(shift + arrays.ends[:, 1] * 1e6, last) + 1
    lows, highs = [low], [high]
    if reaching:
        lows, highs = [low - spec.window], [high + spec.window]
    for k in terms:
        line = arrays.lines[:, k]
        with np.errstate(over="ignore", invalid="ignore"):
            ends = [line[:, 0] + line[:, 1] * ((at - shift) / 1e6) for at in (low, high)]
        reach = line[:, 2] if spec.terms[k].mode == Mode.MAY else np.zeros(len(line))
        if reaching:
            reach = reach + max(0.0, spec.terms[k].constant)
        smallest, greatest = np.minimum(*ends), np.maximum(*ends)
        with np.errstate(over="ignore", invalid="ignore"):
            margin = reach + NEAR * (np.abs(smallest) + np.abs(greatest) + reach)
            lows.append(_or_infinite(smallest - margin, -np.inf))
            highs.append(_or_infinite(greatest + margin, np.inf))
    return Boxes(np.ascontiguousarray(np.stack(lows, 1)), np.ascontiguousarray(np.stack(highs, 1)))


def in_time(boxes: Boxes) -> Bools:
    """Segments with any requested time."""
    kept: Bools = boxes.low[:, 0] <= boxes.high[:, 0]
    return kept


def take_boxes(boxes: Boxes, rows: Ints) -> Boxes:
    return Boxes(boxes.low[rows], boxes.high[rows])


def origin_of(*starts: Ints) -> int:
    """A time near all of them."""
    firsts = [int(start.min()) for start in starts if len(start)]
    return min(firsts, default=0)


def _or_infinite(ends: Floats, instead: float) -> Floats:
    result: Floats = np.where(np.isnan(ends), instead, ends)
    return result
