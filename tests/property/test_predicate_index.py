"""Many random conditions at once: the index finds the rows that the evaluator finds for each condition alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar import predicate_index
from presage.columnar.evaluate import Evaluator, supports
from presage.columnar.predicate_index import PredicateIndex
from presage.model import types as t
from presage.plan import expr as e
from reference.random_expressions import COLUMNS, SCALARS, expressions, nullable, rows, table

OPERATORS = ["=", "=", "<", "<=", ">", ">=", "<>"]


def column(data_type: t.DataType) -> st.SearchStrategy[e.Expr]:
    columns = [e.ColumnRef(c, n) for n, c in COLUMNS.items() if c == data_type]
    wider = [e.CastTo(t.DOUBLE, e.ColumnRef(t.INT, "i"))] if data_type == t.DOUBLE else []
    return st.sampled_from([*columns, *wider])


@st.composite
def atoms(draw: st.DrawFn) -> e.Expr:
    data_type = draw(st.sampled_from(SCALARS))
    asked = draw(column(data_type))
    constants = [e.Constant(data_type, v) for v in draw(st.lists(nullable(data_type), min_size=1, max_size=3))]
    kind = draw(st.sampled_from(["compare", "compare", "compare", "mirrored", "in", "truth", "other"]))
    if kind == "in":
        return e.InList(t.BOOLEAN, asked, tuple(constants))
    if kind == "truth":
        truth = e.ColumnRef(t.BOOLEAN, "b")
        return draw(st.sampled_from([truth, e.Not(t.BOOLEAN, truth), e.TRUE, e.FALSE]))
    if kind == "other":
        return draw(expressions(t.BOOLEAN, 1).filter(supports))
    sides = (asked, constants[0]) if kind == "compare" else (constants[0], asked)
    return e.Comparison(t.BOOLEAN, draw(st.sampled_from(OPERATORS)), *sides)


conditions = st.none() | st.lists(atoms(), min_size=1, max_size=4).map(e.conjunction)


@pytest.mark.parametrize("few_rows", [1024, 0], ids=["small batches", "large batches"])
@settings(max_examples=40, deadline=None)
@given(asked=st.lists(conditions, max_size=12), worlds=rows, copies=st.integers(0, 3))
def test_the_index_finds_what_each_condition_finds_alone(
    few_rows: int, asked: list[e.Expr | None], worlds: list[dict[str, Any]], copies: int
) -> None:
    events = table(worlds * copies)
    with pytest.MonkeyPatch.context() as patch:
        # What counts as a large batch, so that small ones take that way too.
        patch.setattr(predicate_index, "FEW_ROWS", few_rows)
        patch.setattr(predicate_index, "FEW_CONDITIONS", 0)
        found = PredicateIndex(asked).matches(events)
    evaluator = Evaluator()
    for condition, matched in zip(asked, found, strict=True):
        mask = np.ones(events.num_rows, bool) if condition is None else evaluator.mask(condition, events)
        assert matched.dtype == np.int64
        assert matched.tolist() == np.flatnonzero(mask).tolist(), condition


def test_candidates_are_worked_on_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    events = pa.table({"k": pa.array(np.arange(100) % 10)})
    asked = [e.Comparison(t.BOOLEAN, "=", e.ColumnRef(t.LONG, "k"), e.Constant(t.LONG, i)) for i in range(12)]
    whole = PredicateIndex(asked).matches(events)
    monkeypatch.setattr(predicate_index, "MAX_PAIRS", 25)
    portions = PredicateIndex(asked).matches(events)
    assert [m.tolist() for m in portions] == [m.tolist() for m in whole]
    assert [len(m) for m in whole] == [10] * 10 + [0, 0]
