"""The Catalyst fallback: expressions that the evaluator cannot compute, computed by a Spark job over Arrow data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from presage.columnar.evaluate import Fallback
from presage.columnar.reshape import widened
from presage.columnar.vectors import one_array
from presage.execution.spark.expressions import compile_expression, quoted
from presage.execution.spark.types import frame_of
from presage.model.arrow import to_arrow
from presage.plan.expr import ColumnRef, Expr

_ROW = "row"


def catalyst(spark: SparkSession, relations: Mapping[str, pa.Table] | None = None) -> Fallback:
    """A function that computes expressions over a table in the session: one job for each call, so pass many at once."""

    def compute(exprs: Sequence[Expr], table: pa.Table) -> list[pa.Array]:
        # Columns are numbered on the way: a dot in a name would be parsed as a field access.
        used = {e.name: e for expr in exprs for e in expr.walk() if isinstance(e, ColumnRef)}
        numbered = {name: f"c{i}" for i, name in enumerate(used)}
        arrays = [widened(one_array(table.column(name)), to_arrow(e.type)) for name, e in used.items()]
        rows = pa.array(np.arange(table.num_rows))
        sent = pa.table([rows, *arrays], names=[_ROW, *numbered.values()])
        frame = frame_of(spark, sent).coalesce(1)
        columns = [
            compile_expression(expr, relations, lambda name: quoted(numbered[name]), spark.createDataFrame).alias(
                f"e{i}"
            )
            for i, expr in enumerate(exprs)
        ]
        answer = frame.select(_ROW, *columns).toArrow()
        order = answer.column(0).to_numpy()
        if not np.all(order[:-1] < order[1:]):  # Spark guarantees no order, but nearly always keeps it
            answer = answer.take(pa.array(np.argsort(order)))
        return [widened(one_array(answer.column(i + 1)), to_arrow(expr.type)) for i, expr in enumerate(exprs)]

    return compute
