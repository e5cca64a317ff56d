"""Ahead-of-time compilation of the loops of MATCH_RECOGNIZE, into the cache on disk."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.programs.code import FLOAT, GT_F, INT, LOAD_F, LOAD_I, LT_I, Code
from presage.functions.aggregates import aggregates
from presage.operators.match.kernel.match import MatchKernel
from presage.operators.match.kernel.spec import (
    ACCEPT,
    SEQ,
    TIME,
    Automaton,
    Condition,
    Edge,
    Fold,
    MatchSpec,
    Measure,
    Place,
    Skip,
)

# A B+, where B is above the row before it, or above the first row of the match.
AUTOMATON = Automaton(("A", "B"), (0, 1), (False, False), (Edge(0),), ((Edge(1),), (Edge(1), Edge(ACCEPT))))
CODE = Code(
    np.array([LOAD_F, 0, 0, LOAD_F, 1, 0, GT_F, LOAD_I, 0, 0, LOAD_I, 1, 0, LT_I], np.int64),
    np.array([0, 7, 14], np.int64),
    columns=(("x", FLOAT), ("n", INT)),
    depth=2,
)
HERE = Place(current=True)
NEARBY = Condition(nearby=0, places=(HERE, Place(current=True, moved=-1)))
BOUND = Condition(bound=1, places=(HERE, Place(labels=(0,), first=True)), folds=(Fold("sum", (1,), ("n",)),))
MEASURES = (Measure("first", place=Place(first=True), column="x"), Measure("number", match_number=True))
PAIRS = ("max_by", "min_by")
REPEATED = Automaton(("A",), (0,), (False,), (Edge(0),), ((Edge(0), Edge(ACCEPT)),))  # A+


def warm() -> None:
    warm_searches()
    warm_measures()


def warm_searches() -> None:
    """Runs each kind of search on a few rows."""
    events = pa.table(
        {
            TIME: pa.array([1, 2, 2, 9]),
            SEQ: pa.array([0, 1, 2, 3]),
            "k": pa.array(["a", "a", "b", None]),
            "x": pa.array([1.0, 2.0, None, 0.5]),
            "n": pa.array([2, 1, None, 0]),
        }
    )
    for condition, skip in ((NEARBY, "past_last"), (BOUND, "to_next"), (NEARBY, "to_current")):
        for by_time in (True, False):
            spec = MatchSpec(
                AUTOMATON,
                (Condition(), condition),
                MEASURES,
                keys=("k",),
                sort=() if by_time else (("n", True),),
                by_time=by_time,
                skip=Skip(skip),
                within=5,
                timeouts=True,
                code=CODE,
            )
            kernel = MatchKernel(spec)
            state, _ = kernel.step(kernel.initial(), events, 9)
            kernel.step(state, events.slice(0, 0), 20, True)


def warm_measures() -> None:
    """Every aggregate over integers, doubles and texts, running and final."""
    own = ("array_agg", "any_value")
    calls = [
        (each.name, c, each.example) for each in aggregates() for c in (("xs",) if each.values > 1 else ("n", "x"))
    ]
    calls += [(name, c, ()) for name in own for c in ("n", "x")]
    folds = [Fold(f, None, (c,), final=final, constants=k) for f, c, k in calls for final in (False, True)]
    folds += [Fold(f, (0,), ("s",)) for f in ("count", "min", "max", "first", "last", "array_agg", "any_value")]
    folds += [Fold(f, None, ("x",), ("n",)) for f in PAIRS]
    folds += [Fold(f, None, ("n",), distinct=True) for f in ("count", "sum", "avg", "array_agg")]
    measures = [Measure(f"f{i}", fold=fold) for i, fold in enumerate(folds)]
    measures += [
        Measure("first", Place((0,), first=True, offset=1), "x"),
        Measure("before", Place(moved=-1), "s"),
        Measure("label", Place()),
        Measure("number", match_number=True),
    ]
    spec = MatchSpec(REPEATED, (Condition(),), tuple(measures), rows="all", shown_time="_at")
    events = pa.table(
        {
            TIME: pa.array([1, 2, 2]),
            SEQ: pa.array([0, 1, 2]),
            "n": pa.array([1, None, 2]),
            "x": pa.array([0.5, 2.0, None]),
            "xs": pa.array([{"x1": 0.5, "x2": 2.0}] * 3),
            "s": pa.array(["a", "b", None]),
        }
    )
    kernel = MatchKernel(spec)
    kernel.step(kernel.initial(), events, 2, end=True)


if __name__ == "__main__":
    warm()
