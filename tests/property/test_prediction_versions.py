"""All states of a buffer asked at once say what its states say one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.model.time import to_micros
from presage.operators.prediction.kernel.buffer.buffer import POLICIES, BufferSpec
from presage.operators.prediction.kernel.join import join
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import SEQ, TIME, Pair, PredictionTables, Side, Stream
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.spec import Comparator, JoinSpec, JoinTerm, ValueSpec, ValueTerm
from presage.operators.prediction.kernel.validator import PredictionKernel
from presage.operators.prediction.kernel.values import validity
from reference.buffered_join import Part, parts_of_states, united

SECOND = 1_000_000
World = tuple[Stream, np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Updates of a few objects in order of time, some at the same time; more of them than there is room for."""
    size = draw(st.integers(1, 14))
    time = np.cumsum(draw(st.lists(st.sampled_from([0, 1, 2, 5]), min_size=size, max_size=size))) * SECOND // 2
    key = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    values, rates = (
        np.array(draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size)), np.float64)[:, None] / scale
        for scale in (1, 2)
    )
    stream = Stream(
        ("k",),
        ("v",),
        ("r",),
        ("e",),
        draw(st.sampled_from([2, 5])) * SECOND,
        draw(st.integers(1, 5)),
        draw(st.sampled_from(sorted(POLICIES))),
    )
    return stream, time.astype(np.int64), key, values, rates


def rows_of(world: World, tables: PredictionTables) -> list[tuple[tuple[int, ...], int, int]]:
    _, time, key, values, rates = world
    columns = {TIME: time, SEQ: np.arange(len(time)), "k": key, "v": values[:, 0], "r": rates[:, 0]}
    events = pa.table({**columns, "e": np.zeros(len(time))})
    kernel = PredictionKernel(tables)
    made = kernel.step(kernel.initial(), events, int(time[-1]) + 100 * SECOND, True)[1]
    objects = [name for name in ("a", "b") if name in made.column_names]
    rows = [dict(row) for row in made.to_pylist()]
    return sorted((tuple(row[n] for n in objects), to_micros(row["from"]), to_micros(row["to"])) for row in rows)


def spec_of(stream: Stream, window: int) -> BufferSpec:
    assert stream.limit is not None
    assert stream.period is not None
    return BufferSpec(stream.limit, window, stream.period, 1, stream.policy, 0)


def parts_of(found: Any, *keys: np.ndarray) -> list[Part]:
    columns = (found.valid_from, found.valid_to, found.from_open, found.to_open)
    several = zip(*(column.tolist() for column in columns), strict=True)
    return [(tuple(one), *part) for one, part in zip(np.stack(keys, axis=1).tolist(), several, strict=True)]


@settings(max_examples=150)
@given(
    worlds(),
    st.sampled_from([0, SECOND // 2, 3 * SECOND]),
    st.sampled_from([Comparator.LE, Comparator.GT, Comparator.LT]),
)
def test_a_join_over_a_buffer_is_that_of_its_states(world: World, window: int, comparator: Comparator) -> None:
    asked = JoinSpec((JoinTerm(0, 0, comparator, 1.0),), window, same=True)
    tables = PredictionTables((world[0],), (Side(0), Side(0)), (Pair(0, 1, asked),), columns=("a", "b", "from", "to"))

    def ask(pieces: Pieces, after: int, until: int | None) -> list[Part]:
        found = join(pieces, pieces, asked, Times(after, until))
        return parts_of(found, found.left, found.right)

    assert rows_of(world, tables) == united(parts_of_states(spec_of(world[0], window), *world[1:], ask))


@settings(max_examples=100)
@given(worlds(), st.sampled_from([Comparator.LE, Comparator.GT]))
def test_a_value_term_over_a_buffer_is_that_of_its_states(world: World, comparator: Comparator) -> None:
    term = ValueTerm(0, comparator, 0.5)
    tables = PredictionTables((world[0],), (Side(0, terms=(term,)),), columns=("a", "from", "to"))

    def ask(pieces: Pieces, after: int, until: int | None) -> list[Part]:
        found = validity(pieces, ValueSpec((term,)), Times(after, until))
        return parts_of(found, found.key)

    assert rows_of(world, tables) == united(parts_of_states(spec_of(world[0], 0), *world[1:], ask))


@settings(max_examples=100)
@given(worlds(), st.sampled_from([0, SECOND // 2, 3 * SECOND]), st.sampled_from([Comparator.LE, Comparator.GT]))
def test_a_buffer_that_is_never_full_changes_no_row(world: World, window: int, comparator: Comparator) -> None:
    asked = JoinSpec((JoinTerm(0, 0, comparator, 1.0),), window, same=True)
    questions = [
        PredictionTables((world[0],), (Side(0), Side(0)), (Pair(0, 1, asked),), columns=("a", "b", "from", "to")),
        PredictionTables((world[0],), (Side(0, terms=(ValueTerm(0, comparator, 0.5),)),), columns=("a", "from", "to")),
        PredictionTables((world[0],), (Side(0),), columns=("a", "from", "to")),
    ]
    for tables in questions:
        large, none = (replace(tables, streams=(replace(world[0], limit=limit),)) for limit in (100, None))
        assert rows_of(world, large) == rows_of(world, none)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_rows_with_a_buffer_differ_from_those_without(policy: str) -> None:
    """So that the twins above have something to agree on."""
    time = np.arange(12) * SECOND
    key, values = np.arange(12) % 4, np.tile([[0.0], [1.0], [9.0]], (4, 1))
    made = {}
    for limit in (3, None):
        stream = Stream(("k",), ("v",), ("r",), ("e",), 5 * SECOND, limit, policy)
        asked = JoinSpec((JoinTerm(0, 0, Comparator.LE, 1.0),), 0, same=True)
        tables = PredictionTables((stream,), (Side(0), Side(0)), (Pair(0, 1, asked),), columns=("a", "b", "from", "to"))
        made[limit] = rows_of((stream, time, key, values, np.zeros((12, 1))), tables)
    assert made[3] != made[None]
