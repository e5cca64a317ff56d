"""Knowledge bases in the registry of operators: no nodes, and answers that are computed before a plan runs on Spark."""

from __future__ import annotations

from presage.execution.stage import Operator

OPERATOR = Operator(spark="presage.operators.knowledge.spark_answers")
