"""A PredictedMatch node -> its kernel. Knows no Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from presage.columnar.key_hashes import hashes_of_several
from presage.prediction.kernel.matching import PredictionKernel
from presage.prediction.nodes import PredictedMatch


def prediction_kernel(node: PredictedMatch) -> PredictionKernel:
    """What is random in a statement is the same every time, and another in another statement."""
    said = hashlib.blake2b(node.text.encode(), digest_size=4).digest()
    tables = replace(node.tables, seed=int.from_bytes(said, "big"))
    return PredictionKernel(tables, _hashes if node.spread_by() else None)


def _hashes(columns: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    return hashes_of_several(columns, rows).view(np.int64)
