"""ANALYSIS PRESENT without Spark: every revision meets what is there when it is made, and a window holds what a slow
twin says, however its events are cut into steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.execution.steps import schema_of
from presage.lang import parse_statement
from presage.operators.recall.deployed import present_rows
from presage.operators.recall.nodes import Recall, Retained
from presage.operators.recall.questions import EVER
from presage.plan.nodes import SEQ, TIME
from property.test_recalled import (
    SECOND,
    SMALL,
    WORLDS,
    RevisionLog,
    World,
    declared,
    expected,
    rows_of,
    started,
)
from reference.expressions import evaluate
from reference.recalled import Row

MOST = "RECALL{last} ( SELECT h.k AS g, max(h.x) AS n FROM H h GROUP BY h.k ) AS q"
ROWS = "RECALL{last} ( SELECT h.x AS n FROM H h WHERE h.k = e.k ) AS q"
JOINS = {
    "a relation": (MOST, "JOIN R r ON r.k = e.k ANALYSIS PRESENT", "r.room"),
    "a relation by what is recalled": (MOST, "JOIN R r ON r.room >= q.n AND r.k = q.g ANALYSIS PRESENT", "r.room"),
    "a stream": (MOST, "JOIN H#keepall p ON p.k = e.k AND p.x > q.n ANALYSIS PRESENT", "p.x"),
    "rows that come and go": (ROWS, "JOIN H p ON p.x = q.n ANALYSIS PRESENT", "p.y"),
    "nothing of it is shown": (MOST, "JOIN R r ON e.v > 0 ANALYSIS PRESENT", "e.k"),
    "two, with a condition on both": (
        MOST,
        "JOIN R r ON r.k = q.g ANALYSIS PRESENT JOIN H p ON p.x = r.room ANALYSIS PRESENT",
        "r.room, p.y",
    ),
}


@cache
def bound(name: str, last: int | None, condition: str, final: bool) -> Recall:
    recall, join, shown = JOINS[name]
    back = f" LAST {last} sec" if last is not None else ""
    text = f"{'FINAL ' if final else ''}{recall.format(last=back)} {join}{condition}"
    query = declared().bind(parse_statement(f"SELECT e.v, q.*, {shown} FROM E e {text}"))  # type: ignore[arg-type]
    (node,) = [node for node in query.plan.walk() if isinstance(node, Recall)]
    return node


KEYS = st.sampled_from(["a", "b", None])
# Rows that the items of the present have at a moment, by attribute.
NOW = st.lists(
    st.fixed_dictionaries({"k": KEYS, "x": SMALL, "room": SMALL, "y": st.sampled_from([None, 0.5, 1.0])}), max_size=4
)


def present_of(node: Recall, now: list[dict[str, Any]]) -> list[list[Row]]:
    return [[{c.name: one.get(c.name.partition(".")[2]) for c in each.columns} for one in now] for each in node.present]


def tables_of(node: Recall, present: list[list[Row]]) -> tuple[pa.Table, ...]:
    schemas = [pa.schema([f for f in schema_of(each.columns) if f.name not in (TIME, SEQ)]) for each in node.present]
    return tuple(pa.Table.from_pylist(rows, schema) for rows, schema in zip(present, schemas, strict=True))


@pytest.mark.parametrize("name", JOINS)
@settings(max_examples=40)
@given(
    world=WORLDS,
    last=st.sampled_from([None, 5]),
    condition=st.sampled_from(["", " WHERE q.n > 1"]),
    nows=st.lists(NOW, min_size=6, max_size=6),
)
def test_every_revision_meets_what_is_there_when_it_is_made(
    name: str, world: World, last: int | None, condition: str, nows: list[list[dict[str, Any]]]
) -> None:
    node = bound(name, last, condition, final=False)
    progress, events, answering = started(node, world)
    told = [RevisionLog([]) for _ in events]
    changing = any(recall.identity is not None for recall in node.recalls)
    units = world.units()
    for step, unit in enumerate(units):
        present = present_of(node, nows[step % len(nows)])
        progress.history = replace(progress.history, present=tables_of(node, present))
        open_before = ~progress.done
        rows = rows_of(progress.read(unit, last=unit is units[-1]))
        for number, event in enumerate(events):
            mine = [row for row in rows if (row[TIME], row[SEQ]) == (event[TIME], event[SEQ])]
            if not open_before[number] or not (event[TIME] > unit.low or unit is units[-1]):
                assert mine == []
                continue
            told[number].follow(mine, changing or bool(progress.done[number]))
            covered = min(unit.low, event[TIME])
            now = expected(node, event, answering, covered, world.start, present)
            assert Counter(map(_key, told[number].rows)) == Counter(map(_key, now))


@pytest.mark.parametrize("name", JOINS)
@settings(max_examples=20)
@given(world=WORLDS, now=NOW)
def test_over_what_does_not_change_the_last_rows_are_the_same_however_history_is_cut(
    name: str, world: World, now: list[dict[str, Any]]
) -> None:
    node = bound(name, None, "", final=True)
    present = present_of(node, now)
    for cut in (world, replace(world, cuts=[])):
        progress, events, answering = started(node, cut)
        progress.history = replace(progress.history, present=tables_of(node, present))
        units = cut.units()
        rows = [row for unit in units for row in rows_of(progress.read(unit, last=unit is units[-1]))]
        for event in events:
            mine = [row for row in rows if (row[TIME], row[SEQ]) == (event[TIME], event[SEQ])]
            shown = [{o.name: row[o.name] for o in node.outputs} for row in mine]
            assert shown == expected(node, event, answering, -EVER, cut.start, present)


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row.items())


# -- windows that are looked into --------------------------------------------------------------------

WINDOWS = [
    "",
    "#keepall",
    "#time(2 sec)",
    "#length(2)",
    "#lastevent",
    "#unique(k)",
    "#firstunique(k)",
    "#groupwin(k)#length(2)",
    "#groupwin(k)#unique(x)",
    "#groupwin(k)#time(1 sec)",
]


@cache
def window(text: str) -> Retained:
    query = declared().bind(
        parse_statement(  # type: ignore[arg-type]
            f"SELECT p.x FROM E e RECALL ( SELECT 1 AS n ) AS q JOIN H{text} p ON p.x > q.n ANALYSIS PRESENT"
        )
    )
    (node,) = [node for node in query.plan.walk() if isinstance(node, Retained)]
    return node


def held(text: str, came: list[Row], clock: int) -> list[Row]:
    """What EPL says of a window after these events, in the order in which they came."""
    node, inside = window(text), list[Row]()
    for row in came:
        key = [evaluate(k, row) for k in node.keys]
        same = [other for other in inside if [evaluate(k, other) for k in node.keys] == key]
        if "firstunique" in text and same:
            continue
        inside.append(row)
        most = {"length": 2, "lastevent": 1, "unique": 1}.get(text.rpartition("#")[2].partition("(")[0])
        if most is not None and len(same) >= most:
            inside.remove(same[0])
    seconds = {"#time(2 sec)": 2, "#groupwin(k)#time(1 sec)": 1}.get(text)
    return [row for row in inside if seconds is None or row[TIME] > clock - seconds * SECOND]


CAME = st.lists(st.tuples(st.integers(0, 6), KEYS, SMALL), max_size=10).map(
    lambda rows: sorted(rows, key=lambda row: row[0])
)


@pytest.mark.parametrize("text", WINDOWS)
@settings(max_examples=60)
@given(came=CAME, cuts=st.lists(st.integers(0, 8), max_size=3), end=st.booleans())
def test_a_window_holds_what_the_twin_says_however_events_are_cut_into_steps(
    text: str, came: list[tuple[int, str | None, int | None]], cuts: list[int], end: bool
) -> None:
    node = window(text)
    rows = [
        {TIME: second * SECOND, SEQ: i} | {"p.k": k, "p.x": x, "p.y": None, "p.at": second * SECOND}
        for i, (second, k, x) in enumerate(came)
    ]
    schema = schema_of(node.columns)
    kept = schema.empty_table()
    clocks = [*sorted(cuts), 9]
    before = -1
    for clock in clocks:
        new = [row for row in rows if before < row[TIME] // SECOND <= clock]
        before = clock
        table = pa.concat_tables([kept, pa.Table.from_pylist(new, schema)])
        kept = present_rows(node, table, clock * SECOND, end and clock == 9, Evaluator({}))
        so_far = [row for row in rows if row[TIME] <= clock * SECOND]
        assert [row[SEQ] for row in kept.to_pylist()] == [row[SEQ] for row in held(text, so_far, clock * SECOND)]
