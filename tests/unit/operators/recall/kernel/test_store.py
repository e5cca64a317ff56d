"""The store of past contexts: growth at both ends, order, places, the index."""

from __future__ import annotations

import numpy as np
import pytest

from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.growable import Growing
from presage.operators.recall.kernel.store import LOOSE, Store, rows_before
from property.context_worlds import events_of, grown_store, terms_of
from reference.similar_contexts import Context


def contexts_of(store: Store, bags: Bags) -> list[dict[str, float]]:
    """Terms by name, with how often they occur."""
    names = {code: text for (_, text), code in store.vocabulary.terms.items()}
    bounds = bags.starts - bags.starts[0]
    codes, times = bags.codes.tolist(), bags.times.tolist()
    return [
        {names[codes[i]]: times[i] for i in range(low, high)}
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def test_what_comes_in_at_either_end_lies_in_order() -> None:
    past: list[Context] = [[("p", str(i)), ("p", str(i)), ("q", "all"), ("x", float(i))] for i in range(20)]
    store = grown_store(past, 8, 12)
    bags = store.bags()
    assert contexts_of(store, bags) == [{str(i): 2.0, "all": 1.0} for i in range(20)]
    assert bags.values.tolist() == [float(i) for i in range(20)]
    assert (np.diff(bags.number_starts) == 1).all()
    assert store.counts[store.vocabulary.terms[store.vocabulary.attributes["q"], "all"]] == 20


def test_events_out_of_order_are_refused() -> None:
    store = Store()
    store.add_newer(events_of(4, 6), terms_of([[], []]))
    with pytest.raises(ValueError, match="in order"):
        store.add_newer(events_of(5, 6), terms_of([[]]))
    with pytest.raises(ValueError, match="in order"):
        store.add_older(events_of(4, 5), terms_of([[]]))
    assert len(store) == 2


def test_the_place_of_an_event_counts_those_before_it_in_time_and_arrival() -> None:
    time, seq = np.array([1, 3, 3, 3, 7]), np.array([4, 2, 5, 9, 1])
    at, number = np.array([0, 1, 3, 3, 3, 7, 8]), np.array([9, 4, 0, 5, 10, 2, 0])
    assert rows_before(time, seq, at, number).tolist() == [0, 0, 1, 2, 4, 5, 5]


def test_places_among_no_events_are_zero() -> None:
    none = np.zeros(0, np.int64)
    assert rows_before(none, none, np.arange(2), np.arange(2)).tolist() == [0, 0]


def test_the_index_is_made_anew_when_much_has_come_in() -> None:
    store = Store()
    store.add_newer(events_of(0, LOOSE), terms_of([[("p", "a")]] * LOOSE))
    assert store.index().stop == 0
    store.add_newer(events_of(LOOSE, LOOSE + 10), terms_of([[("p", "b")]] * 10))
    index = store.index()
    assert (index.first, index.stop) == (0, LOOSE + 10)
    assert index.events[index.starts[1] : index.starts[2]].tolist() == list(range(LOOSE, LOOSE + 10))
    store.add_newer(events_of(LOOSE + 10, LOOSE + 11), terms_of([[("p", "b")]]))
    assert store.index() is index


def test_rows_without_a_value_and_numbers_that_are_none() -> None:
    store = Store()
    context: Context = [("p", None), ("x", float("nan")), ("x", float("inf")), ("x", -1e308), ("x", -0.0)]
    bags = store.code(1, terms_of([context]))
    assert contexts_of(store, bags) == [{"NaN": 1.0, "Infinity": 1.0}]
    assert bags.values.tolist() == [-1e300, 0.0]
    assert not np.signbit(bags.values[1])


def test_a_growing_array_keeps_its_elements() -> None:
    grown = Growing(np.array([5]))
    for i in range(1, 5):
        grown.append(np.array([5 + i]))
        grown.prepend(np.array([5 - i]))
    assert grown.view().tolist() == list(range(1, 10))
    assert len(grown) == 9
