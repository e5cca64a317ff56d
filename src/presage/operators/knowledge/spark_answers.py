"""Answers for Spark: the questions of a plan that only the store can evaluate, answered before it runs.

Spark's tasks cannot access the store. So the distinct keys are collected first, and their answers are a relation.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from presage.errors import error
from presage.execution.spark.batch import BatchContext, column, run
from presage.operators.knowledge.answers import Answers
from presage.plan.expr import InRelation
from presage.plan.nodes import Node


def with_answers(plan: Node, context: BatchContext) -> BatchContext:
    """The context with a table for every question of the plan; the same one if there is none."""
    keys: dict[str, list[pa.Table]] = {}
    for node in plan.walk():
        for expr in node.expressions():
            for found in expr.walk():
                if isinstance(found, InRelation) and isinstance(context.relations[found.relation], Answers):
                    keys.setdefault(found.relation, []).extend(_keys(node, found, context))
    tables = {}
    for name, several in keys.items():
        answers = context.relations[name]
        assert isinstance(answers, Answers)
        tables[name] = answers.among(pa.concat_tables(several))
    return replace(context, relations={**context.relations, **tables}) if tables else context


def _keys(node: Node, found: InRelation, context: BatchContext) -> list[pa.Table]:
    """The keys of the events at the question, from the lowest nodes that have all its columns."""
    needed = frozenset[str]().union(*(arg.columns() for arg in found.args))
    sources = [n for n in node.walk() if n is not node and needed <= n.column_names()]
    lowest = [n for n in sources if not any(below in sources for below in n.inputs)]
    if not lowest:
        fix = "write it where the event is first named"
        raise error("UNSUPPORTED", found.span, what="a PATH of this form", where="here", fix=fix)
    terms = [column(arg, context).alias(f"k{i}") for i, arg in enumerate(found.args)]
    return [run(source, context).select(*terms).distinct().toArrow() for source in lowest]
