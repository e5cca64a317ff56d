"""Parquet files: each row in one of them and in one only, whatever happens between a file and its name."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from presage.errors import PresageError
from presage.sinks import parquet
from unit.sinks.delivering import Delivering, files, in_files

SINK = "CREATE SINK alarms FROM odd WITH (sink = 'parquet', path = '{}', rows = 3, every = '1 hour')"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def test_rows_are_the_statements_rows_with_their_ids_in_files_of_so_many(world: Delivering, out: Path) -> None:
    world.load(0, 20)
    world.create(SINK.format(out))
    world.drain("alarms")
    assert in_files(out) == world.expected()
    assert [pq.read_metadata(path).num_rows for path in files(out)] == [3, 3, 3, 1]
    assert pq.read_schema(files(out)[0]).names == ["_id", "x", "at"]
    status = world.sinks["alarms"]
    assert (status.rows, status.left, status.position, status.state) == (10, 0, "odd/1/10", "running")


def test_few_rows_wait_for_more_of_them_and_many_do_not(world: Delivering, out: Path) -> None:
    world.create(SINK.format(out))
    world.load(0, 10)
    while world.step("alarms") == 0.0:
        pass
    assert [row for _, row in in_files(out)] == [1, 3, 5]
    assert world.sinks["alarms"].left == 2


def test_the_rows_of_a_statement_that_has_ended_wait_for_nothing(world: Delivering, out: Path) -> None:
    world.create(SINK.format(out))
    world.load(0, 4)
    world.home.stop("odd")
    while world.step("alarms") == 0.0:
        pass
    assert in_files(out) == world.expected()
    assert world.sinks["alarms"].state == "finished"


def test_a_statement_of_the_same_name_is_followed_when_the_first_has_ended(world: Delivering, out: Path) -> None:
    world.create(SINK.format(out))
    world.load(0, 4)
    first = world.expected()
    world.home.deploy("SELECT x, x * 2 AS twice FROM Tick WITHIN [2020-01-01T00:00, )", "odd", replace=True)
    world.load(4, 2)
    world.drain("alarms")
    assert in_files(out) == first + world.expected()
    assert world.sinks["alarms"].position == "odd/2/6"


def test_a_sink_may_begin_with_what_is_still_to_come(world: Delivering, out: Path) -> None:
    world.load(0, 10)
    world.create(SINK.format(out).replace("rows = 3", "begin = 'now'"))
    world.load(10, 4)
    world.drain("alarms")
    assert [row for _, row in in_files(out)] == [11, 13]


def test_a_column_called_as_the_id_is_leaves_the_id_another_name(world: Delivering, out: Path) -> None:
    world.home.deploy("SELECT x AS _id FROM Tick WITHIN [2020-01-01T00:00, )", "own")
    world.load(0, 1)
    world.create(SINK.format(out).replace("odd", "own"))
    world.drain("alarms")
    assert pq.read_table(files(out)[0]).drop_columns(["at"]).to_pylist() == [{"__id": "own/2/0", "_id": 0}]


def test_a_folder_that_cannot_be_written_is_waited_for(world: Delivering, out: Path, tmp_path: Path) -> None:
    out.write_text("in the way")
    world.create(SINK.format(out))
    world.load(0, 10)
    pauses = [world.step("alarms") for _ in range(8)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    status = world.sinks["alarms"]
    assert (status.state, status.retries, status.rows) == ("waiting", 8, 0)
    assert str(out) in status.why
    assert status.last_error == status.why
    out.unlink()
    world.drain("alarms")
    assert in_files(out) == world.expected()
    assert world.sinks["alarms"].state == "running"


def test_a_full_disk_is_waited_out_and_leaves_no_half_of_a_file(
    world: Delivering, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create(SINK.format(out))
    world.load(0, 6)
    real = pq.write_table

    def full(table: object, file: object) -> None:
        real(table, file)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.pq, "write_table", full)
    assert world.step("alarms") == 1.0
    assert files(out) == []
    assert list(out.iterdir()) == []
    monkeypatch.undo()
    world.drain("alarms")
    assert in_files(out) == world.expected()
    assert list(out.glob(".*")) == []


def test_files_that_are_taken_away_are_not_written_again(world: Delivering, out: Path) -> None:
    world.create(SINK.format(out))
    world.load(0, 6)
    world.drain("alarms")
    for path in files(out):
        path.unlink()
    world.load(6, 6)
    world.drain("alarms")
    assert [row for _, row in in_files(out)] == [7, 9, 11]


class Died(BaseException):
    """The process is gone."""


def again(world: Delivering, tmp_path: Path) -> Delivering:
    world.die()
    return Delivering(tmp_path)


def test_a_file_that_got_its_name_before_the_crash_is_not_written_again_even_if_it_was_taken(
    world: Delivering, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _died_when_its_file_had_a_name(world, out, monkeypatch)
    (taken,) = files(out)
    taken.unlink()
    world = again(world, tmp_path)
    world.load(6, 6)
    world.drain("alarms")
    assert [row for _, row in in_files(out)] == [7, 9, 11]
    assert world.sinks["alarms"].rows == 6
    world.close()


def _and_die(real: object) -> object:
    def deliver(self: object, batch: object) -> int:
        real(self, batch)  # type: ignore[operator]
        raise Died

    return deliver


def _died_when_its_file_had_a_name(world: Delivering, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create(SINK.format(out))
    world.load(0, 6)
    monkeypatch.setattr(parquet.ParquetTarget, "deliver", _and_die(parquet.ParquetTarget.deliver))
    with pytest.raises(Died):
        world.step("alarms")
    monkeypatch.undo()


def _died_before_its_file_had_a_name(world: Delivering, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create(SINK.format(out))
    world.load(0, 6)
    monkeypatch.setattr(parquet.os, "replace", _dies_for(out))
    with pytest.raises(Died):
        world.step("alarms")
    monkeypatch.undo()


def test_a_file_that_had_no_name_yet_when_the_process_died_gets_it(
    world: Delivering, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _died_before_its_file_had_a_name(world, out, monkeypatch)
    assert files(out) == []
    world = again(world, tmp_path)
    world.drain("alarms")
    assert in_files(out) == world.expected()
    assert list(out.glob(".*")) == []
    world.close()


def _dies_for(folder: Path) -> object:
    real = os.replace

    def replace(old: Path, new: Path) -> None:
        if Path(new).parent == folder:
            raise Died
        real(old, new)

    return replace


def test_hidden_files_of_batches_that_were_never_noted_are_swept_away(
    world: Delivering, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create(SINK.format(out).replace("rows = 3", "rows = 5"))
    world.load(0, 4)
    world.running("alarms").hurry()

    def dead(*_: object) -> None:
        raise Died

    monkeypatch.setattr("presage.sinks.position.PositionFile.write", dead)
    with pytest.raises(Died):
        world.step("alarms")
    monkeypatch.undo()
    assert len(list(out.glob(".*"))) == 1
    world = again(world, tmp_path)
    world.load(4, 4)
    world.drain("alarms")
    assert in_files(out) == world.expected()
    assert list(out.glob(".*")) == []
    world.close()


def test_a_folder_that_is_gone_while_a_file_was_on_its_way_says_nothing_of_the_file(
    world: Delivering, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _died_before_its_file_had_a_name(world, out, monkeypatch)
    out.rename(tmp_path / "unmounted")
    world = again(world, tmp_path)
    assert world.step("alarms") == 1.0
    assert "is not there" in world.sinks["alarms"].why
    (tmp_path / "unmounted").rename(out)
    world.drain("alarms")
    assert in_files(out) == world.expected()
    world.close()


def test_a_folder_that_is_gone_is_waited_for_however_long_it_takes(
    world: Delivering, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _died_when_its_file_had_a_name(world, out, monkeypatch)
    out.rename(tmp_path / "unmounted")
    world = again(world, tmp_path)
    assert [world.step("alarms") for _ in range(3)] == [1.0, 2.0, 4.0]
    assert not out.exists()
    (tmp_path / "unmounted").rename(out)
    world.drain("alarms")
    assert in_files(out) == world.expected()
    world.close()


def test_a_sink_that_is_dropped_and_declared_again_begins_anew_with_other_names(world: Delivering, out: Path) -> None:
    world.create(SINK.format(out))
    world.load(0, 6)
    world.drain("alarms")
    first = {path.name for path in files(out)}
    world.home.workspace.catalog = world.home.catalog.without("alarms")
    world.sinks.follow()
    assert list((world.home.log.home.path / "sinks").iterdir()) == []
    world.create(SINK.format(out))
    world.drain("alarms")
    assert len(files(out)) == 2 * len(first)


@pytest.mark.parametrize("path", ["home", "home/journal", "home/new"])
def test_the_home_is_no_place_for_files(world: Delivering, tmp_path: Path, path: str) -> None:
    with pytest.raises(PresageError, match="outside of the home"):
        world.create(SINK.format(tmp_path / path))
    assert not world.home.catalog.sinks


def test_a_path_outside_of_the_roots_is_refused(world: Delivering, tmp_path: Path) -> None:
    with pytest.raises(PresageError, match="PATH_OUTSIDE_ROOTS"):
        world.create(SINK.format(tmp_path.parent))


def test_a_link_that_leads_outside_later_is_not_followed(world: Delivering, out: Path, tmp_path: Path) -> None:
    world.create(SINK.format(out))
    world.load(0, 10)
    out.symlink_to(tmp_path.parent)
    assert world.step("alarms") == 1.0
    assert "outside the allowed folders" in world.sinks["alarms"].why
