"""The stage of joins and filters over predicted values. Large joins on Spark run in three stages: see `spark_join`."""

from __future__ import annotations

from presage.execution.stage import Operator, Stage, StageInput, order_fields, renamed
from presage.operators.prediction.compile import prediction_kernel
from presage.operators.prediction.kernel.query import ORDINAL, SOURCE
from presage.operators.prediction.nodes import PredictedMatch
from presage.plan.nodes import Node


def predicted_stage(node: PredictedMatch) -> Stage:
    return Stage(
        node,
        tuple(StageInput(source, node.prepared[i], number=i) for i, source in enumerate(node.sources)),
        lambda resources: prediction_kernel(node, resources.threads),
        made=(*order_fields((ORDINAL,)), *node.columns),
        outputs=(*renamed(order_fields(node.order), (ORDINAL,)), *renamed(node.columns)),
        depth=0,
        sort=(SOURCE,),
        keys=node.spread_by(),
        numbered=SOURCE,
        foresees=node.tables.tentative,
    )


def _is_predicted(node: Node) -> bool:
    """Functions begin and cease to match as time passes, without an event."""
    return isinstance(node, PredictedMatch)


OPERATOR = Operator(
    stages={PredictedMatch: predicted_stage},
    spark="presage.operators.prediction.spark_join",
    timers=_is_predicted,
    reads_end=_is_predicted,
)
