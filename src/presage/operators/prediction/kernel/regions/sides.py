"""One side of a join as arrays, for the loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.segments import build_segments
from presage.operators.prediction.kernel.spec import LESS, Comparator, ValueTerm, chancy

# No bound on the requested times.
ALWAYS, FOREVER = -(2**63), 2**63 - 1


class SideArrays(NamedTuple):
    """For each segment: the `start` of its piece; `ends` (low, high, opens) in seconds from there; `lines` (value,
    rate, threshold) for each join term; `margins` for each value term with a chance of its own: how far the value is
    inside, the change of that per second, the threshold, the value, its rate; `never`: an `=` makes its chance 0;
    `visible`: the first moment at which it is visible, and the first at which it is not."""

    start: Ints
    ends: Floats
    lines: Floats
    margins: Floats
    never: Bools
    visible: Ints


class Side(NamedTuple):
    """The `key` (index into `keys`) and the piece of each segment, and its arrays."""

    keys: Ints
    key: Ints
    piece: Ints
    arrays: SideArrays


def build_side(
    pieces: Pieces, attributes: tuple[int, ...], terms: tuple[ValueTerm, ...], visible: Ints | None = None
) -> Side:
    """`attributes`: of the join terms, in their order. Value terms are evaluated first: what fails them matches
    nothing. `visible`: bounds for each piece."""
    cut = build_segments(pieces, terms, attributes)
    keys, dense = np.unique(pieces.key, return_inverse=True)
    piece = cut.piece
    chosen = np.array(attributes, np.int64)
    lines = np.stack(
        [pieces.value[:, chosen][piece], pieces.rate[:, chosen][piece], pieces.threshold[:, chosen][piece]], axis=2
    )
    arrays = SideArrays(
        pieces.start[piece],
        np.stack([cut.low, cut.high, cut.low_open, cut.high_open], axis=1, dtype=np.float64),
        np.ascontiguousarray(lines),
        margins_of(pieces, terms)[piece],
        never_of(pieces, terms)[piece],
        visible_times(len(pieces), visible)[piece],
    )
    return Side(keys, dense.reshape(-1).astype(np.int64)[piece], piece, arrays)


def visible_times(pieces: int, visible: Ints | None) -> Ints:
    """Bounds for each of so many pieces; None: always visible."""
    return np.tile(np.array([ALWAYS, FOREVER]), (pieces, 1)) if visible is None else visible


def margins_of(pieces: Pieces, terms: tuple[ValueTerm, ...]) -> Floats:
    """A row for each piece, a column for each term with <=, <, >, >=: see `SideArrays`."""
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
    """Pieces with a term `=` over an uncertain value: its chance is 0."""
    never = np.zeros(len(pieces), np.bool_)
    for term in terms:
        if term.comparator == Comparator.EQ:
            never |= pieces.threshold[:, term.attribute] > 0
    return never
