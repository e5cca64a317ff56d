"""Nothing comes in; the compiled loops of the buffer go out to the cache on disk."""

from __future__ import annotations

import numpy as np

from presage.prediction.kernel.buffer import Buffer, BufferSpec
from presage.prediction.kernel.pieces import Pieces
from presage.prediction.kernel.versions import last_begun_at


def warm_buffer() -> None:
    spec = BufferSpec(limit=1, width=0, period=1, attributes=1)
    buffer = Buffer(spec)
    buffer.feed(np.arange(2), np.zeros(2, np.int64), np.zeros((2, 1)), np.zeros((2, 1)))
    Buffer.from_state(spec, buffer.to_state()).advance(5)
    times, zeros = np.zeros(1, np.int64), np.zeros((1, 1))
    piece = Pieces(times, times, times, np.zeros(1, np.bool_), zeros, zeros, zeros)
    last_begun_at(piece, np.array([[-1, 1]]), times, times, times)
