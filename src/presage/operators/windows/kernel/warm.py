"""Nothing comes in, compiled loops go out to the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import pyarrow as pa

from presage.arrays.key_marks import marks_of, rows_with
from presage.functions import aggregates as functions
from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.changelog import ChangelogAggregateKernel
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, SEQ, TIME, Aggregate, Window
from presage.operators.windows.kernel.warm_joins import warm_joins

WINDOWS = (
    Window("none"),
    Window("time", 5),
    Window("unique", by=("s",)),
    Window("length_batch", 2),
    Window("time_batch", 2),
)


def warm() -> None:
    """Compile every loop of the folder, by running each kind of kernel on a few rows."""
    aggregates = (
        *(Aggregate(f, "x", f"{f}_x") for f in (each.name for each in functions.aggregates())),
        *(Aggregate(f, "n", f"{f}_n", distinct) for f in ("count", "sum") for distinct in (False, True)),
        Aggregate("sum", "x", "sum_distinct", True),
    )
    events = pa.table(
        {
            TIME: pa.array([1, 2, 2, 9]),
            SEQ: pa.array([0, 1, 2, 3]),
            "s": pa.array(["a", "b", "a", None]),
            "n": pa.array([1, None, 2, 2]),
            "x": pa.array([1.0, 2.0, None, 0.5]),
        }
    )
    for window in WINDOWS:
        kernel = AggregateKernel(window, (), False, aggregates, ("s",))
        kernel.step(kernel.initial(), events, 9)
    changes = events.append_column(CHANGE, pa.array([1, 1, 1, 1], pa.int8()))
    changes = changes.append_column(ORDINAL, pa.array([0, 0, 0, 0]))
    joined = ChangelogAggregateKernel(("s",), True, aggregates, (), (), (SEQ,))
    joined.step(joined.initial(), changes, 9)
    marks = marks_of([events.column("s")], events.num_rows)  # which only large states ask for
    rows_with(marks, marks)
    warm_joins()


if __name__ == "__main__":
    warm()
