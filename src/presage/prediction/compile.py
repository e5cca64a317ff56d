"""A PredictedMatch node -> its kernel. Knows no Spark."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from presage.prediction.kernel.matching import PredictionKernel
from presage.prediction.nodes import PredictedMatch


def prediction_kernel(node: PredictedMatch) -> PredictionKernel:
    """What is random in a statement is the same every time, and another in another statement."""
    said = hashlib.blake2b(node.text.encode(), digest_size=4).digest()
    return PredictionKernel(replace(node.tables, seed=int.from_bytes(said, "big")))
