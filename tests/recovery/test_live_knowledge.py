"""Statements that know: a life with REFRESH in it that dies at every named point, in other cuts, with lost states."""

from __future__ import annotations

import copy
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from presage.knowledge.answers import Tables
from presage.knowledge.contexts import read_context
from presage.knowledge.library import Library
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.printer import print_statement
from presage.live.standing import KIND, Standing
from presage.log import Log, committer
from presage.log import crash as point
from presage.log.crash import CrashPoints
from presage.log.keeping import keep, latest_knowledge, recall
from presage.workspace import Workspace
from recovery.crashing import Crash, CrashAt, MemoryDisk
from recovery.living import Living

POINTS = (point.STATES_WRITTEN, *point.POINTS)
NAMES = """
@prefix : <http://x.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
:PrivateOffice rdfs:subClassOf :Office . :reportedBy owl:equivalentProperty :source . :volume rdfs:subPropertyOf :flow .
"""
# s1 and s2 hang in offices, s3 in a hall.
FIRST = (
    NAMES
    + """
:s1 :in :r1 . :s2 :in :r2 . :s3 :in :h1 .
:r1 a :PrivateOffice ; :limit 3 . :r2 a :Office ; :limit 5 . :h1 a :Hall ; :limit 4 .
"""
)
# The hall has become an office, the limit of r1 is another, s2 has moved into the hall, and somebody knows s9.
SECOND = (
    NAMES
    + """
:s1 :in :r1 . :s2 :in :h1 . :s3 :in :h1 . :s9 :in :r2 .
:r1 a :PrivateOffice ; :limit 1 . :r2 a :Office ; :limit 5 . :h1 a :Office ; :limit 4 .
"""
)
AIR = '{"@context": {"@vocab": "http://x.org/", "s": {"@id": "source", "@type": "@vocab"}, "v": "flow"}}'
VOLUME = '{"@context": {"x": "http://x.org/", "d": {"@id": "x:reportedBy", "@type": "@id"}, "w": "x:volume"}}'
DECLARED = """
CREATE KNOWLEDGE world FROM 'world.ttl' REASONING OWL_RL;
CREATE SCHEMA Flow (at TIMESTAMP) EVENT TIME at;
CREATE STREAM Air (s STRING, v DOUBLE) INHERITS Flow WITH (max_delay = '2 sec') CONTEXT 'air.jsonld';
CREATE STREAM Volume (d STRING, w DOUBLE) INHERITS Flow CONTEXT 'volume.jsonld';
"""
X = "PREFIX x: <http://x.org/> "
OFFICE = "PATH {{ ?{0} x:source/x:in ?room . ?room a x:Office }}"
STATEMENTS = {
    "offices": f"SELECT e.s, e.v FROM Air AS e WHERE {OFFICE.format('e')}",
    "over": "SELECT e.s, e.v FROM Air AS e WHERE "
    "PATH { ?e x:source/x:in ?room ; x:flow ?v . ?room x:limit ?limit . FILTER(?v > ?limit) }",
    "asked": "SELECT e.s FROM Air AS e WHERE "
    "PATH { ?e x:source ?s . OPTIONAL { ?s x:in ?room . ?room a x:Hall } FILTER(!bound(?room)) }",
    "rooms": "SELECT PATH { ?e x:source/x:in ?room }.room AS room, sum(e.v) AS total, count(*) AS n "
    "FROM Air#time(4 sec) AS e GROUP BY room",
    "both": f"SELECT e.x:flow AS flow FROM Flow AS e WHERE {OFFICE.format('e')}",
    "mean": f"SELECT s, avg(v) AS mean FROM Air#length(3) AS e WHERE {OFFICE.format('e')} GROUP BY s",
    "pair": f"SELECT a.s AS a, b.d AS b, b.w AS w FROM PATTERN [ EVERY a=Air({OFFICE.format('a')}) "
    f"-> b=Volume({OFFICE.format('b')} AND w > a.v) WHERE timer:within(6 sec) ]",
    "rise": "SELECT s, low, high FROM Air MATCH_RECOGNIZE ( PARTITION BY s MEASURES A.v AS low, B.v AS high "
    f"PATTERN (A B) WITHIN 8 sec DEFINE A AS {OFFICE.format('A')}, B AS B.v > A.v )",
    "hot": f"INSERT INTO Hot SELECT e.s AS s, e.v AS v FROM Air AS e WHERE {OFFICE.format('e')} AND e.v > 1",
    "hots": "SELECT s, count(*) AS n FROM Hot#time(5 sec) GROUP BY s",
}  # fmt: skip


def at(second: float) -> str:
    return f"2024-01-01T00:00:{second:04.1f}"


def air(first: int, count: int) -> list[dict[str, Any]]:
    """Neighbours come in the wrong order; s9 is unknown at first, and so is nobody, always."""
    names = ("s1", "s2", "s3", "s9", "nobody", None)
    return [{"s": names[i % 6], "v": float((first + i) * 5 % 7), "at": at(first + i)} for i in (j ^ 1 for j in range(count & ~1))]


def volume(first: int, count: int) -> list[dict[str, Any]]:
    """As `s1` it is no IRI."""
    names = ("x:s1", "x:s2", "s1", "x:s3", "x:s9")
    return [{"d": names[i % 5], "w": float((first + i) * 3 % 8), "at": at(first + i + 0.5)} for i in range(count)]


class Knowing(Living):
    """A home with knowledge bases, as an engine keeps it; `folder` holds the files that it reads."""

    def __init__(
        self,
        folder: Path,
        home: Path,
        disk: MemoryDisk | None = None,
        points: CrashPoints | None = None,
        shards: int = 1,
        **job: Any,
    ) -> None:
        self.folder = folder
        tables = (disk or MemoryDisk()).tables()
        self.log = Log.open(home, durable=False, points=points, tables=tables)
        self.workspace = Workspace([folder], folder, library=Library(home / "knowledge"))
        self.relations = {}
        try:
            self.standing = Standing(
                self.log,
                self.workspace,
                relations=lambda: Tables({}, self.workspace.library, self.catalog.knowledge.values()),
                result=lambda columns, table: table,
                shards=shards,
                refreshed=lambda: max((base.since for base in self.catalog.knowledge.values()), default=0),
                **job,
            )
            entries = list(self.log.catalog_entries())
            for entry in entries:
                if entry.kind == KIND:
                    self.standing.replay(entry)
                    continue
                for statement in self.workspace.parse(entry.text).statements:
                    self.workspace.catalog = self.workspace.declare(statement, again=True)
                self.workspace.catalog, _ = recall(home, self.catalog, entry, latest_knowledge(entries), read_context)
        except BaseException:
            self.log.home.unlock()
            raise

    def declare(self, text: str) -> None:
        for statement in self.workspace.parse(text).statements:
            before, after = self.catalog, self.workspace.declare(statement)
            if after is before:
                continue

            def change(statement: Any = statement, before: Any = before, after: Any = after) -> None:
                name = statement.name
                _, extra = keep(self.log.home.path, name, before, after)
                action = "refresh" if isinstance(statement, RefreshKnowledge) else "create"
                creates = after.loadable(besides=before)
                kind = type(statement).__name__
                self.log.append_catalog(action, kind, name, print_statement(statement), extra, creates=creates)
                self.workspace.catalog = after

            if isinstance(statement, CreateKnowledge | RefreshKnowledge):
                self.standing.know(change)
            else:
                change()

    def refresh(self, world: str) -> None:
        (self.folder / "world.ttl").write_text(world)
        self.declare("REFRESH KNOWLEDGE world")

    def all_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        return {name: [tuple(row.values()) for row in self.rows(name)] for name in self.standing}

    def unknown(self) -> dict[str, int]:
        return {name: self.standing[name].status.unknown_entities for name in self.standing}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    (made / "air.jsonld").write_text(AIR)
    (made / "volume.jsonld").write_text(VOLUME)
    return made


def begun(folder: Path, home: Path, disk: MemoryDisk, points: CrashPoints | None = None, **job: Any) -> Knowing:
    (folder / "world.ttl").write_text(FIRST)
    made = Knowing(folder, home, disk, points, **job)
    made.declare(DECLARED)
    return made


# -- dying ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Action:
    """A step of a home's life that may be done again: the second time it changes nothing."""

    name: str
    do: Callable[[Knowing], None]


def fill(home: Knowing, number: int) -> None:
    """What comes for the n-th time."""
    home.load("Air", air(6 * number, 6), f"air {number}")
    home.load("Volume", volume(6 * number, 5), f"volume {number}")


def drain_filled(number: int) -> Action:
    return Action(f"drain {number}", lambda home: (fill(home, number), home.drain()) and None)


# One of each kind: states, two streams, questions to the store, rows for others. A REFRESH takes in what has come.
DYING = ("rooms", "both", "asked", "pair", "hot")
LIFE = [
    drain_filled(0),
    Action("refresh", lambda home: (fill(home, 1), home.refresh(SECOND)) and None),
    drain_filled(2),
]


class Counting(CrashAt):
    """Counts what is passed."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: Counter[str] = Counter()

    def reach(self, point: str) -> None:
        self.passed[point] += 1


@dataclass(frozen=True)
class Kept:
    """A home before one of its steps, the points that the step passes, and what is found after it."""

    home: Path
    disk: MemoryDisk
    passed: Counter[str]
    found: dict[str, Any]


def found_in(home: Knowing) -> dict[str, Any]:
    return home.found() | {"states": home.states(), "unknown": home.unknown()}


@pytest.fixture(scope="module")
def whole(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Kept]]:
    """The whole life, without an accident."""
    base = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committer, "RECORDS_PER_HEAD", 4)
        kept, disk, points = [], MemoryDisk(), Counting()
        home = begun(folder, base / "home", disk, points)
        for name in DYING:
            home.deploy(X + STATEMENTS[name], name)
        for number, action in enumerate(LIFE):
            copied, before = base / f"before-{number}", copy.deepcopy(disk)
            shutil.copytree(base / "home", copied)
            points.passed.clear()
            action.do(home)
            kept.append(Kept(copied, before, Counter(points.passed), found_in(home)))
        home.close()
        yield kept


@pytest.mark.parametrize("number", range(len(LIFE)), ids=[action.name for action in LIFE])
def test_dying_at_any_point_of_a_step_changes_nothing(
    number: int, whole: list[Kept], folder: Path, tmp_path: Path
) -> None:
    kept = whole[number]
    assert set(kept.passed) >= {point.STATES_WRITTEN, point.COMMITTED, point.TABLE_COMMITTED}
    for where in POINTS:
        # The events, the batch, the catalog: what lies between the first time and the last is more of the same.
        for k in sorted({min(1, kept.passed[where]), kept.passed[where]} - {0}):
            path, disk, points = tmp_path / f"{where}-{k}", copy.deepcopy(kept.disk), CrashAt()
            shutil.copytree(kept.home, path)
            home = Knowing(folder, path, disk, points)
            points.arm(where, k)
            with pytest.raises(Crash):
                LIFE[number].do(home)
            home.die()
            home = Knowing(folder, path, disk)
            LIFE[number].do(home)
            assert found_in(home) == kept.found, (where, k)
            home.die()


def test_the_life_passes_every_point_and_every_statement_has_rows(whole: list[Kept]) -> None:
    assert {where for kept in whole for where in kept.passed} == set(POINTS)
    statements = whole[-1].found["statements"].values()
    assert {values[0] for values in statements if values[-1]} == set(DYING)
    assert whole[-1].found["derived"]["Hot"]
    assert {values[2:4] for values in statements} == {("running", "")}
