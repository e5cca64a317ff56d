"""Changes of a table as Delta readers that are not ours see them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from presage.storage import delta
from presage.storage.delta import DeltaTables
from presage.storage.delta_schema import to_delta
from presage.storage.home import Home
from presage.storage.journal import FileAdd
from presage.storage.staging import stage
from recovery.crashing import read_by_others

SCHEMA = pa.schema([("_seq", pa.int64()), ("x", pa.string())])


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home.open(tmp_path / "home", durable=False)
    yield home
    home.close()


@pytest.fixture
def tables(home: Home) -> DeltaTables:
    tables = DeltaTables(home)
    tables.create("S", 1, {"events": to_delta(SCHEMA)}, 0)
    return tables


def staged(home: Home, n: int, *values: str) -> list[FileAdd]:
    rows = pa.table({"_seq": pa.array(range(n, n + len(values)), pa.int64()), "x": list(values)}, SCHEMA)
    return list(stage(home.store, home.table_folder("S", "events"), n, "ab", rows))


def read(home: Home) -> list[str]:
    return sorted(read_by_others(home.table_folder("S", "events"))["x"].to_pylist())


def test_a_change_happens_once_however_often_it_is_asked_for(home: Home, tables: DeltaTables) -> None:
    adds = staged(home, 2, "a")
    for store in (tables, tables, DeltaTables(home)):
        store.change("S", "events", adds, [], 2)
    assert read(home) == ["a"]
    assert [file.name for file in tables.files("S", "events")] == [adds[0].path]


def test_files_that_are_removed_are_gone_for_every_reader(home: Home, tables: DeltaTables) -> None:
    first, second = staged(home, 2, "a"), staged(home, 3, "b")
    tables.change("S", "events", first, [], 2)
    tables.change("S", "events", second, [first[0].path], 3)
    assert read(home) == ["b"]
    for store in (tables, DeltaTables(home)):
        assert [file.name for file in store.files("S", "events")] == [second[0].path]


def test_rows_that_another_program_has_rewritten_are_not_doubled(home: Home, tables: DeltaTables) -> None:
    first, second = staged(home, 2, "a"), staged(home, 3, "b")
    tables.change("S", "events", first, [], 2)
    tables.change("S", "events", second, [], 3)
    DeltaTable(str(home.table_folder("S", "events"))).optimize.compact()
    merged = staged(home, 4, "a", "b")
    tables.change("S", "events", merged, [first[0].path, second[0].path], 4, rewrites=True)
    assert read(home) == ["a", "b"]
    tables.change("S", "events", staged(home, 5, "c"), [], 5)
    assert read(home) == ["a", "b", "c"]


def test_a_table_of_many_commits_has_checkpoints_and_a_short_log(
    home: Home, tables: DeltaTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "COMMITS_PER_CHECKPOINT", 8)
    log = home.table_folder("S", "events") / "_delta_log"
    for n in range(2, 22):
        tables.change("S", "events", staged(home, n, str(n)), [], n)
        tables.close()  # waits for what is being written
    assert sorted(int(path.name[:20]) for path in log.glob("*.checkpoint.parquet")) == [8, 16]
    tables.obsolete("S", "events", 0.0)  # asks for one more
    tables.close()
    for path in tables.obsolete("S", "events", time.monotonic() + 1):
        path.unlink()
    left = {path.name.lstrip(".0") for path in log.iterdir()}
    assert left - {"_last_checkpoint"} == {"20.json", "20.checkpoint.parquet", "20.checkpoint.crc"}
    tables.change("S", "events", staged(home, 30, "new"), [], 30)
    assert len(read(home)) == 21
    assert len(DeltaTables(home).files("S", "events")) == 21


def test_nothing_that_a_reader_may_have_begun_with_is_obsolete(home: Home, tables: DeltaTables) -> None:
    for n in range(2, 40):
        tables.change("S", "events", staged(home, n, str(n)), [], n)
    assert tables.obsolete("S", "events", time.monotonic() - 100) == []


def test_a_stream_is_dropped_only_when_its_checkpoint_is_written(
    home: Home, tables: DeltaTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delta, "COMMITS_PER_CHECKPOINT", 1)
    for n in range(2, 40, 3):
        tables.change("S", "events", staged(home, n, str(n)), [], n)
        tables.drop("S", n + 1)
        assert not home.stream_folder("S").exists()
        tables.create("S", n + 2, {"events": to_delta(SCHEMA)}, 0)


def test_a_checkpoint_that_cannot_be_written_harms_nothing(
    home: Home, tables: DeltaTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(delta, "COMMITS_PER_CHECKPOINT", 1)
    monkeypatch.setattr(DeltaTable, "create_checkpoint", full)
    for n in range(2, 5):
        tables.change("S", "events", staged(home, n, str(n)), [], n)
    tables.close()
    assert read(home) == ["2", "3", "4"]
