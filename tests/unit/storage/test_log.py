"""Appending to a log and reading it back: numbers, lateness, keys, declarations."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.fs
import pytest
from deltalake import DeltaTable

from presage.errors import PresageError
from presage.model.catalog import Attribute, EventType
from presage.model.time import parse_timestamp
from presage.model.types import DOUBLE, INT, STRING, TIMESTAMP, ArrayOf, MapOf, StructOf
from presage.storage import Log, committer

ATTRIBUTES = (Attribute("sym", STRING), Attribute("price", DOUBLE), Attribute("at", TIMESTAMP))
TICK = EventType("Tick", "stream", ATTRIBUTES, event_time="at")
SLOW = EventType("Slow", "stream", ATTRIBUTES, event_time="at", max_delay=5_000_000)
SECOND = 1_000_000


def at(second: int) -> int:
    return (parse_timestamp("2024-01-01") or 0) + second * SECOND


def row(sym: str, second: int, price: float | None = None) -> dict[str, object]:
    return {"sym": sym, "price": price, "at": f"2024-01-01T00:00:{second:02d}"}


def symbols(log: Log, name: str = "Tick") -> list[str]:
    return log.archive.read_arrow(log.archive.snapshot(name), ["sym"])["sym"].to_pylist()


@pytest.fixture
def log() -> Iterator[Log]:
    with Log.open() as log:
        log.create_stream(TICK)
        log.create_stream(SLOW)
        yield log


def test_an_empty_home_is_at_position_zero(log: Log) -> None:
    assert log.position == 0
    assert symbols(log) == []


def test_a_load_is_sorted_by_time_and_ties_keep_their_order(log: Log) -> None:
    log.append(TICK, [row("c", 3), row("a", 1), row("b1", 2), row("b2", 2)])
    assert symbols(log) == ["a", "b1", "b2", "c"]


def test_sequence_numbers_run_on_over_all_streams(log: Log) -> None:
    assert log.append(TICK, [row("a", 1), row("b", 2)]).last_seq == 2
    report = log.append(SLOW, [row("c", 1)])
    assert (report.first_seq, report.last_seq) == (3, 3)
    assert log.append(TICK, [row("d", 3)]).first_seq == 4
    assert log.position == 4


def test_an_event_before_the_greatest_earlier_time_is_late(log: Log) -> None:
    log.append(TICK, [row("a", 10)])
    report = log.append(TICK, [row("late", 9), row("tie", 10), row("b", 11)])
    assert (report.accepted, report.late, report.first_seq, report.last_seq) == (2, 1, 2, 4)
    assert symbols(log) == ["a", "tie", "b"]
    late = log.archive.read_late("Tick").to_pylist()
    assert [(r["sym"], r["_seq"], r["_late_by"]) for r in late] == [("late", 2, SECOND)]


def test_rows_of_one_load_never_make_each_other_late(log: Log) -> None:
    assert log.append(TICK, [row("b", 50), row("a", 1)]).late == 0


def test_max_delay_is_how_far_back_an_event_may_be(log: Log) -> None:
    log.append(SLOW, [row("a", 10)])
    report = log.append(SLOW, [row("just", 5), row("late", 4)])
    assert (report.accepted, report.late) == (1, 1)
    assert symbols(log, "Slow") == ["a", "just"]


def test_the_example_of_the_readme(log: Log) -> None:
    watermarks = []
    for seconds in ([12, 10], [20, 6, 7], [15]):
        rows = [row(str(second), second) for second in seconds]
        log.append(SLOW, [*rows, {"at": "soon"}] if seconds == [15] else rows)
        watermarks.append(log.archive.describe("Slow").watermark)
    events = log.archive.read_arrow(log.archive.snapshot("Slow"), ["_seq", "sym"]).to_pylist()
    late = log.archive.read_late("Slow").to_pylist()
    assert [(e["_seq"], e["sym"]) for e in events] == [(1, "10"), (2, "12"), (4, "7"), (5, "20"), (6, "15")]
    assert [(e["_seq"], e["sym"], e["_late_by"]) for e in late] == [(3, "6", SECOND)]
    assert watermarks == [at(7), at(15), at(15)]
    assert log.archive.describe("Slow").rejected == 1


def test_late_events_do_not_move_the_clock(log: Log) -> None:
    log.append(SLOW, [row("a", 10)])
    log.append(SLOW, [row("late", 0)])
    assert log.archive.describe("Slow").watermark == at(5)


def test_a_watermark_makes_late_what_comes_from_before_it(log: Log) -> None:
    log.append_watermark("Slow", at(20))
    report = log.append(SLOW, [row("late", 19), row("a", 20)])
    assert (report.accepted, report.late) == (1, 1)
    assert log.archive.describe("Slow").watermark == at(20)


def test_a_watermark_never_goes_back(log: Log) -> None:
    log.append_watermark("Tick", at(20))
    log.append_watermark("Tick", at(10))
    assert log.archive.describe("Tick").watermark == at(20)


def test_a_key_is_used_once_for_a_stream(log: Log) -> None:
    first = log.append(TICK, [row("a", 1)], once="k")
    again = log.append(TICK, [row("b", 2)], once="k")
    assert not first.duplicate
    assert again.duplicate
    assert (again.accepted, again.first_seq) == (0, first.first_seq)
    assert symbols(log) == ["a"]
    assert not log.append(SLOW, [row("a", 1)], once="k").duplicate


def test_an_empty_load_is_fine_and_uses_its_key(log: Log) -> None:
    assert log.append(TICK, []).first_seq is None
    assert not log.append(TICK, [], once="k").duplicate
    assert log.append(TICK, [row("a", 1)], once="k").duplicate
    assert log.position == 0


def test_rejected_rows_are_kept_with_reason_text_and_origin(log: Log) -> None:
    report = log.append(TICK, [row("a", 1), {"sym": 5, "at": "2024-01-01"}, {"sym": "x"}])
    assert (report.accepted, report.rejected) == (1, 2)
    rejected = log.archive.read_rejected("Tick").to_pylist()
    assert [r["reason"] for r in rejected] == [
        "attribute 'sym' needs STRING, found 5",
        "the event time 'at' is missing",
    ]
    assert [r["raw"] for r in rejected] == ['{"sym": 5, "at": "2024-01-01"}', '{"sym": "x"}']
    assert [r["origin"] for r in rejected] == ["row 2", "row 3"]


def test_unknown_attributes_are_ignored_and_counted(log: Log) -> None:
    assert log.append(TICK, [{**row("a", 1), "colour": "red"}, {**row("b", 2), "colour": None}]).ignored == {
        "colour": 1
    }
    log.append(TICK, [{**row("c", 3), "colour": "red", "size": 1}])
    assert log.archive.describe("Tick").ignored == {"colour": 2, "size": 1}


def test_a_dropped_stream_starts_empty_when_it_is_made_again(log: Log) -> None:
    log.append(TICK, [row("a", 9)], once="k")
    log.drop_stream("Tick")
    with pytest.raises(PresageError, match="'Tick'") as unknown:
        log.append(TICK, [row("a", 1)])
    assert unknown.value.code == "UNKNOWN_STREAM"
    log.create_stream(TICK)
    assert symbols(log) == []
    report = log.append(TICK, [row("b", 1)], once="k")
    assert (report.accepted, report.duplicate, report.first_seq) == (1, False, 2)
    assert log.archive.describe("Tick").rows == 1


def test_a_stream_is_made_once(log: Log) -> None:
    with pytest.raises(PresageError) as refused:
        log.create_stream(TICK)
    assert refused.value.code == "ALREADY_DECLARED"


@pytest.mark.parametrize("names", [("_seq",), ("_t",), ("a", "A")])
def test_attributes_that_the_tables_cannot_tell_apart_are_refused(log: Log, names: tuple[str, ...]) -> None:
    attributes = (Attribute("at", TIMESTAMP), *(Attribute(name, STRING) for name in names))
    with pytest.raises(PresageError) as refused:
        log.create_stream(EventType("S", "stream", attributes, event_time="at"))
    assert refused.value.code == "DUPLICATE_NAME"


def test_a_stream_needs_an_event_time(log: Log) -> None:
    with pytest.raises(PresageError) as refused:
        log.create_stream(EventType("S", "stream", ATTRIBUTES))
    assert refused.value.code == "NO_EVENT_TIME"


def test_everything_is_back_after_closing(tmp_path: Path) -> None:
    with Log.open(tmp_path) as log:
        log.append_catalog("create", "stream", "Tick", "CREATE STREAM Tick …", {"by": "me"}, creates=[TICK])
        log.append(TICK, [row("a", 10)], once="k")
        log.append(TICK, [row("late", 1), {"sym": 1}])
        expected = log.archive.describe("Tick")
    with Log.open(tmp_path) as log:
        assert log.archive.describe("Tick") == expected
        assert log.position == 2
        assert log.append(TICK, [row("a", 10)], once="k").duplicate
        assert log.append(TICK, [row("b", 11)]).first_seq == 3
        assert [(e.version, e.seq, e.name, e.extra) for e in log.catalog_entries()] == [(1, 0, "Tick", {"by": "me"})]


def test_catalog_entries_know_their_version_and_position(log: Log) -> None:
    log.append_catalog("create", "schema", "S", "CREATE SCHEMA S ()")
    log.append(TICK, [row("a", 1)])
    entry = log.append_catalog("drop", "schema", "S", "DROP SCHEMA S")
    assert (entry.version, entry.seq) == (2, 1)
    assert [e.text for e in log.catalog_entries()] == ["CREATE SCHEMA S ()", "DROP SCHEMA S"]


def test_the_journal_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 4)
    with Log.open(tmp_path, durable=False) as log:
        log.create_stream(TICK)
        for i in range(9):
            log.append(TICK, [row("a", i)], once=str(i))
            assert len(list((tmp_path / "journal").glob("0*"))) <= 2 * 4
    # The last head, and what it can be computed from again.
    assert sorted(p.name.lstrip("0") for p in (tmp_path / "journal").glob("0*")) == ["10.json", "9.json"]
    assert len(list((tmp_path / "journal").glob("head-*"))) == 2
    with Log.open(tmp_path, durable=False) as log:
        assert all(log.append(TICK, [], once=str(i)).duplicate for i in range(9))


def test_threads_that_load_at_once_take_turns(log: Log) -> None:
    def load(name: str) -> None:
        for i in range(5):
            log.append(TICK, [row(f"{name}{i}", 1)] * 3)

    threads = [threading.Thread(target=load, args=(name,)) for name in "xyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    loaded = symbols(log)
    assert len(loaded) == 45
    assert log.position == 45
    assert all(len(set(loaded[i : i + 3])) == 1 for i in range(0, 45, 3))


def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = Log.open(tmp_path)
    log.create_stream(TICK)
    log.close()
    log.close()
    for call in (lambda: log.append(TICK, []), lambda: log.archive.snapshot("Tick"), log.catalog_entries):
        with pytest.raises(PresageError) as closed:
            call()
        assert closed.value.code == "ENGINE_CLOSED"


def test_any_delta_reader_sees_exactly_the_rows(tmp_path: Path) -> None:
    nested = EventType(
        "Nested",
        "stream",
        (
            Attribute("at", TIMESTAMP),
            Attribute("tags", ArrayOf(STRING)),
            Attribute("where", StructOf((("room", STRING), ("floor", INT)))),
            Attribute("counts", MapOf(STRING, INT)),
        ),
        event_time="at",
    )
    rows = [
        {"at": "2024-01-01", "tags": ["a", None], "where": {"room": "r", "floor": 1}, "counts": {"x": 1}},
        {"at": "2024-01-02", "tags": [], "where": None, "counts": {}},
    ]
    with Log.open(tmp_path) as log:
        log.create_stream(nested)
        for _ in range(12):  # past a checkpoint
            log.append(nested, rows)
        ours = log.archive.read_arrow(log.archive.snapshot("Nested"))
    folder = str(tmp_path / "streams" / "Nested" / "events")
    # Arrow's own file system: the one that deltalake gives it can abort the process at exit.
    files = pa.fs.SubTreeFileSystem(folder, pa.fs.LocalFileSystem())
    theirs = DeltaTable(folder).to_pyarrow_table(filesystem=files).sort_by("_seq")
    assert theirs.to_pylist() == ours.to_pylist()
    assert theirs["_seq"].to_pylist() == [1, 2, *(2 + 2 * i for i in range(1, 12))]


def test_importing_the_log_loads_neither_spark_nor_pandas() -> None:
    program = "import sys, presage.storage; print([m for m in ('pyspark', 'pandas') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=_with_src())
    assert run.stdout.strip() == "[]"


def _with_src() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "src")}
