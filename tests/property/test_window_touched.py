"""A large window steps the rows alone that an event touches: its rows are those of a window that steps all of them, and
what it tells of its change is its change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from presage.live import state_delta as state_changes
from presage.live.state_delta import apply_change, change_between
from presage.model.operator_state import State
from presage.operators.windows.kernel import live_rows, pieces
from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.live_rows import LIVE
from presage.operators.windows.kernel.spec import Window
from property.window_worlds import SOME_AGGREGATES, worlds
from reference.aggregate_worlds import CARRY, ORDER, SCHEMA, SLIDING, check, name, rows_of, table_of
from reference.window_aggregates import sliding_rows

SHARE = settings(max_examples=settings().max_examples // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
# In small worlds, too: only what is touched is stepped, pieces are full, changes are told.
SMALL = (
    (live_rows, "LEAST_ROWS", 1),
    (live_rows, "LEAST_TIMES", 0),
    (live_rows, "LEAST_RECORDED", 1),
    (live_rows, "MOST_TOUCHED", 1.0),
    (state_changes, "ROWS_WORTH_A_LOOK", 1),
)
SIZES = {"a": 1, "b": 4, "ç": 3, None: 6}
WIDER = pa.schema([*SCHEMA, ("size", pa.int64()), ("k2", pa.string())])
WINDOWS = [
    *(window for window in SLIDING if window.kind in ("time", "length", "unique", "lastevent")),
    Window("unique", by=("n",), group=("st",)),
    Window("time", sizes="size"),
    Window("length", sizes="size", group=("k",)),
    Window("length", 2, group=("k2",)),  # the same as k, by another name
]
GROUPINGS = [("k",), ("k", "g"), ("st", "k"), ("tags", "k")]


PIECES = st.sampled_from([(2, 0.0), (4, 0.4), (4, 1.0), (64, 0.1), (64, 0.6)])  # most rows, most that left


@contextmanager
def small(most: tuple[int, float]) -> Iterator[None]:
    with ExitStack() as stack:
        for module, constant, value in (*SMALL, (pieces, "PIECE_ROWS", most[0]), (pieces, "MOST_LEFT", most[1])):
            stack.enter_context(patch.object(module, constant, value))
        yield


@pytest.mark.parametrize("window", [w for w in WINDOWS if not w.sizes and w.group != ("k2",)], ids=name)
@SHARE
@given(world=worlds(), group_by=st.sampled_from(GROUPINGS), aggregates=SOME_AGGREGATES, most=PIECES)
def test_rows_are_those_of_the_definition_when_only_what_is_touched_is_stepped(
    window, world, group_by, aggregates, most
):
    events, steps = world
    kernel = AggregateKernel(window, group_by, True, aggregates, CARRY, (ORDER,))
    with small(most):
        check(kernel, events, steps, lambda e: sliding_rows(window, group_by, aggregates, CARRY, (ORDER,), e))


@pytest.mark.parametrize("window", WINDOWS, ids=name)
@SHARE
@given(
    world=worlds(40),
    group_by=st.sampled_from(GROUPINGS),
    aggregates=SOME_AGGREGATES,
    seen=st.lists(st.sampled_from([0, 0, 1, 2]), min_size=5, max_size=5),
    most=PIECES,
)
def test_a_state_that_lives_on_and_what_it_tells_of_its_changes_are_one(
    window, world, group_by, aggregates, seen, most
):
    """`seen` says of each step how its state goes on: as it is, as what was stored, or stepped whole."""
    events, steps = world
    events = [e | {"size": SIZES[e["k"]], "k2": e["k"]} for e in events]
    partition = ("k",) if "k2" in window.group else ()
    kernel = AggregateKernel(window, group_by, True, aggregates, CARRY, (ORDER,), partition)
    expected = stepped_whole(kernel, events, steps)
    state = stored = kernel.initial()
    rows, at = [], 0
    for number, (cut, clock) in enumerate(steps):
        how = seen[number]
        taken = table_of(events[at:cut], WIDER)
        with small(most), patch.object(live_rows, "LEAST_ROWS", 1 << 20 if how == 2 else 1):
            after, made = kernel.step(state, taken, clock)
            change = change_between(state, after)
            stored = after if change is None else apply_change(stored, State.from_bytes(change.to_bytes()))
        event(f"a change: {change is not None}")
        after.tables[LIVE].validate(full=True)
        assert stored.tables[LIVE].schema == after.tables[LIVE].schema
        assert repr(stored.tables[LIVE].to_pylist()) == repr(after.tables[LIVE].to_pylist())
        state = stored = State.from_bytes(stored.to_bytes()) if how == 1 else after
        rows += rows_of(made)
        at = cut
    assert repr(rows) == repr(expected)


def stepped_whole(kernel: AggregateKernel, events: list[dict[str, Any]], steps: list[tuple[int, int]]) -> list[Any]:
    state, at, rows = kernel.initial(), 0, []
    for cut, clock in steps:
        state, made = kernel.step(state, table_of(events[at:cut], WIDER), clock)
        rows += rows_of(made)
        at = cut
    return rows
