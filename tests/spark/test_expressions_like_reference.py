"""Random typed expressions over random rows: Spark gives what the plain evaluator gives, whatever the settings are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from presage.execution.spark.expressions import compile_expression
from presage.execution.spark.types import to_spark
from presage.plan import expr as e
from reference.expressions import evaluate
from reference.random_expressions import batches, rows, shown, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPRESSIONS = 30
# Each is a Spark job, so they are few; the soak profile runs more.
EXAMPLES = max(4, settings().max_examples // 25)


# Shrinking would run a Spark job per step; the failing expression and row are told instead.
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(
    batch=batches(EXPRESSIONS),
    worlds=rows,
    ansi=st.booleans(),
    zone=st.sampled_from(["America/New_York", "Asia/Kolkata"]),
)
def test_spark_agrees_with_the_plain_evaluator(
    spark: SparkSession, batch: list[e.Expr], worlds: list[dict[str, Any]], ansi: bool, zone: str
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    session.conf.set("spark.sql.session.timeZone", zone)
    if not ansi:
        # Spark evaluates an expression compiled or interpreted: both are seen.
        session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        session.conf.set("spark.sql.codegen.wholeStage", "false")
    frame = session.createDataFrame(table(worlds)).coalesce(1)
    columns = [compile_expression(expr).alias(f"c{i}") for i, expr in enumerate(batch)]
    result = frame.select(*columns)
    assert [f.dataType for f in result.schema] == [to_spark(expr.type) for expr in batch]
    found = result.toArrow()
    for i, expr in enumerate(batch):
        column = found.column(i)
        cells = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for row, cell in zip(worlds, cells, strict=True):
            wanted = evaluate(expr, row)
            assert shown(cell) == shown(wanted), f"{expr}\nover {row}\ngave {cell!r}, expected {wanted!r}"
