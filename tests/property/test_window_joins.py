"""The join kernel against its twin: all windows on all sides, ties, nulls, self-joins, relations, cuts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.windows.kernel.join import JoinKernel, JoinSource, Link
from presage.operators.windows.kernel.spec import PASS, SEQ, SOURCE, TIME, Window
from reference.cut_input import as_table, comparable, cuts, run_calls
from reference.window_joins import join_windows

KINDS = ["none", "keepall", "time", "length", "unique", "firstunique", "lastevent", "time_batch", "length_batch"]
KEYS = {
    "string": (pa.string(), ["a", "a", "", None]),
    "double": (pa.float64(), [0.0, -0.0, float("nan"), None]),
    "long": (pa.int64(), [7]),
}


@st.composite
def windows(draw: st.DrawFn, i: int) -> Window:
    kind = draw(st.sampled_from(KINDS))
    by = (f"g{i}",) if kind in ("unique", "firstunique") else ()
    group = draw(st.sampled_from([(), (f"k{i}",)]))
    return Window(kind, draw(st.integers(1, 4)), by, group)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[JoinKernel, list[dict[str, Any]], pa.Schema, int]:
    n = draw(st.integers(2, 3))
    key_type, keys = KEYS[draw(st.sampled_from(sorted(KEYS)))]
    key, small = st.sampled_from(keys), st.sampled_from([1, 2, None])
    order = draw(st.sampled_from([(), ("_x",)]))
    fields = [(f"{c}{i}", t) for i in range(n) for c, t in (("k", key_type), ("g", pa.int32()), ("v", pa.int64()))]
    schema = pa.schema(
        [(name, pa.int64()) for name in (TIME, SEQ, *order)] + [(SOURCE, pa.int8()), (PASS, pa.bool_()), *fields]
    )
    sources = []
    for i in range(n):
        # A column that only the window or the link needs is not among the columns that go out.
        columns = draw(st.sampled_from([(f"k{i}", f"g{i}", f"v{i}"), (f"v{i}",)]))
        static = None
        if draw(st.integers(0, 4)) == 0:
            rows = [{f"k{i}": draw(key), f"g{i}": draw(small), f"v{i}": v} for v in range(draw(st.integers(0, 3)))]
            static = pa.Table.from_pylist(rows, pa.schema([f for f in fields if f[0].endswith(str(i))]))
        sources.append(JoinSource(draw(windows(i)), columns, static))
    links = []
    for a, b in [(0, 1), (1, 2), (2, 0)]:
        if max(a, b) < n and draw(st.booleans()):
            names = draw(st.sampled_from(["k", "g", "kg"]))
            links.append(Link(a, tuple(f"{c}{a}" for c in names), b, tuple(f"{c}{b}" for c in names)))
    picky = draw(st.booleans())
    streams = [i for i in range(n) if sources[i].static is None]
    events: list[dict[str, Any]] = []
    time, seq, x = draw(st.integers(-5, 5)), 0, 0
    for v in range(draw(st.integers(0, 12) | st.just(12)) if streams else 0):
        wait = draw(st.sampled_from([0, 0, 1, 1, 1, 4]))
        if order and wait == 0 and draw(st.booleans()):
            x += 1
        else:
            time, seq, x = time + wait, seq + 1, 0
        k, g = draw(key), draw(small)
        seen_by = draw(st.lists(st.sampled_from(streams), min_size=1, max_size=2, unique=True))
        for i in sorted(seen_by):
            place = {
                TIME: time,
                SEQ: seq,
                **dict.fromkeys(order, x),
                SOURCE: i,
                PASS: not (picky and draw(st.booleans())),
            }
            events.append({**place, f"k{i}": k, f"g{i}": g, f"v{i}": v})
    kernel = JoinKernel(tuple(sources), tuple(links), draw(st.booleans()), order)
    return kernel, events, schema, time + draw(st.integers(0, 9))


@settings(max_examples=120, deadline=None)
@given(worlds(), st.data())
def test_rows_are_those_of_the_definition_however_the_input_is_cut(world: Any, data: st.DataObject) -> None:
    kernel, events, schema, clock = world
    expected = join_windows(kernel.sources, kernel.links, kernel.changelog, kernel.order, events, clock)
    whole = kernel.step(kernel.initial(), as_table(events, schema), clock)[1].to_pylist()
    assert comparable(whole) == comparable(expected)
    calls = data.draw(cuts(events, (TIME, SEQ, *kernel.order), clock))
    assert comparable(run_calls(kernel, calls, schema)) == comparable(expected)


@settings(max_examples=30, deadline=None)
@given(worlds(), st.data())
def test_a_step_leaves_the_given_state_as_it_was(world: Any, data: st.DataObject) -> None:
    kernel, events, schema, clock = world
    calls = data.draw(cuts(events, (TIME, SEQ, *kernel.order), clock))
    state = kernel.initial()
    for rows, now, form in calls:
        before = state.to_bytes()
        following, first = kernel.step(state, as_table(rows, schema, form), now)
        assert state.to_bytes() == before
        assert comparable(kernel.step(state, as_table(rows, schema, form), now)[1].to_pylist()) == comparable(
            first.to_pylist()
        )
        state = following


@settings(max_examples=40, deadline=None)
@given(worlds())
def test_the_changelog_adds_up_to_the_rows_without_it(world: Any) -> None:
    kernel, events, schema, clock = world
    logged = JoinKernel(kernel.sources, kernel.links, True, kernel.order)
    plain = JoinKernel(kernel.sources, kernel.links, False, kernel.order)
    table = as_table(events, schema)
    made = [r for r in logged.step(logged.initial(), table, clock)[1].to_pylist() if r.pop("_change") > 0]
    rows = plain.step(plain.initial(), table, clock)[1].to_pylist()
    for row in made + rows:
        del row["_ord"]
    assert comparable(made) == comparable(rows)
