"""What maintenance does to files, and that it does nothing to events: on Delta tables."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from presage.errors import PresageError
from presage.model.catalog import Attribute, Catalog, EventType
from presage.model.types import DOUBLE, STRING, TIMESTAMP, ArrayOf
from presage.storage import InUse, Log
from presage.storage.catalog_views import describe
from presage.storage.chunks import Shape, bucket_of
from presage.storage.compaction import Compaction
from presage.storage.home import RESULTS
from presage.storage.retention import Retention
from recovery.crashing import read_by_others

SECOND = 1_000_000
ATTRIBUTES = (
    Attribute("room", STRING),
    Attribute("x", DOUBLE),
    Attribute("tags", ArrayOf(STRING)),
    Attribute("at", TIMESTAMP),
)
S = EventType("S", "stream", ATTRIBUTES, event_time="at", key=("room",), max_delay=5 * SECOND)
# Slices of ten seconds, buckets of two rows, four files become one.
SHAPE = Shape(slice=10 * SECOND, least_rows=4, rows_per_file=64, buckets=4, rows_per_bucket=2, group_rows=64, fan=4)
NOW = 1_000_000 * SECOND
ODD = [float("nan"), -0.0, None, 1e300]


def row(second: int, room: str | None) -> dict[str, Any]:
    return {"room": room, "x": ODD[second % 4], "tags": [room, None], "at": second * SECOND}


def load(log: Log, seconds: list[int], event_type: EventType = S) -> None:
    rows = [row(second, "abc"[second % 3] if second % 7 else None) for second in seconds]
    times = pa.array([r["at"] for r in rows], pa.timestamp("us", "UTC"))
    table = pa.Table.from_pylist([{k: v for k, v in r.items() if k != "at"} for r in rows])
    log.append(event_type, table.append_column("at", times))


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty files of two events each, a little out of order: events at 0 to 39 s."""
    home = tmp_path_factory.mktemp("begun") / "home"
    with Log.open(home, durable=False) as log:
        log.create_stream(S)
        for i in range(0, 40, 4):
            load(log, [i, i + 2])
            load(log, [i + 3, i + 1])
    return home


@pytest.fixture
def log(begun: Path, tmp_path: Path) -> Iterator[Log]:
    shutil.copytree(begun, tmp_path / "home")
    with Log.open(tmp_path / "home", durable=False) as log:
        yield log


def events(log: Log, **bounds: int) -> pa.Table:
    return log.archive.read_arrow(log.archive.snapshot("S", **bounds))


def names(log: Log) -> list[str]:
    return [Path(path).name for path in log.archive.snapshot("S").paths]


def on_disk(log: Log) -> set[str]:
    return {path.name for path in log.home.table_folder("S", "events").glob("*.parquet")}


def bits(table: pa.Table) -> bytes:
    """Everything that a table holds, NaNs and all."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def test_compaction_changes_files_and_not_a_bit_of_the_events(log: Log) -> None:
    before, files = bits(events(log)), len(names(log))
    assert log.maintenance.compact(S, SHAPE) > 0
    assert bits(events(log)) == before
    assert len(names(log)) < files


def test_old_files_are_of_one_slice_and_one_bucket_sorted_by_time(log: Log) -> None:
    log.maintenance.compact(S, SHAPE)
    old = [path for path in log.archive.snapshot("S").paths if bucket_of(path)]
    assert len(old) > 3
    where: dict[object, set[object]] = {}
    for path in old:
        rows = pq.ParquetFile(path).read()
        times = rows["_t"].cast("int64").to_pylist()
        assert times == sorted(times)
        assert times[0] // SHAPE.slice == times[-1] // SHAPE.slice
        for room in rows["room"].to_pylist():
            where.setdefault((room, times[0] // SHAPE.slice), set()).add(bucket_of(path))
    assert all(len(found) == 1 for found in where.values())


def test_events_that_others_may_still_join_stay_as_they_were(log: Log) -> None:
    log.maintenance.compact(S, SHAPE)
    info = log.archive.describe("S")
    # The watermark is at 34 s: the slice from 30 s on has not ended. Six files reach into it and are merged.
    assert info.chunks["present"] == (1, 12)
    assert info.chunks["recent"] == (0, 0)
    assert info.chunks["old"][1] == 28


@pytest.mark.parametrize(
    "bounds",
    [{"after_seq": 7, "up_to_seq": 23}, {"low": 5 * SECOND, "high": 17 * SECOND}, {"up_to_seq": 11, "low": 3 * SECOND}],
)
def test_bounds_on_position_and_time_mean_the_same_after_compaction(log: Log, bounds: dict[str, int]) -> None:
    before = bits(events(log, **bounds))
    log.maintenance.compact(S, SHAPE)
    assert bits(events(log, **bounds)) == before


def test_after_opening_again_all_is_as_it_was(log: Log, tmp_path: Path) -> None:
    log.maintenance.compact(S, SHAPE)
    before, chunks, files = bits(events(log)), log.archive.describe("S").chunks, sorted(names(log))
    log.close()
    with Log.open(tmp_path / "home", durable=False) as again:
        assert bits(events(again)) == before
        assert again.archive.describe("S").chunks == chunks
        assert sorted(names(again)) == files
        assert again.maintenance.compact(S, SHAPE) == 0


def test_a_key_is_looked_for_in_its_own_buckets_only(log: Log) -> None:
    log.maintenance.compact(S, SHAPE)
    everything = log.archive.snapshot("S")
    some = log.archive.snapshot("S", key_values={"room": ["a"]})
    assert len(some.paths) < len(everything.paths)
    wanted = [r for r in log.archive.read_arrow(everything).to_pylist() if r["room"] == "a"]
    assert repr([r for r in log.archive.read_arrow(some).to_pylist() if r["room"] == "a"]) == repr(wanted)


def test_a_stream_without_a_key_has_one_bucket(tmp_path: Path) -> None:
    plain = EventType("S", "stream", ATTRIBUTES, event_time="at")
    with Log.open(tmp_path / "other", durable=False) as log:
        log.create_stream(plain)
        for second in range(40):
            load(log, [second], plain)
        log.maintenance.compact(plain, SHAPE)
        assert {bucket_of(name) for name in names(log)} == {(0, 1), None}


def test_files_that_left_the_table_stay_until_they_are_vacuumed(log: Log) -> None:
    before = set(names(log))
    log.maintenance.compact(S, SHAPE)
    assert before <= on_disk(log)
    log.maintenance.vacuum()
    assert on_disk(log) == set(names(log))


def test_a_query_that_runs_keeps_its_files(log: Log) -> None:
    running = log.archive.snapshot("S")
    before = bits(log.archive.read_arrow(running))
    log.maintenance.compact(S, SHAPE)
    log.maintenance.vacuum()
    assert bits(log.archive.read_arrow(running)) == before
    del running
    gc.collect()
    assert log.maintenance.vacuum() > 0
    assert on_disk(log) == set(names(log))


def test_a_pin_keeps_everything_until_it_is_released(log: Log) -> None:
    before = set(names(log))
    with log.lease():
        log.maintenance.compact(S, SHAPE)
        assert log.maintenance.vacuum() == 0
        assert before <= on_disk(log)
    assert log.maintenance.vacuum() > 0


def test_readers_that_are_not_ours_have_time_to_finish(log: Log) -> None:
    log.maintenance.compact(S, SHAPE)
    assert log.maintenance.vacuum(grace=1_000) == 0
    assert log.maintenance.vacuum(grace=0) > 0


def test_another_delta_reader_reads_the_table_after_all_of_it(log: Log) -> None:
    log.maintenance.run([S], shape=SHAPE, grace=0)
    load(log, [41, 42])
    log.maintenance.run([S], shape=SHAPE, grace=0)
    folder = log.home.table_folder("S", "events")
    read = read_by_others(folder).sort_by("_seq")
    assert bits(read.cast(events(log).schema)) == bits(events(log))


def test_a_delta_reader_that_follows_changes_passes_over_a_compaction(log: Log) -> None:
    log.maintenance.compact(S, SHAPE)
    entries = sorted((log.home.table_folder("S", "events") / "_delta_log").glob("*.json"))
    text = "".join(entry.read_text() for entry in entries if "OPTIMIZE" in entry.read_text())
    assert '"remove"' in text
    assert '"dataChange": true' not in text


def checkpoints_written(log: Log) -> None:
    log._committer._tables.close()


def test_the_delta_log_is_cleaned_up_to_its_checkpoint(log: Log) -> None:
    for second in range(40, 70):
        load(log, [second])
    entries = log.home.table_folder("S", "events") / "_delta_log"
    before = len(list(entries.glob("*.json")))
    with log.lease():
        assert log.maintenance.clean() == 0
    checkpoints_written(log)
    assert log.maintenance.clean() >= before - 1
    assert len(list(entries.glob("*.json"))) == 1
    load(log, [70])
    assert read_by_others(entries.parent).num_rows == log.archive.describe("S").rows


KEEP = EventType(
    "S", "stream", ATTRIBUTES, event_time="at", key=("room",), max_delay=5 * SECOND, options={"retention": "20 sec"}
)


# All but the files that end before 19 s, twenty seconds before the last event; one of them holds 16 s and 18 s.
LEFT = [17, *range(19, 40)]


def times(log: Log) -> list[int]:
    return sorted(t // SECOND for t in events(log)["_t"].cast("int64").to_pylist())


def test_retention_removes_whole_files_that_are_too_old(log: Log) -> None:
    assert log.maintenance.retain(KEEP, now=NOW) == 18
    assert times(log) == LEFT
    info = log.archive.describe("S")
    assert (info.rows, info.retained, info.first_time) == (40, 22, 17 * SECOND)
    assert read_by_others(log.home.table_folder("S", "events")).num_rows == 22


def test_what_was_removed_is_still_counted_after_opening_again(log: Log, tmp_path: Path) -> None:
    log.maintenance.retain(KEEP, now=NOW)
    log.close()
    with Log.open(tmp_path / "home", durable=False) as again:
        info = again.archive.describe("S")
        assert (info.rows, info.retained) == (40, 22)


def test_a_stream_without_the_option_keeps_everything(log: Log) -> None:
    assert log.maintenance.retain(S, now=NOW) == 0


@pytest.mark.parametrize(
    ("readers", "first"),
    [
        ([], 17),
        ([(40, 39 * SECOND)], 17),
        ([(8, 39 * SECOND)], 8),
        ([(40, 7 * SECOND)], 8),
        ([(40, 39 * SECOND), (8, 39 * SECOND)], 8),
        ([(40, None)], 0),
    ],
)
def test_retention_takes_nothing_that_a_statement_still_has_to_read(
    log: Log, readers: list[tuple[int, int | None]], first: int
) -> None:
    log.maintenance.retain(KEEP, InUse({"S": readers}), now=NOW)
    assert min(times(log)) == first


def test_retention_takes_nothing_after_a_pin(log: Log) -> None:
    with log.lease(8):
        log.maintenance.retain(KEEP, now=NOW)
        assert min(times(log)) == 8
    log.maintenance.retain(KEEP, now=NOW)
    assert min(times(log)) == 17


def test_an_event_from_the_future_does_not_make_all_others_old(log: Log) -> None:
    load(log, [900_000])
    log.maintenance.retain(KEEP, now=39 * SECOND)
    assert times(log) == [*LEFT, 900_000]


def test_small_files_of_results_are_merged_in_order(log: Log) -> None:
    schema = pa.schema([("_seq", pa.int64()), ("_t", pa.timestamp("us", "UTC")), ("payload", pa.binary())])
    log.publish("start", {}, creates={RESULTS: schema})
    for batch in range(9):
        rows = pa.table(
            {"_t": pa.array([5, 5], schema.field("_t").type), "payload": [b"%d-0" % batch, b"%d-1" % batch]}
        )
        log.publish("batch", {}, tables={RESULTS: rows})
    before = log.archive.read_arrow(log.archive.snapshot(RESULTS))
    log.maintenance.run([], shape=SHAPE)
    after = log.archive.snapshot(RESULTS)
    assert len(after.paths) < 4
    assert log.archive.read_arrow(after) == before


def test_late_and_rejected_rows_are_merged_in_order(log: Log) -> None:
    for second in range(6):
        load(log, [second])
        log.append(S, [{"room": "a", "at": f"not a time {second}"}])
    late, rejected = log.archive.read_late("S"), log.archive.read_rejected("S")
    files = {table: len(list(log.home.table_folder("S", table).glob("*.parquet"))) for table in ("late", "rejected")}
    log.maintenance.run([S], shape=SHAPE, grace=0)
    log.maintenance.vacuum()
    for table, count in files.items():
        assert len(list(log.home.table_folder("S", table).glob("*.parquet"))) < count
    assert bits(log.archive.read_late("S")) == bits(late)
    assert log.archive.read_rejected("S") == rejected


def test_describe_shows_positions_rows_files_and_chunks(log: Log) -> None:
    log.maintenance.compact(S, SHAPE)
    shown = dict(describe("S", Catalog().with_type(S), log.archive, {})[1])
    info = log.archive.describe("S")
    assert (shown["position"], shown["rows"], shown["retained"], shown["files"]) == ("40", "40", "40", str(info.files))
    assert (shown["first event"], shown["last event"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:00:39Z")
    assert shown["old chunks"] == "{} files, {} rows".format(*info.chunks["old"])
    assert {"present chunks", "recent chunks"} <= set(shown)


# -- trouble -----------------------------------------------------------------------------------------


def full(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_compaction_that_finds_no_space_leaves_all_as_it_was(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    before, files = bits(events(log)), on_disk(log)
    with monkeypatch.context() as patch:
        patch.setattr("presage.storage.staging.Statistics.text", full)
        with pytest.raises(PresageError) as problem:
            log.maintenance.compact(S, SHAPE)
    assert problem.value.code == "DISK_FULL"
    assert (bits(events(log)), on_disk(log)) == (before, files)
    assert log.maintenance.compact(S, SHAPE) > 0


def test_an_append_that_finds_no_space_for_its_data_has_not_happened(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    before, files = bits(events(log)), on_disk(log)
    for where in ("presage.storage.staging.Statistics.text", "presage.storage.file_store.FileStore.create"):
        with monkeypatch.context() as patch:
            patch.setattr(where, full)
            with pytest.raises(PresageError, match="no space") as problem:
                load(log, [50])
        assert "try again" in problem.value.fix
        assert (bits(events(log)), on_disk(log)) == (before, files)
    load(log, [50])
    assert log.archive.describe("S").rows == 41


def test_an_append_that_finds_no_space_for_the_delta_log_is_finished_later(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("presage.storage.delta.entry", full)
        with pytest.raises(PresageError, match="no space") as problem:
            load(log, [50])
        assert "do not send it again" in problem.value.fix
        with pytest.raises(PresageError, match="no space") as next_problem:
            load(log, [51])
        assert "try again" in next_problem.value.fix
    load(log, [52])
    assert times(log)[-2:] == [50, 52]


def test_a_head_that_finds_no_space_waits(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.storage.committer.RECORDS_PER_HEAD", 1)
    with monkeypatch.context() as patch:
        patch.setattr("presage.storage.journal.Journal.compact", full)
        load(log, [50])
    load(log, [51])
    log.close()
    heads = sorted(int(p.name[5:19]) for p in log.home.journal.glob("head-*"))
    assert heads[-1] == log.records


def test_a_group_of_which_a_file_has_gone_meanwhile_is_given_up(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    publish = Compaction._publish

    def after_retention(self: Compaction, *arguments: Any) -> bool:
        Retention(log._committer).retain("S", 20 * SECOND, InUse(), NOW)
        return publish(self, *arguments)

    monkeypatch.setattr(Compaction, "_publish", after_retention)
    report = log.maintenance.run([S], shape=SHAPE)
    assert report.given_up > 0
    assert times(log) == LEFT
    log.maintenance.vacuum()
    assert on_disk(log) == set(names(log))


def test_a_stream_dropped_meanwhile_is_no_harm(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Compaction._read

    def after_drop(self: Compaction, *arguments: Any) -> pa.Table:
        rows = read(self, *arguments)
        if "S" in log.archive.streams():
            log.drop_stream("S")
        return rows

    monkeypatch.setattr(Compaction, "_read", after_drop)
    assert log.maintenance.run([S], shape=SHAPE).compacted == 0
    assert log.archive.streams() == []


def test_maintenance_runs_beside_appends_and_queries(log: Log) -> None:
    stop = threading.Event()
    problems: list[BaseException] = []

    def maintain() -> None:
        try:
            while not stop.is_set():
                log.maintenance.run([S], shape=SHAPE, grace=0)
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=maintain)
    thread.start()
    try:
        for second in range(40, 80):
            load(log, [second])
            assert events(log).num_rows == second + 1
    finally:
        stop.set()
        thread.join()
    assert problems == []
    assert events(log)["_seq"].to_pylist() == list(range(1, 81))


def test_another_programs_entry_in_the_log_of_a_table_is_noticed_and_kept(log: Log) -> None:
    folder = log.home.table_folder("S", "events")
    load(log, [50])
    DeltaTable(str(folder)).alter.set_table_properties({"delta.appendOnly": "false"})
    load(log, [51])
    assert read_by_others(folder).num_rows == events(log).num_rows == 42
    assert DeltaTable(str(folder)).metadata().configuration["delta.appendOnly"] == "false"
