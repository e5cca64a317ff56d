"""Random typed expressions over random rows: the columnar evaluator gives what the plain evaluator gives."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator, supports
from presage.model.arrow import to_arrow
from presage.plan import expr as e
from reference.expressions import evaluate
from reference.random_expressions import batches, rows, shown, table

EVALUATOR = Evaluator()


@settings(max_examples=40, deadline=None)
@given(batch=batches(5), worlds=rows, kept=st.integers(0, 8))
def test_columns_hold_what_the_plain_evaluator_gives(
    batch: list[e.Expr], worlds: list[dict[str, Any]], kept: int
) -> None:
    worlds = worlds[:kept]
    batch = [expr for expr in batch if supports(expr)]
    for expr, column in zip(batch, EVALUATOR.columns(batch, table(worlds)), strict=True):
        assert column.type == to_arrow(expr.type)
        cells = (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for row, cell in zip(worlds, cells, strict=True):
            wanted = evaluate(expr, row)
            assert shown(cell) == shown(wanted), f"{expr}\nover {row}\ngave {cell!r}, expected {wanted!r}"
