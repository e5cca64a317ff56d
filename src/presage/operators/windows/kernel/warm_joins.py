"""Nothing in; the compiled loops of joins, output rate and DISTINCT in the cache out."""

from __future__ import annotations

import pyarrow as pa

from presage.operators.windows.kernel.distinct import DistinctKernel
from presage.operators.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.operators.windows.kernel.output import OutputKernel
from presage.operators.windows.kernel.spec import SEQ, SOURCE, TIME, Window


def warm_joins() -> None:
    """Run each kernel over a few events, so that every loop is compiled (or read from the cache)."""
    events = pa.table(
        {
            TIME: pa.array([1, 2, 3, 4], pa.int64()),
            SEQ: pa.array([1, 2, 3, 4], pa.int64()),
            SOURCE: pa.array([0, 1, 0, 1], pa.int8()),
            "a": pa.array([7, None, 7, None], pa.int64()),
            "b": pa.array([None, 7, None, 7], pa.int64()),
        }
    )
    for window in (Window("time", 2), Window("length", 1), Window("length_batch", 1)):
        sources = (JoinSource(window, ("a",)), JoinSource(Window("time", 2), ("b",)))
        kernel = JoinKernel(sources, (Link(0, ("a",), 1, ("b",)),), changelog=True)
        kernel.step(kernel.initial(), events, 9)
    for output in (OutputKernel("last", 5, ("a",), ("a",)), DistinctKernel(("a",), ("a",))):
        output.step(output.initial(), events, 9)
