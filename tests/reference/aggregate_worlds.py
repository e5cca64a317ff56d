"""A kernel of aggregates is run over events cut into steps and compared with its twin: for unit and property tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from presage.model.operator_state import State
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, TIME, Aggregate, Window
from reference.window_aggregates import Event, Row

Steps = list[tuple[int, int]]  # (events so far, clock) after each step
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
        ("d", pa.decimal128(10, 2)),
        ("w", pa.decimal128(38, 4)),
        ("day", pa.date32()),
        ("raw", pa.binary()),
        ("xs", pa.struct([("x1", pa.float64()), ("x2", pa.float64())])),
    ]
)
CARRY = ("k", "s", "st")


def all_aggregates() -> tuple[Aggregate, ...]:
    """Every function over every type that it takes."""
    found = [("count", None, False)]
    found += [(f, c, False) for f in ("count", "sum", "avg", "min", "max", "stddev", "median") for c in ("n", "x", "z")]
    found += [(f, c, False) for f in ("min", "max") for c in ("s", "b", "at", "d", "w", "day", "raw")]
    found += [(f, c, False) for f in ("first", "last", "window") for c in ("x", "s", "st", "z", "d", "raw")]
    found += [(f, c, True) for f in ("count", "sum", "avg") for c in ("n", "x", "d", "w")]
    found += [(f, c, False) for f in ("sum", "avg") for c in ("d", "w")]
    found += [("count", c, True) for c in ("s", "st", "tags", "z", "day", "raw")]
    found += [("corr", "xs", False), ("count_if", "b", False), ("count_if", "z", False)]
    plain = [Aggregate(f, c, f"{f}_{c}_{int(d)}", d) for f, c, d in found]
    shares = [(c, p) for c in ("n", "x", "z") for p in (0, 0.1, 0.5, 1.0)]
    return (*plain, *(Aggregate("percentile", c, f"percentile_{c}_{p}", constants=(p,)) for c, p in shares))


AGGREGATES = all_aggregates()


def is_inexact(aggregate: Aggregate) -> bool:
    """Whether the twin adds in another order and so may differ in the last bits."""
    return aggregate.function in ("stddev", "corr") or (
        aggregate.function in ("sum", "avg") and aggregate.column == "x"
    )


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
    Window("tumble", 4),
    Window("tumble", 3, offset=2),
    Window("hop", 6, slide=2),
    Window("hop", 5, slide=2),
    Window("hop", 2, slide=5),
    Window("session", 3),
    Window("session", 2, by=("k",)),
    Window("session", 4, by=("g", "b")),
    Window("time_batch", 3, group=("g",)),
    Window("time_batch", 2, group=("k", "b")),
]
GROUPINGS = [(), ("k",), ("k", "g"), ("st",), ("tags", "b")]


CHANGES = pa.schema(
    [f for f in SCHEMA if f.name != PASS]
    + [(CHANGE, pa.int8()), (ORDINAL, pa.int64()), ("l", pa.int64()), ("r", pa.int64())]
)


def table_of(events: list[Event], schema: pa.Schema = SCHEMA) -> pa.Table:
    """As awkward as Arrow gets: several chunks, each a slice of something longer."""
    whole = pa.Table.from_pylist(events, schema)
    half = len(events) // 2
    parts = [whole.slice(0, half), whole.slice(half, 0), whole.slice(half)]
    padded = [pa.concat_tables([whole.slice(0, 1), p]).combine_chunks().slice(min(1, whole.num_rows)) for p in parts]
    return pa.concat_tables(padded)


def run(kernel: Any, events: list[Event], steps: Steps, schema: pa.Schema) -> pa.Table:
    """All rows, with the state through bytes between the steps."""
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


def rows_of(table: pa.Table) -> list[Row]:
    # Column by column: names of a table may repeat.
    return list(zip(*(c.to_pylist() for c in table.columns), strict=True)) if table.num_rows else []


def close(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        both_nan = math.isnan(found) and math.isnan(expected)
        return both_nan or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)
    return found is None and expected is None


def check(
    kernel: Any,
    events: list[Event],
    steps: Steps,
    twin: Callable[[list[Event]], list[Row]],
    schema: pa.Schema = SCHEMA,
) -> None:
    """The kernel agrees with its twin, and gives the same bits in the given steps as in one."""
    aggregates = kernel.aggregates
    whole = run(kernel, events, steps[-1:], schema)
    found = rows_of(whole)
    # The twin gets the values as Arrow gives them back: timestamps as datetimes.
    wanted = twin(pa.Table.from_pylist(events, schema).to_pylist())
    assert len(found) == len(wanted)
    width = len(aggregates)
    for found_row, wanted_row in zip(found, wanted, strict=True):
        assert repr(found_row[:-width]) == repr(wanted_row[:-width])
        for aggregate, value, wish in zip(aggregates, found_row[-width:], wanted_row[-width:], strict=True):
            if is_inexact(aggregate):
                assert close(value, wish), (aggregate, value, wish)
            else:
                assert repr(unsigned(value, aggregate)) == repr(unsigned(wish, aggregate)), aggregate
    cut = run(kernel, events, steps, schema)
    assert cut.schema == whole.schema
    assert repr(rows_of(cut)) == repr(found)


def unsigned(value: Any, aggregate: Aggregate) -> Any:
    """min, max and median may give either zero; a median of integers is a double."""
    if value is None or aggregate.function not in ("min", "max", "median", "percentile"):
        return value
    return float(value) + 0.0 if aggregate.function in ("median", "percentile") or isinstance(value, float) else value


def name(value: Any) -> str:
    if isinstance(value, Window):
        return f"{value.kind}{value.size or ''}({','.join(value.by)}|{','.join(value.group)})"
    return "-".join(value) or "ungrouped"
