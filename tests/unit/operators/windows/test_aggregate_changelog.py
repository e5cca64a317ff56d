"""Aggregates over the live tuples of a join, step by step."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.operators.windows.kernel.changelog import ChangelogAggregateKernel
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, SEQ, TIME, Aggregate

AGGREGATES = (Aggregate("count", None, "c"), Aggregate("sum", "v", "s"), Aggregate("last", "v", "newest"))


def changes(*rows: tuple[int, int, int, int, str, float]) -> pa.Table:
    """Rows of (time, seq, change, id, key, value)."""
    names = (TIME, SEQ, CHANGE, "id", "k", "v")
    table = pa.table({name: pa.array([r[i] for r in rows]) for i, name in enumerate(names)})
    return table.append_column(ORDINAL, pa.array(range(len(rows)), pa.int64()))


def run(table: pa.Table, grouped: bool) -> list[dict[str, Any]]:
    kernel = ChangelogAggregateKernel(("k",) if grouped else (), grouped, AGGREGATES, ("id",), (), ("id",))
    return kernel.step(kernel.initial(), table, 99)[1].to_pylist()


LOG = changes(
    (1, 0, +1, 7, "a", 1.0),
    (1, 0, +1, 8, "b", 2.0),
    (1, 0, +1, 9, "a", 4.0),
    (2, -1, -1, 7, "a", 1.0),
    (3, 1, -1, 8, "b", 2.0),
    (3, 1, +1, 10, "a", 8.0),
)


def test_every_tuple_that_enters_makes_a_row_after_all_changes_of_its_step():
    assert [(r[TIME], r[ORDINAL], r["id"], r["c"], r["s"]) for r in run(LOG, grouped=False)] == [
        (1, 0, 7, 3, 7.0),
        (1, 1, 8, 3, 7.0),
        (1, 2, 9, 3, 7.0),
        (3, 5, 10, 2, 12.0),
    ]


def test_a_group_makes_one_row_in_a_step_with_its_last_tuple():
    assert [(r[TIME], r[ORDINAL], r["id"], r["c"], r["s"], r["newest"]) for r in run(LOG, grouped=True)] == [
        (1, 0, 9, 2, 5.0, 4.0),
        (1, 1, 8, 1, 2.0, 2.0),
        (3, 5, 10, 2, 12.0, 8.0),
    ]


def test_the_state_holds_the_live_tuples_only():
    kernel = ChangelogAggregateKernel((), False, AGGREGATES, (), (), ("id",))
    state, _ = kernel.step(kernel.initial(), LOG, 99)
    assert state.tables["live"]["id"].to_pylist() == [9, 10]


def test_a_tuple_that_never_entered_cannot_leave():
    with pytest.raises(PresageError, match="leaves a join that it never entered"):
        run(changes((1, 0, -1, 7, "a", 1.0)), grouped=False)
