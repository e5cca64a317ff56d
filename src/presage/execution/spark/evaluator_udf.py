"""Arrow UDFs that compute an expression with Presage's own evaluator inside a Spark job.

They replace Catalyst's regular expressions and LIKE: Java's engine may backtrack for ever, and cannot be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.columnar.evaluate import Evaluator
from presage.columnar.reshape import widened
from presage.execution.spark.typed_columns import literal
from presage.execution.spark.types import to_spark
from presage.model.arrow import to_arrow
from presage.plan.constants import NOT_CONSTANT, constant_value
from presage.plan.expr import ColumnRef, Expr


def evaluated(expr: Expr, children: Sequence[Column]) -> Column:
    """The column of an expression from those of its children; constants stay in the expression."""
    sent: list[Column] = []
    refs: list[ColumnRef] = []
    columns = iter(children)

    def numbered(child: Expr) -> Expr:
        column = next(columns)
        if constant_value(child) is not NOT_CONSTANT:
            return child
        sent.append(column)
        refs.append(ColumnRef(child.type, f"c{len(refs)}"))
        return refs[-1]

    inner = expr.map_children(numbered)
    if not sent:
        value = Evaluator().column(inner, pa.table({"row": [0]}))[0].as_py()
        return literal(value, expr.type)
    function = F.arrow_udf(_function(inner, refs), to_spark(expr.type))  # type: ignore[attr-defined]
    return function(*sent)  # type: ignore[no-any-return]


def _function(expr: Expr, refs: Sequence[ColumnRef]) -> Callable[..., pa.Array]:
    types = [to_arrow(ref.type) for ref in refs]

    def compute(*arrays: pa.Array) -> pa.Array:
        given = [widened(array, kind) for array, kind in zip(arrays, types, strict=True)]
        return Evaluator().column(expr, pa.table(given, [ref.name for ref in refs]))

    # Spark reads the annotations of each argument.
    compute.__annotations__ = {"arrays": pa.Array, "return": pa.Array}
    return compute
