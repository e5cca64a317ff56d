from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from presage.model.catalog import EventType
from presage.model.paths import Roots
from presage.sources import file_reader, files
from presage.storage import Log
from unit.sources.folders import Stepped, event, lines, put, stream


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


def test_files_are_taken_once_each_in_the_order_of_their_names(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "b.json", lines(event(3)))
    put(folder, "a.json", lines(event(1), event(2)))
    source.drain()
    assert source.events() == [1, 2, 3]
    put(folder, "0.json", lines(event(4)))
    source.drain()
    source.begin()
    source.drain()
    assert source.events() == [1, 2, 3, 4]
    assert source.positions() == {1: ("a.json", 1), 2: ("a.json", 2), 3: ("b.json", 1), 4: ("0.json", 1)}


def test_files_may_be_taken_in_the_order_of_time_instead(log: Log, folder: Path) -> None:
    source = made(log, stream(folder, order="time"))
    for name, x, modified in (("a.json", 2, 2_000_000_000), ("b.json", 1, 1_000_000_000)):
        os.utime(put(folder, name, lines(event(x))), ns=(modified, modified))
    source.drain()
    assert [position[0] for position in source.positions().values()] == ["b.json", "a.json"]


def test_a_file_is_one_arrival_and_the_next_one_another_however_they_are_delivered(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "a.json", lines(event(1, 10), event(2, 5)))  # out of order, together
    put(folder, "b.json", lines(event(3, 7), event(4, 20)))  # 7 is before the 10 that had come
    put(folder, "c.json", lines(event(5, 15), event(6, 20)))
    report = source.step()
    assert report is not None
    assert (report.accepted, report.late) == (4, 2)
    assert source.events() == [2, 1, 4, 6]
    assert log.archive.read_late("Tick")["x"].to_pylist() == [3, 5]


def test_the_parts_of_a_delivery_are_as_late_as_if_each_came_alone(
    log: Log, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [5, 3, 9, 1, 12, 8, 30, 25, 27, 11]
    for i, second in enumerate(seconds):
        put(folder, f"{i}.json", lines(event(i, second), event(100 + i, second - 2)))
    together = made(log, stream(folder, max_delay=3_000_000))
    together.drain()
    monkeypatch.setattr(files, "FILES_AT_ONCE", 1)
    with Log.open(tmp_path / "other", durable=False) as other:
        alone = made(other, stream(folder, max_delay=3_000_000))
        alone.drain()
        assert together.events() == alone.events()
        assert log.archive.read_late("Tick").equals(other.archive.read_late("Tick"))
        assert log.point.watermarks == other.point.watermarks
        assert together.positions() == alone.positions()


def test_bad_records_are_rejected_with_their_line_and_their_text(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    bad = '{"x": "many", "at": "2024-01-01T00:00:02Z"}\nnot JSON\n\n'
    put(folder, "a.json", (lines(event(1)) + bad + lines(event(4))).encode() + b"\xff\xfe\n")
    source.drain()
    assert source.events() == [1, 4]
    assert source.positions() == {1: ("a.json", 1), 2: ("a.json", 4)}  # blank lines are no records
    assert [r["origin"] for r in source.rejected()] == ["a.json:2", "a.json:3", "a.json:6"]
    assert source.rejected()[1]["raw"] == "not JSON"
    assert "UTF-8" in source.rejected()[2]["reason"]
    state = log.deliveries.state("Tick", "files")
    assert (state.rows, state.rejected) == (2, 3)


def test_each_csv_file_has_columns_of_its_own(log: Log, folder: Path) -> None:
    source = made(log, stream(folder, format="csv"))
    put(folder, "a.csv", "x,s,at\n1,a,2024-01-01T00:00:01Z\n")
    put(folder, "b.csv", 'at,colour,x\n2024-01-01T00:00:02Z,red,2\n"2024-01-01T00:00:03Z",,3\n')
    put(folder, "c.csv", "x,s\n4,no time\n")
    put(folder, "d.csv", "x;at\n5;2024-01-01\n")
    put(folder, "e.csv", "x,x,at\n6,6,2024-01-01\n")
    source.drain()
    assert source.events() == [1, 2, 3]
    # Nothing of the last two can be understood, as a whole.
    assert [r["origin"] for r in source.rejected()] == ["c.csv:2", "d.csv", "e.csv"]
    assert "parted by semicolons, not by commas" in source.rejected()[1]["reason"]
    assert "comes twice" in source.rejected()[2]["reason"]
    info = log.archive.describe("Tick")
    assert info.ignored == {"colour": 1}


def test_what_cannot_be_read_at_all_is_one_rejected_record_and_the_others_go_on(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "a.parquet", b"this is no Parquet file")
    put(folder, "b.csv", b"x,\xff,at\n1,2,3\n")
    put(folder, "c.json", b"\x1f\x8b\x08 packed")
    put(folder, "d.json", "")
    put(folder, "e.csv", "\n\n")
    put(folder, "é ünï.json", lines(event(1)))
    source.drain()
    assert source.events() == [1]
    assert [r["origin"] for r in source.rejected()] == ["a.parquet", "b.csv", "c.json"]
    assert "gzip" in source.rejected()[2]["reason"]
    assert source.positions() == {1: ("é ünï.json", 1)}
    taken = log.deliveries.taken("Tick", "files")
    assert taken["partition"].to_pylist() == ["a.parquet", "b.csv", "c.json", "d.json", "e.csv", "é ünï.json"]
    assert taken["rows"].to_pylist() == [0, 0, 0, 0, 0, 1]
    assert [bool(note) for note in taken["note"].to_pylist()] == [True, True, True, False, False, False]


@pytest.mark.parametrize("damaged", ["footer", "page", "name"])
def test_a_damaged_parquet_file_is_given_up_and_not_tried_again(damaged: str, log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    folder.mkdir()
    path = folder / "a.parquet"
    pq.write_table(pa.Table.from_pylist([event(x) for x in range(1, 100)]).rename_columns(["x", "söt", "at"]), path)
    data = bytearray(path.read_bytes())
    if damaged == "name":  # a byte in the middle of the letter, wherever the footer has it
        data = bytearray(bytes(data).replace("ö".encode(), b"\xc3\x20"))
    else:
        begin = len(data) - 60 if damaged == "footer" else 30
        data[begin : begin + 20] = b"\xa5" * 20
    put(folder, "a.parquet", bytes(data))
    put(folder, "b.json", lines(event(1)))
    source.drain()
    assert source.events() == [1]
    assert [r["origin"] for r in source.rejected()] == ["a.parquet"]
    assert source.source.notes == []


def test_a_parquet_file_that_is_damaged_further_on_keeps_what_was_taken_and_holds_up_nobody(
    log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (file_reader, files):
        monkeypatch.setattr(module, "PIECE_ROWS", 50)
    monkeypatch.setattr(file_reader, "DECODED_ROWS", 50)
    source = made(log, stream(folder))
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist([event(x) for x in range(1, 101)]), folder / "a.parquet", row_group_size=50)
    data = bytearray((folder / "a.parquet").read_bytes())
    second = pq.ParquetFile(folder / "a.parquet").metadata.row_group(1).column(0)
    begin = second.dictionary_page_offset or second.data_page_offset
    data[begin : begin + 20] = b"\xa5" * 20
    put(folder, "a.parquet", bytes(data))
    put(folder, "b.json", lines(event(101)))
    source.drain()
    assert source.events() == [*range(1, 51), 101]
    assert source.rejected()[0]["reason"].startswith("the file cannot be read from row 51 on: ")


def test_a_parquet_file_without_columns_has_no_rows(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    folder.mkdir()
    pq.write_table(pa.table({}), folder / "a.parquet")
    source.drain()
    assert source.rejected() == []
    assert log.deliveries.taken("Tick", "files")["partition"].to_pylist() == ["a.parquet"]


def test_a_parquet_file_of_another_name_is_one_rejected_record_that_says_so(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist([event(1)]), folder / "a.json")
    source.drain()
    assert ["it is Parquet" in r["reason"] for r in source.rejected()] == [True]


def test_half_written_and_hidden_files_are_left_alone(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    for name in (".a.json", "_b.json", "c.json.tmp", "d.json.part"):
        put(folder, "x", lines(event(1))).rename(folder / name)
    put(folder, "notes.txt", "hello")
    (folder / "folder.json").mkdir()
    source.drain()
    assert source.events() == []
    assert source.source.notes == [
        "files of no known format (name one with format = …) are left alone, 'notes.txt' for example",
        "files in subfolders are left alone, 'folder.json' for example",
    ]


def test_subfolders_are_left_alone_and_told_apart_from_files(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "b.json", lines(event(2)))
    put(folder / "archive", "a.json", lines(event(1)))
    (folder / "old.json").mkdir()
    (folder / "loop.json").symlink_to("loop.json")
    source.drain()
    assert source.events() == [2]
    assert "files in subfolders are left alone, 'archive' for example" in source.source.notes
    assert not any("known format" in note for note in source.source.notes)


def test_with_a_pattern_only_those_files_are_taken(log: Log, folder: Path) -> None:
    source = made(log, stream(folder, pattern="motion-*", format="json"))
    put(folder, "motion-1.log", lines(event(1)))
    put(folder, "fault-1.log", lines(event(2)))
    source.drain()
    assert source.events() == [1]


def test_a_file_that_grows_is_waited_for_until_it_has_settled(log: Log, folder: Path) -> None:
    now = [0.0]
    source = made(log, stream(folder, settle="1 sec"), clock=lambda: now[0])
    path = put(folder, "a.json", lines(event(1)))
    assert source.step() is None
    now[0] = 0.9
    path.write_text(lines(event(1), event(2)))
    assert source.step() is None
    now[0] = 1.8
    assert source.step() is None
    now[0] = 2.0
    assert source.step() is not None
    assert source.events() == [1, 2]


def test_a_file_of_long_ago_is_not_waited_for(log: Log, folder: Path) -> None:
    source = made(log, stream(folder, settle="5 sec"), clock=lambda: 0.0)
    os.utime(put(folder, "a.json", lines(event(1))), (1e9, 1e9))
    assert source.step() is not None


def test_a_file_that_is_changed_after_it_was_taken_is_not_read_again(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    path = put(folder, "a.json", lines(event(1)))
    source.drain()
    source.begin()
    path.write_text(lines(event(1), event(2)))
    source.drain()
    assert source.events() == [1]
    assert source.source.notes == ["'a.json' was changed after it was taken; it is not read again"]


def test_a_folder_may_come_late_and_go_and_come_back(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    source.drain()
    assert source.source.why == f"the folder '{folder}' does not exist"
    put(folder, "a.json", lines(event(1)))
    source.drain()
    assert (source.source.why, source.events()) == ("", [1])
    folder.rename(folder.with_name("away"))
    source.drain()
    assert "does not exist" in source.source.why
    folder.with_name("away").rename(folder)
    put(folder, "b.json", lines(event(2)))
    source.drain()
    assert (source.source.why, source.events()) == ("", [1, 2])


def test_a_folder_that_may_not_be_listed_is_waited_for_by_its_name(
    log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = made(log, stream(folder))
    put(folder, "a.json", lines(event(1)))

    def refused(path: Path) -> Any:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refused)
        assert source.step() is None
        assert source.source.why == f"the folder '{folder}' cannot be read: Permission denied"
    source.drain()
    assert source.events() == [1]
    assert source.source.why == ""


def test_a_path_that_is_a_file_is_told(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "incoming"
    path.write_text("")
    source = made(log, stream(path))
    source.drain()
    assert source.source.why == f"'{path}' is not a folder"


@pytest.mark.parametrize("limit", [1, 60, 200, 10_000])
@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_a_large_file_is_taken_in_pieces_wherever_one_stops(
    kind: str, limit: int, log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "PIECE_BYTES", limit)
    monkeypatch.setattr(files, "PIECE_BYTES", limit)
    monkeypatch.setattr(file_reader, "PIECE_ROWS", 1 + limit // 60)
    monkeypatch.setattr(files, "PIECE_ROWS", 1 + limit // 60)
    monkeypatch.setattr(file_reader, "DECODED_ROWS", 3)
    source = made(log, stream(folder))
    rows = [event(x) | {"s": f'a "quoted"\nline {x}' if x % 3 else "plain"} for x in range(1, 31)]
    folder.mkdir()
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet", row_group_size=7)
    else:
        text = lines(*rows)
        if kind == "csv":
            quoted = ['"' + r["s"].replace('"', '""') + '"' for r in rows]
            parts = [f"{r['x']},{s},{r['at']}\n" for r, s in zip(rows, quoted, strict=True)]
            text = "x,s,at\n" + "".join([*parts[:10], "bad,,\n", *parts[10:]])
        put(folder, f"a.{kind}", text)
    steps = 0
    while source.step() is not None:
        source.begin()  # as if the process had died
        steps += 1
    assert source.events() == list(range(1, 31))
    skip = [*range(1, 11), *range(12, 32)] if kind == "csv" else range(1, 31)
    assert [row for _, row in source.positions().values()] == list(skip)
    assert steps > 1 or limit == 10_000
    if kind == "csv":
        # Of the rows before it, six in each ten have a line more.
        assert [r["origin"] for r in source.rejected()] == [f"a.csv:{1 + 10 + 7 + 1}"]
    assert log.deliveries.taken("Tick", "files")["rows"].to_pylist() == [30]


def test_a_file_that_changes_or_goes_while_it_is_read_keeps_what_was_taken(
    log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_reader, "PIECE_BYTES", 100)
    monkeypatch.setattr(files, "PIECE_BYTES", 100)
    source = made(log, stream(folder))
    changed = put(folder, "a.json", lines(*map(event, range(1, 6))))
    source.step()
    changed.write_text("something else")
    source.drain()
    gone = put(folder, "b.json", lines(*map(event, range(11, 16))))
    source.step()
    gone.unlink()
    source.drain()
    assert source.events() == [1, 2, 11, 12]
    reasons = [r["reason"] for r in source.rejected()]
    assert reasons == [
        "the file cannot be read from line 3 on: it was changed while it was read; the rest of it is left out",
        "the file cannot be read from line 3 on: it vanished while it was read",
    ]


def test_an_array_of_objects_is_one_arrival(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "a.json", json.dumps([event(1), {"x": "bad"}, event(2)]))
    source.drain()
    assert source.events() == [1, 2]
    assert len(source.rejected()) == 1
    assert len({row for _, row in source.positions().values()}) == 2


def test_a_record_without_end_is_not_read_into_memory(log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_reader, "PIECE_BYTES", 64)
    monkeypatch.setattr(file_reader, "RECORD_BYTES", 256)
    source = made(log, stream(folder))
    put(folder, "a.json", lines(event(1)) + '{"s": "' + "x" * 10_000)
    put(folder, "b.json", lines(event(2)))
    source.drain()
    assert source.events() == [1, 2]
    assert "longer than" in source.rejected()[0]["reason"]
    assert len(source.rejected()[0]["raw"]) <= file_reader.SHOWN_BYTES


def test_links_that_lead_out_of_the_roots_are_not_followed(log: Log, folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(lines(event(1)))
    source = made(log, stream(folder), roots=[folder])
    put(folder, "good.json", lines(event(2)))
    (folder / "link.json").symlink_to(secret)
    source.drain()
    assert source.events() == [2]
    assert "outside the allowed folders" in source.source.notes[0]


def test_a_file_that_may_not_be_read_is_tried_again_and_others_go_on(
    log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    source = made(log, stream(folder), clock=lambda: now[0])
    forbidden = put(folder, "a.json", lines(event(1)))
    put(folder, "b.json", lines(event(2)))

    opened = Roots.opened

    def refused(roots: Roots, path: Path) -> Any:
        if path == forbidden:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(roots, path)

    # Refused here and not by the mode of the file, which does not keep root out.
    monkeypatch.setattr(Roots, "opened", refused)
    source.drain()
    assert source.events() == [2]
    assert "'a.json' cannot be read and is tried again" in source.source.notes[0]
    monkeypatch.setattr(Roots, "opened", opened)
    source.drain()
    assert source.events() == [2]
    now[0] = files.TRY_AGAIN_SECONDS
    source.drain()
    assert source.events() == [2]
    assert log.archive.read_late("Tick")["x"].to_pylist() == [1]


def test_a_folder_is_listed_when_it_has_changed_and_not_otherwise(
    log: Log, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = []
    monkeypatch.setattr(files.os, "scandir", lambda path, real=os.scandir: listed.append(path) or real(path))
    source = made(log, stream(folder), clock=lambda: 0.0)
    put(folder, "a.json", lines(event(1)))
    long_ago = time.time() - 100
    os.utime(folder, (long_ago, long_ago))
    source.drain()
    before = len(listed)
    for _ in range(50):
        source.step()
    assert len(listed) == before
    put(folder, "b.json", lines(event(2)))
    source.drain()
    assert source.events() == [1, 2]


def test_many_small_files_take_few_records(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    folder.mkdir()
    for x in range(2_500):
        (folder / f"{x:05d}.json").write_text(lines(event(x)))
    before = log.records
    source.drain()
    assert source.events() == list(range(2_500))
    assert log.records - before <= 5


def test_a_delivery_that_is_made_again_is_no_second_event(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "a.json", lines(event(1)))
    delivery = source.source.read(None)
    assert delivery is not None
    assert not log.deliver(source.type, delivery).duplicate
    assert log.deliver(source.type, delivery).duplicate
    assert source.events() == [1]


def test_an_event_from_the_far_future_is_rejected_with_its_file(log: Log, folder: Path) -> None:
    source = made(log, stream(folder))
    put(folder, "a.json", lines(event(1), {"x": 2, "at": "9999-01-01T00:00:00Z"}, event(3)))
    source.drain()
    assert source.events() == [1, 3]
    assert source.rejected()[0]["origin"] == "a.json, row 2"
    assert source.positions() == {1: ("a.json", 1), 2: ("a.json", 3)}
