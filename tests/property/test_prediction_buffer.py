"""The buffer of update-tuples against its slow twin: the same victims, the same intervals, however arrivals are cut."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.model.operator_state import State
from presage.operators.prediction.kernel.buffer.buffer import POLICIES, Buffer, BufferSpec, Fed
from reference.prediction_buffer import NaiveBuffer

SECOND = 1_000_000


class World(NamedTuple):
    spec: BufferSpec
    time: np.ndarray
    key: np.ndarray
    values: np.ndarray
    rates: np.ndarray
    clock: np.ndarray


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Small whole numbers, so that there are ties and no rounding; some tuples late."""
    spec = BufferSpec(
        limit=draw(st.integers(1, 6)),
        width=draw(st.sampled_from([0, 3, 8])) * SECOND,
        period=draw(st.sampled_from([2, 6, 20])) * SECOND,
        attributes=draw(st.integers(1, 2)),
        policy=draw(st.sampled_from(sorted(POLICIES))),
        seed=draw(st.integers(-3, 3)),
    )
    size = draw(st.integers(1, 25))
    keys = draw(st.integers(1, 4))
    clock = np.cumsum(draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 5]), min_size=size, max_size=size)))
    late = np.array(draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 5, 12]), min_size=size, max_size=size)))
    key = np.array(draw(st.lists(st.integers(0, keys - 1), min_size=size, max_size=size)))
    row = st.lists(st.integers(-2, 2).map(float), min_size=spec.attributes, max_size=spec.attributes)
    values, rates = (np.array(draw(st.lists(row, min_size=size, max_size=size))) for _ in range(2))
    return World(spec, (clock - late) * SECOND, key, values, rates, clock * SECOND)


def feed(buffer: Buffer, world: World, start: int, stop: int) -> Fed:
    time, key, values, rates, clock = (column[start:stop] for column in world[1:])
    return buffer.feed(time, key, values, rates, watermark=clock)


def in_force(buffer: Buffer) -> set[tuple[int, int, int, bool]]:
    pieces = buffer.in_force()
    columns = (pieces.arrival, pieces.start, pieces.end, pieces.end_open)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def twin_of(spec: BufferSpec) -> NaiveBuffer:
    return NaiveBuffer(spec.policy, spec.limit, spec.width, spec.period, spec.seed)


def run_twin(twin: NaiveBuffer, world: World, i: int) -> None:
    values, rates = tuple(world.values[i].tolist()), tuple(world.rates[i].tolist())
    twin.feed(int(world.time[i]), int(world.key[i]), values, rates, int(world.clock[i]))


@given(worlds())
def test_the_buffer_is_its_twin_after_every_arrival(world: World) -> None:
    buffer, twin = Buffer(world.spec), twin_of(world.spec)
    for i in range(len(world.time)):
        fed = feed(buffer, world, i, i + 1)
        run_twin(twin, world, i)
        assert fed.evicted.tolist() == twin.evicted[-1:]
        assert in_force(buffer) == twin.pieces()
        assert buffer.count == len(twin.held) <= world.spec.limit
    later = int(world.clock[-1]) + 4 * SECOND
    buffer.advance(later)
    twin.advance(later)
    assert in_force(buffer) == twin.pieces()


@given(worlds(), st.data())
def test_cuts_and_restarts_change_nothing(world: World, data: st.DataObject) -> None:
    whole, cut = Buffer(world.spec), Buffer(world.spec)
    size = len(world.time)
    fed = feed(whole, world, 0, size)
    places = sorted(data.draw(st.lists(st.integers(0, size), max_size=4)))
    parts = []
    for start, stop in zip([0, *places], [*places, size], strict=True):
        parts.append(feed(cut, world, start, stop))
        cut = Buffer.from_state(world.spec, State.from_bytes(cut.to_state().to_bytes()))
    assert np.concatenate([part.evicted for part in parts]).tolist() == fed.evicted.tolist()
    for name in fed.changes._fields:
        assert (
            np.concatenate([getattr(part.changes, name) for part in parts]).tolist()
            == getattr(fed.changes, name).tolist()
        )
    assert cut.to_state().to_bytes() == whole.to_state().to_bytes()
    assert in_force(cut) == in_force(whole)


@given(worlds())
def test_the_changes_tell_what_is_in_force_after_each_arrival(world: World) -> None:
    buffer = Buffer(world.spec)
    changes = feed(buffer, world, 0, len(world.time)).changes
    after = buffer.advance(int(world.clock[-1]) + 4 * SECOND)
    twin = twin_of(world.spec)
    known: dict[int, tuple[int, int, bool]] = {}
    rows = list(zip(*(np.concatenate([a, b]).tolist() for a, b in zip(changes, after, strict=True)), strict=True))
    for i in range(len(world.time) + 1):
        for at, piece, start, end, end_open, _ in rows:
            if at == i:
                known[piece] = (start, end, end_open)
        if i < len(world.time):
            run_twin(twin, world, i)
        else:
            twin.advance(int(world.clock[-1]) + 4 * SECOND)
        assert {
            (piece, *one) for piece, one in known.items() if one[0] < one[1] or one == (one[0], one[0], False)
        } == twin.pieces()


@given(worlds())
def test_intervals_of_a_key_never_overlap(world: World) -> None:
    buffer = Buffer(world.spec)
    for i in range(len(world.time)):
        feed(buffer, world, i, i + 1)
        pieces = buffer.in_force()
        same = pieces.key[1:] == pieces.key[:-1]
        assert (pieces.end[:-1][same] <= pieces.start[1:][same]).all()
        assert (pieces.start <= pieces.time).all()


@given(worlds())
def test_with_room_for_all_policies_are_the_same(world: World) -> None:
    everything = [Buffer(replace(world.spec, limit=100, policy=policy)) for policy in POLICIES]
    for buffer in everything:
        assert set(feed(buffer, world, 0, len(world.time)).evicted.tolist()) == {-1}
    assert len({frozenset(in_force(buffer)) for buffer in everything}) == 1


@given(worlds())
def test_the_last_tuple_of_a_key_stays_while_there_is_another_choice(world: World) -> None:
    """By min-c, of tuples that come in order of time."""
    spec = replace(world.spec, policy="min-c", width=1000 * SECOND, period=1000 * SECOND)
    buffer = Buffer(spec)
    order = np.argsort(world.time, kind="stable")
    last: dict[int, int] = {}
    for i, row in enumerate(order):
        one = [row]
        feed_one = buffer.feed(world.time[one], world.key[one], world.values[one], world.rates[one])
        last[int(world.key[row])] = i
        if len(last) <= spec.limit:
            assert feed_one.evicted[0] not in last.values()


def test_a_draw_is_even() -> None:
    spec = BufferSpec(limit=4, width=0, period=10**12, attributes=1, policy="random", seed=5)
    buffer, size = Buffer(spec), 20_000
    time = np.arange(size)
    fed = buffer.feed(time, time, np.zeros((size, 1)), np.zeros((size, 1)))
    # Each of five, the new one included, is as likely to go.
    refused = np.mean(fed.evicted[4:] == time[4:])
    assert refused == pytest.approx(0.2, abs=0.02)
