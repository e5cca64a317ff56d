"""Dying at every named point of a commit on Delta tables, coming back, and trying again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.storage import Log, committer
from presage.storage import failpoints as point
from recovery.crashing import Crash, CrashAt, Place, contents, crash, data_files, row, sequence_numbers, stream
from recovery.faulty_store import ADDRESS, bucket_in_memory

TICK = stream()
# One load that fills one, two or all three of a stream's tables.
ON_TIME = [row(1, 20), row(2, 30)]
LATE = [*ON_TIME, row(3, 5)]
BAD = [*LATE, {"x": "one", "at": "2024-01-01"}]
LOADS = {1: ON_TIME, 2: LATE, 3: BAD}


def at_each_point(tables: int) -> list[tuple[str, int]]:
    """Every point, those that are passed once per table as often as they are."""
    repeated = (point.STAGED_ONE, point.TABLE_COMMITTED)
    return [(p, k) for p in point.POINTS for k in range(1, (tables if p in repeated else 1) + 1)]


CASES = [(tables, p, k) for tables in LOADS for p, k in at_each_point(tables)]


@pytest.fixture(scope="module", params=["folder", "bucket"])
def begun(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home with a stream and a first load."""
    with bucket_in_memory() as bucket:
        folder = tmp_path_factory.mktemp("begun") / "home"
        place = Place(folder) if request.param == "folder" else Place(ADDRESS, bucket)
        with place.open() as log:
            log.append_catalog("create", "stream", "Tick", "CREATE STREAM Tick …", creates=[TICK])
            log.append(TICK, [row(0, 10)])
        yield place.copied(tmp_path_factory.mktemp("kept") / "home")


@pytest.fixture
def place(begun: Place, tmp_path: Path) -> Place:
    return begun.copied(tmp_path / "home").enter()


@pytest.fixture(scope="module")
def undisturbed(begun: Place, tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, object]]:
    results = {}
    for tables, rows in LOADS.items():
        with begun.copied(tmp_path_factory.mktemp("undisturbed") / "home").enter().open() as log:
            log.append(TICK, rows, once="k")
            results[tables] = contents(log)
    return results


@pytest.mark.parametrize(("tables", "where", "k"), CASES)
def test_an_append_that_dies_anywhere_happens_once(
    tables: int,
    where: str,
    k: int,
    undisturbed: dict[int, dict[str, object]],
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    points = CrashAt()
    log = place.open(points)
    points.arm(where, k)
    before = contents(log)
    with pytest.raises(Crash):
        log.append(TICK, LOADS[tables], once="k")
    crash(log)
    happened = point.POINTS.index(where) >= point.POINTS.index(point.COMMITTED)
    with place.open() as log:
        assert contents(log) == (undisturbed[tables] if happened else before)
        assert log.append(TICK, LOADS[tables], once="k").duplicate == happened
        assert contents(log) == undisturbed[tables]
        assert sequence_numbers(log) == list(range(1, log.position + 1))
        assert len(place.data_files()) == 1 + tables


@pytest.mark.parametrize("where", [p for p in point.POINTS if not p.startswith("staged-")])
@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_a_declaration_that_dies_anywhere_happens_whole_or_not_at_all(
    kind: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    with bucket_in_memory() as bucket:
        place = Place(tmp_path / "home") if kind == "folder" else Place(ADDRESS, bucket)
        points = CrashAt()
        log = place.open(points)
        points.arm(where)
        with pytest.raises(Crash):
            log.append_catalog("create", "stream", "Tick", "CREATE STREAM Tick …", creates=[TICK])
        crash(log)
        happened = point.POINTS.index(where) >= point.POINTS.index(point.COMMITTED)
        with place.open() as log:
            assert log.archive.streams() == (["Tick"] if happened else [])
            assert [entry.name for entry in log.catalog_entries()] == (["Tick"] if happened else [])
            assert not list((tmp_path / "home" / "streams").glob(".*"))


def test_dying_again_while_recovering_changes_nothing(undisturbed: dict[int, object], place: Place) -> None:
    points = CrashAt()
    log = place.open(points)
    points.arm(point.COMMITTED)
    with pytest.raises(Crash):
        log.append(TICK, BAD, once="k")
    crash(log)
    for k in (1, 1, 1):
        with pytest.raises(Crash):
            place.open(CrashAt(point.TABLE_COMMITTED, k))
    with place.open() as log:
        assert contents(log) == undisturbed[3]


def test_records_are_applied_again_without_effect(tmp_path: Path) -> None:
    home = tmp_path / "home"
    log = Log.open(home, durable=False)
    log.create_stream(TICK)
    log.append(TICK, [row(1, 1)])
    log.drop_stream("Tick")
    log.create_stream(TICK)
    log.append(TICK, BAD)
    expected = contents(log)
    crash(log)
    with Log.open(home, durable=False) as log:
        assert contents(log) == expected


def test_a_load_that_fails_leaves_no_file_and_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)

        def full(*_: object) -> None:
            raise OSError("no space left")

        with monkeypatch.context() as patch:
            patch.setattr("presage.storage.journal.Journal.write", full)
            with pytest.raises(PresageError, match=r"no space.*\n.*nothing has been written"):
                log.append(TICK, BAD)
        assert data_files(tmp_path / "home") == []
        assert log.append(TICK, ON_TIME).first_seq == 1


def test_a_table_that_cannot_be_committed_is_committed_before_the_next_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)

        def fail(*_: object) -> None:
            raise OSError("the disk is gone")

        with monkeypatch.context() as patch:
            patch.setattr("presage.storage.delta.DeltaTables.change", fail)
            with pytest.raises(PresageError, match=r"gone.*\n.*do not send it again"):
                log.append(TICK, ON_TIME, once="k")
        assert log.position == 0
        assert log.append(TICK, ON_TIME, once="k").duplicate
        assert log.position == 2
        assert len(contents(log)["Tick"]["events"]) == 2
