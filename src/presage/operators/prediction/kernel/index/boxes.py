"""Boxes of segments: when each is in force, and the values that it takes meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.regions.ends import NEAR
from presage.operators.prediction.kernel.regions.sides import Side
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, Mode

# More dimensions than these make more cells than they save pairs.
INDEXED = 2


@dataclass(frozen=True)
class Boxes:
    """`low`, `high`: a row for each segment; microseconds (as float64, from `origin`), then the indexed values."""

    low: Floats
    high: Floats
    origin: int

    def __len__(self) -> int:
        return len(self.low)


def indexed_terms(spec: JoinSpec) -> tuple[int, ...]:
    """Terms that keep two objects close, by number: the first few with <=, <, =."""
    close = (Comparator.LE, Comparator.LT, Comparator.EQ)
    return tuple(k for k, term in enumerate(spec.terms) if term.comparator in close)[:INDEXED]


def build_boxes(
    side: Side, spec: JoinSpec, origin: int, asked: tuple[Floats | float, Floats | float], reaching: bool
) -> Boxes:
    """Boxes that overlap wherever two segments can match. `asked`: of each segment the times t, from `origin`, in
    microseconds; the earlier of a pair may be older by the window. `reaching`: this side's boxes are widened by the
    window and by what the terms allow; of the others only by their own thresholds."""
    terms = indexed_terms(spec)
    shift = (side.start - origin).astype(np.float64)
    # A microsecond on either side, for rounding.
    low = np.maximum(shift + side.ends[:, 0] * 1e6, asked[0] - spec.window) - 1
    high = np.minimum(shift + side.ends[:, 1] * 1e6, asked[1]) + 1
    lows, highs = [low], [high]
    if reaching:
        lows, highs = [low - spec.window], [high + spec.window]
    for k in terms:
        line = side.lines[:, k]
        with np.errstate(over="ignore", invalid="ignore"):
            ends = [line[:, 0] + line[:, 1] * ((at - shift) / 1e6) for at in (low, high)]
        reach = line[:, 2] if spec.terms[k].mode == Mode.MAY else np.zeros(len(side))
        if reaching:
            reach = reach + max(0.0, spec.terms[k].constant)
        smallest, greatest = np.minimum(*ends), np.maximum(*ends)
        with np.errstate(over="ignore", invalid="ignore"):
            margin = reach + NEAR * (np.abs(smallest) + np.abs(greatest) + reach)
            lows.append(_or_infinite(smallest - margin, -np.inf))
            highs.append(_or_infinite(greatest + margin, np.inf))
    return Boxes(np.ascontiguousarray(np.stack(lows, 1)), np.ascontiguousarray(np.stack(highs, 1)), origin)


def in_time(boxes: Boxes) -> Bools:
    """Segments of which any time was asked for."""
    kept: Bools = boxes.low[:, 0] <= boxes.high[:, 0]
    return kept


def take_boxes(boxes: Boxes, rows: Ints) -> Boxes:
    return Boxes(boxes.low[rows], boxes.high[rows], boxes.origin)


def origin_of(*starts: Ints) -> int:
    """A time near all of them."""
    firsts = [int(start.min()) for start in starts if len(start)]
    return min(firsts, default=0)


def _or_infinite(ends: Floats, instead: float) -> Floats:
    result: Floats = np.where(np.isnan(ends), instead, ends)
    return result
