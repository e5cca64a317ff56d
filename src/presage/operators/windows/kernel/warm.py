"""Compiles the loops of this folder into the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.codes import kept_in_order
from presage.arrays.folds import running_spread
from presage.arrays.key_marks import marks_of, rows_with
from presage.functions.aggregates import COUNTS_ONCE, aggregates
from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.changelog import ChangelogAggregateKernel
from presage.operators.windows.kernel.distinct import DistinctKernel
from presage.operators.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.operators.windows.kernel.output import OutputKernel
from presage.operators.windows.kernel.snapshot import SnapshotKernel
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, SEQ, SOURCE, TIME, Aggregate, Window
from presage.operators.windows.window_types import KEYS, window_types


def warm() -> None:
    """Compile every loop of the folder, by running each kind of kernel on a few rows."""
    calls = tuple(
        Aggregate(each.name, column, f"{each.name}_{column}_{distinct}", distinct, constants=each.example)
        for each in aggregates()
        for column in (("xs",) if each.values > 1 else ("x", "n"))
        for distinct in ((False, True) if each.distinct == COUNTS_ONCE else (False,))
    )
    events = pa.table(
        {
            TIME: pa.array([1, 2, 2, 9]),
            SEQ: pa.array([0, 1, 2, 3]),
            "s": pa.array(["a", "b", "a", None]),
            "n": pa.array([1, None, 2, 2]),
            "x": pa.array([1.0, 2.0, None, 0.5]),
            "xs": pa.array([{"x1": 0.5, "x2": 2.0}] * 4),
        }
    )
    for window in _windows("s"):
        kernel = AggregateKernel(window, (), False, calls, ("s",))
        kernel.step(kernel.initial(), events, 9)
    changes = events.append_column(CHANGE, pa.array([1, 1, 1, 1], pa.int8()))
    changes = changes.append_column(ORDINAL, pa.array([0, 0, 0, 0]))
    joined = ChangelogAggregateKernel(("s",), True, calls, (), (), (SEQ,))
    joined.step(joined.initial(), changes, 9)
    held = SnapshotKernel(("s",), True, calls, (), (), (SEQ,))
    held.step(held.initial(), changes, 9, end=True)
    marks = marks_of([events.column("s")], events.num_rows)  # used by large states only
    rows_with(marks, marks)
    kept_in_order(np.arange(2), np.arange(2))  # used by deltas of states
    running_spread(np.zeros(1, np.int64), np.zeros(1), np.ones(1, np.bool_), 1)  # used by history
    warm_joins()


def _windows(key: str) -> list[Window]:
    return [
        Window(each.name, 2 if each.is_sized else 0, (key,) if each.takes == KEYS else (), slide=1)
        for each in window_types()
    ]


def warm_joins() -> None:
    """The loops of joins, output rate and DISTINCT."""
    events = pa.table(
        {
            TIME: pa.array([1, 2, 3, 4], pa.int64()),
            SEQ: pa.array([1, 2, 3, 4], pa.int64()),
            SOURCE: pa.array([0, 1, 0, 1], pa.int8()),
            "a": pa.array([7, None, 7, None], pa.int64()),
            "b": pa.array([None, 7, None, 7], pa.int64()),
        }
    )
    for one, other in zip(_windows("a"), _windows("b"), strict=True):
        if one.type.has_bounds:
            continue  # not in joins
        sources = (JoinSource(one, ("a",)), JoinSource(other, ("b",)))
        kernel = JoinKernel(sources, (Link(0, ("a",), 1, ("b",)),), changelog=True)
        kernel.step(kernel.initial(), events, 9)
    for output in (OutputKernel("last", 5, ("a",), ("a",)), DistinctKernel(("a",), ("a",))):
        output.step(output.initial(), events, 9)


if __name__ == "__main__":
    warm()
