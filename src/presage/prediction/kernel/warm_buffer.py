"""Nothing comes in; the compiled loops of the buffer go out to the cache on disk."""

from __future__ import annotations

import numpy as np

from presage.prediction.kernel.buffer import Buffer, BufferSpec


def warm_buffer() -> None:
    spec = BufferSpec(limit=1, width=0, period=1, attributes=1)
    buffer = Buffer(spec)
    buffer.feed(np.arange(2), np.zeros(2, np.int64), np.zeros((2, 1)), np.zeros((2, 1)))
    Buffer.from_state(spec, buffer.to_state()).advance(5)
