"""One side of a join as arrays for the loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.segments import Segments, build_segments
from presage.operators.prediction.kernel.spec import LESS, Comparator, ValueTerm, chancy


@dataclass(frozen=True)
class Side:
    """Of each segment: `key` (dense numbers by `keys`), `start` of its piece; `ends` (low, high, opens) in seconds from
    there; `lines` (value, rate, threshold) of each join term; `margins` of each value term with a chance of its own:
    how far inside, the change of that per second, the threshold, the value, its rate; `never`: that an `=` makes its
    chance 0."""

    keys: Ints
    key: Ints
    piece: Ints
    start: Ints
    ends: Floats
    lines: Floats
    margins: Floats
    never: Bools

    def __len__(self) -> int:
        return len(self.key)


def build_side(pieces: Pieces, attributes: tuple[int, ...], terms: tuple[ValueTerm, ...]) -> Side:
    """`attributes`: of the join terms, in their order. Value terms run first: what fails them never meets anything."""
    cut = build_segments(pieces, terms, attributes)
    keys, dense = np.unique(pieces.key, return_inverse=True)
    piece = cut.piece
    chosen = np.array(attributes, np.int64)
    lines = np.stack(
        [pieces.value[:, chosen][piece], pieces.rate[:, chosen][piece], pieces.threshold[:, chosen][piece]], axis=2
    )
    return Side(
        keys,
        dense.reshape(-1).astype(np.int64)[piece],
        piece,
        pieces.start[piece],
        _ends(cut),
        np.ascontiguousarray(lines),
        margins_of(pieces, terms)[piece],
        never_of(pieces, terms)[piece],
    )


def margins_of(pieces: Pieces, terms: tuple[ValueTerm, ...]) -> Floats:
    """A row for each piece, a column for each term with <=, <, >, >=: see `Side`."""
    columns = []
    for term in terms:
        if not chancy(term):
            continue
        sign = -1.0 if term.comparator in LESS else 1.0
        value, rate, threshold = (part[:, term.attribute] for part in (pieces.value, pieces.rate, pieces.threshold))
        columns.append(np.stack([sign * (value - term.constant), sign * rate, threshold, value, rate], axis=1))
    if not columns:
        return np.empty((len(pieces), 0, 5))
    return np.ascontiguousarray(np.stack(columns, axis=1))


def never_of(pieces: Pieces, terms: tuple[ValueTerm, ...]) -> Bools:
    """Pieces with a term `=` over a value that is not sure: no single value has a chance."""
    never = np.zeros(len(pieces), np.bool_)
    for term in terms:
        if term.comparator == Comparator.EQ:
            never |= pieces.threshold[:, term.attribute] > 0
    return never


def _ends(cut: Segments) -> Floats:
    columns = [cut.low, cut.high, cut.low_open.astype(np.float64), cut.high_open.astype(np.float64)]
    return np.ascontiguousarray(np.stack(columns, axis=1))
