"""Nothing comes in, compiled loops go out to the cache on disk: run after installing, so that no query waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.prediction.kernel.matching import PredictionKernel
from presage.prediction.kernel.query import SEQ, TIME, Pair, PredictionTables, Side, Stream
from presage.prediction.kernel.spec import AtLeast, Comparator, JoinSpec, JoinTerm, ValueTerm
from presage.prediction.kernel.warm_buffer import warm_buffer


def warm() -> None:
    """Compile every loop of the folder, by asking a few objects."""
    warm_buffer()
    stream = Stream(("k",), ("v",), ("r",), ("e",), 10_000_000)
    columns = ("k", "from", "to", "probability")
    near = ValueTerm(0, Comparator.GE, -9.0)
    alone = PredictionTables((stream,), (Side(0, terms=(near,)),), probability=True, columns=columns)
    term = JoinTerm(0, 0, Comparator.LE, 1.0)
    spec = JoinSpec((term, term), 1_000_000, same=True, at_least=AtLeast(0.5), probability=True)
    together = PredictionTables(
        (stream,), (Side(0), Side(0)), (Pair(0, 1, spec),), at_least=AtLeast(0.5), probability=True,
        columns=("k", *columns),
    )  # fmt: skip
    rows = pa.table({
        TIME: pa.array(np.arange(4)), SEQ: pa.array(np.arange(4)), "k": pa.array(["a", "b", "a", "c"]),
        "v": pa.array([0.0, 0.5, 1.0, 9.0]), "r": pa.array([0.0, 1.0, 0.0, 1.0]), "e": pa.array([1.0, 0.5, 0.0, 1.0]),
    })  # fmt: skip
    for tables in (alone, together):
        kernel = PredictionKernel(tables)
        kernel.step(kernel.initial(), rows, 4, end=True)


if __name__ == "__main__":
    warm()
