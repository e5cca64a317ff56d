"""RECALL in the registry of operators.

Its nodes are no stages. A stage is a function of its input and its state. A recall also reads history, chunk by chunk,
at a pace of its own: the rows of a step depend on how much of the archive has been read. Its nodes therefore run in
modules of their own: `deployed` in deployed statements, `spark_history` in bounded queries.
"""

from __future__ import annotations

from presage.execution.stage import Operator
from presage.operators.recall import deployed
from presage.operators.recall.retained import Retained
from presage.plan.nodes import Node


def _reads_end(node: Node) -> bool:
    return isinstance(node, Retained) and node.span is not None


OPERATOR = Operator(
    steps=deployed.OPERATORS,
    spark="presage.operators.recall.spark_history",
    # Events wait until their contexts are complete.
    timers=deployed.has_similar,
    reads_end=_reads_end,
)
