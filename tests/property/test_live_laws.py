"""The law of deployed statements: whatever happens to a home, in whatever order, the rows of a statement are a prefix
of what the reference makes of the same events, and all of it up to the time that the statement knows."""

from __future__ import annotations

import copy
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from hypothesis import currently_in_test_context, event, given, settings
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.lang import syntax as s
from presage.live import state_delta as state_changes
from presage.live import state_store as store
from presage.live.deployment import Deployment
from presage.live.statement import FINISHED, RUNNING, Statement
from presage.operators.recall.nodes import COVERED_FROM
from presage.plan.nodes import SEQ, TIME, Retime
from presage.plan.query import BoundQuery
from presage.storage import committer
from presage.storage import failpoints as point
from presage.storage.chunks import Shape
from property.query_texts import BASE, DECLARATIONS, RELATIONS, SECOND, START, queries, worlds
from property.test_live_queries import as_micros, comparable
from recovery.crashing import Crash, CrashAt, MemoryDisk
from recovery.living import Living
from reference.plans import Row, World, evaluate

POINTS = (point.STATES_WRITTEN, *point.POINTS)
SHAPE = Shape(slice=2 * SECOND, least_rows=1, rows_per_file=4, buckets=2, rows_per_bucket=1, group_rows=8, fan=2)
# In small worlds, too: journals are shortened, files swept, states written as changes.
SMALL = (
    (committer, "RECORDS_PER_HEAD", 4),
    (store, "BATCHES_PER_SWEEP", 3),
    (state_changes, "ROWS_WORTH_A_LOOK", 1),
)
ACTIONS = (
    "load",
    "load",
    "load",
    "advance",
    "advance",
    "drain",
    "silence",
    "deploy",
    "deploy",
    "stop",
    "replace",
    "crash",
    "crash",
    "reopen",
    "maintain",
)


# Statements that are sure to have rows, beside random ones.
TEXTS = [
    "SELECT k, n, x FROM Temp",
    "SELECT k, count(*) AS c, avg(n) AS a FROM Sensor#time(2 sec) GROUP BY k",
    "SELECT x, count(*) AS c FROM Temp#length(2) GROUP BY x",
    "SELECT a.k, b.v FROM Temp#time(3 sec) AS a JOIN Tick#length(3) AS b ON a.k = b.k",
    "SELECT DISTINCT k, x FROM Temp",
    "SELECT k, sum(v) AS v FROM Tick GROUP BY k OUTPUT LAST EVERY 2 sec",
    "SELECT k, count(*) AS c FROM Sensor#time_batch(2 sec) WITHIN [2024-03-01T09:00:00, ) GROUP BY k",
    "SELECT k, max(n) AS m FROM Sensor#groupwin(k)#length(2) WITHIN [2024-03-01T09:00:01, 2024-03-01T09:00:05) "
    "GROUP BY k",
    "SELECT k, count(*) AS c, percentile(n, 0.9) AS p, window_start AS w FROM Sensor#tumble(2 sec, 1 sec) GROUP BY k",
    "SELECT k, sum(n) AS s, window_end AS w FROM Sensor#hop(3 sec, 1 sec) "
    "WITHIN [2024-03-01T09:00:01, 2024-03-01T09:00:06] GROUP BY k",
    "SELECT k, count_if(x > 0.0) AS c, corr(x, n) AS r, window_start AS w FROM Temp#session(2 sec, k) "
    "WITHIN [, 2024-03-01T09:00:07) GROUP BY k",
    "SELECT k, avg(n) AS a FROM Sensor WITHIN [, 2024-03-01T09:00:06) GROUP BY k HAVING count(*) > 1 OUTPUT LAST",
    "SELECT DISTINCT max(n) AS m FROM Sensor#time(2 sec) WITHIN [2024-03-01T09:00:00, 2024-03-01T09:00:05) GROUP BY k "
    "OUTPUT SNAPSHOT",
    "SELECT k, v FROM Busy",
    "SELECT k, count(*) AS c FROM Counts#length(3) GROUP BY k",
    "INSERT INTO Hot SELECT k, x FROM Temp WHERE x > 0.0; SELECT k, count(*) AS c FROM Hot#time(2 sec) GROUP BY k",
    # One that began in the past would come too late for those that read its stream already.
    "INSERT INTO Mean SELECT k, avg(n) AS a FROM Sensor#length(2) GROUP BY k; SELECT k, a FROM Mean",
    "INSERT INTO Hot SELECT k, x FROM Temp; INSERT INTO Warmth SELECT k, count(*) AS c FROM Hot#length(3) GROUP BY k; "
    "SELECT h.k, w.c FROM Hot#length(2) AS h JOIN Warmth#length(2) AS w ON h.k = w.k",
]


@cache
def declared() -> tuple[tempfile.TemporaryDirectory[str], MemoryDisk]:
    """A home with the streams and nothing else."""
    folder, disk = tempfile.TemporaryDirectory(), MemoryDisk()
    with Living(Path(folder.name) / "home", disk) as home:
        home.declare(DECLARATIONS.replace("1 hour", "2 sec"))
    return folder, disk


@dataclass
class Life:
    """A home, the events that are still to come, and what was deployed."""

    folder: Path
    coming: list[tuple[str, Row]]
    texts: list[str]
    dice: Random
    shards: int
    points: CrashAt = field(default_factory=CrashAt)
    numbers: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    rows: dict[str, list[Any]] = field(default_factory=dict)  # of those that ended
    loads: int = 0

    def __post_init__(self) -> None:
        begun, disk = declared()
        shutil.copytree(Path(begun.name) / "home", self.folder)
        self.disk = copy.deepcopy(disk)
        self.home = self.open()

    def open(self) -> Living:
        rows = self.dice.choice([2, 5, 1_000])
        return Living(self.folder, self.disk, self.points, now=START, shards=self.shards, rows_per_batch=rows)

    def do(self, action: str) -> None:
        state = self.dice.getstate()
        try:
            getattr(self, action)()
        except Crash:
            count("crashed")
            self.reopen(dying=True)
            self.dice.setstate(state)  # the same again
            getattr(self, action)()
        if action not in ("load", "silence", "crash"):
            self.check()

    # -- what may happen -----------------------------------------------------------------------------

    def load(self) -> None:
        """The next events as they come; now and then a load that was sent before."""
        chosen = self.coming[self.loads : self.loads + self.dice.randint(1, 5)]
        for stream in dict.fromkeys(name for name, _ in chosen):
            rows = [{**row, "at": moment(row[TIME])} for name, row in chosen if name == stream]
            rows = [{name: value for name, value in row.items() if name not in (TIME, SEQ)} for row in rows]
            for _ in range(self.dice.choice([1, 1, 2])):
                self.home.load(stream, rows, f"load-{self.loads}-{stream}")
        self.loads += len(chosen)

    def advance(self) -> None:
        self.home.deployments.job.advance()

    def drain(self) -> None:
        self.home.drain()

    def silence(self) -> None:
        time = START + self.dice.randint(0, 24) * SECOND // 2
        for stream in self.dice.choice([BASE, BASE[:1], BASE[1:]]):
            self.home.log.append_watermark(stream, time)

    def deploy(self) -> None:
        *before, last = self.home.workspace.parse(self.dice.choice(self.texts)).statements
        for query in before:
            assert isinstance(query, s.Query)
            self._deploy(query, f"into-{query.insert_into}")
        self._deploy(last, f"statement-{self.dice.randint(0, 2)}")

    def replace(self) -> None:
        *_, last = self.home.workspace.parse(self.dice.choice(self.texts)).statements
        running = [n for n, d in self.home.deployments.items() if d.status.state in ("running", "catching up")]
        if running:
            self._deploy(last, self.dice.choice(running), replaces=True)

    def stop(self) -> None:
        running = sorted(self.home.deployments)
        if running:
            self.home.stop(self.dice.choice(running))

    def crash(self) -> None:
        self.points.arm(self.dice.choice(POINTS), self.dice.randint(1, 4))

    def reopen(self, dying: bool = False) -> None:
        self.points.arm()
        before = {n: program.plan for n, program in self.home.deployments.job.programs.items()}
        self.home.die() if dying else self.home.close()
        self.home = self.open()
        for number, program in self.home.deployments.job.programs.items():
            assert program.plan == before.get(number, program.plan)

    def maintain(self) -> None:
        types = list(self.home.catalog.types.values())
        self.home.log.maintenance.run(types, self.home.deployments.in_use(), SHAPE, grace=0)

    def _deploy(self, query: s.Statement, name: str, replaces: bool = False) -> None:
        assert isinstance(query, s.Query)
        known = set(self.home.deployments.job.statements)
        try:
            made = self.home.deployments.deploy(query, name, replaces)
        except PresageError as refused:
            count(f"refused: {refused.code}")
            assert set(self.home.deployments.job.statements) == known
            return
        statement = self.home.deployments.job.find(made.name)
        assert statement is not None
        self.numbers.add(statement.number)

    def bound(self, statement: Statement) -> BoundQuery:
        """The bounded query that the statement is compared with: over what its streams have been filled with so far."""
        (text,) = self.home.workspace.parse(statement.text).statements
        assert isinstance(text, s.Query)
        return self.home.workspace.bind(text, statement.since)

    def end(self) -> None:
        """All events come, and then silence: nothing is left to wait for."""
        while self.loads < len(self.coming):
            self.load()
        for stream in BASE:
            self.home.log.append_watermark(stream, START + 60 * SECOND)
        self.home.drain()
        self.check(drained=True)
        running = [st for st in self.home.deployments.job.statements.values() if st.status == RUNNING]
        count("rows at the end" if any(st.rows_out for st in running) else "no rows at the end")
        self.home.close()

    # -- what must hold ------------------------------------------------------------------------------

    def check(self, drained: bool = False) -> None:
        world = self.world()
        job = self.home.deployments.job
        for number in self.numbers:
            statement = job.statements[number]
            watermark = job.position_of(statement).watermark
            query = self.bound(statement)
            assert not statement.error, statement.error
            made = shown(Deployment(self.home.deployments, number).table().to_pylist(), query)
            assert len(made) == statement.rows_out
            assert made[: len(self.rows.get(number, []))] == self.rows.get(number, [])
            if number in self.ended:
                assert made == self.rows[number]
            else:
                silence = max([watermark, *(e[TIME] for rows in world.streams.values() for e in rows)])
                whole = evaluate(query.plan, world, query.upper, silence + 10 * SECOND)
                expected = shown(whole, query)
                assert made == expected[: len(made)], statement.text
                waits = any(isinstance(node, Retime) for node in query.plan.walk())
                if statement.status == FINISHED:
                    assert made == expected, statement.text
                elif drained and statement.status == RUNNING and not waits:
                    assert made == shown([r for r in whole if r[TIME] <= watermark], query), statement.text
                    count("rows" if made else "no rows")
            self.rows[number] = made
            if statement.status not in (RUNNING, FINISHED):
                self.ended.add(number)  # having taken in what had come by then

    def world(self) -> World:
        archive = self.home.log.archive
        read = {name: archive.read_arrow(archive.snapshot(name)).to_pylist() for name in BASE}
        return World({name: [as_micros(row) for row in rows] for name, rows in read.items()}, RELATIONS)


def count(what: str) -> None:
    """For Hypothesis' statistics, where it runs the test."""
    if currently_in_test_context():
        event(what)


def moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def shown(rows: list[Row], query: BoundQuery) -> list[Any]:
    """All that the law covers: how far back the archive went when a RECALL was answered is not part of it."""
    names = [column.name for column in query.columns if column.name != COVERED_FROM]
    return [[comparable(as_micros(row[name])) for name in names] for row in rows]


@settings(max_examples=settings.default.max_examples * 3 // 10)
@given(
    st.lists(st.sampled_from(TEXTS) | queries(), min_size=2, max_size=3),
    worlds(),
    st.lists(st.sampled_from(ACTIONS), min_size=4, max_size=16),
    st.integers(0, 2**16),
    st.sampled_from([1, 1, 2]),
)
def test_rows_are_a_prefix_of_those_of_the_reference_whatever_happens(
    texts: list[str], world: World, actions: list[str], seed: int, shards: int
) -> None:
    dice = Random(seed)
    coming = [(name, row) for name, rows in world.streams.items() for row in rows]
    # Most of them within the streams' max_delay, some too late.
    coming.sort(key=lambda e: e[1][TIME] + dice.randint(0, 3) * SECOND)
    with ExitStack() as stack:
        for module, name, value in SMALL:
            stack.enter_context(patch.object(module, name, value))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        life = Life(Path(folder) / "home", coming, texts, dice, shards)
        life.deploy()
        life.deploy()
        life.load()
        for action in actions:
            life.do(action)
        life.points.arm()
        life.drain()
        life.check(drained=True)
        life.end()


def test_a_statement_that_ends_has_not_seen_rows_that_come_later_at_the_time_it_had_reached(tmp_path: Path) -> None:
    life = Life(tmp_path / "home", [], [], Random(0), 1)
    chain = (
        ("INSERT INTO Hot SELECT k, x FROM Temp", "hot"),
        ("INSERT INTO Warmth SELECT k, count(*) AS c FROM Hot#length(3) GROUP BY k", "warmth"),
        ("SELECT k, c FROM Warmth", "reader"),
    )
    for text, name in chain:
        (query,) = life.home.workspace.parse(text).statements
        life._deploy(query, name)
    for seconds in (0, 2, 0, 4):
        life.home.load("Temp", [{"k": "a", "n": 1, "x": 1.0, "tags": [], "at": moment(START + seconds * SECOND)}])
        life.drain()
        if seconds == 2:
            life.home.stop("warmth")
    assert (len(life.home.rows("hot")), len(life.home.rows("reader"))) == (3, 1)
    life.check(drained=True)
    life.end()


KEYED = [
    "SELECT x, count(*) AS c, last(k) AS k FROM Temp#time(3 sec) GROUP BY x",
    "SELECT k, count(*) AS c FROM Sensor#time_batch(2 sec) GROUP BY k",
    "SELECT tags, count(*) AS c FROM Temp#groupwin(tags)#length(3) GROUP BY tags",
    "SELECT spot, k, count(*) AS c FROM Door#groupwin(spot)#length(2) GROUP BY spot, k",
    "SELECT DISTINCT k, x FROM Temp",
    "SELECT DISTINCT tags, n FROM Temp",
    "SELECT a.k, b.v FROM Temp#time(3 sec) AS a JOIN Tick#length(3) AS b ON a.k = b.k",
    "SELECT a.x, b.x AS y FROM Temp#time(4 sec) AS a JOIN Temp#time(2 sec) AS b ON a.x = b.x",
    "SELECT a.n, b.v FROM Temp#time(4 sec) AS a JOIN Tick#time(2 sec) AS b ON a.n = b.v",
    "SELECT k, v FROM Busy",
    "SELECT k, c FROM Late",
]
# Its rows lie at times of their own, which go back and forth.
LATE = "INSERT INTO Late SELECT k, count(*) AS c, min(at) AS at FROM Temp#groupwin(k)#length(3) GROUP BY k"


@settings(max_examples=settings.default.max_examples // 20)
@given(worlds(most=9), st.integers(0, 2**16))
def test_shards_of_the_keys_have_the_rows_of_the_whole(world: World, seed: int) -> None:
    found = []
    for shards in (1, 3):
        with tempfile.TemporaryDirectory() as folder:
            coming = [(name, row) for name, rows in world.streams.items() for row in rows]
            coming.sort(key=lambda e: e[1][TIME])
            life = Life(Path(folder) / "home", coming, [], Random(seed), shards)
            home = life.home
            home.deploy(LATE, "late")
            for number, text in enumerate(KEYED):
                home.deploy(text, str(number))
            while life.loads < len(life.coming):
                life.load()
                if life.dice.random() < 0.3:
                    home.drain()
            for stream in BASE:
                home.log.append_watermark(stream, START + 60 * SECOND)
            home.drain()
            sharded = [n for n, program in home.deployments.job.programs.items() if program.shards > 1]
            assert len(sharded) == (0 if shards == 1 else 8)
            found.append({name: list(map(repr, home.rows(name))) for name in home.deployments})
            home.close()
    assert found[0] == found[1]
    event("rows" if all(found[0].values()) else "some without rows")
