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

from presage.errors import PresageError
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.printer import print_statement
from presage.live.deployments import restore_catalog
from presage.operators.knowledge.library import Library, Relations
from presage.storage import Log, committer
from presage.storage import failpoints as point
from presage.storage.catalog_codec import save_declaration
from presage.storage.failpoints import Failpoints
from presage.storage.file_store import FileStore
from presage.workspace import Workspace
from recovery.crashing import Crash, CrashAt, MemoryDisk, copy_as_closed
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
    "FROM Air AS e GROUP BY room",
    "both": f"SELECT e.x:flow AS flow FROM Flow AS e WHERE {OFFICE.format('e')}",
    "recent": f"SELECT count(*) AS n FROM Air#time(4 sec) AS e WHERE {OFFICE.format('e')} OR e.v > 5",
    "mean": f"SELECT s, avg(v) AS mean FROM Air#length(3) AS e WHERE {OFFICE.format('e')} GROUP BY s",
    "pair": f"SELECT a.s AS a, b.d AS b, b.w AS w FROM PATTERN [ EVERY a=Air({OFFICE.format('a')}) "
    f"-> b=Volume({OFFICE.format('b')} AND w > a.v) WHERE timer:within(6 sec) ]",
    "rise": "SELECT s, low, high FROM Air MATCH_RECOGNIZE ( PARTITION BY s MEASURES A.v AS low, B.v AS high "
    f"PATTERN (A B) WITHIN 8 sec DEFINE A AS {OFFICE.format('A')}, B AS B.v > A.v )",
    "hot": f"INSERT INTO Hot SELECT e.s AS s, e.v AS v FROM Air AS e WHERE {OFFICE.format('e')} AND e.v > 1",
    "hots": "SELECT s, count(*) AS n FROM Hot#time(5 sec) GROUP BY s",
}


def at(second: float) -> str:
    return f"2024-01-01T00:00:{second:04.1f}"


def air(first: int, count: int) -> list[dict[str, Any]]:
    """Neighbours come in the wrong order; s9 is unknown at first, and so is nobody, always."""
    names = ("s1", "s2", "s3", "s9", "nobody", None)
    return [
        {"s": names[i % 6], "v": float((first + i) * 5 % 7), "at": at(first + i)}
        for i in (j ^ 1 for j in range(count & ~1))
    ]


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
        points: Failpoints | None = None,
        shards: int = 1,
        **job: Any,
    ) -> None:
        self.folder = folder
        tables = (disk or MemoryDisk()).tables()
        self.log = Log.open(home, durable=False, points=points, tables=tables)
        self.workspace = Workspace([folder], folder, library=Library(FileStore(), home / "knowledge"))
        self.relations = {}
        try:
            self.deployments = self._deployments(
                lambda: Relations({}, self.workspace.library, self.catalog.knowledge.values()),
                shards=shards,
                refreshed=lambda: max((base.since for base in self.catalog.knowledge.values()), default=0),
                **job,
            )
            restore_catalog(self.log, self.workspace, self.deployments, self.relations)
        except BaseException:
            self.log.home.unlock()
            raise

    def __enter__(self) -> Knowing:
        return self

    def declare(self, text: str) -> None:
        for statement in self.workspace.parse(text).statements:
            before, after = self.catalog, self.workspace.declare(statement)
            if after is before:
                continue

            def change(statement: Any = statement, before: Any = before, after: Any = after) -> None:
                name = statement.name
                _, extra = save_declaration(self.log.home, name, before, after)
                action = "refresh" if isinstance(statement, RefreshKnowledge) else "create"
                creates = after.loadable(besides=before)
                kind = type(statement).__name__
                self.log.append_catalog(action, kind, name, print_statement(statement), extra, creates=creates)
                self.workspace.catalog = after

            if isinstance(statement, CreateKnowledge | RefreshKnowledge):
                self.deployments.change_knowledge(after, change)
            else:
                change()

    def refresh(self, world: str) -> None:
        (self.folder / "world.ttl").write_text(world)
        self.declare("REFRESH KNOWLEDGE world")

    def all_rows(self) -> dict[str, list[tuple[Any, ...]]]:
        return {name: [tuple(row.values()) for row in self.rows(name)] for name in self.deployments}

    def unknown(self) -> dict[str, int]:
        return {name: self.deployments[name].status.unknown_entities for name in self.deployments}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    (made / "air.jsonld").write_text(AIR)
    (made / "volume.jsonld").write_text(VOLUME)
    return made


def begun(folder: Path, home: Path, disk: MemoryDisk, points: Failpoints | None = None, **job: Any) -> Knowing:
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


def refresh_filled(home: Knowing) -> None:
    fill(home, 1)
    home.refresh(SECOND)


def drain_filled(home: Knowing) -> None:
    fill(home, 2)
    home.drain()


# One of each kind: states, two streams, questions to the store, rows for others. A REFRESH takes in what has come.
DYING = ("rooms", "both", "asked", "pair", "hot")
LIFE = [
    Action("refresh", refresh_filled),
    Action("drain", drain_filled),
]


class Counting(CrashAt):
    """Counts what is passed."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: Counter[str] = Counter()

    def reach(self, point: str) -> None:
        self.passed[point] += 1


@dataclass(frozen=True)
class Snapshot:
    """A home before one of its steps, the points that the step passes, and what is found after it."""

    home: Path
    disk: MemoryDisk
    passed: Counter[str]
    found: dict[str, Any]


def found_in(home: Knowing) -> dict[str, Any]:
    return home.found() | {"states": home.states(), "unknown": home.unknown()}


@pytest.fixture(scope="module")
def whole(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Snapshot]]:
    """The whole life, without an accident."""
    base = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committer, "RECORDS_PER_HEAD", 4)
        kept, disk, points = [], MemoryDisk(), Counting()
        home = begun(folder, base / "home", disk, points)
        for name in DYING:
            home.deploy(X + STATEMENTS[name], name)
        fill(home, 0)
        home.drain()
        for number, action in enumerate(LIFE):
            copied, before = base / f"before-{number}", copy.deepcopy(disk)
            copy_as_closed(base / "home", copied)
            points.passed.clear()
            action.do(home)
            kept.append(Snapshot(copied, before, Counter(points.passed), found_in(home)))
        home.close()
        yield kept


@pytest.mark.parametrize("number", range(len(LIFE)), ids=[action.name for action in LIFE])
def test_dying_at_any_point_of_a_step_changes_nothing(
    number: int, whole: list[Snapshot], folder: Path, tmp_path: Path
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


def test_the_life_passes_every_point_and_every_statement_has_rows(whole: list[Snapshot]) -> None:
    assert {where for kept in whole for where in kept.passed} == set(POINTS)
    statements = whole[-1].found["statements"].values()
    assert {values[0] for values in statements if values[-1]} == set(DYING)
    assert whole[-1].found["derived"]["Hot"]
    assert {values[2:4] for values in statements} == {("running", "")}


# -- the same in other pieces ----------------------------------------------------------------------------------


def lived(folder: Path, home: Path, piece: int, drains: bool, **job: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """Three hauls with a REFRESH between each two of them, loaded in pieces."""
    with begun(folder, home, MemoryDisk(), **job) as life:
        for name, text in STATEMENTS.items():
            life.deploy(X + text, name)
        for number, world in enumerate((SECOND, FIRST, None)):
            for stream, rows in (("Air", air(6 * number, 6)), ("Volume", volume(6 * number, 5))):
                for start in range(0, len(rows), piece):
                    life.load(stream, rows[start : start + piece])
                    if drains:
                        life.drain()
            if world is not None:
                life.refresh(world)
        life.drain()
        assert {name: life.deployments[name].status.last_error for name in STATEMENTS} == dict.fromkeys(STATEMENTS)
        return life.all_rows(), life.unknown()


def test_pieces_batches_and_shards_change_no_row_and_no_count(folder: Path, tmp_path: Path) -> None:
    rows, unknown = lived(folder, tmp_path / "whole", 99, False)
    # The last two seconds of Air may still be overtaken, so they are read after the REFRESH.
    first, second = [("s1", 0.0), ("s2", 5.0)], [("s1", 2.0), ("s2", 0.0), ("s3", 5.0), ("s9", 3.0)]
    third = [("s1", 4.0), ("s2", 2.0)]
    assert [row[:-1] for row in rows["offices"]] == [*first, *second, *third]
    assert [row[:-1] for row in rows["over"]] == [("s1", 2.0), ("s3", 5.0), ("s1", 4.0)]
    assert unknown["offices"] == len(["s9 at 3", "nobody at 4", "nobody at 10", "s9 at 15"])
    assert all(rows.values())
    assert lived(folder, tmp_path / "drained", 2, True, rows_per_batch=3) == (rows, unknown)
    assert lived(folder, tmp_path / "shards", 1, False, shards=3, rows_per_batch=5) == (rows, unknown)


def test_statements_of_one_form_with_other_paths_stay_apart(folder: Path, tmp_path: Path) -> None:
    """Four of one form step as one; each has its own PATH below what they have in common."""
    kinds = ("x:Office", "x:PrivateOffice", "x:Hall", "?any", "x:Nothing")
    text = (
        "SELECT a.s AS s, a.v AS low, b.v AS high FROM PATTERN "
        "[ EVERY a=Air(v < {0} AND PATH {{ ?a x:source/x:in/a {1} }}) -> b=Air(s = a.s AND v > a.v) ]"
    )
    found = []
    for members in (4, 99):
        with begun(folder, tmp_path / str(members), MemoryDisk(), least_members=members) as home:
            for number, kind in enumerate(kinds):
                home.deploy(X + text.format(number + 2, kind), kind)
                home.deploy(X + text.format(9, kind), kind + " nine")
            for number, world in enumerate((SECOND, FIRST, None)):
                fill(home, number)
                home.drain()
                if world is not None:
                    home.refresh(world)
            found.append((home.all_rows(), home.unknown()))
    assert found[0] == found[1]
    rows = {name: [row[:-1] for row in several] for name, several in found[0][0].items()}
    assert rows["x:Hall nine"] == [("s3", 3.0, 5.0)]
    assert rows["x:Nothing"] == []


# -- lost states -------------------------------------------------------------------------------------------------


def lose_states(home: Path) -> None:
    files = list((home / "states").iterdir())
    assert files
    for path in files:
        path.unlink()


def test_a_lost_state_is_made_again_as_long_as_the_same_is_known(folder: Path, tmp_path: Path) -> None:
    disk, names = MemoryDisk(), ("rooms", "recent", "mean", "pair", "rise")
    with begun(folder, tmp_path / "home", disk) as home:
        home.refresh(SECOND)
        for name in names:
            home.deploy(X + STATEMENTS[name], name)
        fill(home, 0)
        fill(home, 1)
        home.drain()
    lose_states(tmp_path / "home")
    with Knowing(folder, tmp_path / "home", disk) as home, begun(folder, tmp_path / "other", MemoryDisk()) as other:
        other.refresh(SECOND)
        for name in names:
            other.deploy(X + STATEMENTS[name], name)
        for number in range(3):
            fill(other, number)
        fill(home, 2)
        home.drain()
        other.drain()
        assert home.all_rows() == other.all_rows()
        assert home.unknown() == other.unknown()
        assert {home.deployments[name].status.state for name in names} == {"running"}


def test_a_lost_state_after_a_refresh_is_an_error_and_not_other_rows(folder: Path, tmp_path: Path) -> None:
    disk = MemoryDisk()
    with begun(folder, tmp_path / "home", disk) as home:
        for name in ("rooms", "mean", "offices"):
            home.deploy(X + STATEMENTS[name], name)
        fill(home, 0)
        home.refresh(SECOND)
        home.deploy(X + STATEMENTS["recent"], "recent")
        fill(home, 1)
        home.drain()
        before = home.all_rows()
    lose_states(tmp_path / "home")
    with Knowing(folder, tmp_path / "home", disk) as home:
        fill(home, 2)
        home.drain()
        after = home.all_rows()
        states = {name: home.deployments[name].status.state for name in before}
        # What keeps no state goes on, and so does what began after the REFRESH.
        assert states == {"rooms": "failed", "mean": "failed", "offices": "running", "recent": "running"}
        assert "[HOME_CORRUPT]" in str(home.deployments["mean"].status.last_error)
        assert {name: after[name] for name in ("rooms", "mean")} == {name: before[name] for name in ("rooms", "mean")}
        for name in ("offices", "recent"):
            assert after[name][: len(before[name])] == before[name]
            assert len(after[name]) > len(before[name])


# -- what a REFRESH takes away -----------------------------------------------------------------------------------

LESS = FIRST.replace(":volume rdfs:subPropertyOf :flow .", "")
OTHER = FIRST.replace(":volume rdfs:subPropertyOf :flow .", ":speed rdfs:subPropertyOf :flow .")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT PATH { ?e x:source/x:in ?room }.room AS room, count(*) AS n FROM Air#length(2) AS e GROUP BY room",
        f"SELECT count(*) AS n FROM Air#length(2) AS e JOIN Volume#length(2) AS f ON e.v = f.w "
        f"WHERE {OFFICE.format('e')} OR {OFFICE.format('f')}",
    ],
    ids=["variable", "condition"],
)
def test_a_join_of_windows_cannot_go_on_with_other_knowledge(folder: Path, tmp_path: Path, text: str) -> None:
    with begun(folder, tmp_path / "home", MemoryDisk()) as home:
        home.deploy(X + text, "some")
        for second in (1, 2, 3, 6, 7, 8):
            name = ("s3", "s1", "s2")[second % 3]
            home.load("Air", [{"s": name, "v": 1.0, "at": at(second)}])
            home.load("Volume", [{"d": f"x:{name}", "w": 1.0, "at": at(second)}])
            if second == 3:  # all of these are taken in
                home.log.append_watermark("Air", 1_704_067_204_000_000)
                home.log.append_watermark("Volume", 1_704_067_204_000_000)
                home.refresh(SECOND)
        home.log.append_watermark("Air", 1_704_067_209_000_000)
        home.drain()
        status = home.deployments["some"].status
        assert status.state == "failed"
        assert "pairs that were joined by the old knowledge" in (status.last_error or "")


def test_knowledge_that_a_statement_could_not_be_understood_without_stays(folder: Path, tmp_path: Path) -> None:
    disk = MemoryDisk()
    with begun(folder, tmp_path / "home", disk) as home:
        home.deploy(X + "SELECT e.x:flow AS flow FROM Volume AS e WHERE PATH { ?e x:source/x:in ?room }", "lost")
        home.deploy(X + STATEMENTS["offices"], "offices")
        with pytest.raises(PresageError, match="'lost' could no longer be bound") as caught:
            home.refresh(LESS)
        assert caught.value.code == "KNOWLEDGE_NEEDED"
    with Knowing(folder, tmp_path / "home", disk) as home:
        assert home.deployments["lost"].status.state == "running"
        assert home.deployments["offices"].status.state == "running"


@pytest.mark.parametrize(
    "text", ["SELECT e.x:flow AS v FROM Volume AS e", "SELECT sum(e.x:flow) AS v FROM Volume AS e"]
)
def test_a_word_that_means_another_attribute_is_an_error(folder: Path, tmp_path: Path, text: str) -> None:
    """It may go on with what it meant, or fail; it may not change its mind when the home is opened again."""
    (folder / "two.jsonld").write_text(VOLUME.replace('"w": "x:volume"', '"w": "x:volume", "u": "x:speed"'))
    disk = MemoryDisk()
    with begun(folder, tmp_path / "home", disk) as home:
        home.declare("CREATE STREAM Two (w DOUBLE, u DOUBLE, at TIMESTAMP) EVENT TIME at CONTEXT 'two.jsonld'")
        home.deploy(X + text.replace("Volume", "Two"), "some")
        home.load("Two", [{"w": 1.0, "u": 100.0, "at": at(1)}])
        home.refresh(OTHER)
    with Knowing(folder, tmp_path / "home", disk) as home:
        home.load("Two", [{"w": 1.0, "u": 100.0, "at": at(2)}])
        home.drain()
        assert {row[0] for row in home.all_rows()["some"]} <= {1.0, 2.0}
