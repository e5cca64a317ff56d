"""The search for similar contexts against its slow twin: the same events, the same ranks, the same similarities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.recall.kernel import store as store_module
from presage.operators.recall.kernel.sampled_counts import Beyond
from presage.operators.recall.kernel.similarity import Similar, most_similar
from presage.operators.recall.kernel.store import Store
from property.context_worlds import World, grown_store, terms, terms_of, worlds
from reference.similar_contexts import Answer, Term
from reference.similar_contexts import most_similar as slowly


def ask(store: Store, world: World, rows: list[int]) -> Similar:
    fresh = store.code(len(rows), terms_of([world.new[i] for i in rows]))
    place, begin = np.array(world.place, np.int64)[rows], np.array(world.begin, np.int64)[rows]
    return most_similar(store, fresh, place, begin, world.k, world.bandwidths)


def agrees(found: Similar, expected: list[Answer]) -> None:
    assert found.new.tolist() == [row.new for row in expected]
    assert found.rank.tolist() == [row.rank for row in expected]
    assert found.similarity.tolist() == pytest.approx([row.similarity for row in expected], rel=0, abs=2e-12)
    assert found.past.tolist() == [row.past for row in expected]


def cut(data: st.DataObject, world: World) -> Store:
    first = data.draw(st.integers(0, len(world.past)))
    return grown_store(world.past, first, data.draw(st.integers(first, len(world.past))))


@pytest.fixture(params=[0, 3, 256], autouse=True)
def loose(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """All events in the index, some, none."""
    monkeypatch.setattr(store_module, "LOOSE", request.param)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.data())
def test_the_search_is_its_twin(world: World, data: st.DataObject) -> None:
    found = ask(cut(data, world), world, list(range(len(world.new))))
    agrees(found, slowly(*world))


@settings(max_examples=60, deadline=None)
@given(worlds(), st.lists(st.tuples(st.lists(terms(), max_size=5), st.integers(1, 9)), max_size=5), st.data())
def test_what_lies_beyond_is_weighed_and_not_compared(
    world: World, others: list[tuple[list[Term], int]], data: st.DataObject
) -> None:
    store = cut(data, world)
    since = [data.draw(st.integers(0, len(others))) for _ in world.new]
    fresh = store.code(len(world.new), terms_of(world.new))
    bags = store.code(len(others), terms_of([context for context, _ in others]))
    beyond = Beyond(bags, np.array([times for _, times in others], np.int64), np.array(since, np.int64))
    place, begin = np.array(world.place, np.int64), np.array(world.begin, np.int64)
    found = most_similar(store, fresh, place, begin, world.k, world.bandwidths, beyond=beyond)
    agrees(found, slowly(*world, others, since))


@settings(max_examples=20, deadline=None)
@given(worlds(), st.data())
def test_asked_one_by_one_between_growing_new_events_find_the_same(world: World, data: st.DataObject) -> None:
    store = cut(data, world)
    together = ask(store, world, list(range(len(world.new))))
    parts = [ask(store, world, [i]) for i in range(len(world.new))]
    assert np.concatenate([part.past for part in parts]).tolist() == together.past.tolist()
    assert np.concatenate([part.similarity for part in parts]).tolist() == pytest.approx(
        together.similarity.tolist(), rel=0, abs=2e-12
    )


@settings(max_examples=30, deadline=None)
@given(worlds())
def test_no_context_is_more_similar_than_the_same_one(world: World) -> None:
    store = grown_store([*world.past, world.new[0]], 0, 0)
    fresh = store.code(1, terms_of(world.new[:1]))
    everything = len(world.past) + 1
    found = most_similar(store, fresh, np.array([everything]), np.array([0]), everything)
    assert (found.similarity <= 1).all()
    # The same context comes first, unless it is empty.
    if len(found.similarity):
        assert found.similarity[0] == 1.0
