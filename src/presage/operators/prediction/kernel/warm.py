"""Compilation of all loops into the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec
from presage.operators.prediction.kernel.buffer.versions import last_begun_at
from presage.operators.prediction.kernel.chances.likelihood import value_chances
from presage.operators.prediction.kernel.chances.star_chances import chances_of
from presage.operators.prediction.kernel.intervals.row_order import row_order
from presage.operators.prediction.kernel.intervals.spans import Spans
from presage.operators.prediction.kernel.join import join, join_with_boundary
from presage.operators.prediction.kernel.pieces import Pieces, build_pieces
from presage.operators.prediction.kernel.query import Pair, PredictionTables, Side
from presage.operators.prediction.kernel.spec import Comparator, Errors, JoinSpec, JoinTerm, ValueSpec, ValueTerm
from presage.operators.prediction.kernel.values import validity

SECOND = 1_000_000


def warm() -> None:
    """Run a join, a value term and a buffer of two objects, which compiles every loop of the folder."""
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


def warm_buffer() -> None:
    spec = BufferSpec(limit=1, width=0, period=1, attributes=1)
    buffer = Buffer(spec)
    buffer.feed(np.arange(2), np.zeros(2, np.int64), np.zeros((2, 1)), np.zeros((2, 1)))
    Buffer.from_state(spec, buffer.to_state()).advance(5)
    times, zeros = np.zeros(1, np.int64), np.zeros((1, 1))
    piece = Pieces(times, times, times, np.zeros(1, np.bool_), zeros, zeros, zeros)
    last_begun_at(piece, np.array([[-1, 1]]), times, times, times)


if __name__ == "__main__":
    warm()
