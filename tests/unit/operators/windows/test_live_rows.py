"""A large window: long random lives with steps of all sizes, and what a step leaves where it lies."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.live import state_delta as state_changes
from presage.live.state_delta import apply_change, change_between
from presage.model.operator_state import State
from presage.operators.windows.kernel import live_rows, pieces
from presage.operators.windows.kernel.aggregate import AggregateKernel
from presage.operators.windows.kernel.live_rows import LIVE
from presage.operators.windows.kernel.sliding import PLACE
from presage.operators.windows.kernel.spec import PASS, SEQ, TIME, Aggregate, Window

SCHEMA = pa.schema(
    [
        (TIME, pa.int64()),
        (SEQ, pa.int64()),
        (PASS, pa.bool_()),
        ("k", pa.string()),
        ("u", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("size", pa.int64()),
    ]
)
AGGREGATES = (
    Aggregate("count", None, "n"),
    Aggregate("sum", "x", "sum"),
    Aggregate("stddev", "x", "dev"),
    Aggregate("max", "s", "max"),
    Aggregate("median", "x", "median"),
    Aggregate("window", "s", "all"),
    Aggregate("sum", "x", "distinct", True),
)
WINDOWS = {
    "time": Window("time", 60),
    "times": Window("time", sizes="size"),
    "length": Window("length", 3, group=("k",)),
    "lengths": Window("length", sizes="size", group=("k",)),
    "unique": Window("unique", by=("k", "u")),
    "unique in groups": Window("unique", by=("u",), group=("k",)),
    "lastevent": Window("lastevent", group=("k",)),
    "nothing shared": Window("length", 90),
}
EVENTS = 900


def events_of(seed: int) -> pa.Table:
    random = Random(seed)
    rows: list[dict[str, Any]] = []
    time = 0
    for number in range(EVENTS):
        time += random.choice((0, 0, 1, 2))
        key = random.randrange(30) // random.choice((1, 1, 5))
        value = random.choice((0.1, -0.0, 2.5, 1e6, float("inf"), float("nan"), None))
        place = {TIME: time, SEQ: number, PASS: random.random() < 0.9}
        rows.append(place | {"k": f"k{key}" if key else None, "u": random.randrange(3), "x": value})
        rows[-1] |= {"s": f"{number:03d}" * 5, "size": 1 + 40 * (key % 4)}
    return pa.Table.from_pylist(rows, SCHEMA)


def lives(kernel: AggregateKernel, events: pa.Table, seed: int, touched: bool) -> tuple[list[Any], int]:
    """Rows of all steps, and how many changes were told."""
    random = Random(seed)
    state = stored = kernel.initial()
    rows: list[Any] = []
    at = told = 0
    while at < EVENTS:
        new = events.slice(at, random.choice((0, 1, 3, 8, 60)))
        at += new.num_rows
        clock = events[TIME][at - 1].as_py() if at else 0
        after, made = kernel.step(state, new, clock)
        rows += made.to_pylist()
        if touched:
            change = change_between(state, after)
            told += change is not None
            stored = after if change is None else apply_change(stored, State.from_bytes(change.to_bytes()))
            assert repr(stored.tables[LIVE].to_pylist()) == repr(after.tables[LIVE].to_pylist())
        state = after
    return rows, told


@pytest.mark.parametrize("group_by", [("k",), ("k", "u")], ids="-".join)
@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_rows_are_the_same_whether_all_or_what_is_touched_is_stepped(
    window: Window, group_by: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = AggregateKernel(window, group_by, True, AGGREGATES, ("k",))
    events = events_of(1)
    expected, _ = lives(kernel, events, 2, touched=False)
    small = ((live_rows, "LEAST_ROWS", 20), (live_rows, "LEAST_TIMES", 3), (live_rows, "LEAST_RECORDED", 1))
    for module, name, value in (*small, (pieces, "PIECE_ROWS", 32), (state_changes, "ROWS_WORTH_A_LOOK", 1)):
        monkeypatch.setattr(module, name, value)
    rows, told = lives(kernel, events, 2, touched=True)
    assert repr(rows) == repr(expected)
    assert told > 10


def ticks(first: int, count: int, keys: int) -> pa.Table:
    numbers = np.arange(first, first + count)
    keyed = pa.array(numbers % keys).cast(pa.string())
    texts = pa.array(numbers + 10_000).cast(pa.string())
    return pa.table({TIME: numbers, SEQ: numbers, "k": keyed, "s": texts})


def test_texts_that_no_event_touches_stay_where_they_lie() -> None:
    kernel = AggregateKernel(Window("length", 2, group=("k",)), ("k",), True, (Aggregate("max", "s", "m"),), ())
    keys = live_rows.LEAST_ROWS
    state, _ = kernel.step(kernel.initial(), ticks(0, keys, keys), keys)
    after, rows = kernel.step(state, ticks(7, 3, keys), keys)
    assert rows["m"].to_pylist() == ["10007", "10008", "10009"]
    before, now = (s.tables[LIVE]["s"].chunk(0) for s in (state, after))
    assert [b and b.address for b in before.buffers()] == [b and b.address for b in now.buffers()]
    change = change_between(state, after)
    assert change is not None
    assert change.size() < 1_000


def test_rows_that_left_are_cut_off_in_front_and_taken_out_where_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_rows, "LEAST_ROWS", 1)
    monkeypatch.setattr(live_rows, "LEAST_TIMES", 0)
    kernel = AggregateKernel(Window("lastevent", group=("k",)), ("k",), True, (Aggregate("max", "s", "m"),), ())
    state, _ = kernel.step(kernel.initial(), ticks(0, 8, 8), 8)
    state, _ = kernel.step(state, ticks(9, 1, 8), 9)
    assert state.tables[LIVE].num_rows == 9
    assert np.count_nonzero(state.tables[LIVE][PLACE].to_numpy() == live_rows.GONE) == 1
    state, _ = kernel.step(state, ticks(10, 3, 8), 12)
    assert sorted(state.tables[LIVE]["k"].to_pylist()) == [str(k) for k in range(8)]
    state, _ = kernel.step(state, ticks(16, 1, 8), 16)
    assert state.tables[LIVE]["k"].to_pylist()[0] == "5"
