"""A SequenceMatch node -> its kernel. Knows no Spark."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from presage.columnar.evaluate import supports
from presage.columnar.oracle import EvaluatorOracle
from presage.errors import error
from presage.model.arrow import to_arrow
from presage.plan.nodes import Field
from presage.probability.inference.kernel import WholeKernel, inference_kernel
from presage.probability.kernel.hmm_filter import FilterKernel
from presage.probability.kernel.hmm_spec import Columns
from presage.probability.kernel.sequence import SequenceKernel
from presage.probability.nodes import Infer, SequenceMatch

KEYS = "_key"


def sequence_kernel(node: SequenceMatch, relations: Mapping[str, pa.Table], seed: int = 0) -> SequenceKernel:
    for condition in node.conditions:
        if not supports(condition):
            raise error("UNSUPPORTED", condition.span, what="a function that only Spark computes",
                        where="over several subgoals", fix="use it on one subgoal at a time")  # fmt: skip
    oracle = EvaluatorOracle(dict(enumerate(node.conditions)), dict(relations)) if node.conditions else None
    return SequenceKernel(node.tables, tuple(field.name for field in node.made), oracle, seed)


def infer_kernel(node: Infer) -> FilterKernel | WholeKernel:
    kinds = {name: f.type for f in node.fields for column, name in node.shown if column == f.name}
    columns = Columns(node.key, node.observes, node.attribute, to_arrow(kinds[node.attribute]))
    return inference_kernel(node.model, columns, node.method, node.particles, node.markov)


def inferred_columns(node: Infer) -> tuple[Field, ...]:
    """What the kernel makes beside time and order, with its own names."""
    kinds = {f.name: f.type for f in node.fields}
    return tuple(Field(name, kinds[column]) for column, name in node.shown)
