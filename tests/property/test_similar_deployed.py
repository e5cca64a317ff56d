"""RECALL SIMILAR that stands, without Spark: however events come and steps fail, every revision is what the twin says
over the past that it covers, and the last one over all of it."""

from __future__ import annotations

import json
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.columnar.evaluate import Evaluator
from presage.execution.steps import OperatorStates, StepContext, run, schema_of
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.lang import parse_statement
from presage.live.program import Program, compile_program
from presage.model.operator_state import State
from presage.model.time import to_micros
from presage.operators.recall import history_sample as survey
from presage.operators.recall import past_events as recall_past
from presage.operators.recall.deployed import OPERATORS, Recalling
from presage.operators.recall.executor import Archive, EventCommand, outlook_of, recalls_of
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.history_sample import Slice
from presage.operators.recall.nodes import Recall, Similar
from presage.operators.recall.progress import History
from presage.operators.recall.questions import EVER
from presage.operators.recall.similar_rows import PastEvents
from presage.plan.nodes import SEQ, TIME, Node, Scan
from presage.workspace import Workspace
from property.test_recalled import Answering
from reference.recalled import ARRIVED, WHEN, Past, Row, answers
from reference.similar_contexts import most_similar

DECLARED = """
CREATE STREAM E (k STRING, v LONG, at TIMESTAMP) EVENT TIME at KEY (k) WITH (max_delay = '2 sec');
CREATE STREAM C (x STRING, y DOUBLE, at TIMESTAMP) EVENT TIME at WITH (max_delay = '1 sec');
"""
ATTRIBUTES = {"E": ("k", "v"), "C": ("x", "y")}
DELAYS = {"E": 2_000_000, "C": 1_000_000}
CONTEXTS = """CONTEXT SELECT c.x FROM C c WINDOW 3 sec,
              CONTEXT SELECT sum(c.y) AS y FROM C c WINDOW 2 sec WHERE c.x = e.k,
              CONTEXT SELECT e.v"""
SIMILAR = f"RECALL{{}} SIMILAR 2 ( {CONTEXTS} ) AS s"
QUERIES = {
    "all": SIMILAR.format(""),
    "last": SIMILAR.format(" LAST 4 sec"),
    "two": SIMILAR.format("") + " RECALL LAST 5 sec SIMILAR 1 ( CONTEXT SELECT c.x FROM C c WINDOW 1 sec ) AS t",
    "beside a plain one": SIMILAR.format("") + " RECALL ( SELECT count(*) AS n FROM C h ) AS r",
    "in pauses": SIMILAR.format("") + " PAUSE EVERY 1 CHUNKS",
}
SHOWN = "e.v, s.rank, s.similarity, s.k AS sk, s.v AS sv, s.at AS sat"
SAMPLED = "_sampled"
SECOND = 1_000_000
END = 100 * SECOND


@cache
def bound(name: str, condition: str) -> Program:
    space = Workspace([], Path())
    space.check(DECLARED)
    shown = SHOWN + (", t.v AS tv, t.at AS tat" if name == "two" else ", r.n" if name.startswith("beside") else "")
    query = space.bind(parse_statement(f"SELECT {shown} FROM E e {QUERIES[name]}{condition}"))  # type: ignore[arg-type]
    return compile_program(query, query.plan, 1)


def node_of(program: Program) -> Recalling:
    (node,) = [node for node in program.plan.walk() if isinstance(node, Recalling)]
    return node


Happened = tuple[str, int, tuple[Any, ...]]


@dataclass(frozen=True)
class World:
    """What happened, in order of arrival; from where on the statement stands; where steps end; how history is cut."""

    happened: list[Happened]
    since: int
    ends: list[int]
    cuts: list[int]
    fails: list[bool]  # of each step: it has not happened, or a new life begins after it
    said: list[str]
    in_parts: bool
    beside: bool = False  # history is read by a thread
    idle: int = 0  # steps after each of the steps, in which nothing arrives


TIMES = st.integers(0, 12).map(lambda half: half * SECOND // 2)
EVENTS = st.tuples(st.just("E"), TIMES, st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([None, 0, 1, 2])))
YS = st.sampled_from([0.5, 2.0, 0.0, -0.0, float("nan"), None])
OTHERS = st.tuples(st.just("C"), TIMES, st.tuples(st.sampled_from(["a", "b", "c", None]), YS))
HAPPENED = st.lists(EVENTS | OTHERS, min_size=4, max_size=18).flatmap(
    lambda happened: st.sampled_from([sorted(happened, key=lambda one: one[1]), happened])
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    happened = accepted(draw(HAPPENED))
    places = st.integers(0, len(happened))
    ends = sorted(draw(st.lists(places, max_size=4)))
    steps = len(ends) + 12
    return World(
        happened,
        draw(places),
        ends,
        draw(st.lists(TIMES, max_size=3)),
        draw(st.lists(st.sampled_from([False, False, True]), min_size=steps, max_size=steps)),
        draw(st.lists(st.sampled_from(["", "", "continue", "accelerate", "cancel"]), min_size=steps, max_size=steps)),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([0, 6])),
    )


def accepted(happened: list[Happened]) -> list[Happened]:
    """Without those that come too late."""
    greatest: dict[str, int] = {}
    kept = []
    for one in happened:
        stream, at, _ = one
        if at >= greatest.get(stream, NOTHING_KNOWN) - DELAYS[stream]:
            kept.append(one)
            greatest[stream] = max(at, greatest.get(stream, at))
    return kept


def clock_at(world: World, position: int) -> int:
    marks = [[at for s, at, _ in world.happened[:position] if s == stream] for stream in DELAYS]
    known = [max(times) - delay for times, delay in zip(marks, DELAYS.values(), strict=True) if times]
    return min(known) if len(known) == len(DELAYS) else NOTHING_KNOWN


def rows_of(source: Node, world: World, position: int) -> list[Row]:
    """The rows of a source of history, as the twin wants them."""
    (scan,) = [node for node in source.walk() if isinstance(node, Scan)]
    found = []
    for seq, (stream, at, values) in enumerate(world.happened[:position]):
        if stream == scan.stream:
            named = dict(zip(ATTRIBUTES[stream], values, strict=True)) | {"at": at}
            row = {f.name: named[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
            found.append(row | {WHEN: at, ARRIVED: seq})
    return found


def table_of(source: Node, rows: list[Row]) -> pa.Table:
    made = [{TIME: r[WHEN], SEQ: r[ARRIVED], **{c.name: r[c.name] for c in source.columns}} for r in rows]
    made.sort(key=lambda row: (row[TIME], row[SEQ]))
    return pa.Table.from_pylist(made, schema_of(source.columns))


def archive_of(recall: Recall, world: World, position: int) -> Archive:
    histories = {number: rows_of(source, world, position) for number, source in enumerate(recall.histories)}
    columns = {number: [c.name for c in source.columns] for number, source in enumerate(recall.histories)}
    answering = Answering(histories, columns, True, recall)
    times = [row[WHEN] for rows in histories.values() for row in rows]
    borders = [EVER, *sorted({c for c in world.cuts if c > min(times)}, reverse=True), min(times)] if times else []
    units = [Chunk(low, high) for high, low in pairwise(borders)] or [Chunk(-EVER, EVER)]

    def past(number: int, unit: Chunk) -> pa.Table:
        rows = [row for row in histories[number] if unit.low <= row[WHEN] < unit.high]
        return table_of(recall.histories[number], rows)

    def near(*_: object) -> pa.Table:
        raise AssertionError("nobody asks for what is around")

    history = History(answering.ask, answering.last_arrival, answering.similar, min(times, default=None))
    spans = [(at, at, 1) for at in times]
    return Archive(units, history, PastEvents(past, answering.ask, near, lambda _: world.in_parts, lambda: spans))


@dataclass
class Life:
    """A statement that is stepped: what is published, and what is only in memory."""

    world: World
    program: Program
    states: dict[str, bytes] = field(default_factory=dict)
    compiled: dict[Any, Any] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)
    made: list[Row] = field(default_factory=list)
    cancelled: set[str] = field(default_factory=set)
    first_clock: int | None = None
    steps: int = 0
    reading: list[tuple[Future[Any], Any]] = field(default_factory=list)

    def later(self, work: Any) -> Future[Any]:
        """A thread that has read by the next step but one."""
        self.reading.append((Future(), work))
        return self.reading[-1][0]

    def read(self) -> None:
        while self.steps % 2 and self.reading:
            found, work = self.reading.pop()
            found.set_result(work())

    @property
    def recalling(self) -> Recalling:
        return node_of(self.program)

    @property
    def tasks(self) -> list[Any]:
        place = str(self.program.places[id(self.recalling)])
        found = recalls_of(State.from_bytes(self.states[place])) if place in self.states else []
        return [one.task for one in found]

    @property
    def sampled(self) -> list[Slice]:
        """The slices of old history that say how rare terms are there."""
        place = str(self.program.places[id(self.recalling)])
        if place not in self.states:
            return []
        past = json.loads(State.from_bytes(self.states[place]).tables["about"]["json"][0].as_py())["past"]
        known = [Slice(*one) for one in past["slices"] or []]
        return known[: past["samples"] * recall_past.SLICES_AT_ONCE]

    @property
    def ready(self) -> int:
        outlooks = [outlook_of(State.from_bytes(data)) for data in self.states.values()]
        return sum(outlook.ready for outlook in outlooks if outlook is not None)

    def step(self, position: int, clock: int) -> None:
        self.read()
        number, self.steps = self.steps, self.steps + 1
        world = self.world
        (scan,) = self.program.scans
        rows = [
            row
            for row in rows_of(scan, world, position)
            if row[ARRIVED] >= world.since and row[WHEN] <= clock and row[ARRIVED] not in self.released
        ]
        action = world.said[number] if number < len(world.said) else "continue"
        waiting = [task.event for task in self.tasks]
        said = (
            [EventCommand(action, event) for event in (waiting[:1] if action == "cancel" else waiting)]
            if action
            else []
        )
        operator_states = OperatorStates({place: State.from_bytes(data) for place, data in self.states.items()})
        context = StepContext(
            lambda _: table_of(scan, rows),
            Evaluator({}),
            {},
            OPERATORS,
            self.program.places,
            operator_states,
            clock,
            clock,
            compiled=self.compiled,
            commands=said,
            histories=lambda node: archive_of(node, world, position),
            read_later=self.later if world.beside else None,
        )
        made = run(self.recalling, context).table
        if number < len(world.fails) and world.fails[number]:
            return  # nothing of it has happened, whatever memory says
        self.first_clock = clock if self.first_clock is None else self.first_clock
        sampled = {SAMPLED: self.sampled}  # events come before the background
        self.states |= {place: operator_states.by_place[place].to_bytes() for place in operator_states.changed}
        self.released |= {row[ARRIVED] for row in rows}
        self.cancelled |= {one.event for one in said if one.action == "cancel"}
        self.made += [
            {n: to_micros(v) if hasattr(v, "tzinfo") else v for n, v in row.items()} | sampled
            for row in made.to_pylist()
        ]
        if number % 3 == 2:
            self.compiled = {}  # another life


def lived(world: World, program: Program) -> Life:
    life = Life(world, program)
    for position in world.ends:
        clock = clock_at(world, position)
        if clock != NOTHING_KNOWN and position >= world.since:
            for _ in range(1 + world.idle):
                life.step(position, clock)
    for _ in range(120):
        life.step(len(world.happened), END)
        if not life.ready and not [task for task in life.tasks if not task.has_ended] and not pending(life):
            break
    return life


def pending(life: Life) -> bool:
    """Whether events of the statement have not been taken in yet."""
    mine = {i for i, (s, _, _) in enumerate(life.world.happened) if s == "E" and i >= life.world.since}
    return mine != life.released


def expected(life: Life, similar: Similar, event: Row, low: int, sampled: list[Slice]) -> list[tuple[int, float, Row]]:
    """The twin: rank, similarity and the past event, over the past from `low` on, with the weights of the sample."""
    recall, world = life.recalling.unread.recall, life.world
    histories = {n: rows_of(source, world, len(world.happened)) for n, source in enumerate(recall.histories)}
    columns = {n: [c.name for c in source.columns] for n, source in enumerate(recall.histories)}
    known = sorted(histories[similar.past], key=lambda row: (row[WHEN], row[ARRIVED]))
    if not world.in_parts:
        # Those that were settled when the statement began, and its own.
        assert life.first_clock is not None
        known = [row for row in known if row[WHEN] < life.first_clock or row[ARRIVED] in life.released]
    back = low if similar.last is None else max(low, event[WHEN] - similar.last)
    before = [r for r in known if r[WHEN] >= back and (r[WHEN], r[ARRIVED]) < (event[WHEN], event[ARRIVED])]

    def terms(row: Row) -> list[tuple[str, Any]]:
        past = Past(histories, columns, -EVER, row[WHEN] + 1, EVER)
        own = {n: v for n, v in row.items() if n not in (WHEN, ARRIVED)}
        return [term for select in similar.contexts for one in answers(select, own, past) for term in one.items()]

    wanted = -EVER if similar.last is None else event[WHEN] - similar.last
    older = [(r, s) for r in known if wanted <= r[WHEN] < low for s in sampled if s.low <= r[WHEN] < s.high]
    beyond = [(terms(r), s.weight) for r, s in older]
    found = most_similar([terms(r) for r in before], [terms(event)], [len(before)], [0], similar.count, {}, beyond)
    return [(one.rank, one.similarity, before[one.past]) for one in found]


def check_revision(life: Life, event: Row, rows: dict[Any, Row], covered: int, sampled: list[Slice]) -> None:
    similars = [r for r in life.recalling.unread.recall.recalls if isinstance(r, Similar)]
    wanted = expected(life, similars[0], event, covered, sampled)
    made = sorted((row for row in rows.values()), key=lambda row: row["rank"] or 0)
    ranked = {row["rank"]: row for row in made}
    assert sorted(ranked, key=lambda rank: rank or 0) == ([rank for rank, _, _ in wanted] or [None])
    for rank, similarity, past in wanted:
        row = ranked[rank]
        assert row["similarity"] == pytest.approx(similarity, abs=1e-9)
        if [round(s, 9) for _, s, _ in wanted].count(round(similarity, 9)) == 1:
            assert (row["sk"], row["sv"], row["sat"]) == (past["e.k"], past["e.v"], past[WHEN])
    if len(similars) > 1:
        other = expected(life, similars[1], event, covered, sampled)
        assert {(row["tv"], row["tat"]) for row in made} == (
            {(p["e.v"], p[WHEN]) for _, _, p in other} or {(None, None)}
        )


def check(life: Life) -> None:
    world = life.world
    (scan,) = life.program.scans
    events = {row[ARRIVED]: row for row in rows_of(scan, world, len(world.happened)) if row[ARRIVED] >= world.since}
    ended = set()
    for seq, event in events.items():
        rows: dict[Any, Row] = {}
        mine = [row for row in life.made if row[SEQ] == seq]
        for revision in range(1, max((row["revision"] for row in mine), default=0) + 1):
            now = [row for row in mine if row["revision"] == revision]
            for row in now:
                key = row["rank"]
                assert (row["change"] == "insert") == (key not in rows)
                if row["change"] == "delete":
                    del rows[key]
                else:
                    rows[key] = row
            (covered,) = {row["covered_from"] for row in now}
            (partial,) = {row["extrapolated"] for row in now}
            check_revision(life, event, rows, covered if partial else -EVER, now[0][SAMPLED])
            ended |= set() if partial else {seq}
        if not any(row["event_id"] in life.cancelled for row in mine) and not life.cancelled:
            assert seq in ended, "all history has been read for it"


@pytest.mark.parametrize("name", QUERIES)
@settings(max_examples=25, deadline=None)
@given(world=worlds(), recent=st.integers(0, 3), events=st.sampled_from([1, 2, 2**40]), at_once=st.integers(1, 2))
def test_every_revision_is_that_of_the_twin(name: str, world: World, recent: int, events: int, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recall_past, "RECENT_UNITS", recent)
        patch.setattr(recall_past, "SLICES_AT_ONCE", at_once)
        for figure, value in (("SAMPLE_EVENTS", events), ("SLICES", 3), ("FEWEST_SLICES", 1)):
            patch.setattr(survey, figure, value)
        check(lived(world, bound(name, "")))


@pytest.mark.parametrize("beside", [False, True])
def test_what_is_rare_in_old_history_is_known_before_that_is_read(
    beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall_past, "RECENT_UNITS", 1)
    for figure, value in (("SAMPLE_EVENTS", 2), ("SLICES", 2), ("FEWEST_SLICES", 1)):
        monkeypatch.setattr(survey, figure, value)
    happened: list[Happened] = []
    for second in range(20):
        # 'b' is usual in old history and rare lately, 'a' the other way round.
        happened.append(("C", second * SECOND, ("b" if second < 15 else "a", 0.5)))
        happened.append(("E", second * SECOND, ("b" if second < 16 or second == 18 else "a", second % 3)))
    happened += [("C", 20 * SECOND, ("b", 0.5)), ("E", 20 * SECOND, ("a", 1)), ("C", 22 * SECOND, (None, 0.5))]
    ends = [40, 43]
    world = World(happened, 40, ends, [16 * SECOND], [], [""] * 40, True, beside, 8)
    life = lived(world, bound("all", ""))
    check(life)
    first = [row for row in life.made if row["revision"] == 1]
    assert first[0]["extrapolated"]
    assert first[0][SAMPLED], "the sample was there"
    (similar,) = [r for r in life.recalling.unread.recall.recalls if isinstance(r, Similar)]
    (event,) = [row for row in rows_of(life.program.scans[0], world, 99) if row[ARRIVED] == 41]
    low = first[0]["covered_from"]
    with_sample = expected(life, similar, event, low, first[0][SAMPLED])
    assert [s for _, s, _ in with_sample] != [s for _, s, _ in expected(life, similar, event, low, [])]


@pytest.mark.parametrize("in_parts", [True, False])
def test_an_event_waits_for_what_may_still_come_at_its_own_time(in_parts: bool) -> None:
    happened: list[Happened] = [
        ("E", 0, ("a", 1)),
        ("C", 0, ("a", 0.5)),
        ("E", 2 * SECOND, ("a", 1)),
        ("E", 4 * SECOND, ("a", 1)),
        ("C", 3 * SECOND, ("b", 0.5)),
        ("C", 2 * SECOND, ("c", 0.5)),
    ]
    assert accepted(happened) == happened
    assert clock_at(World(happened, 2, [], [], [], [], in_parts), 5) == 2 * SECOND
    world = World(happened, 2, [5], [], [], [""] * 9, in_parts)
    life = lived(world, bound("all", ""))
    check(life)
    assert [row["rank"] for row in life.made if row[TIME] == 2 * SECOND] == [1]
