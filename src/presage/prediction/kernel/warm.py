"""Nothing comes in, compiled loops go out to the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.prediction.kernel.join import join, join_with_boundary
from presage.prediction.kernel.likelihood import value_chances
from presage.prediction.kernel.ordering import row_order
from presage.prediction.kernel.pieces import build_pieces
from presage.prediction.kernel.query import Pair, PredictionTables, Side
from presage.prediction.kernel.spans import Spans
from presage.prediction.kernel.spec import Comparator, Errors, JoinSpec, JoinTerm, ValueSpec, ValueTerm
from presage.prediction.kernel.star_chances import chances_of
from presage.prediction.kernel.values import validity
from presage.prediction.kernel.warm_buffer import warm_buffer

SECOND = 1_000_000


def warm() -> None:
    """Compile every loop of the folder, by a join, a value term and a buffer of two objects."""
    key, at = np.array([0, 1]), np.zeros(2, np.int64)
    value, rate, threshold = np.array([[0.0], [1.0]]), np.zeros((2, 1)), np.ones((2, 1))
    pieces = build_pieces(key, at, value, rate, threshold, SECOND)
    spec = JoinSpec((JoinTerm(0, 0, Comparator.LE, 2.0),), SECOND, same=True)
    join(pieces, pieces, spec)
    join_with_boundary(pieces, pieces, spec)
    validity(pieces, ValueSpec((ValueTerm(0, Comparator.LE, 1.0),)))
    row_order(at, [pa.chunked_array([key])], at)
    warm_buffer()
    closed, codes = np.zeros(1, np.bool_), np.zeros((1, 3), np.int64)
    three = PredictionTables((), (Side(0),) * 3, (Pair(0, 1, spec), Pair(1, 2, spec)))
    chances_of(three, [pieces] * 3, Spans(codes, at[:1], at[:1], closed, closed, np.zeros(1)))
    value_chances(value[:, 0], threshold[:, 0], Comparator.LE, 1.0, Errors())


if __name__ == "__main__":
    warm()
