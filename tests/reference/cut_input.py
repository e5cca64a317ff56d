"""A kernel run over its input cut into calls, its state through bytes between them: all rows that it emits."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from presage.model.operator_state import State
from presage.operators.windows.kernel.spec import TIME
from reference.distinct_rows import deep

Row = dict[str, Any]


def as_table(rows: list[Row], schema: pa.Schema, form: int = 0) -> pa.Table:
    """Rows as Arrow may bring them: in one piece (0), as a slice of something longer (1), in chunks of two (2)."""
    table = pa.Table.from_pylist(rows, schema)
    if form == 1 and rows:
        return pa.Table.from_pylist([rows[-1], *rows, rows[0]], schema).combine_chunks().slice(1, len(rows))
    if form == 2 and rows:
        return pa.concat_tables([table.slice(i, 2) for i in range(0, len(rows), 2)])
    return table


@st.composite
def cuts(draw: st.DrawFn, rows: list[Row], step: tuple[str, ...], clock: int) -> list[tuple[list[Row], int, int]]:
    """Calls (rows, clock, Arrow form) that bring `rows` in order, never splitting a step, the last one at `clock`."""
    steps = [tuple(r[name] for name in step) for r in rows]
    calls = []
    start, now = 0, min([clock, *(r[TIME] for r in rows)]) - 3
    while True:
        stop = len(rows) - draw(st.integers(0, len(rows) - start))
        while 0 < stop < len(rows) and steps[stop] == steps[stop - 1]:
            stop += 1
        # Time may run ahead as far as the next row's time: what has that time comes after all timers due by then.
        low = max([now, *(r[TIME] for r in rows[start:stop])])
        high = rows[stop][TIME] if stop < len(rows) else clock
        now = draw(st.integers(low, high))
        calls.append((rows[start:stop], now, draw(st.integers(0, 2))))
        start = stop
        if start == len(rows) and not draw(st.booleans()):
            return [*calls, ([], clock, 0)]


def run_calls(kernel: Any, calls: list[tuple[list[Row], int, int]], schema: pa.Schema, end: bool = False) -> list[Row]:
    out: list[Row] = []
    state = kernel.initial()
    for i, (rows, clock, form) in enumerate(calls):
        stored = state.to_bytes()
        last = end and i == len(calls) - 1
        state, emitted = kernel.step(State.from_bytes(stored), as_table(rows, schema, form), clock, last)
        out += emitted.to_pylist()
    return out


def comparable(rows: list[Row]) -> list[Any]:
    """Rows such that NaN equals NaN, with the order of their columns."""
    return [[(name, deep(value)) for name, value in row.items()] for row in rows]
