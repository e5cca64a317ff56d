"""Small worlds of events and contexts for similarity, and their tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from presage.operators.recall.kernel.store import Store
from reference.similar_contexts import Context, Term

NUMBERS = [0.0, -0.0, 1.0, 2.0, 2.5, 7.0, 1e16, 1e16 + 2, 1e300, -1e308, 1e-200, math.nan, math.inf, -math.inf]


class World(NamedTuple):
    past: list[Context]
    new: list[Context]
    place: list[int]
    begin: list[int]
    k: int
    bandwidths: dict[str, float]


def terms_of(contexts: Sequence[Context]) -> pa.Table:
    rows = [(i, name, value) for i, context in enumerate(contexts) for name, value in context]
    return pa.table(
        {
            "event": pa.array([i for i, _, _ in rows], pa.int64()),
            "attribute": pa.array([name for _, name, _ in rows], pa.string()),
            "text": pa.array([v if isinstance(v, str) else None for _, _, v in rows], pa.string()),
            "number": pa.array(
                [None if isinstance(v, str) else v for _, _, v in rows], pa.float64(), from_pandas=False
            ),
        }
    )


def events_of(first: int, stop: int) -> pa.Table:
    """Two events of each time."""
    seq = range(first, stop)
    return pa.table({"time": pa.array([i // 2 for i in seq], pa.int64()), "seq": pa.array(seq, pa.int64())})


def terms() -> st.SearchStrategy[Term]:
    texts = st.tuples(st.sampled_from(["user", "proc"]), st.sampled_from(["a", "b", "c", "d", "NaN", None]))
    numbers = st.tuples(st.just("load"), st.sampled_from([0.0, 1.0, 1.0, 2.0, 5.0]))
    wild = st.tuples(st.just("wild"), st.sampled_from(NUMBERS))
    flat = st.tuples(st.just("flat"), st.sampled_from([3.0, 3.0, 3.0, 4.0]))
    return st.one_of(texts, texts, numbers, wild, flat)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    contexts = st.lists(terms(), max_size=5)
    past = draw(st.lists(contexts, max_size=9))
    new = draw(st.lists(contexts, min_size=1, max_size=3))
    begin = [draw(st.integers(0, len(past))) for _ in new] if draw(st.booleans()) else [0] * len(new)
    place = [draw(st.integers(first, len(past))) for first in begin]
    bandwidths = draw(st.dictionaries(st.sampled_from(["load", "flat", "unknown"]), st.sampled_from([0.3, 2.0, 1e4])))
    return World(past, new, place, begin, draw(st.integers(1, 4)), bandwidths)


def grown_store(past: Sequence[Context], first: int, middle: int) -> Store:
    """A store that got the events from `first` to `middle`, then the newer ones, then the older ones."""
    store = Store()
    store.add_newer(events_of(first, middle), terms_of(past[first:middle]))
    store.add_newer(events_of(middle, len(past)), terms_of(past[middle:]))
    store.add_older(events_of(0, first), terms_of(past[:first]))
    return store
