"""The output-rate kernel against its twin: intervals before and after the epoch, groups with nulls and NaN, cuts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.windows.kernel.output import OutputKernel
from presage.operators.windows.kernel.spec import ENDED, SEQ, TIME
from reference.cut_input import comparable, cuts, run_calls
from reference.output_rate import output_rows


@st.composite
def worlds(draw: st.DrawFn) -> tuple[OutputKernel, list[dict[str, Any]], pa.Schema, int]:
    order = draw(st.sampled_from([(), ("_ord",)]))
    group_by = draw(st.sampled_from([(), ("g",), ("g", "h")]))
    columns = draw(st.sampled_from([("g", "v"), ("v",)]))
    mode = draw(st.sampled_from(["all", "last", "first"]))
    kernel = OutputKernel(mode, draw(st.integers(0 if mode == "last" else 1, 6)), group_by, columns, order)
    names = [(name, pa.int64()) for name in (TIME, SEQ, *order)]
    schema = pa.schema([*names, ("g", pa.float64()), ("h", pa.string()), ("v", pa.int64())])
    rows = []
    time, seq = draw(st.integers(-12, 3)), 0
    for v in range(draw(st.integers(0, 12))):
        wait = draw(st.sampled_from([0, 0, 1, 2, 7]))
        # Without an order column the rows that one step emits share their place.
        if wait or order or draw(st.booleans()):
            time, seq = time + wait, seq + 1
        g = draw(st.sampled_from([None, float("nan"), 0.0, -0.0, 1.5]))
        h = draw(st.sampled_from([None, "x"]))
        rows.append({TIME: time, SEQ: seq, **dict.fromkeys(order, v), "g": g, "h": h, "v": v})
    for i, row in enumerate(rows):
        # An end makes the last row of its time.
        if (i + 1 == len(rows) or rows[i + 1][TIME] > row[TIME]) and draw(st.booleans()):
            row[SEQ] = ENDED
    return kernel, rows, schema, time + draw(st.integers(0, 9))


@settings(max_examples=100, deadline=None)
@given(worlds(), st.booleans(), st.data())
def test_rows_are_those_of_the_definition_however_the_input_is_cut(world: Any, end: bool, data: st.DataObject) -> None:
    kernel, rows, schema, clock = world
    expected = output_rows(
        kernel.mode, kernel.every, kernel.group_by, kernel.columns, kernel.order, kernel.ordinal, rows, clock, end
    )
    assert comparable(run_calls(kernel, [(rows, clock, 0)], schema, end)) == comparable(expected)
    calls = data.draw(cuts(rows, (TIME, SEQ, *kernel.order), clock))
    assert comparable(run_calls(kernel, calls, schema, end)) == comparable(expected)
