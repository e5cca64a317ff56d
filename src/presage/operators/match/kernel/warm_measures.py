"""Compiles the loops of measures ahead, into the cache on disk."""

from __future__ import annotations

import pyarrow as pa

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
)

FUNCTIONS = ("count", "sum", "avg", "min", "max", "stddev", "median", "first", "last", "array_agg", "any_value")
PAIRS = ("max_by", "min_by")
# A+
AGAIN = (Edge(0), Edge(ACCEPT))
AUTOMATON = Automaton(("A",), (0,), (False,), (Edge(0),), (AGAIN,))


def warm_measures() -> None:
    """Every aggregate over integers, doubles and texts, running and final."""
    folds = [Fold(f, None, (c,), final=final) for f in FUNCTIONS for c in ("n", "x") for final in (False, True)]
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
    spec = MatchSpec(AUTOMATON, (Condition(),), tuple(measures), rows="all", shown_time="_at")
    events = pa.table(
        {
            TIME: pa.array([1, 2, 2]),
            SEQ: pa.array([0, 1, 2]),
            "n": pa.array([1, None, 2]),
            "x": pa.array([0.5, 2.0, None]),
            "s": pa.array(["a", "b", None]),
        }
    )
    kernel = MatchKernel(spec)
    kernel.step(kernel.initial(), events, 2, end=True)
