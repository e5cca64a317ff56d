"""Loads with the offsets of a source: each event once, after those before it, whatever path it comes on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from presage.errors import PresageError
from presage.model.catalog import Attribute, EventType
from presage.model.types import DOUBLE, LONG, STRING, TIMESTAMP, MapOf
from presage.storage import Gap, Log, SourceOffsets, attributes_with_offsets, offset_dedup, read_files
from presage.storage.home_state import HomeState
from presage.storage.journal import from_bytes

ATTRIBUTES = (Attribute("x", LONG), Attribute("at", TIMESTAMP))
TICK = EventType("Tick", "stream", ATTRIBUTES, event_time="at")
KAFKA = SourceOffsets("kafka", "offset", "partition")
FEED = SourceOffsets("feed", "offset")


def row(offset: object, partition: object = 0) -> dict[str, object]:
    second = offset if isinstance(offset, int) and offset < 2**31 else 0
    when = f"2024-01-01T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    return {"x": second, "at": when, "offset": offset, "partition": partition}


def rows(offsets: Iterable[int], partition: object = 0) -> list[dict[str, object]]:
    return [row(offset, partition) for offset in offsets]


def values(log: Log) -> list[int]:
    found: list[int] = log.archive.read_arrow(log.archive.snapshot("Tick"), ["x"])["x"].to_pylist()
    return found


def stored(log: Log) -> list[dict[str, Any]]:
    """What the table of offsets holds, as any reader of Delta sees it."""
    table = DeltaTable(str(log.home.table_folder("#offsets:Tick", "events")))
    found: list[dict[str, Any]] = table.to_pyarrow_table().sort_by("_seq").to_pylist()
    return found


@pytest.fixture
def log() -> Iterator[Log]:
    with Log.open() as log:
        log.create_stream(TICK)
        yield log


def test_zero_gap_the_feed_begins_where_the_archive_ends(log: Log) -> None:
    assert log.append(TICK, rows(range(100)), source=KAFKA).accepted == 100
    report = log.append(TICK, rows(range(100, 120)), source=KAFKA)
    assert (report.accepted, report.duplicates, report.held) == (20, 0, 0)
    assert values(log) == list(range(120))
    assert log.gaps("Tick") == []


def test_negative_gap_what_both_bring_is_dropped_and_counted(log: Log) -> None:
    log.append(TICK, rows(range(100)), source=KAFKA)
    report = log.append(TICK, rows(range(90, 120)), source=KAFKA)
    assert (report.accepted, report.late, report.duplicates, report.held) == (20, 0, 10, 0)
    assert values(log) == list(range(120))


def test_positive_gap_the_feed_waits_for_what_is_on_its_way(log: Log) -> None:
    log.append(TICK, rows(range(100)), source=KAFKA)
    early = log.append(TICK, rows(range(110, 120)), source=KAFKA)
    assert (early.accepted, early.duplicates, early.held, early.first_seq) == (0, 0, 10, None)
    assert values(log) == list(range(100))
    assert log.gaps("Tick") == [Gap("kafka", "0", 100, 109, 10)]
    assert log.append(TICK, rows(range(110, 120)), source=KAFKA).duplicates == 10
    part = log.append(TICK, rows(range(105, 110)), source=KAFKA)
    assert (part.held, log.gaps("Tick")) == (5, [Gap("kafka", "0", 100, 104, 15)])
    rest = log.append(TICK, rows(range(100, 105)), source=KAFKA)
    assert (rest.accepted, rest.late, rest.held, rest.first_seq, rest.last_seq) == (20, 0, 0, 101, 120)
    assert values(log) == list(range(120))
    assert log.gaps("Tick") == []
    assert log.append(TICK, [row(120)], source=KAFKA).accepted == 1


def test_each_events_number_is_stored_by_its_seq(log: Log) -> None:
    log.append(TICK, rows([2, 1, 0], "b") + rows([0], "a"), source=KAFKA)
    log.append(TICK, [{"x": 9, "at": "2023-01-01", "offset": 0}], source=FEED)  # late, and numbered all the same
    assert [tuple(r.values()) for r in stored(log)] == [
        (1, "kafka", "a", 0),
        (2, "kafka", "b", 0),
        (3, "kafka", "b", 1),
        (4, "kafka", "b", 2),
        (5, "feed", "", 0),
    ]


def test_a_stream_without_offsets_pays_nothing(log: Log) -> None:
    log.append(TICK, [row(1)])
    assert sorted(path.name for path in log.home.streams.iterdir()) == ["Tick"]
    assert list(log.archive.snapshot("Tick").schema.names) == ["_seq", "_t", "x", "at"]


def test_ties_of_time_come_in_the_order_of_partition_and_offset(log: Log) -> None:
    same = [{"x": x, "at": "2024-01-01", "offset": o, "partition": p} for x, o, p in ((3, 1, 1), (1, 0, 0), (2, 0, 1))]
    log.append(TICK, same, source=KAFKA)
    assert values(log) == [1, 2, 3]


def test_held_events_are_not_late_by_what_was_held_after_them(log: Log) -> None:
    log.append(TICK, [row(0)], source=KAFKA)
    log.append(TICK, [row(50)], source=KAFKA)
    report = log.append(TICK, rows(range(1, 50)), source=KAFKA)
    assert (report.accepted, report.late) == (50, 0)


def test_partitions_and_sources_are_numbered_apart(log: Log) -> None:
    log.append(TICK, rows([0]) + rows([100], 1), source=KAFKA)
    log.append(TICK, rows([7]), source=FEED)
    report = log.append(TICK, rows([2]) + rows([101], 1), source=KAFKA)
    assert (report.accepted, report.held) == (1, 1)
    assert log.gaps("Tick") == [Gap("kafka", "0", 1, 1, 1)]
    log.append(TICK, rows([103], 1), source=KAFKA)
    # What is free goes, what waits in the same table stays.
    assert log.append(TICK, rows([1]), source=KAFKA).late == 2  # the other partition is further in time
    assert log.append(TICK, rows([102], 1), source=KAFKA).accepted == 2
    assert log.gaps("Tick") == []


def test_with_a_start_the_first_offsets_are_awaited(log: Log) -> None:
    source = SourceOffsets("kafka", "offset", start=0)
    assert log.append(TICK, rows([3, 4]), source=source).held == 2
    assert log.append(TICK, rows([0, 1, 2]), source=source).accepted == 5
    assert values(log) == [0, 1, 2, 3, 4]


def test_without_a_start_what_comes_from_before_is_taken_once(log: Log) -> None:
    log.append(TICK, rows([1000]), source=FEED)
    report = log.append(TICK, rows([998, 999]), source=FEED)
    assert (report.late, report.duplicates) == (2, 0)
    assert log.append(TICK, rows([998, 999]), source=FEED).duplicates == 2


def test_a_rejected_row_has_its_number_and_leaves_no_gap(log: Log) -> None:
    bad = {"x": "one", "at": "2024-01-01", "offset": 1, "partition": 0}
    assert log.append(TICK, [row(0), bad, row(2)], source=KAFKA).rejected == 1
    assert values(log) == [0, 2]
    again = log.append(TICK, [row(0), bad, row(2)], source=KAFKA)
    assert (again.rejected, again.duplicates) == (0, 3)
    assert log.archive.read_rejected("Tick").num_rows == 1


@pytest.mark.parametrize("offset", [None, -1, "seven", 1.5, 2**63 - 1, 2**70])
def test_a_row_without_a_usable_offset_is_rejected(log: Log, offset: object) -> None:
    report = log.append(TICK, [row(0), row(offset)], source=FEED)
    assert (report.accepted, report.rejected) == (1, 1)
    assert "offset" in log.archive.read_rejected("Tick")["reason"][0].as_py()


def test_a_row_without_a_partition_is_rejected(log: Log) -> None:
    assert log.append(TICK, [row(0), row(1, None)], source=KAFKA).rejected == 1
    assert log.archive.read_rejected("Tick")["reason"].to_pylist() == [
        "the partition 'partition' of source 'kafka' is missing"
    ]


def test_a_load_that_brings_nothing_new_writes_nothing(log: Log) -> None:
    log.append(TICK, rows(range(3)), source=KAFKA)
    before = log._committer.state.n
    assert log.append(TICK, rows(range(3)), source=KAFKA).duplicates == 3
    assert log._committer.state.n == before


def test_keys_and_offsets_work_together(log: Log) -> None:
    log.append(TICK, rows([0, 1]), once="k", source=KAFKA)
    assert log.append(TICK, rows([0, 1]), once="k", source=KAFKA).duplicate
    assert log.append(TICK, rows([1]), once="l", source=KAFKA).duplicates == 1
    assert log.append(TICK, rows([1]), once="l", source=KAFKA).duplicate


@pytest.mark.parametrize("kind", ["generator", "arrow", "batch", "pandas", "text partitions"])
def test_offsets_come_in_every_kind_of_rows(log: Log, kind: str) -> None:
    def given(offsets: Iterable[int]) -> object:
        plain = rows(offsets, "p" if kind == "text partitions" else 0)
        if kind == "generator":
            return (r for r in plain)
        if kind == "pandas":
            return pd.DataFrame(plain)
        return (
            {"arrow": pa.Table, "batch": pa.RecordBatch}[kind].from_pylist(plain)
            if kind in ("arrow", "batch")
            else plain
        )

    log.append(TICK, given([0, 1]), source=KAFKA)
    log.append(TICK, given([3]), source=KAFKA)
    report = log.append(TICK, given([1, 2]), source=KAFKA)
    assert (report.accepted, report.duplicates, report.ignored) == (2, 1, {})
    assert values(log) == [0, 1, 2, 3]
    assert {r["partition"] for r in stored(log)} == {"p" if kind == "text partitions" else "0"}


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_offsets_come_from_files(log: Log, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(
        "x,at,no\n1,2024-01-01,0\n2,2024-01-02,1\n"
        if name.endswith("csv")
        else '{"x": 1, "at": "2024-01-01", "no": 0}\n{"x": 2, "at": "2024-01-02", "no": 1}\n'
    )
    source = SourceOffsets("files", "no")
    given = read_files(tmp_path / name, attributes_with_offsets(TICK, source, None), "at")
    assert log.append(TICK, given, source=source).accepted == 2
    assert log.append(TICK, given, source=source).duplicates == 2
    assert values(log) == [1, 2]


def test_the_numbering_may_be_attributes_of_the_stream() -> None:
    own = EventType(
        "Tick", "stream", (*ATTRIBUTES, Attribute("offset", LONG), Attribute("partition", STRING)), event_time="at"
    )
    with Log.open() as log:
        log.create_stream(own)
        log.append(own, rows([0, 2], "p"), source=KAFKA)
        log.append(own, rows([1], "p"), source=KAFKA)
        read = log.archive.read_arrow(log.archive.snapshot("Tick"), ["offset", "partition"]).to_pylist()
        assert read == [{"offset": i, "partition": "p"} for i in range(3)]


def test_an_attribute_that_is_no_number_cannot_be_the_offset(log: Log) -> None:
    with pytest.raises(PresageError, match="is TIMESTAMP") as refused:
        log.append(TICK, rows([0]), source=SourceOffsets("s", "at"))
    assert refused.value.code == "DATA_SHAPE"


def test_a_table_without_the_column_is_refused_as_a_whole(log: Log) -> None:
    for given in (pa.table({"x": [1]}), pd.DataFrame({"x": [1]})):
        with pytest.raises(PresageError, match="no column 'offset'"):
            log.append(TICK, given, source=FEED)


def test_held_events_keep_every_type(log: Log) -> None:
    rich = EventType(
        "Rich",
        "stream",
        (Attribute("source", STRING), Attribute("m", MapOf(STRING, DOUBLE)), *ATTRIBUTES),
        event_time="at",
    )
    log.create_stream(rich)
    events = [{**row(i), "source": f"s{i}", "m": {"a": float(i), "b": None}} for i in range(3)]
    log.append(rich, events[:1], source=FEED)
    log.append(rich, events[2:], source=FEED)
    log.append(rich, events[1:2], source=FEED)
    read = log.archive.read_arrow(log.archive.snapshot("Rich"), ["source", "m"]).to_pylist()
    assert read == [{"source": f"s{i}", "m": [("a", float(i)), ("b", None)]} for i in range(3)]


def test_held_events_and_numbers_outlive_the_engine(tmp_path: Path) -> None:
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        log.append(TICK, rows([0]), source=KAFKA)
        log.append(TICK, rows([2]), source=KAFKA)
    with Log.open(tmp_path / "home", durable=False) as log:
        assert log.gaps("Tick") == [Gap("kafka", "0", 1, 1, 1)]
        assert log.append(TICK, rows([0, 1]), source=KAFKA).duplicates == 1
        assert values(log) == [0, 1, 2]


def test_dropping_a_stream_drops_its_numbers_and_what_is_held(log: Log) -> None:
    log.append(TICK, rows([0, 2]), source=KAFKA)
    log.drop_stream("Tick")
    assert list(log.home.streams.iterdir()) == []
    log.create_stream(TICK)
    assert log.gaps("Tick") == []
    assert log.append(TICK, rows([0, 1]), source=KAFKA).accepted == 2


def test_a_gap_is_given_up_by_name(log: Log) -> None:
    log.append(TICK, rows([0, 5, 9]), source=KAFKA)
    report = log.skip_gap(TICK, "kafka", "0", 4)
    assert (report.accepted, values(log), log.gaps("Tick")) == (1, [0, 5], [Gap("kafka", "0", 6, 8, 1)])
    assert log.skip_gap(TICK, "kafka", "0", 4).accepted == 0
    assert log._committer.state.streams["Tick"].sources["kafka"]["0"]["skipped"] == 4
    # An event that was given up and comes after all is taken, once.
    assert log.append(TICK, rows([3]), source=KAFKA).late == 1
    assert log.append(TICK, rows([3]), source=KAFKA).duplicates == 1


@pytest.mark.parametrize(
    ("source", "partition", "up_to", "what"),
    [("kafak", "0", 3, "no source"), ("kafka", "7", 3, "no partition"), ("kafka", "0", 99, "at most 5")],
)
def test_only_a_gap_that_is_there_can_be_given_up(log: Log, source: str, partition: str, up_to: int, what: str) -> None:
    log.append(TICK, rows([0, 5]), source=KAFKA)
    with pytest.raises(PresageError, match=what):
        log.skip_gap(TICK, source, partition, up_to)
    assert values(log) == [0]


def test_too_many_gaps_are_refused_by_a_named_limit(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offset_dedup, "MAX_GAPS", 3)
    with pytest.raises(PresageError, match="more than 3 gaps"):
        log.append(TICK, rows(range(0, 20, 2)), source=KAFKA)
    assert log.position == 0
    assert log.append(TICK, rows([0]), source=KAFKA).accepted == 1


def test_files_of_held_rows_go_when_none_is_held(log: Log) -> None:
    log.append(TICK, rows([0]), source=KAFKA)
    log.append(TICK, rows([2]), source=KAFKA)
    log.append(TICK, rows([4]), source=KAFKA)
    log.append(TICK, rows([1]), source=KAFKA)
    assert len(log._committer.files("#held:Tick", "events")) == 1
    log.append(TICK, rows([3]), source=KAFKA)
    assert log._committer.files("#held:Tick", "events") == ()


def test_records_and_heads_from_before_there_were_offsets_are_read() -> None:
    assert from_bytes(json.dumps({"n": 1, "kind": "append", "at": 0, "stream": "A"}).encode())[0].sources == {}
    stream = {"generation": 1, "accepted": 3, "late": 0, "rejected": 0, "ignored": {}, "once": {}, "last_seq": 3}
    head = {"n": 2, "position": 3, "catalog_version": 1, "streams": {"A": stream}}
    assert HomeState.from_json(head).streams["A"].sources == {}


def test_compaction_leaves_numbers_and_what_is_held_as_they_are(log: Log) -> None:
    log.append(TICK, rows([0]), source=KAFKA)
    for offset in range(2, 42, 2):
        log.append(TICK, rows([offset]), source=KAFKA)
    for offset in range(100, 140):
        log.append(TICK, [{**row(offset), "offset": offset}], source=FEED)
    before = (stored(log), values(log), log.gaps("Tick"))
    assert log.maintain([TICK], grace=0).compacted > 0
    assert (stored(log), values(log), log.gaps("Tick")) == before
    log.append(TICK, rows(range(1, 41)), source=KAFKA)
    assert log.gaps("Tick") == []
    assert {r["offset"] for r in stored(log) if r["source"] == "kafka"} == set(range(41))
