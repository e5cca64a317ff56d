"""Ahead-of-time compilation of the loops of EPL patterns, into the cache on disk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.programs.code import EQ_I, INT, LOAD_I, TEXT, Code
from presage.operators.epl.kernel.pattern import PatternKernel
from presage.operators.epl.kernel.spec import SEQ, SOURCE, TIME, Argument, Listed, Node, PatternSpec, Period, Shown

# EVERY a=A -> ([2] b=B(b.n = a.n) AND EVERY-DISTINCT(c.k) c=B) WHERE timer:within(5)
NODES = (
    Node("followed", (1, 3)),
    Node("every", (2,)),
    Node("filter", source=0, tag=0),
    Node("within", (4,), period=Period(micros=5)),
    Node("and", (5, 7)),
    Node("until", (6,), low=2, high=2, lists=(1,)),
    Node("filter", source=1, tag=1, program=0, arguments=(Argument(None), Argument(0))),
    Node("distinct", (8,), keys=((1, TEXT),), arguments=(Argument(2),)),
    Node("filter", source=1, tag=2),
)
TAGS = (Listed("a", 0), Listed("b", 1, True), Listed("c", 1))
SHOWN = (Shown("a", 0, "n"), Shown("b", 1, "n"), Shown("c", 2, "k"))
CODE = Code(
    np.array([LOAD_I, 0, 0, LOAD_I, 1, 0, EQ_I, LOAD_I, 0, 1], np.int64),
    np.array([0, 7, 10], np.int64),
    columns=(("n", INT), ("k", TEXT)),
    depth=2,
)


def warm() -> None:
    """Runs a pattern with all kinds of lists on a few rows."""
    events = pa.table(
        {
            TIME: pa.array([1, 2, 2, 3, 4]),
            SEQ: pa.array([0, 1, 2, 3, 4]),
            SOURCE: pa.array([0, 1, 1, 1, 0], pa.int8()),
            "n": pa.array([1, 1, None, 1, 2]),
            "k": pa.array(["x", "x", "y", None, "x"]),
        }
    )
    for keys in ((), ("k",)):
        spec = PatternSpec(NODES, TAGS, SHOWN, (("n", "k"), ("n", "k")), keys, discard=True, suppress=True, code=CODE)
        kernel = PatternKernel(spec)
        state, _ = kernel.step(kernel.initial(), events, 4)
        kernel.step(state, events.slice(0, 0), 9)


if __name__ == "__main__":
    warm()
