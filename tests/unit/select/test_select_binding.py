"""Windows and their arguments: what is refused and what each spelling means."""

from __future__ import annotations

import pytest

from presage.model import types as t
from presage.model.types import ArrayOf
from presage.operators.windows.nodes import Aggregate, Distinct, Output, Windowed, WindowJoin
from presage.plan.nodes import Filter, Merge, Project, RelationJoin, RelationScan, Retime, Scan, Stamp
from unit.declared import bind, refusals

# What is written, the code, the column of the caret, the message, the fix.
REFUSED = [
    (
        "SELECT x FROM Motion#tyme(5 min)",
        "UNKNOWN_WINDOW",
        21,
        "there is no window named 'tyme'",
        "did you mean 'time'?",
    ),
    (
        "SELECT avg(x) FROM Motion#time",
        "WINDOW_WITHOUT_BOUND",
        26,
        "the window 'time' needs a duration",
        "write #time(5 min)",
    ),
    (
        "SELECT avg(x) FROM Motion#length()",
        "WINDOW_WITHOUT_BOUND",
        26,
        "the window 'length' needs a number of events",
        "write #length(10)",
    ),
    (
        "SELECT avg(x) FROM Motion#unique",
        "WINDOW_WITHOUT_BOUND",
        26,
        "the window 'unique' needs an expression",
        "write #unique(sym)",
    ),
    (
        "SELECT avg(x) FROM Motion#time(5)",
        "TYPE_MISMATCH",
        32,
        "#time needs a duration, found INT",
        "write #time(5 min)",
    ),
    (
        "SELECT avg(x) FROM Motion#length(5 min)",
        "TYPE_MISMATCH",
        34,
        "#length needs a number of events, found a duration",
        "write #length(10)",
    ),
    ("SELECT avg(x) FROM Motion#length(0)", "BAD_VALUE", 34, "the length of #length is 0; it must be at least 1", ""),
    (
        "SELECT avg(x) FROM Motion#time(0 sec)",
        "BAD_VALUE",
        32,
        "the duration of #time is zero; it must be more than zero",
        "",
    ),
    ("SELECT avg(x) FROM Motion#keepall(3)", "WRONG_ARGUMENTS", 26, "#keepall takes no argument, found 1", ""),
    (
        "SELECT avg(x) FROM Motion#length(1, 2)",
        "WRONG_ARGUMENTS",
        26,
        "#length takes a number of events, found 2 arguments",
        "write #length(10)",
    ),
    (
        "SELECT avg(x) FROM Motion#length(n)",
        "TYPE_MISMATCH",
        34,
        "#length needs a number of events, found an expression that changes from event to event",
        "write #length(10)",
    ),
    (
        "SELECT avg(x) FROM Motion#length(2)#time(1 sec)",
        "UNSUPPORTED",
        36,
        "#time after #length is not supported as a chain",
        "only #groupwin(…) may precede another window",
    ),
    (
        "SELECT avg(x) FROM Motion#groupwin(camera)#groupwin(x)",
        "UNSUPPORTED",
        43,
        "#groupwin after #groupwin is not supported as a chain",
        "write #groupwin(a, b)",
    ),
    (
        "SELECT avg(x) FROM Motion#groupwin(camera)#tumble(1 sec)",
        "UNSUPPORTED",
        43,
        "#groupwin before #tumble is not supported as a chain",
        "leave #groupwin out: GROUP BY divides its events",
    ),
    (
        "SELECT m.x FROM Motion#tumble(1 sec) m, Fault#lastevent f",
        "UNSUPPORTED",
        23,
        "#tumble is not supported in a join",
        "INSERT INTO a stream the rows of #tumble, and read that",
    ),
    (
        "SELECT avg(x) FROM Motion#tumble(1 sec, 3)",
        "TYPE_MISMATCH",
        41,
        "the offset of #tumble needs a duration, found INT",
        "write #tumble(5 min, 1 min)",
    ),
    (
        "SELECT avg(x) FROM Motion#hop(1 sec)",
        "WRONG_ARGUMENTS",
        26,
        "#hop takes a duration and a slide, found 1 argument",
        "write #hop(5 min, 1 min)",
    ),
    (
        "SELECT avg(x) FROM Motion#hop(1 sec, 0 sec)",
        "BAD_VALUE",
        38,
        "the slide of #hop is zero; it must be more than zero",
        "",
    ),
    (
        "SELECT x FROM Motion#hop(2 sec, 1 sec) WHERE window_start > at",
        "UNSUPPORTED",
        46,
        "a bound of the window is not supported in WHERE",
        "write HAVING: WHERE is about single events",
    ),
    (
        "SELECT window_start AS w, avg(x) FROM Motion#session(1 sec) GROUP BY w",
        "UNSUPPORTED",
        8,
        "a bound of the window is not supported in GROUP BY",
        "leave it out: a row is of one window, whatever GROUP BY names",
    ),
    (
        "SELECT max(window_end) FROM Motion#tumble(1 sec)",
        "UNSUPPORTED",
        8,
        "a bound of the window is not supported in max",
        "write it without: every row of a window has the same",
    ),
    (
        "SELECT avg(x) FROM Motion#session(1 sec, 5 min)",
        "TYPE_MISMATCH",
        42,
        "a key of #session needs an attribute, found a duration",
        "",
    ),
    (
        "SELECT avg(x) FROM Motion#groupwin(camera)#session(1 sec)",
        "UNSUPPORTED",
        43,
        "#groupwin before #session is not supported as a chain",
        "leave #groupwin out: #session(…, key) has sessions for each key",
    ),
    (
        "SELECT x FROM Motion#hop(2 sec, 1 sec) OUTPUT SNAPSHOT",
        "UNSUPPORTED",
        21,
        "#hop is not supported with OUTPUT SNAPSHOT",
        "OUTPUT LAST gives the last row of each group of #hop",
    ),
    (
        "SELECT log FROM Fault#unique(codes)",
        "TYPE_MISMATCH",
        30,
        "#unique needs values that can be compared, found MAP<STRING, LONG>",
        "",
    ),
    (
        "SELECT x FROM Motion#unique(count(*))",
        "AGGREGATE_NOT_ALLOWED",
        29,
        "the aggregate count(…) is not allowed in a window",
        "compute it in a statement of its own with INSERT INTO",
    ),
]


@pytest.mark.parametrize(("text", "code", "column", "message", "fix"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_wrong_window_is_refused_with_its_place_and_a_fix(
    text: str, code: str, column: int, message: str, fix: str
) -> None:
    (found,) = refusals(text)
    assert (found.code, found.line, found.column, found.message, found.fix) == (code, 1, column, message, fix)


SPELLINGS = {
    "#length(3)": ("length", 3),
    "#win:length(3)": ("length", 3),
    "#LENGTH(3)": ("length", 3),
    "#time(1 min 30 sec)": ("time", 90_000_000),
    "#win:time(500 msec)": ("time", 500_000),
    "#length_batch(2)": ("length_batch", 2),
    "#lengthbatch(2)": ("length_batch", 2),
    "#time_batch(1 sec)": ("time_batch", 1_000_000),
    "#keepall": ("keepall", 0),
    "#keepall()": ("keepall", 0),
    "#lastevent": ("lastevent", 0),
    "#last_event": ("lastevent", 0),
    "#unique(camera, n)": ("unique", 0),
    "#firstunique(camera)": ("firstunique", 0),
    "#groupwin(camera)": ("keepall", 0),
    "#groupwin(camera)#time(1 sec)": ("time", 1_000_000),
}


@pytest.mark.parametrize("written", SPELLINGS)
def test_every_spelling_of_a_window_means_its_kind_and_size(written: str) -> None:
    (window,) = [
        n.window for n in bind(f"SELECT count(*) AS n FROM Motion{written}").plan.walk() if isinstance(n, Windowed)
    ]
    assert (window.kind, window.size) == SPELLINGS[written]
    assert len(window.by) == {"unique": 2, "firstunique": 1}.get(window.kind, 0)
    assert len(window.group) == ("groupwin" in written)


# -- which nodes a query becomes ----------------------------------------------------------------------------

SHAPES = {
    "SELECT x FROM Motion": [Stamp, Project, Scan],
    "SELECT x, at FROM Motion": [Project, Scan],
    "SELECT x AS At FROM Motion": [Project, Scan],
    "SELECT camera FROM CameraEvent": [Stamp, Project, Merge, Scan, Scan],
    "SELECT x FROM Motion(x > 1)#length(2) WHERE y > 1": [Stamp, Project, Filter, Windowed, Filter, Scan],
    "SELECT count(*) AS n FROM Motion": [Stamp, Project, Aggregate, Scan],
    "SELECT x FROM Motion GROUP BY camera": [Stamp, Project, Scan],
    "SELECT x FROM Motion#length_batch(2)": [Stamp, Project, Aggregate, Windowed, Scan],
    "SELECT x FROM Motion#firstunique(camera)": [Stamp, Project, Aggregate, Windowed, Scan],
    "SELECT x FROM Motion HAVING count(*) > 1": [Stamp, Project, Filter, Aggregate, Scan],
    "SELECT DISTINCT x FROM Motion OUTPUT ALL EVERY 1 sec": [Stamp, Output, Distinct, Project, Scan],
    "SELECT m.x FROM Motion AS m, Place AS p": [Stamp, Project, RelationJoin, Scan, RelationScan],
    "SELECT count(*) AS n FROM Motion AS m, Place AS p": [Stamp, Project, Aggregate, WindowJoin, Scan, RelationScan],
    "SELECT m.x FROM Motion#length_batch(2) AS m, Place AS p": [
        Stamp,
        Project,
        WindowJoin,
        Windowed,
        Scan,
        RelationScan,
    ],
    "SELECT m.x FROM Motion AS m, Fault AS f": [Stamp, Project, WindowJoin, Scan, Scan],
    "SELECT m.x FROM Motion AS m, Fault AS f GROUP BY m.x": [Stamp, Project, Aggregate, WindowJoin, Scan, Scan],
}


@pytest.mark.parametrize("text", SHAPES)
def test_a_query_becomes_these_nodes(text: str) -> None:
    assert [type(n) for n in bind(text).plan.walk()] == SHAPES[text]


JOINED = "INSERT INTO Pairs SELECT m.x AS x FROM Motion#length(1) AS m, Fault#length(1) AS f;"


def test_a_batch_window_over_a_stream_derived_from_a_join_still_waits_for_its_batch() -> None:
    plan = bind("SELECT x FROM Pairs#length_batch(2)", JOINED).plan
    assert [type(n) for n in plan.walk()][:4] == [Stamp, Project, Aggregate, Windowed]


def test_a_derived_stream_with_a_time_of_its_own_is_put_at_that_time() -> None:
    later = "INSERT INTO Later SELECT x, at + 5 sec AS at FROM Motion;"
    plan = bind("SELECT x FROM Later", later).plan
    assert [type(n) for n in plan.walk()] == [Stamp, Project, Merge, Project, Retime, Project, Scan]


def test_the_statement_behind_a_derived_stream_ends_at_its_own_upper_bound() -> None:
    bounded = "INSERT INTO Early SELECT x FROM Motion WITHIN [, 2024-03-01T09:00:05);"
    query = bind("SELECT x FROM Early WITHIN [, 2024-03-01T10:00)", bounded)
    (inner,) = [n for n in query.plan.walk() if isinstance(n, Stamp) and n.upper is not None]
    assert query.upper is not None
    assert query.upper - inner.upper == 3_595_000_000


ROWS = {
    "SELECT count(*) AS n FROM Motion": "event",
    "SELECT camera, count(*) AS n FROM Motion#length(2)": "event",
    "SELECT count(*) AS n FROM Motion#length(2) GROUP BY camera": "group",
    "SELECT count(*) AS n FROM Motion#length_batch(2)": "batch",
    "SELECT count(*) + 1 AS n, 5 AS five FROM Motion#time_batch(2 sec) HAVING max(x) > 1": "batch",
    "SELECT camera, count(*) AS n FROM Motion#length_batch(2)": "event",
    "SELECT 5 AS five FROM Motion#length_batch(2)": "event",
    "SELECT count(*) AS n FROM Motion#length_batch(2) GROUP BY camera": "group",
    "SELECT count(*) AS n FROM Motion#length_batch(2) AS m, Fault#length(1) AS f": "event",
}


@pytest.mark.parametrize("text", ROWS)
def test_what_a_row_stands_for(text: str) -> None:
    (aggregate,) = [n for n in bind(text).plan.walk() if isinstance(n, Aggregate)]
    assert aggregate.row_per == ROWS[text]


def test_an_aggregate_that_is_written_twice_is_computed_once() -> None:
    plan = bind("SELECT sum(x) AS a, sum(x) + 1 AS b, sum(y) AS c FROM Motion HAVING sum(x) > 2").plan
    (aggregate,) = [n for n in plan.walk() if isinstance(n, Aggregate)]
    assert len(aggregate.aggregates) == 2


def test_GROUP_BY_and_HAVING_may_use_a_name_that_SELECT_gave() -> None:
    plan = bind("SELECT upper(camera) AS cam, count(*) AS n FROM Motion GROUP BY cam HAVING n > 1").plan
    (aggregate,) = [n for n in plan.walk() if isinstance(n, Aggregate)]
    assert aggregate.label() == "Aggregate [count(*) AS _a0] by [upper(Motion.camera)], a row per group"


def test_an_attribute_comes_before_a_name_that_SELECT_gave() -> None:
    plan = bind("SELECT y AS x, count(*) AS n FROM Motion GROUP BY x").plan
    (aggregate,) = [n for n in plan.walk() if isinstance(n, Aggregate)]
    assert aggregate.label().endswith("by [Motion.x], a row per group")


AGGREGATE_TYPES = {
    "count(*)": t.LONG,
    "count(camera)": t.LONG,
    "count(DISTINCT spot)": t.LONG,
    "sum(n)": t.LONG,
    "sum(x)": t.DOUBLE,
    "sum(NULL)": t.DOUBLE,
    "avg(n)": t.DOUBLE,
    "median(n)": t.DOUBLE,
    "stddev(n)": t.DOUBLE,
    "min(camera)": t.STRING,
    "max(at)": t.TIMESTAMP,
    "first(tags)": ArrayOf(t.STRING),
    "window(n)": ArrayOf(t.INT),
}


@pytest.mark.parametrize("written", AGGREGATE_TYPES)
def test_the_type_of_an_aggregate(written: str) -> None:
    (column, _) = bind(f"SELECT {written} AS a FROM Both", BOTH).columns
    assert column.type == AGGREGATE_TYPES[written]


BOTH = "CREATE STREAM Both (n INT, x DOUBLE, tags ARRAY<STRING>, spot STRUCT<a INT>) INHERITS CameraEvent;"
