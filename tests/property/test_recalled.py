"""RECALL without Spark: however history is cut, every revision is what the plain select says over what is covered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.execution.steps import schema_of
from presage.lang import parse_statement
from presage.model.arrow import to_arrow
from presage.model.time import to_micros
from presage.operators.recall import answers as driver
from presage.operators.recall.answers import aggregates_of
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.local_selects import ask_here
from presage.operators.recall.nodes import Recall, Recalled, Select
from presage.operators.recall.partial import parts_of
from presage.operators.recall.progress import History, Progress
from presage.operators.recall.questions import BEFORE, EVENT, EVER, HIGH, LOW, Questions
from presage.plan.expr import AggregateCall
from presage.plan.nodes import SEQ, TIME, RelationScan, Scan
from presage.workspace import Workspace
from reference.expressions import evaluate
from reference.recalled import ARRIVED, WHEN, Past, Row, groups_of, joined, recalled, with_windows

DECLARED = """
CREATE STREAM E (k STRING, v LONG, at TIMESTAMP) EVENT TIME at KEY (k);
CREATE STREAM H (k STRING, x LONG, y DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE RELATION R (k STRING, room LONG) VALUES ('a', 1), ('b', 2), ('b', 3);
"""
RELATION = [("a", 1), ("b", 2), ("b", 3)]
SELECTS = {
    "all aggregates": "SELECT count(*) AS n, count(h.x) AS c, sum(h.x) AS s, sum(h.y) AS t, avg(h.y) AS a, "
    "min(h.y) AS lo, max(h.x) AS hi, stddev(h.y) AS sd, first(h.x) AS f, last(h.y) AS l FROM H h WHERE h.k = e.k",
    "true ones": "SELECT count_if(h.x > 1) AS n, count(*) AS c FROM H h WHERE h.k = e.k",
    "groups": "SELECT h.k AS g, count(*) AS n, sum(h.x) + e.v AS s FROM H h GROUP BY h.k HAVING count(*) > 1",
    "unseen groups": "SELECT count(*) AS n FROM H h GROUP BY h.x, h.k ORDER BY n DESC",
    "some groups": "SELECT h.k AS g, count(*) AS n FROM H h GROUP BY h.k ORDER BY n DESC, g NULLS LAST LIMIT 2",
    "rows": "SELECT h.x, h.y AS n FROM H h WHERE h.k = e.k OR e.v > 0 ORDER BY h.x NULLS LAST, h.y DESC NULLS FIRST",
    "rows backwards": "SELECT h.x, h.y AS n FROM H h ORDER BY h.x DESC, h.y",
    "some rows": "SELECT h.x AS n FROM H h LIMIT 2",
    "different rows": "SELECT DISTINCT h.x AS n FROM H h WHERE h.k <> e.k",
    "a relation": "SELECT r.room, count(h.x) AS n FROM H h LEFT JOIN R r ON r.k = h.k GROUP BY r.room",
    "a relation first": "SELECT r.room, count(h.x) AS n FROM R r LEFT JOIN H h ON h.k = r.k GROUP BY r.room",
    "a relation alone": "SELECT count(*) AS n, sum(r.room) AS s FROM R r WHERE r.k = e.k",
    "two streams": "SELECT count(*) AS n, max(g.x) AS m FROM H h LEFT JOIN H g ON g.k = h.k AND g.x > h.x",
    "all anew": "SELECT count(DISTINCT h.k) AS n, median(h.y) AS m, sum(DISTINCT h.x) AS s FROM H h WHERE h.k = e.k",
    "a value inside": "SELECT count(*) AS n FROM H h WHERE h.x > (SELECT avg(g.x) AS a FROM H g)",
    "values inside": "SELECT h.x AS n FROM H h WHERE h.k NOT IN (SELECT g.k FROM H g WHERE g.x = e.v)",
    "a value beside groups": "SELECT h.k AS g, count(*) AS n, (SELECT min(i.x) AS m FROM H i) AS least FROM H h "
    "GROUP BY h.k HAVING max(h.y) >= (SELECT avg(g.y) AS a FROM H g)",
    "rows inside": "SELECT count(*) AS n FROM H h WHERE EXISTS (SELECT g.x FROM H g WHERE g.k = e.k)",
    "a select in FROM": "SELECT max(s.n) AS n FROM (SELECT h.k, count(*) AS n FROM H h GROUP BY h.k) AS s",
    "the event alone": "SELECT e.v + 1 AS n",
    "one of several conditions": "SELECT h.x AS n FROM H h LEFT JOIN H g ON g.k = e.k AND e.v > 1 AND h.x = g.x "
    "JOIN R r ON r.room >= e.v WHERE h.y < 2 OR g.x IS NULL",
    "values of pairs": "SELECT r.k AS g, count(*) AS n, first(h.x) AS f, last(h.y) AS l, sum(h.y) AS s FROM R r "
    "LEFT JOIN H h ON h.k = r.k GROUP BY r.k",
    "lists": "SELECT count(*) AS n, window(h.x) AS w, avg(DISTINCT h.x) AS a, count(DISTINCT h.y) AS c, "
    "stddev(h.x) AS d, sum(h.y) AS s, max(h.k) AS m FROM H h JOIN R r ON r.room > h.x",
    "one within another": "SELECT s.g, max(s.n) AS n FROM (SELECT h.k AS g, count(*) AS n FROM H h WHERE h.x IN "
    "(SELECT g.x FROM H g WHERE g.k = e.k) GROUP BY h.k HAVING count(*) > (SELECT min(r.room) AS m FROM R r)) AS s "
    "LEFT JOIN R r ON r.k = s.g GROUP BY s.g",
    "the greatest of each": "SELECT s.k AS g, s.x AS n FROM (SELECT h.k, h.x, row_number() OVER (PARTITION BY h.k "
    "ORDER BY h.x DESC) AS c FROM H h) AS s WHERE s.c <= 2",
    "some in FROM": "SELECT count(*) AS n FROM H h LEFT JOIN (SELECT DISTINCT g.x FROM H g ORDER BY g.x DESC LIMIT 2) "
    "AS s ON s.x = h.x WHERE s.x IS NULL OR h.k = e.k",
    "places": "SELECT h.x AS n, h.y, rank() OVER (ORDER BY h.x) AS a, dense_rank() OVER (PARTITION BY h.k ORDER BY "
    "h.x DESC NULLS FIRST) AS b, percent_rank() OVER (PARTITION BY h.k ORDER BY h.x) AS c, cume_dist() OVER (ORDER BY "
    "h.y) AS d, ntile(3) OVER (PARTITION BY h.k ORDER BY h.y DESC) AS f FROM H h",
    "neighbours": "SELECT h.x AS n, lag(h.x) OVER (ORDER BY h.y) AS a, lead(h.x, 2, -1) OVER (PARTITION BY h.k ORDER "
    "BY h.y NULLS LAST) AS b, lag(h.k, 1, e.k) OVER (PARTITION BY h.x > 1 ORDER BY h.x) AS c FROM H h WHERE h.k = e.k",
    "running": "SELECT h.x AS n, sum(h.x) OVER (PARTITION BY h.k ORDER BY h.y) AS a, "
    "avg(h.y) OVER (ORDER BY h.x) AS b, count(*) OVER () AS c, min(h.y) OVER (PARTITION BY h.k) AS d, "
    "max(h.k) OVER (ORDER BY h.x DESC) AS f, "
    "stddev(h.x) OVER (PARTITION BY h.k ORDER BY h.y) AS g, count_if(h.x > 1) OVER (ORDER BY h.y) AS i FROM H h",
}
RECALLS = {
    **{name: f"RECALL{{last}} ( {text} ) AS q" for name, text in SELECTS.items()},
    "two": "RECALL{last} ( SELECT h.k AS g, sum(h.x) AS n FROM H h GROUP BY h.k ) AS q "
    "RECALL LAST 3 sec ( SELECT i.x, i.y FROM H i ) AS p",
    "one in another": "RECALL{last} ( SELECT h.k AS g, max(h.x) AS n FROM H h GROUP BY h.k ) AS q "
    "RECALL ( SELECT count(*) AS c FROM H i WHERE i.x = q.n ) AS p",
}


@cache
def declared() -> Workspace:
    space = Workspace([], Path())
    space.check(DECLARED)
    return space


@cache
def bound(name: str, last: int | None, condition: str, final: bool) -> Recall:
    back = f" LAST {last} sec" if last is not None else ""
    shown = "e.v, q.*, p.*" if "AS p" in RECALLS[name] else "e.v, q.*"
    recalls = ("FINAL " if final else "") + RECALLS[name].format(last=back)
    query = declared().bind(parse_statement(f"SELECT {shown} FROM E e {recalls}{condition}"))  # type: ignore[arg-type]
    (node,) = [node for node in query.plan.walk() if isinstance(node, Recall)]
    return node


@dataclass(frozen=True)
class World:
    """What happened, in order of arrival: (of which stream, when, values)."""

    happened: list[tuple[str, int, tuple[Any, ...]]]
    cuts: list[int]
    exact_arrivals: bool

    def of(self, stream: str) -> list[tuple[int, int, tuple[Any, ...]]]:
        return [(seq, at, values) for seq, (name, at, values) in enumerate(self.happened) if name == stream]

    @property
    def start(self) -> int | None:
        return min((at for _, at, _ in self.of("H")), default=None)

    def units(self) -> list[Chunk]:
        if self.start is None:
            return [Chunk(-EVER, EVER)]
        borders = [EVER, *sorted({c for c in self.cuts if c > self.start}, reverse=True), self.start]
        return [Chunk(low, high) for high, low in pairwise(borders)]


SECOND = 1_000_000
KEYS = st.sampled_from(["a", "b", None])
SMALL = st.sampled_from([None, 0, 1, 2, 3])
HALVES = st.sampled_from([None, -0.5, 0.0, 1.5, 2.0])
HAPPENED = st.one_of(
    st.tuples(st.just("E"), st.integers(4, 9).map(lambda second: second * SECOND), st.tuples(KEYS, SMALL)),
    *[st.tuples(st.just("H"), st.integers(0, 7).map(lambda second: second * SECOND), st.tuples(KEYS, SMALL, HALVES))]
    * 3,
)
# Mostly in order: what arrives after all events is no history of any.
ARRIVING = st.lists(HAPPENED, min_size=5, max_size=14).flatmap(
    lambda happened: st.sampled_from([sorted(happened, key=lambda one: one[1]), happened, happened[:2]])
)
CUTS = st.lists(st.integers(-1, 19).map(lambda half: half * SECOND // 2), max_size=4)
WORLDS = st.builds(World, ARRIVING, CUTS, st.booleans())


def histories(node: Recall, world: World) -> dict[int, list[Row]]:
    made: dict[int, list[Row]] = {}
    for number, source in enumerate(node.histories):
        names = [c.name for c in source.columns]
        attributes = [name.partition(".")[2] for name in names]
        if isinstance(source, RelationScan):
            rows = [dict(zip(("k", "room"), values, strict=True)) for values in RELATION]
        else:
            rows = [
                {**dict(zip(("k", "x", "y"), values, strict=True)), "at": at, WHEN: at, ARRIVED: seq}
                for seq, at, values in world.of("H")
            ]
        made[number] = [
            {name: row[attribute] for name, attribute in zip(names, attributes, strict=True)}
            | {place: row[place] for place in (WHEN, ARRIVED) if place in row}
            for row in rows
        ]
    return made


@dataclass(frozen=True)
class Answering:
    """Answers the questions of the driver with the twin."""

    histories: dict[int, list[Row]]
    columns: dict[int, list[str]]
    exact_arrivals: bool
    node: Recall

    def past(self, low: int, high: int, before: int, scale: float = 1.0) -> Past:
        return Past(self.histories, self.columns, low, high, before, scale)

    def last_arrival(self, recall: Recalled, unit: Chunk) -> int:
        if not self.exact_arrivals:
            return EVER
        rows = [row for number in recall.select.numbers for row in self.histories[number]]
        return max((row[ARRIVED] for row in rows if unit.low <= row[WHEN] < unit.high), default=-1)

    def similar(self, recall: object, events: pa.Table, evaluator: Evaluator) -> pa.Table:
        raise AssertionError("no select asks for similar events")

    def ask(self, recall: Recalled, asked: Questions, unit: Chunk, parts: bool) -> pa.Table:
        select, found = recall.select, []
        for question in rows_of(asked.table):
            event = {name: question[name] for name in select.parameters}
            past = self.past(question[LOW], question[HIGH], question[BEFORE])
            rows = with_windows(select, joined(select, event, past))
            if select.grouped and not parts:
                rows = groups_of(select, rows, event, past)
            found += [row | {EVENT: question[EVENT]} for row in rows]
        if not select.grouped:
            return _outputs(select, found)
        if parts:
            return _parts(select, found)
        named = [(each.name, each.expr.type) for each in (*select.groups, *select.calls)]
        named += [(q.name, q.type) for q in select.subqueries if q.late]
        return _table(found, [(EVENT, pa.int64()), *((name, to_arrow(kind)) for name, kind in named)])


class AnsweringHere(Answering):
    """Answers them in this process, as engines do."""

    def ask(self, recall: Recalled, asked: Questions, unit: Chunk, parts: bool) -> pa.Table:
        found = ask_here(recall.select, asked, self.rows, Evaluator({}), parts)
        assert found is not None
        return found

    def rows(self, number: int) -> pa.Table:
        node = self.node.histories[number]
        names = {WHEN: TIME, ARRIVED: SEQ}
        rows = [{names.get(n, n): v for n, v in row.items()} for row in self.histories[number]]
        schema = schema_of(node.columns)
        if isinstance(node, RelationScan):
            schema = pa.schema([schema.field(c.name) for c in node.columns])
        return pa.Table.from_pylist(rows, schema)


def rows_of(table: pa.Table) -> list[Row]:
    return [{n: to_micros(v) if hasattr(v, "tzinfo") else v for n, v in row.items()} for row in table.to_pylist()]


def _table(rows: Iterable[Row], fields: list[tuple[str, pa.DataType]]) -> pa.Table:
    return pa.Table.from_pylist([{name: row[name] for name, _ in fields} for row in rows], pa.schema(fields))


def _outputs(select: Select, rows: list[Row]) -> pa.Table:
    terms = (*select.outputs, *select.sort)
    made = [
        {EVENT: row[EVENT], driver.WHEN: row[WHEN], driver.ARRIVED: row[ARRIVED]}
        | {o.name: evaluate(o.expr, row) for o in terms}
        for row in rows
    ]
    places = [(driver.WHEN, pa.int64()), (driver.ARRIVED, pa.int64())] if select.numbers else []
    return _table(made, [(EVENT, pa.int64()), *places, *((o.name, to_arrow(o.expr.type)) for o in terms)])


def _parts(select: Select, rows: list[Row]) -> pa.Table:
    fields = [(EVENT, pa.int64()), (WHEN, pa.int64()), (ARRIVED, pa.int64())]
    fields += [(g.name, to_arrow(g.expr.type)) for g in select.groups]
    arguments: dict[str, Any] = {}
    for call in select.calls:
        assert isinstance(call.expr, AggregateCall)
        if call.expr.arg is not None:
            arguments[f"of {call.name}"] = call.expr.arg
    fields += [(name, to_arrow(arg.type)) for name, arg in arguments.items()]
    made = [
        row
        | {g.name: evaluate(g.expr, row) for g in select.groups}
        | {name: evaluate(arg, row) for name, arg in arguments.items()}
        for row in rows
    ]
    aggregates = [(a, f"of {a.output}" if f"of {a.output}" in arguments else None) for a in aggregates_of(select)]
    keys = [EVENT, *(g.name for g in select.groups)]
    return parts_of(_table(made, fields), keys, aggregates, WHEN, ARRIVED)


@dataclass
class RevisionLog:
    """Rows as somebody has them who follows the revisions."""

    rows: list[Row]
    revision: int = 0

    def follow(self, changes: list[Row], changing: bool) -> None:
        """`changing`: a revision tells all rows that stay again."""
        shown = {kind: [_shown(c) for c in changes if c["change"] == kind] for kind in ("insert", "update", "delete")}
        before = Counter(map(_key, self.rows))
        gone = Counter(map(_key, shown["delete"]))
        assert gone <= before, "what is taken back was there"
        if changing:
            assert len(shown["update"]) + len(shown["delete"]) == len(self.rows)
            self.rows = shown["insert"] + shown["update"]
            return
        assert not shown["update"]
        for row in shown["delete"]:
            self.rows.remove(row)
        self.rows = self.rows + shown["insert"]


SAID = ("event_id", "covered_from", "covered_to", "revision", "change", "extrapolated")


def _shown(row: Row) -> Row:
    return {n: _near(v) for n, v in row.items() if n not in SAID and not n.startswith("_")}


def _near(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_near, value))
    return round(value, 9) + 0.0 if isinstance(value, float) else value


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row.items())


def started(node: Recall, world: World, place: type[Answering] = Answering) -> tuple[Progress, list[Row], Answering]:
    scan = next(n for n in node.input.walk() if isinstance(n, Scan))
    order = sorted(world.of("E"), key=lambda event: (event[1], event[0]))
    made = [{"k": k, "v": v, "at": at, TIME: at, SEQ: seq} for seq, at, (k, v) in order]
    rows = [
        {TIME: m[TIME], SEQ: m[SEQ]} | {f.name: m[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
        for m in made
    ]
    columns = {number: [c.name for c in source.columns] for number, source in enumerate(node.histories)}
    answering = place(histories(node, world), columns, world.exact_arrivals, node)
    history = History(answering.ask, answering.last_arrival, answering.similar, world.start)
    table = pa.Table.from_pylist(rows, schema_of(scan.columns))
    return Progress(node, table, Evaluator({}), history), rows, answering


def expected(
    node: Recall,
    event: Row,
    answering: Answering,
    covered: int,
    start: int | None,
    present: Sequence[list[Row]] = (),
) -> list[Row]:
    """What the twin says over the history from `covered` on, extrapolated to what was asked for."""
    at, known = event[TIME], {}
    for recall in node.recalls:
        wanted = at - recall.last if recall.last is not None else (-EVER if start is None else start)
        low = max(covered, wanted)
        partial = low > wanted and at > low and start is not None and covered > start and bool(recall.select.numbers)
        scale = (at - wanted) / (at - low) if partial else 1.0
        known[recall.alias] = answering.past(low, at, event[SEQ], scale)
    return [{n: _near(v) for n, v in row.items()} for row in recalled(node, event, known, present)]


CONDITIONS = ["", " WHERE q.n > 1", " WHERE q.n IS NULL OR q.n < 2"]


@pytest.mark.parametrize("name", RECALLS)
@settings(max_examples=25)
@given(world=WORLDS, last=st.sampled_from([None, 2, 5, 30]), condition=st.sampled_from(CONDITIONS))
def test_every_revision_is_the_select_over_what_is_covered(
    name: str, world: World, last: int | None, condition: str
) -> None:
    node = bound(name, last, condition, final=False)
    progress, events, answering = started(node, world)
    told = [RevisionLog([]) for _ in events]
    ended: set[int] = set()
    changing = any(recall.identity is not None for recall in node.recalls)
    units = world.units()
    for unit in units:
        rows = rows_of(progress.read(unit, last=unit is units[-1]))
        for number, event in enumerate(events):
            mine = [row for row in rows if (row[TIME], row[SEQ]) == (event[TIME], event[SEQ])]
            if number in ended or not (event[TIME] > unit.low or unit is units[-1]):
                assert mine == [], "nothing more is told of it"
                continue
            covered = min(unit.low, event[TIME])
            told[number].revision += 1
            wanted = min(_wanted(r, event, world.start) for r in node.recalls)
            done = unit is units[-1] or covered <= wanted
            told[number].follow(mine, changing or done)
            now = expected(node, event, answering, covered, world.start)
            assert Counter(map(_key, told[number].rows)) == Counter(map(_key, now))
            assert not done or len(mine) >= len(now), "all rows say that history is complete"
            ended |= {number} if done else set()
            for row in mine:
                assert row["revision"] == told[number].revision
                assert row["extrapolated"] is not done
                assert row["covered_to"] == event[TIME]
                # Never before the first event that the archive holds; without one, nothing is covered.
                begins = event[TIME] if world.start is None else min(max(wanted, world.start), event[TIME])
                assert row["covered_from"] == (begins if done else max(covered, begins))


def _wanted(recall: Recalled, event: Row, start: int | None) -> int:
    return int(event[TIME] - recall.last) if recall.last is not None else (-EVER if start is None else start)


@pytest.mark.parametrize("place", [Answering, AnsweringHere])
@pytest.mark.parametrize("name", RECALLS)
@settings(max_examples=20)
@given(world=WORLDS, last=st.sampled_from([None, 2, 5, 30]), condition=st.sampled_from(CONDITIONS))
def test_FINAL_gives_the_last_revision_in_order_however_history_is_cut(
    name: str, place: type[Answering], world: World, last: int | None, condition: str
) -> None:
    node = bound(name, last, condition, final=True)
    whole = replace(world, cuts=[])
    for cut in (world, whole):
        progress, events, answering = started(node, cut, place)
        units = cut.units()
        tables = [progress.read(unit, last=unit is units[-1]) for unit in units]
        rows = [row for table in tables for row in rows_of(table)]
        for event in events:
            mine = [row for row in rows if (row[TIME], row[SEQ]) == (event[TIME], event[SEQ])]
            assert [_shown(row) for row in mine] == expected(node, event, answering, -EVER, cut.start)
            assert {(row["change"], row["revision"], row["extrapolated"]) for row in mine} <= {("insert", 1, False)}


@settings(max_examples=40)
@given(world=WORLDS, last=st.sampled_from([None, 5]))
def test_the_row_of_an_aggregate_without_groups_comes_once_and_is_then_updated(world: World, last: int | None) -> None:
    progress, events, _ = started(bound("all aggregates", last, "", final=False), world)
    units = world.units()
    rows = [row for unit in units for row in rows_of(progress.read(unit, last=unit is units[-1]))]
    for event in events:
        kinds = [row["change"] for row in rows if (row[TIME], row[SEQ]) == (event[TIME], event[SEQ])]
        assert kinds == ["insert", *["update"] * (len(kinds) - 1)]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("rows", ["insert"] * 3 + ["update"] * 3 + ["insert"]), ("unseen groups", ["insert", "update", "insert"])],
)
def test_equal_rows_of_several_chunks_are_told_each(name: str, kinds: list[str]) -> None:
    past = [("H", second * SECOND, ("b" if second == 1 else "a", 1, 0.0)) for second in range(4)]
    world = World([*past, ("E", 5 * SECOND, ("a", 3))], [2 * SECOND, SECOND], True)
    progress, _, _ = started(bound(name, None, "", final=False), world)
    units = world.units()
    rows = [row for unit in units for row in rows_of(progress.read(unit, last=unit is units[-1]))]
    assert [row["change"] for row in rows][: len(kinds)] == kinds
