"""A folder with a Delta log is a Delta table wherever a path is taken."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from presage.errors import PresageError
from presage.model.catalog import Attribute
from presage.model.paths import ANYWHERE, Roots
from presage.model.types import DOUBLE, LONG, STRING, TIMESTAMP
from presage.storage import read_files
from presage.storage.delta_folder import DeltaFolder
from presage.storage.suggestion import suggest
from unit.storage.delta_tables import compact, delete_by_vector, edit, map_columns, rows, vacuum, write

TICK = (Attribute("x", LONG), Attribute("s", STRING), Attribute("at", TIMESTAMP))


def read(folder: Path, roots: Roots = ANYWHERE) -> list[tuple[int, str]]:
    checked = read_files(folder, TICK, "at", roots)
    assert not checked.rejected
    return sorted((row["x"], row["s"]) for row in checked.table.to_pylist())


def refusal(folder: Path, roots: Roots = ANYWHERE) -> PresageError:
    with pytest.raises(PresageError) as raised:
        read_files(folder, TICK, "at", roots)
    return raised.value


def expected(*numbers: int) -> list[tuple[int, str]]:
    return [(x, f"s{x % 2}") for x in numbers]


@pytest.mark.parametrize("partition_by", [None, ["s"]])
def test_rows_of_compacted_deleted_and_old_files_do_not_count(tmp_path: Path, partition_by: list[str] | None) -> None:
    folder = tmp_path / "a table"
    write(folder, 1, 2, partition_by=partition_by)
    write(folder, 3, 4, partition_by=partition_by)
    compact(folder)
    assert read(folder) == expected(1, 2, 3, 4)
    DeltaTable(str(folder)).delete("x = 3")
    assert read(folder) == expected(1, 2, 4)
    vacuum(folder)
    assert read(folder) == expected(1, 2, 4)
    found = suggest(folder)  # whatever form of texts the file has that the deletion wrote
    assert (found.attributes, found.checked.table.num_rows) == (TICK, 3)


def test_partition_columns_are_columns_in_their_types(tmp_path: Path) -> None:
    more = (
        rows(1, 2)
        .append_column("day", pa.array([20, None], pa.int32()))
        .append_column("place", pa.array(["a/b é%", None]))
    )
    write_deltalake(str(tmp_path / "t"), more, partition_by=["day", "place"])
    found = suggest(tmp_path / "t")
    types = {a.name: a.type for a in found.attributes}
    assert types == {"x": LONG, "s": STRING, "at": TIMESTAMP, "day": LONG, "place": STRING}
    values = {row["x"]: (row["day"], row["place"]) for row in found.checked.table.to_pylist()}
    assert values == {1: (20, "a/b é%"), 2: (None, None)}


def test_columns_that_came_later_are_null_in_older_files(tmp_path: Path) -> None:
    write(tmp_path, 1)
    later = rows(2).append_column("y", pa.array([0.5]))
    write_deltalake(str(tmp_path), later, mode="append", schema_mode="merge")
    assert [(a.name, a.type) for a in suggest(tmp_path).attributes][-1] == ("y", DOUBLE)
    checked = read_files(tmp_path, (*TICK, Attribute("y", DOUBLE)), "at")
    assert {row["x"]: row["y"] for row in checked.table.to_pylist()} == {1: None, 2: 0.5}


def test_rows_that_a_deletion_vector_masks_do_not_count(tmp_path: Path) -> None:
    write(tmp_path, 0, 1, 2, 3, 4)
    delete_by_vector(tmp_path, 1, 3)
    assert read(tmp_path) == expected(0, 2, 4)


def test_a_rejected_row_is_named_by_its_place_in_the_file(tmp_path: Path) -> None:
    write(tmp_path, 0, 1, 2)
    delete_by_vector(tmp_path, 0, 1)
    checked = read_files(tmp_path, (Attribute("x", TIMESTAMP), Attribute("at", TIMESTAMP)), "at")
    (origin,) = checked.rejected.origins
    assert origin.endswith(".parquet:3")


def test_columns_are_known_by_the_names_that_the_table_gives_them(tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    map_columns(tmp_path, "name", {"s": "x", "x": "n"})
    checked = read_files(tmp_path, (Attribute("n", LONG), Attribute("x", STRING)))
    assert [tuple(row.values()) for row in checked.table.to_pylist()] == [(1, "s1"), (2, "s0")]


def test_what_is_not_read_is_refused_by_its_name(tmp_path: Path) -> None:
    write(tmp_path / "ids", 1)
    map_columns(tmp_path / "ids", "id", {})
    write(tmp_path / "variant", 1)

    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            some = {"readerFeatures": ["variantType"], "writerFeatures": ["variantType"]}
            action["protocol"] = {"minReaderVersion": 3, "minWriterVersion": 7, **some}

    edit(tmp_path / "variant", change)
    for name, feature in (("ids", "column mapping by id"), ("variant", "variantType")):
        problem = refusal(tmp_path / name)
        assert problem.code == "TABLE_FEATURE"
        assert feature in problem.message


@pytest.mark.parametrize("damage", ["", "{", '{"add": 1}\n', "\0\0\0"])
def test_a_damaged_log_and_a_lost_file_are_told(tmp_path: Path, damage: str) -> None:
    write(tmp_path / "broken", 1)
    (tmp_path / "broken/_delta_log/00000000000000000000.json").write_text(damage)
    assert refusal(tmp_path / "broken").code == "FILE_UNREADABLE"
    write(tmp_path / "lost", 1)
    next((tmp_path / "lost").glob("*.parquet")).unlink()
    problem = refusal(tmp_path / "lost")
    assert (problem.code, ".parquet' is gone" in problem.message) == ("FILE_UNREADABLE", True)


def test_a_partition_of_a_table_is_no_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / "t", 1, 2, partition_by=["s"])
    problem = refusal(tmp_path / "t/s=s0")
    assert (problem.code, "part of the Delta table" in problem.message) == ("FILE_UNREADABLE", True)


def test_rows_are_known_again_after_a_compaction(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write(folder, 1)
    write(folder, 2)
    before = DeltaFolder(folder, ANYWHERE).rows_since()
    compact(folder)
    assert DeltaFolder(folder, ANYWHERE).rows_since() == before
    DeltaTable(str(folder)).delete("x = 1")
    after = DeltaFolder(folder, ANYWHERE).rows_since()
    assert after != before
    write(folder, 2)
    assert DeltaFolder(folder, ANYWHERE).rows_since() not in (before, after)


def test_a_folder_of_tables_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    write(tmp_path / "many/a", 1)
    problem = refusal(tmp_path / "many")
    assert (problem.code, "only folders" in problem.message) == ("FILE_UNREADABLE", True)
    assert "'a'" in (problem.fix or "")


def test_a_table_without_rows_has_its_columns_in_its_order(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), rows(1).slice(1), partition_by=["s"])
    assert suggest(tmp_path / "t").attributes == TICK
    write(tmp_path / "t", 1)
    assert suggest(tmp_path / "t").attributes == TICK


def point_to(folder: Path, where: str) -> None:
    def change(action: dict[str, Any]) -> None:
        if "add" in action:
            action["add"]["path"] = where

    edit(folder, change)


@pytest.mark.parametrize("spelled", ["{}", "file://{}", "../out/{name}", "link/{name}"])
def test_no_entry_of_the_log_leads_out_of_the_roots(tmp_path: Path, spelled: str) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    write(folder, 1)
    write(outside, 7)
    secret = next(outside.glob("*.parquet"))
    os.symlink(outside, folder / "link")
    point_to(folder, spelled.format(secret, name=secret.name))
    assert refusal(folder, Roots((folder,))).code == "PATH_OUTSIDE_ROOTS"
    assert read(folder) == expected(7)  # the user's own program reads what the user may


def test_no_link_in_the_log_leads_out_of_the_roots(tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    write(outside, 1)
    folder.mkdir()
    os.symlink(outside / "_delta_log", folder / "_delta_log")
    assert refusal(folder, Roots((folder,))).code == "PATH_OUTSIDE_ROOTS"
    os.unlink(folder / "_delta_log")
    (folder / "_delta_log").mkdir()
    entry = "00000000000000000000.json"
    os.symlink(outside / "_delta_log" / entry, folder / "_delta_log" / entry)
    assert refusal(folder, Roots((folder,))).code == "PATH_OUTSIDE_ROOTS"


def test_a_checkpoint_stands_for_entries_that_are_gone(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2).create_checkpoint()
    write(tmp_path, 3)
    (tmp_path / "_delta_log/00000000000000000000.json").unlink()
    assert read(tmp_path) == expected(1, 2, 3)
    assert json.loads((tmp_path / "_delta_log/_last_checkpoint").read_text())["version"] == 1
