"""Dying at every named point of compaction, retention, vacuum and cleaning, and coming back: no event changes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from presage.model.catalog import EventType
from presage.storage import Log, committer
from presage.storage import failpoints as point
from presage.storage.chunks import Shape
from recovery.crashing import (
    SECOND,
    Crash,
    CrashAt,
    MemoryDisk,
    contents,
    crash,
    data_files,
    read_by_others,
    row,
    stream,
)

TICK = EventType(**{**vars(stream()), "key": ("x",), "options": {"retention": "30 sec"}})
SHAPE = Shape(slice=10 * SECOND, least_rows=4, rows_per_file=16, buckets=2, rows_per_bucket=2, group_rows=16, fan=4)
NOW = 10**18
# What a compaction passes, and then what deletion does.
PASSED = [point.REWRITTEN_ONE, point.REWRITTEN, *point.POINTS[1:], point.VACUUMED_ONE, point.CLEANED_ONE]


def begin(log: Log) -> None:
    log.create_stream(TICK)
    for second in range(40):
        log.append(TICK, [row(second % 5, second), row(second % 3, second)])


def maintain(log: Log) -> None:
    log.maintenance.retain(TICK, now=NOW)
    log.maintenance.compact(TICK, SHAPE)
    log.maintenance.vacuum()
    log.maintenance.clean()  # begins a checkpoint
    log._committer._tables.close()
    log.maintenance.clean()  # and deletes what precedes it


def compact(log: Log) -> None:
    log.maintenance.compact(TICK, SHAPE)
    log.maintenance.vacuum()


def events(log: Log) -> list[object]:
    return log.archive.read_arrow(log.archive.snapshot("Tick")).to_pylist()


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("begun") / "home"
    with Log.open(home, durable=False) as log:
        begin(log)
    return home


@pytest.fixture(scope="module")
def undisturbed(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    home = tmp_path_factory.mktemp("undisturbed") / "home"
    shutil.copytree(begun, home)
    with Log.open(home, durable=False) as log:
        maintain(log)
        return contents(log)


@pytest.mark.parametrize(("where", "k"), [*((p, 1) for p in PASSED), (point.TABLE_COMMITTED, 3), (point.COMMITTED, 3)])
def test_maintenance_that_dies_anywhere_is_finished_by_the_next(
    where: str, k: int, begun: Path, undisturbed: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(begun, home)
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    log = Log.open(home, durable=False, points=CrashAt(where, k))
    with pytest.raises(Crash):
        maintain(log)
    crash(log)
    with Log.open(home, durable=False) as log:
        left = events(log)
        assert left[-60:] == undisturbed["Tick"]["events"][-60:]  # type: ignore[index]
        maintain(log)
        assert contents(log) == undisturbed
        live = {Path(path).name for path in log.archive.snapshot("Tick").paths}
        assert set(data_files(home)) == live
        other = read_by_others(log.home.table_folder("Tick", "events"))
        assert other.num_rows == len(events(log))


@pytest.mark.parametrize("where", [p for p in PASSED if p != point.CLEANED_ONE])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_compaction_that_dies_anywhere_changes_no_event(
    where: str, k: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if where == point.HEAD_WRITTEN:
        monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 1)
    disk, points = MemoryDisk(), CrashAt()
    log = Log.open(tmp_path / "home", durable=False, points=points, tables=disk.tables())
    begin(log)
    before = contents(log)
    points.arm(where, k)
    with pytest.raises(Crash):
        compact(log)
    crash(log)
    points.arm()
    with Log.open(tmp_path / "home", durable=False, points=points, tables=disk.tables()) as log:
        assert contents(log) == before
        compact(log)
        assert contents(log) == before
        assert set(data_files(tmp_path / "home")) == {f.path for files in disk.files.values() for f in files}
