"""RECALL in the registry of operators.

Its nodes are no stages. A stage is a function of its input and its state. A recall also reads history, chunk by chunk,
at a pace of its own: the rows of a step depend on how much of the archive has been read. Its nodes therefore run in
modules of their own, which read history by `archive_history`: `deployed` in deployed statements, `bounded` in bounded
queries, `spark_history` on Spark.
"""

from __future__ import annotations

from presage.execution.stage import OpenEvent, Operator
from presage.operators.recall import archive_history, bounded, deployed, explain
from presage.operators.recall.executor import SHOWN, outlook_of, recalls_of
from presage.operators.recall.nodes import Recall, Retained
from presage.plan.nodes import Node, Trait


def _reads_end(node: Node) -> bool:
    return isinstance(node, Retained) and node.span is not None


OPERATOR = Operator(
    steps={**deployed.OPERATORS, Recall: bounded.run_recall},
    needs_spark=explain.why_on_spark,
    history={Recall: archive_history.open_history},
    spark="presage.operators.recall.spark_history",
    # Events wait until their contexts are complete.
    timers=lambda node: Trait.LOOKS_BACK in node.traits,
    reads_end=_reads_end,
    deployed=deployed.deployed_plan,
    explained=deployed.described,
    open_events=lambda state: [OpenEvent(recall.task.event, recall.shown) for recall in recalls_of(state)],
    event_columns=SHOWN,
    outlook=outlook_of,
)
