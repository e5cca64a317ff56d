"""However rows are cut into parts, and in whatever order the parts are merged, the aggregates are those of all rows."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.operators.recall.finish import finish
from presage.operators.recall.partial import Aggregate, merge_parts, parts_of
from reference.aggregates_in_parts import values_by_key
from reference.window_aggregates import key_of

TYPES = {"event": t.STRING, "g": t.DOUBLE, "n": t.LONG, "i": t.INT, "x": t.DOUBLE, "s": t.STRING, "b": t.BOOLEAN}
KEYS = ("event", "g")
VALUES = {
    "event": st.sampled_from(["a", "b"]),
    "g": st.sampled_from([0.0, -0.0, math.nan, 1.5, None]),
    "n": st.none() | st.integers(-5, 5) | st.sampled_from([2**62, -(2**62), 2**53 + 1]),
    "i": st.none() | st.integers(-(2**31), 2**31 - 1),
    "x": st.none()
    | st.sampled_from([0.0, -0.0, 0.1, -2.5, 3.0, 1e6 + 0.25, 1e300, -1e300, 5e-324, math.inf, -math.inf, math.nan])
    | st.floats(-1e150, 1e150),
    "s": st.sampled_from(["", "a", "zz", "é", "𝄞", None]),
    "b": st.sampled_from([True, False, None]),
}
AGGREGATES = [
    (Aggregate("count", "rows"), None),
    *((Aggregate(f, f"{f}_{c}", TYPES[c]), c) for f in ("count", "min", "max", "first", "last") for c in "nixsb"),
    *((Aggregate(f, f"{f}_{c}", TYPES[c]), c) for f in ("avg", "stddev") for c in "nix"),
    *((Aggregate("sum", f"sum_{c}", TYPES[c]), c) for c in "ix"),
]
SCHEMA = pa.schema(
    [*((name, to_arrow(kind)) for name, kind in TYPES.items()), ("time", pa.int64()), ("seq", pa.int64())]
)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[list[dict[str, Any]]], Any]:
    """Rows in chunks, of any order in time, and a source of choices."""
    rows = draw(st.lists(st.fixed_dictionaries(VALUES), max_size=16))
    for seq, row in enumerate(rows):
        row |= {"time": draw(st.integers(0, 3)), "seq": seq}
    chunks: list[list[dict[str, Any]]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for row in rows:
        chunks[draw(st.integers(0, len(chunks) - 1))].append(row)
    return chunks, draw(st.randoms(use_true_random=False))


def alike(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        if math.isnan(expected) or math.isnan(found):
            return math.isnan(expected) and math.isnan(found)
        return found == expected
    return type(found) is type(expected) and found == expected


@given(world=worlds(), some=st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=8, unique=True))
def test_parts_in_any_order_give_the_aggregates_of_all_rows(world, some):
    chunks, choices = world
    aggregates = [aggregate for aggregate, _ in some]
    parts = [parts_of(pa.Table.from_pylist(rows, SCHEMA), KEYS, some, "time", "seq") for rows in chunks]
    while len(parts) > 1:
        choices.shuffle(parts)
        parts.append(merge_parts([parts.pop(), parts.pop()], KEYS, aggregates))
    finished = finish(parts[0], KEYS, aggregates)
    found = {key_of(row, KEYS): [row[a.output] for a in aggregates] for row in finished.to_pylist()}
    expected = values_by_key([row for rows in chunks for row in rows], KEYS, some)
    assert len(found) == finished.num_rows
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        for aggregate, value, mine in zip(aggregates, values, found[key], strict=True):
            assert alike(mine, value), (aggregate.output, mine, value)
    assert [finished.schema.field(a.output).type for a in aggregates] == [to_arrow(a.result_type) for a in aggregates]
