"""Similarity by hand: the example of the paper, ranks, numbers, and the synopsis of many numbers."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

from presage.operators.recall.kernel.cells import build_cells
from presage.operators.recall.kernel.densities import idf_of_bin, kernel_by_bins
from presage.operators.recall.kernel.dot_products import similarities
from presage.operators.recall.kernel.similarity import Similar, most_similar
from presage.operators.recall.kernel.store import Store
from property.context_worlds import events_of, terms_of
from reference.similar_contexts import Context, Weights, similarity

PAPER: list[Context] = [
    [("user", "u1"), ("proc", "p1")],
    [("user", "u2"), ("user", "u3"), ("proc", "p2"), ("proc", "p3")],
    [("user", "u2"), ("proc", "p1"), ("proc", "p3")],
]


def store_of(*contexts: Context) -> Store:
    store = Store()
    store.add_newer(events_of(0, len(contexts)), terms_of(contexts))
    return store


def ask(store: Store, new: Context, k: int = 3, **bandwidths: float) -> Similar:
    fresh = store.code(1, terms_of([new]))
    return most_similar(store, fresh, np.array([len(store)]), np.array([0]), k, bandwidths)


def test_the_example_of_the_paper() -> None:
    store = store_of(*PAPER)
    bags = store.bags()
    holding = np.bincount(bags.codes)
    # As printed: logarithms to the base of ten, of two digits.
    idf = np.round(np.log10(3 / holding), 2)
    assert sorted(set(idf.tolist())) == [0.18, 0.48]
    found = similarities(bags, idf, np.array([0, 0, 1]), np.array([1, 2, 2]))
    assert found.tolist() == pytest.approx([0, 0.203, 0.287], abs=6e-4)


def test_the_third_event_of_the_paper_finds_the_second_first() -> None:
    found = ask(store_of(*PAPER[:2]), PAPER[2])
    assert found.past.tolist() == [1, 0]
    assert found.rank.tolist() == [1, 2]
    # Among three events two hold u2, p1 and p3, and one each of the others.
    weights = Weights(PAPER, {})
    assert found.similarity.tolist() == [similarity(PAPER[2], PAPER[i], weights) for i in (1, 0)]


def test_a_term_that_all_events_share_still_counts() -> None:
    found = ask(store_of([("u", "a"), ("p", "x")], [("u", "b")]), [("u", "a"), ("p", "y")])
    u, p = math.log(4 / 3) + 1, math.log(4 / 2) + 1
    assert found.past.tolist() == [0]
    assert found.similarity.tolist() == pytest.approx([u * u / (u * u + p * p)], abs=1e-12)
    found = ask(store_of([("u", "a")], [("u", "a"), ("p", "x")]), [("u", "a")])
    assert found.similarity.tolist() == pytest.approx([1.0, 1 / math.sqrt(1 + p * p)], abs=1e-12)


def test_of_equally_similar_events_the_later_comes_first() -> None:
    same: Context = [("user", "u1")]
    found = ask(store_of(same, [("user", "u2")], same, same), same, k=2)
    assert found.past.tolist() == [3, 2]
    assert found.similarity.tolist() == [1, 1]


def test_events_that_share_nothing_are_left_out() -> None:
    found = ask(store_of([("user", "a")], [], [("user", "b")]), [("user", "a")])
    assert found.past.tolist() == [0]
    assert found.similarity.tolist() == [1]


def test_an_empty_context_is_like_nothing() -> None:
    assert ask(store_of([("user", "a")], []), []).similarity.tolist() == []


def test_the_same_text_of_another_attribute_is_another_term() -> None:
    assert ask(store_of([("proc", "a")], []), [("user", "a")]).similarity.tolist() == []


def test_a_rare_term_weighs_more_than_a_frequent_one() -> None:
    store = store_of([("p", "often"), ("p", "x")], [("p", "rare"), ("p", "y")], [("p", "often"), ("p", "z")], [])
    assert ask(store, [("p", "often"), ("p", "rare")]).past.tolist()[0] == 1


def test_near_numbers_are_more_alike_than_far_ones() -> None:
    store = store_of([("load", 1.0)], [("load", 50.0)], [("load", 11.0)], [("load", 100.0)])
    found = ask(store, [("load", 10.0)], k=4, load=10.0)
    assert found.past.tolist() == [2, 0, 1], "the fourth is nine bandwidths off, which is nothing"


def test_a_wider_bandwidth_makes_numbers_more_alike() -> None:
    store = store_of([("load", 1.0)], [("load", 50.0)], [("load", 11.0)])
    narrow, wide = (ask(store, [("load", 20.0)], k=1, load=h) for h in (5.0, 20.0))
    assert narrow.past.tolist() == wide.past.tolist() == [2]
    assert narrow.similarity[0] < wide.similarity[0]


def test_history_before_the_place_alone_is_considered() -> None:
    same: Context = [("user", "u1")]
    store = store_of(same, [("user", "u2")], same, same)
    fresh = store.code(2, terms_of([same, same]))
    found = most_similar(store, fresh, np.array([2, 3]), np.array([0, 2]), 5)
    assert found.new.tolist() == [0, 1]
    assert found.past.tolist() == [0, 2]


def test_no_new_event_gives_no_row() -> None:
    store = store_of([("user", "a")])
    nobody = np.zeros(0, np.int64)
    assert len(most_similar(store, store.code(0, terms_of([])), nobody, nobody, 3).new) == 0


def numeric_store(values: np.ndarray) -> Store:
    store, count = Store(), len(values)
    terms = pa.table(
        {
            "event": np.arange(count),
            "attribute": pa.array(np.full(count, "load")),
            "text": pa.nulls(count, pa.string()),
            "number": values,
        }
    )
    store.add_newer(events_of(0, count), terms)
    return store


@pytest.mark.parametrize("heavy", [False, True])
def test_the_synopsis_of_many_numbers_is_close_to_the_sum_of_all(heavy: bool) -> None:
    random = np.random.default_rng(4)
    values = random.standard_cauchy(3000) if heavy else random.normal(size=3000)
    store = numeric_store(values)
    new: list[Context] = [[("load", float(x)), ("load", float(y))] for x, y in random.normal(size=(5, 2))]
    fresh = store.code(5, terms_of(new))
    place, begin = np.full(5, 3000), np.array([0, 0, 100, 100, 2000])
    close = most_similar(store, fresh, place, begin, 20, exact=500)
    whole = most_similar(store, fresh, place, begin, 20, exact=10_000)
    assert close.similarity.tolist() == pytest.approx(whole.similarity.tolist(), rel=0, abs=1e-3)
    assert close.similarity.tolist() != whole.similarity.tolist()


def test_the_idf_of_a_synopsis_is_off_by_less_than_a_thousandth() -> None:
    values = np.random.default_rng(5).normal(size=1500)
    weights = Weights([[("load", value)] for value in values.tolist()], {})
    bandwidth = weights.h["load"]
    cells = build_cells(np.zeros(1500, np.int64), values, np.array([[bandwidth]]), 100)
    held = np.bincount(cells.cell).astype(np.float64)
    moment = np.bincount(cells.cell, cells.offset)
    kernel = kernel_by_bins(cells.width[0], bandwidth)
    for i in range(0, 1500, 50):
        idf, slope = idf_of_bin(
            cells.cell[i], 0, len(held), cells.at, held, moment, kernel, 1500.0, cells.width[0], bandwidth
        )
        assert idf + slope * cells.offset[i] == pytest.approx(weights.of_number("load", values[i]), abs=1e-3)
