"""The DISTINCT kernel against its twin: every type that a result can have, nested ones too, cuts."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.operators.windows.kernel.distinct import DistinctKernel
from presage.operators.windows.kernel.spec import SEQ, TIME
from reference.cut_input import comparable, cuts, run_calls
from reference.distinct_rows import distinct_rows

DOUBLES = st.sampled_from([None, float("nan"), 0.0, -0.0, 1.0])
STRINGS = st.sampled_from([None, "", "a"])
STRUCTS = st.none() | st.fixed_dictionaries({"p": DOUBLES, "q": STRINGS})
MAPS = st.none() | st.lists(st.sampled_from(["k", "l"]), unique=True, max_size=2).flatmap(
    lambda names: st.tuples(*(st.tuples(st.just(name), DOUBLES) for name in names)).map(list)
)
STRUCT = pa.struct([("p", pa.float64()), ("q", pa.string())])
TYPES = {
    "double": (pa.float64(), DOUBLES),
    "string": (pa.string(), STRINGS),
    "boolean": (pa.bool_(), st.sampled_from([None, True, False])),
    "timestamp": (pa.timestamp("us", tz="UTC"), st.sampled_from([None, 0, 1])),
    "null": (pa.null(), st.none()),
    "map": (pa.map_(pa.string(), pa.float64()), MAPS),
    "struct": (STRUCT, STRUCTS),
    "array": (pa.list_(pa.float64()), st.none() | st.lists(DOUBLES, max_size=2)),
    "array of structs": (pa.list_(STRUCT), st.none() | st.lists(STRUCTS, max_size=2)),
    "array of arrays": (
        pa.list_(pa.list_(pa.string())),
        st.none() | st.lists(st.none() | st.lists(STRINGS, max_size=1), max_size=2),
    ),
}


@st.composite
def worlds(draw: st.DrawFn) -> tuple[DistinctKernel, list[dict[str, Any]], pa.Schema]:
    first, second = draw(st.sampled_from(sorted(TYPES))), draw(st.sampled_from(sorted(TYPES)))
    by = draw(st.sampled_from([(), ("a",), ("b", "a")]))
    schema = pa.schema(
        [(TIME, pa.int64()), (SEQ, pa.int64()), ("_ord", pa.int64()), ("a", TYPES[first][0]), ("b", TYPES[second][0])]
    )
    values = draw(st.lists(st.tuples(TYPES[first][1], TYPES[second][1]), max_size=12))
    rows = [{TIME: i // 3, SEQ: i // 2, "_ord": i % 2, "a": a, "b": b} for i, (a, b) in enumerate(values)]
    return DistinctKernel(by, ("b", "a"), ("_ord",)), rows, schema


@settings(max_examples=100, deadline=None)
@given(worlds(), st.data())
def test_rows_are_those_of_the_definition_however_the_input_is_cut(world: Any, data: st.DataObject) -> None:
    kernel, rows, schema = world
    read = pa.Table.from_pylist(rows, schema).to_pylist()
    expected = comparable(distinct_rows(kernel.by, (TIME, SEQ, "_ord", "b", "a"), read))
    assert comparable(run_calls(kernel, [(rows, 9, 0)], schema)) == expected
    calls = data.draw(cuts(rows, (TIME, SEQ, "_ord"), 9))
    assert comparable(run_calls(kernel, calls, schema)) == expected
