"""What a chunk delivers for an aggregate, and how the parts of two chunks become one."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from presage.arrays.exact_sums import LISTS
from presage.model import types as t
from presage.operators.recall.finish import finish
from presage.operators.recall.partial import Aggregate, merge_parts, of_older_version, parts_of
from reference.aggregates_in_parts import no_parts


@pytest.mark.parametrize(
    ("aggregate", "columns"),
    [
        (Aggregate("count", "c"), {"c.count": pa.int64()}),
        (Aggregate("count", "c", t.STRING), {"c.count": pa.int64()}),
        (Aggregate("sum", "s", t.INT), {"s.count": pa.int64(), "s.high": pa.int64(), "s.low": pa.int64()}),
        (Aggregate("sum", "s", t.DOUBLE), {"s.count": pa.int64(), "s.exact": LISTS}),
        (Aggregate("avg", "a", t.DOUBLE), {"a.count": pa.int64(), "a.exact": LISTS}),
        (Aggregate("min", "m", t.STRING), {"m.least": pa.string()}),
        (Aggregate("max", "m", t.TIMESTAMP), {"m.greatest": pa.timestamp("us", tz="UTC")}),
        (
            Aggregate("stddev", "d", t.LONG),
            {"d.count": pa.int64(), "d.exact": LISTS, "d.exact squares": LISTS},
        ),
        (Aggregate("last", "l", t.BOOLEAN), {"l.time": pa.int64(), "l.seq": pa.int64(), "l.value": pa.bool_()}),
    ],
)
def test_a_chunk_delivers_these_columns(aggregate: Aggregate, columns: dict[str, pa.DataType]):
    assert aggregate.partial_columns() == columns


def test_null_and_nan_keys_form_groups_of_their_own_and_both_zeros_one():
    count = [Aggregate("count", "c")]
    keys = pa.array([None, math.nan, 0.0, None, -math.nan, -0.0, 1.0])
    parts = pa.table({"event": ["e"] * 7, "g": keys, "c.count": [1, 10, 100, 2, 20, 200, 5]})
    merged = merge_parts([parts.slice(0, 3), parts.slice(3)], ("event", "g"), count).to_pydict()
    assert merged["c.count"] == [3, 30, 300, 5]
    assert merged["g"][0] is None
    assert math.isnan(merged["g"][1])
    assert math.copysign(1, merged["g"][2]) == 1


def test_an_event_is_part_of_the_key():
    parts = pa.table({"event": ["a", "b", "a"], "g": [1, 1, 1], "c.count": [1, 2, 4]})
    merged = merge_parts([parts], ("event", "g"), [Aggregate("count", "c")])
    assert merged.to_pydict() == {"event": ["a", "b"], "g": [1, 1], "c.count": [5, 2]}


def test_the_first_and_the_last_row_are_found_by_time_and_then_by_arrival():
    both = [Aggregate("first", "f", t.STRING), Aggregate("last", "l", t.STRING)]
    rows = pa.table({"event": ["e"] * 4, "t": [5, 3, 3, 5], "seq": [1, 9, 2, 7], "s": ["a", "b", "c", None]})
    merged = parts_of(rows, ("event",), [(a, "s") for a in both], "t", "seq").to_pydict()
    assert (merged["f.time"], merged["f.seq"], merged["f.value"]) == ([3], [2], ["c"])
    assert (merged["l.time"], merged["l.seq"], merged["l.value"]) == ([5], [7], [None]), "a null is a value here"


def test_parts_of_no_rows_change_nothing():
    aggregates = [
        Aggregate("count", "c"),
        Aggregate("sum", "s", t.LONG),
        Aggregate("avg", "a", t.DOUBLE),
        Aggregate("stddev", "d", t.DOUBLE),
        Aggregate("min", "m", t.STRING),
        Aggregate("first", "f", t.STRING),
    ]
    arguments = [None, "n", "x", "x", "s", "s"]
    rows = pa.table({"event": ["e"] * 2, "t": [1, 2], "seq": [1, 2], "n": [-7, 9], "x": [1.0, 4.0], "s": ["b", "a"]})
    parts = parts_of(rows, ("event",), list(zip(aggregates, arguments, strict=True)), "t", "seq")
    none = no_parts(pa.table({"event": ["e"]}), aggregates)
    assert merge_parts([none, parts, none], ("event",), aggregates) == parts


def test_what_a_chunk_without_values_leaves_null_counts_as_nothing():
    spread = Aggregate("stddev", "d", t.DOUBLE)
    rows = pa.table({"event": ["e"] * 2, "t": [1, 2], "seq": [1, 2], "x": [2.0, 4.0]})
    full = parts_of(rows, ("event",), [(spread, "x")], "t", "seq")
    empty = {"event": ["e"], "d.count": [0], "d.exact": pa.nulls(1, LISTS), "d.exact squares": pa.nulls(1)}
    assert merge_parts([pa.table(empty), full], ("event",), [spread]) == full


def test_a_spread_around_a_large_mean_loses_no_digits():
    spread = Aggregate("stddev", "d", t.DOUBLE)
    rows = pa.table({"event": ["e"] * 4, "t": range(4), "seq": range(4), "x": [1e15 + i for i in range(4)]})
    halves = [parts_of(rows.slice(i, 2), ("event",), [(spread, "x")], "t", "seq") for i in (0, 2)]
    merged = merge_parts(halves, ("event",), [spread])
    assert finish(merged, ("event",), [spread])["d"].to_pylist() == [math.sqrt(5 / 3)]


def test_parts_that_an_older_version_kept_go_on():
    aggregates = [Aggregate("avg", "a", t.DOUBLE), Aggregate("stddev", "d", t.DOUBLE), Aggregate("count", "c")]
    older = pa.table(
        {
            "event": [1, 2],
            "a.count": [2, 0],
            "a.sum": [7.0, 0.0],
            "d.count": [2, 0],
            "d.mean": pa.array([3.5, None]),
            "d.squares": pa.array([0.5, None]),
            "c.count": [2, 0],
        }
    )
    found = of_older_version(older, aggregates)
    assert of_older_version(found, aggregates) is found
    assert found.column_names == ["event", *(name for a in aggregates for name in a.partial_columns())]
    more = pa.table({"event": [1, 2], "t": [1, 2], "seq": [1, 2], "x": [5.0, 6.0]})
    columns = list(zip(aggregates, ["x", "x", None], strict=True))
    merged = merge_parts([found, parts_of(more, ("event",), columns, "t", "seq")], ("event",), aggregates)
    assert finish(merged, ("event",), aggregates).to_pylist() == [
        {"event": 1, "a": 4.0, "d": 1.0, "c": 3},
        {"event": 2, "a": 6.0, "d": None, "c": 1},
    ]


def test_texts_in_dictionaries_are_texts():
    parts = pa.table({"event": pa.array(["a", "a"]).dictionary_encode(), "c.count": [1, 2]})
    merged = merge_parts([parts, pa.table({"event": ["a"], "c.count": [4]})], ("event",), [Aggregate("count", "c")])
    assert merged.to_pydict() == {"event": ["a"], "c.count": [7]}


def test_tables_without_rows_have_no_keys():
    rows = pa.table({"event": pa.array([], pa.string()), "c.count": pa.array([], pa.int64())})
    assert merge_parts([rows, rows], ("event",), [Aggregate("count", "c")]).num_rows == 0
