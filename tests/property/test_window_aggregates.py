"""Kernels of aggregates = their twins, and rows do not depend on how the input is cut: over small worlds full of ties,
nulls, NaN, infinities and both zeros."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presage.model.state import State
from presage.windows.kernel.aggregate import AggregateKernel
from presage.windows.kernel.changelog import ChangelogAggregateKernel
from presage.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, TIME, Aggregate, Window
from tests.reference.window_aggregates import batch_rows, changelog_rows, sliding_rows

SMALL = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
ORDER = "_o1"
SCHEMA = pa.schema(
    [
        (TIME, pa.int64()),
        (SEQ, pa.int64()),
        (ORDER, pa.int64()),
        (PASS, pa.bool_()),
        ("k", pa.string()),
        ("g", pa.float64()),
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("st", pa.struct([("room", pa.string()), ("floor", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("z", pa.null()),
    ]
)
VALUES = {
    PASS: st.sampled_from([True, True, True, False, None]),
    "k": st.sampled_from(["a", "a", "b", "ç", None]),
    "g": st.sampled_from([0.0, -0.0, math.nan, 1.5, None]),
    "n": st.none() | st.integers(-5, 5),
    "x": st.none() | st.sampled_from([0.0, -0.0, 1.0, 0.1, -2.5, 1e6, 3.0, 7.0, math.inf, -math.inf, math.nan]),
    "s": st.sampled_from(["", "a", "b", "zz", "é", "𝄞", None]),
    "b": st.sampled_from([True, False, None]),
    "at": st.none() | st.integers(0, 5).map(lambda i: i * 1_000_000),
    "st": st.none() | st.fixed_dictionaries({"room": st.sampled_from(["r1", "r2", None]), "floor": st.none() | st.just(1)}),
    "tags": st.sampled_from([None, [], ["u"], ["u", None]]),
    "z": st.none(),
}
CARRY = ("k", "s", "st")


def all_aggregates() -> tuple[Aggregate, ...]:
    found = [("count", None, False)]
    found += [(f, c, False) for f in ("count", "sum", "avg", "min", "max", "stddev", "median") for c in ("n", "x", "z")]
    found += [(f, c, False) for f in ("min", "max") for c in ("s", "b", "at")]
    found += [(f, c, False) for f in ("first", "last", "window") for c in ("x", "s", "st", "z")]
    found += [(f, c, True) for f in ("count", "sum", "avg") for c in ("n", "x")]
    found += [("count", c, True) for c in ("s", "st", "tags", "z")]
    return tuple(Aggregate(f, c, f"{f}_{c}_{int(d)}", d) for f, c, d in found)


AGGREGATES = all_aggregates()
INEXACT = {i for i, a in enumerate(AGGREGATES) if a.function in ("sum", "avg", "stddev") and a.column == "x"}

SLIDING = [
    Window("none"),
    Window("keepall", group=("k",)),
    Window("time", 3),
    Window("time", 4, group=("k",)),
    Window("length", 3),
    Window("length", 2, group=("k",)),
    Window("lastevent"),
    Window("lastevent", group=("g",)),
    Window("unique", by=("s",)),
    Window("unique", by=("n", "g"), group=("k",)),
    Window("firstunique", by=("s",)),
    Window("firstunique", by=("st",), group=("k",)),
]
BATCHES = [
    Window("length_batch", 3),
    Window("length_batch", 2, group=("k",)),
    Window("time_batch", 4),
    Window("time_batch", 3, group=("g",)),
]
GROUPINGS = [(), ("k",), ("k", "g"), ("st",), ("tags", "b")]


@st.composite
def worlds(draw: st.DrawFn, most: int = 22) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Events in processing order and how to cut them: (events so far, clock) for each step."""
    events = draw(st.lists(st.fixed_dictionaries(VALUES), max_size=most))
    time = 0
    for i, event in enumerate(events):
        time += draw(st.sampled_from([0, 0, 1, 2, 5]))
        event.update({TIME: time, SEQ: i // 2, ORDER: i % 2})
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    steps = []
    clock = 0
    for cut in [*cuts, len(events)]:
        low = max(clock, events[cut - 1][TIME] if cut else 0)
        high = events[cut][TIME] if cut < len(events) else time + 9
        clock = draw(st.integers(low, high))
        steps.append((cut, clock))
    return events, steps


def table_of(events: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    """As awkward as Arrow gets: several chunks, each a slice of something longer."""
    whole = pa.Table.from_pylist(events, schema)
    half = len(events) // 2
    parts = [whole.slice(0, half), whole.slice(half, 0), whole.slice(half)]
    padded = [pa.concat_tables([whole.slice(0, 1), p]).combine_chunks().slice(min(1, whole.num_rows)) for p in parts]
    return pa.concat_tables(padded)


def run(kernel: Any, events: list[dict[str, Any]], steps: list[tuple[int, int]], schema: pa.Schema) -> pa.Table:
    state = kernel.initial()
    tables = []
    at = 0
    for number, (cut, clock) in enumerate(steps):
        before = state.to_bytes()
        following, rows = kernel.step(state, table_of(events[at:cut], schema), clock, end=number + 1 == len(steps))
        assert state.to_bytes() == before
        rows.validate(full=True)
        state = State.from_bytes(following.to_bytes())
        tables.append(rows)
        at = cut
    return pa.concat_tables(tables)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    # Column by column: names of a table may repeat.
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True)) if table.num_rows else []


def close(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        both_nan = math.isnan(found) and math.isnan(expected)
        return both_nan or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)
    return found is None and expected is None


def check(kernel: Any, events: list[dict[str, Any]], steps: list[tuple[int, int]], expected: Any, schema: pa.Schema) -> None:
    whole = run(kernel, events, steps[-1:], schema)
    found = rows_of(whole)
    # The twin sees the values as Arrow gives them (timestamps), and zeros without a sign.
    wanted = expected(rows_to_events(events, schema))
    assert len(found) == len(wanted)
    width = len(AGGREGATES)
    for found_row, wanted_row in zip(found, wanted, strict=True):
        assert repr(found_row[:-width]) == repr(wanted_row[:-width])
        for j, aggregate in enumerate(AGGREGATES):
            value, twin = found_row[j - width], wanted_row[j - width]
            if j in INEXACT:
                assert close(value, twin), (aggregate, value, twin)
            else:
                assert repr(unsigned(value, aggregate)) == repr(unsigned(twin, aggregate)), aggregate
    cut = run(kernel, events, steps, schema)
    assert cut.schema == whole.schema
    assert repr(rows_of(cut)) == repr(found)


def unsigned(value: Any, aggregate: Aggregate) -> Any:
    """min, max and median may give either zero; a median of integers is a double."""
    if value is None or aggregate.function not in ("min", "max", "median"):
        return value
    return float(value) + 0.0 if aggregate.function == "median" or isinstance(value, float) else value


def rows_to_events(events: list[dict[str, Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    return pa.Table.from_pylist(events, schema).to_pylist()


def name(value: Any) -> str:
    if isinstance(value, Window):
        return f"{value.kind}{value.size or ''}({','.join(value.by)}|{','.join(value.group)})"
    return "-".join(value) or "ungrouped"


@pytest.mark.parametrize("window", SLIDING, ids=name)
@SMALL
@given(world=worlds(), group_by=st.sampled_from(GROUPINGS))
def test_sliding_windows_agree_with_their_definition_however_they_are_cut(window, world, group_by):
    events, steps = world
    kernel = AggregateKernel(window, group_by, bool(group_by), AGGREGATES, CARRY, (ORDER,))
    check(kernel, events, steps, lambda e: sliding_rows(window, group_by, AGGREGATES, CARRY, (ORDER,), e), SCHEMA)


@pytest.mark.parametrize("window", BATCHES, ids=name)
@SMALL
@given(world=worlds(), group_by=st.sampled_from(GROUPINGS), carry=st.sampled_from([(), CARRY]), order=st.sampled_from([(), (ORDER,)]))
def test_batch_windows_agree_with_their_definition_however_they_are_cut(window, world, group_by, carry, order):
    events, steps = world
    for i, event in enumerate(events):
        event[SEQ] = event[SEQ] if order else i
    kernel = AggregateKernel(window, group_by, bool(group_by), AGGREGATES, carry, order)
    check(
        kernel,
        events,
        steps,
        lambda e: batch_rows(window, group_by, bool(group_by), AGGREGATES, carry, order, e, steps[-1][1]),
        SCHEMA,
    )


CHANGES = pa.schema(
    [f for f in SCHEMA if f.name != PASS] + [(CHANGE, pa.int8()), (ORDINAL, pa.int64()), ("l", pa.int64()), ("r", pa.int64())]
)


@st.composite
def changelogs(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Steps in which some live tuples leave and some enter, cut between steps."""
    rows: list[dict[str, Any]] = []
    live: list[dict[str, Any]] = []
    ends = [0]
    values = {n: s for n, s in VALUES.items() if n != PASS}
    for number in range(draw(st.integers(0, 8))):
        place = {TIME: number // 2, SEQ: number, ORDER: 0}
        leaving = [e for e in live if draw(st.integers(0, 2)) == 0]
        entering = draw(st.lists(st.fixed_dictionaries(values), max_size=4))
        changes = [{**e, CHANGE: -1} for e in leaving]
        changes += [{**e, CHANGE: 1, "l": len(rows), "r": i} for i, e in enumerate(entering)]
        live = [e for e in live if e not in leaving] + changes[len(leaving) :]
        rows += [{**c, **place, ORDINAL: i} for i, c in enumerate(changes)]
        ends.append(len(rows))
    cuts = sorted(draw(st.lists(st.sampled_from(ends), max_size=4)))
    return rows, [(cut, 99) for cut in [*cuts, len(rows)]]


@settings(SMALL, max_examples=60)
@given(world=changelogs(), group_by=st.sampled_from(GROUPINGS))
def test_changelogs_agree_with_their_definition_however_they_are_cut(world, group_by):
    rows, steps = world
    kernel = ChangelogAggregateKernel(group_by, bool(group_by), AGGREGATES, CARRY, (ORDER,), ("l", "r"))
    check(
        kernel,
        rows,
        steps,
        lambda e: changelog_rows(group_by, bool(group_by), AGGREGATES, CARRY, (ORDER,), ("l", "r"), e),
        CHANGES,
    )
