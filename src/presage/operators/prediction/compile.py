"""The kernel of a PredictedMatch node, and the fields of its stages on Spark. Imports no Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from presage.columnar.key_hashes import hashes_of_several
from presage.model.types import BOOLEAN, DOUBLE, INT, LONG
from presage.operators.prediction.kernel.intervals.rows import object_column
from presage.operators.prediction.kernel.query import SOURCE
from presage.operators.prediction.kernel.staged_join import (
    END,
    END_OPEN,
    FROM,
    FROM_OPEN,
    PART,
    PROBABILITY,
    START,
    TO,
    TO_OPEN,
)
from presage.operators.prediction.kernel.validator import PredictionKernel
from presage.operators.prediction.nodes import PredictedMatch
from presage.plan.nodes import Field


def prediction_kernel(node: PredictedMatch, threads: int = 1) -> PredictionKernel:
    """The seed depends on the statement alone: the same in every run, and another for another statement."""
    digest = hashlib.blake2b(node.text.encode(), digest_size=4).digest()
    tables = replace(node.tables, seed=int.from_bytes(digest, "big"))
    return PredictionKernel(tables, _hashes if node.spread_by() else None, threads)


def _hashes(columns: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    return hashes_of_several(columns, rows).view(np.int64)


def piece_fields(node: PredictedMatch, stream: int) -> list[Field]:
    """The fields of a stream's pieces, besides time and order."""
    own = [Field(n.name, n.expr.type) for n in node.prepared[stream]]
    return [Field(SOURCE, INT), *own, Field(PART, LONG), Field(START, LONG), Field(END, LONG), Field(END_OPEN, BOOLEAN)]


def interval_fields(node: PredictedMatch) -> list[Field]:
    """The fields of the intervals of a part, besides time and order."""
    fields: list[Field] = []
    for number, side in enumerate(node.tables.sides):
        types = {n.name: n.expr.type for n in node.prepared[side.stream]}
        names = (*node.tables.streams[side.stream].key, *side.identity)
        fields += [Field(object_column(number, i), types[name]) for i, name in enumerate(names)]
    fields += [Field(FROM, LONG), Field(TO, LONG), Field(FROM_OPEN, BOOLEAN), Field(TO_OPEN, BOOLEAN)]
    shown = sum(len(side.shown) for side in node.tables.sides)
    return [*fields, Field(PROBABILITY, DOUBLE), *(Field(f"x{i}", DOUBLE) for i in range(shown))]
