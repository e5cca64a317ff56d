"""`source = 'files'` over Delta tables: rows that a version adds are events, once each, whatever is rewritten."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from presage.errors import PresageError
from presage.model.catalog import EventType
from presage.model.paths import Roots
from presage.sources import file_reader
from presage.sources.runner import SourceRunner
from presage.storage import Log
from unit.sources.folders import Stepped, event, lines, put, stream
from unit.storage.delta_tables import compact, delete_by_vector, vacuum, write

MINUTE = 60_000_000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "home", durable=False) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "incoming"


def made(log: Log, event_type: EventType, **given: Any) -> Stepped:
    log.create_stream(event_type)
    return Stepped(log, event_type, **given)


def position(source: Stepped) -> Any:
    cursor = source.log.deliveries.state("Tick", "files").cursor
    tables = {} if cursor is None else cursor["tables"]
    assert all(len(each["table"]) == 36 for each in tables.values())
    return {name: {"version": each["version"], "whole": each["whole"]} for name, each in tables.items()}


@pytest.mark.parametrize("part", ["s=s1", "_delta_log"])
def test_a_part_of_a_table_is_not_read_as_bare_files(log: Log, folder: Path, part: str) -> None:
    write(folder, 1, 3, partition_by=["s"])
    compact(folder)
    source = made(log, stream(folder / part))
    with pytest.raises(PresageError, match="part of the Delta table"):
        source.drain()


@pytest.mark.parametrize("partition_by", [None, ["s"]])
@pytest.mark.parametrize("begins", [False, True])
def test_a_compaction_brings_nothing_twice(
    log: Log, folder: Path, partition_by: list[str] | None, begins: bool
) -> None:
    source = made(log, stream(folder))
    write(folder, 1, partition_by=partition_by)
    write(folder, 2, partition_by=partition_by)
    source.drain()
    compact(folder)
    if begins:
        source.begin()
    source.drain()
    write(folder, 3, 5, partition_by=partition_by)
    compact(folder)
    vacuum(folder)
    write(folder, 6, partition_by=partition_by)
    if begins:
        source.begin()
    with pytest.raises(PresageError) as lost:  # rows 3 and 5 are in the compacted file alone by now
        source.drain()
    assert lost.value.code == "TABLE_GAP"
    assert sorted(source.events()) == [1, 2]


def test_versions_are_taken_in_their_order_and_the_position_is_a_version(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    write(folder, 1)
    write(folder, 2)
    source.drain()
    assert position(source) == {"": {"version": 1, "whole": True}}
    write(folder, 4, 3)
    compact(folder)
    write(folder, 5)
    source.drain()
    compact(folder)
    assert source.step() is not None  # a version without events is a step of the position
    assert position(source) == {"": {"version": 5, "whole": True}}
    source.begin()
    source.drain()
    assert source.events() == [1, 2, 3, 4, 5]
    assert source.source.position(log.deliveries.state("Tick", "files").cursor) == "4 files, version 5"
    assert source.step() is None


def test_a_table_begins_as_it_is_when_it_is_first_seen(log: Log, folder: Path) -> None:
    write(folder, 1, 2)
    DeltaTable(str(folder)).delete("x = 1")
    compact(folder)
    vacuum(folder)
    source = made(log, stream(folder))
    source.drain()
    assert source.events() == [2]


def test_rows_that_a_deletion_vector_masks_are_no_events(log: Log, folder: Path) -> None:
    write(folder, 0, 1, 2, 3)
    delete_by_vector(folder, 1, 2)
    source = made(log, stream(folder))
    source.drain()
    assert source.events() == [0, 3]


@pytest.mark.parametrize("how", ["delete", "overwrite"])
def test_a_version_that_takes_rows_back_ends_the_source_by_name(log: Log, folder: Path, how: str) -> None:
    source = made(log, stream(folder))
    write(folder, 1, 2)
    source.drain()
    if how == "delete":
        DeltaTable(str(folder)).delete("x = 1")
    else:
        DeltaTable(str(folder)).update(updates={"s": "'other'"}, predicate="x = 2")
    with pytest.raises(PresageError) as refused:
        source.drain()
    assert refused.value.code == "TABLE_CHANGED"
    assert "version 1" in refused.value.message
    assert source.events() == [1, 2]
    running = SourceRunner(source.type, lambda: source.source, log, lambda: None, 1_000)
    assert running.round() is None
    assert (running.status().state, "version 1" in running.status().why) == ("failed", True)


def test_a_version_whose_entry_is_gone_is_a_gap(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    write(folder, 1)
    source.drain()
    write(folder, 2)
    write(folder, 3).create_checkpoint()
    (folder / "_delta_log/00000000000000000001.json").unlink()
    with pytest.raises(PresageError, match="has lost version 1 before it was read") as lost:
        source.drain()
    assert lost.value.code == "TABLE_GAP"


@pytest.mark.parametrize("more", [(), (11, 12)])
def test_another_table_in_the_same_folder_is_not_taken_for_the_first(
    log: Log, folder: Path, more: tuple[int, ...]
) -> None:
    source = made(log, stream(folder))
    write(folder, 1)
    write(folder, 2)
    source.drain()
    shutil.rmtree(folder)
    for x in (10, *more):
        write(folder, x)
    with pytest.raises(PresageError, match="another table is there now") as lost:
        source.drain()
    assert lost.value.code == "TABLE_GAP"


def test_no_row_is_lost_or_repeated_wherever_it_begins_again(
    log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "PIECE_ROWS", 2)
    monkeypatch.setattr("presage.sources.files.PIECE_ROWS", 2)
    monkeypatch.setattr(file_reader, "DECODED_ROWS", 1)
    write(folder, *range(5))
    source = made(log, stream(folder))
    versions = iter((lambda: compact(folder), lambda: write(folder, *range(5, 10)), lambda: compact(folder)))
    while True:
        source.begin()  # a crash after each delivery: nothing but the log knows how far it is
        if source.step() is None:
            change = next(versions, None)
            if change is None:
                break
            change()
    assert source.events() == list(range(10))


def test_tables_in_subfolders_are_followed_beside_files(log: Log, folder: Path) -> None:
    source = made(log, stream(folder, max_delay=MINUTE))
    put(folder, "a.json", lines(event(1)))
    write(folder / "ticks", 2, partition_by=["s"])
    write(folder / "more", 3)
    (folder / "other").mkdir()
    source.drain()
    write(folder / "ticks", 4, partition_by=["s"])
    compact(folder / "more")
    put(folder, "b.json", lines(event(5)))
    source.begin()
    source.drain()
    assert sorted(source.events()) == [1, 2, 3, 4, 5]
    assert position(source) == {"ticks": {"version": 1, "whole": True}, "more": {"version": 0, "whole": True}}
    assert any("'other'" in note for note in source.source.notes)
    assert not any("'ticks'" in note or "'more'" in note for note in source.source.notes)


def test_a_source_that_read_a_table_as_files_before_goes_on_by_its_versions(log: Log, folder: Path) -> None:
    source = made(log, stream(folder, max_delay=MINUTE))
    write(folder, 1)
    write(folder, 2)
    os.rename(folder / "_delta_log", folder / "away")  # as an older release saw it
    source.drain()
    os.rename(folder / "away", folder / "_delta_log")
    compact(folder)
    write(folder, 3)
    source.begin()
    source.drain()
    assert sorted(source.events()) == [1, 2, 3]


def test_a_file_that_a_link_leads_to_outside_is_not_read(log: Log, folder: Path, tmp_path: Path) -> None:
    outside = put(tmp_path / "out", "secret.json", lines(event(9)))
    put(folder, "a.json", lines(event(1)))
    source = made(log, stream(folder), roots=[folder])
    source.source._resolve = Path  # the check that comes before the opening, gone by
    source.source._reader._roots = Roots((folder,))
    os.symlink(outside, folder / "b.json")
    source.drain()
    assert source.events() == [1]
    (rejected,) = source.rejected()
    assert "outside the allowed folders" in rejected["reason"]
    assert rejected["raw"] == ""
