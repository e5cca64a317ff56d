"""A SequenceMatch node -> its kernel. Knows no Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import supports
from presage.columnar.key_hashes import hashes_of_several
from presage.columnar.row_programs import EvaluatorPredicates
from presage.errors import error
from presage.model.arrow import to_arrow
from presage.operators.sequence.inference.kernel import WholeKernel, inference_kernel
from presage.operators.sequence.kernel.hidden_markov.filter import FilterKernel
from presage.operators.sequence.kernel.hidden_markov.spec import Columns
from presage.operators.sequence.kernel.sequence import SequenceKernel
from presage.operators.sequence.nodes import Infer, SequenceMatch
from presage.plan.nodes import Field

KEYS = "_key"


def sequence_kernel(node: SequenceMatch, relations: Mapping[str, pa.Table]) -> SequenceKernel:
    for condition in node.conditions:
        if not supports(condition):
            raise error(
                "UNSUPPORTED",
                condition.span,
                what="a function that only Spark computes",
                where="over several subgoals",
                fix="use it on one subgoal at a time",
            )
    oracle = EvaluatorPredicates(dict(enumerate(node.conditions)), dict(relations)) if node.conditions else None
    tables = node.tables
    goals = " ; ".join(goal.text for goal in tables.query.goals)
    seed = seed_of(f"{goals} {tables.query.selected} {tables.error} {tables.confidence}")
    return SequenceKernel(tables, tuple(field.name for field in node.made), oracle, seed, _names)


def _names(columns: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    return hashes_of_several(columns, rows).view(np.int64)


def seed_of(statement: str) -> int:
    """What is random in a statement is the same every time, and another in another statement."""
    return int.from_bytes(hashlib.blake2b(statement.encode(), digest_size=8).digest(), "big", signed=True)


def infer_kernel(node: Infer) -> FilterKernel | WholeKernel:
    kinds = {name: f.type for f in node.fields for column, name in node.shown if column == f.name}
    columns = Columns(node.key, node.observes, node.attribute, to_arrow(kinds[node.attribute]))
    seed = seed_of(f"{node.name} {node.key} {node.attribute} {node.particles}")
    return inference_kernel(node.model, columns, node.method, node.particles, node.markov, seed)


def inferred_columns(node: Infer) -> tuple[Field, ...]:
    """What the kernel makes beside time and order, with its own names."""
    kinds = {f.name: f.type for f in node.fields}
    return tuple(Field(name, kinds[column]) for column, name in node.shown)
