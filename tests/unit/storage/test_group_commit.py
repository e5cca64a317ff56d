"""Group commit: what threads append together is in the log as if one after another, and costs few round trips."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from presage import Engine
from presage.errors import PresageError
from presage.model.time import parse_timestamp
from presage.storage import Log, committer, failpoints
from presage.storage.file_store import FileStore
from presage.storage.journal import Journal, read_journal
from presage.storage.log import LoadReport
from presage.storage.store import StoreError
from recovery.counted_bucket import ADDRESS, Requests, counted_bucket
from recovery.crashing import SECOND, Crash, CrashAt, contents, crash, row, sequence_numbers, stream
from recovery.faulty_store import FaultyStore, bucket_in_memory

TICK, QUOTE = stream(), stream("Quote", max_delay=5 * SECOND)
START = parse_timestamp("2024-01-01") or 0
Load = tuple[Any, list[dict[str, Any]], str | None]


class Gate:
    """Holds back a writing until it is opened, so that drafts gather."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._open, self._reached = threading.Event(), threading.Event()
        self._open.set()

    def __call__(self, _: object = None) -> None:
        if not self._open.is_set():
            self._reached.set()
            assert self._open.wait(30)

    def together(self, *calls: Callable[[], Any]) -> list[Any]:
        """Run the first call up to its writing, the others up to their waiting, and let all go on; their results, or
        what they raise. The other calls are drafted in their order."""
        self._open.clear()
        self._reached.clear()
        with ThreadPoolExecutor(len(calls)) as pool:
            running = []
            for number, call in enumerate(calls):
                running.append(pool.submit(call))
                self._wait(lambda n=number: self._reached.is_set() and len(self._log._committer._queue._waiting) == n)
            self._open.set()
        return [one.exception() or one.result() for one in running]

    @staticmethod
    def _wait(done: Callable[[], bool]) -> None:
        for _ in range(500):
            if done():
                return
            threading.Event().wait(0.01)
        raise AssertionError("the drafts did not gather")


class Gated(failpoints.Failpoints):
    """Passes the gate before a group is written, and may then die."""

    def __init__(self) -> None:
        self.gate: Gate | None = None
        self.dies = CrashAt()

    def reach(self, point: str) -> None:
        self.dies.reach(point)
        if point == failpoints.STAGED_ONE and self.gate is not None:
            self.gate()


@pytest.fixture
def points() -> Gated:
    return Gated()


@pytest.fixture(params=["folder", "bucket"])
def home(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path | str]:
    if request.param == "folder":
        yield tmp_path / "home"
        return
    monkeypatch.setattr(FaultyStore, "is_distant", True)
    with bucket_in_memory():
        yield ADDRESS


@pytest.fixture
def gated(home: Path | str, points: Gated) -> Iterator[tuple[Log, Gate]]:
    with Log.open(home, durable=False, points=points) as log:
        for each in (TICK, QUOTE):
            log.create_stream(each)
        log.append(TICK, [row(0, 10)])
        points.gate = Gate(log)
        yield log, points.gate


def groups(log: Log) -> list[list[int]]:
    """The numbers of the records in each file of the journal."""
    content = read_journal(log.home.store, log.home.journal)
    firsts = [n for n, _ in content.files]
    return [
        [r.n for r in content.records if n <= r.n < end] for n, end in zip(firsts, [*firsts[1:], 2**62], strict=True)
    ]


def test_appends_that_gather_share_a_file_of_the_journal_and_equal_their_order(
    gated: tuple[Log, Gate], tmp_path: Path
) -> None:
    log, gate = gated
    calls: list[Callable[[Log], Any]] = [
        lambda log: log.append(TICK, [row(1, 20)]),
        lambda log: log.append(TICK, [row(2, 30), row(3, 15)], once="a"),
        lambda log: log.append(QUOTE, [row(4, 5)], once="a"),
        lambda log: log.append_watermark("Tick", START + 35 * SECOND),
        lambda log: log.append(TICK, [row(5, 34), row(6, 36), {"x": "one", "at": "2024-01-01"}]),
        lambda log: log.append(TICK, [row(2, 30), row(3, 15)], once="b"),
    ]
    last = log.records
    told = gate.together(*[lambda call=call: call(log) for call in calls])
    assert groups(log)[-2:] == [[last + 1], [last + n for n in range(2, 7)]]
    with Log.open(tmp_path / "serial", durable=False) as serial:
        for each in (TICK, QUOTE):
            serial.create_stream(each)
        serial.append(TICK, [row(0, 10)])
        assert told == [call(serial) for call in calls]
        assert contents(log) == contents(serial)
        for name, state in serial._committer.state.streams.items():
            found = log._committer.state.streams[name]
            assert replace(found, generation=0, changes={}) == replace(state, generation=0, changes={})


def test_a_key_that_is_being_committed_is_a_duplicate_only_when_it_is_committed(gated: tuple[Log, Gate]) -> None:
    log, gate = gated
    load: Callable[[], LoadReport] = lambda: log.append(TICK, [row(1, 20), row(2, 21)], once="k")  # noqa: E731
    seen: list[bool] = []

    def again() -> LoadReport:
        report = load()
        seen.append(log.position >= (report.last_seq or 0))
        return report

    gate._open.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(load)
        assert gate._reached.wait(30)
        second = pool.submit(again)
        assert not threading.Event().wait(0.2)
        assert not second.done()
        gate._open.set()
    assert (first.result().duplicate, second.result().duplicate) == (False, True)
    assert (second.result().first_seq, second.result().last_seq, seen) == (2, 3, [True])


def test_nobody_reads_what_is_not_committed(gated: tuple[Log, Gate]) -> None:
    log, gate = gated
    before, records = contents(log), log.records
    gate._open.clear()
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(log.append, each, [row(1, 20)], "k") for each in (TICK, QUOTE)]
        assert gate._reached.wait(30)
        assert (contents(log), log.progress("Tick").rows, log.records) == (before, 1, records)
        gate._open.set()
        assert all(not one.result().duplicate for one in running)


def test_if_a_group_fails_all_its_callers_are_told_and_nothing_of_it_is_there(
    gated: tuple[Log, Gate], monkeypatch: pytest.MonkeyPatch
) -> None:
    log, gate = gated
    before = contents(log)
    calls = [lambda n=n: log.append(TICK, [row(n, 20 + n)], once=str(n)) for n in range(4)]
    works = Journal.write

    def fails(self: Journal, *records: Any) -> None:
        if any(record.once for record in records):
            raise OSError("the store does not answer")
        works(self, *records)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", fails)
        told = gate.together(*calls)
    assert [problem.code for problem in told] == ["STORAGE_FAILED"] * 4
    assert all("nothing has been written" in problem.fix for problem in told)
    assert contents(log) == before
    folder = log.home.table_folder("Tick", "events")
    assert len([name for name in log.home.store.names(folder) if name.endswith(".parquet")]) == 1
    assert [report.duplicate for report in gate.together(*calls)] == [False] * 4
    assert sequence_numbers(log) == [1, 2, 3, 4, 5]


def test_the_second_group_fails_without_the_first(gated: tuple[Log, Gate], monkeypatch: pytest.MonkeyPatch) -> None:
    log, gate = gated
    works = Journal.write

    def fails(self: Journal, *records: Any) -> None:
        if len(records) > 1:
            raise OSError("the store does not answer")
        works(self, *records)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", fails)
        told = gate.together(*[lambda n=n: log.append(TICK, [row(n, 20 + n)], once=str(n)) for n in range(4)])
    assert not isinstance(told[0], Exception)
    assert [problem.code for problem in told[1:]] == ["STORAGE_FAILED"] * 3
    assert log.append(TICK, [row(1, 21)], once="1").first_seq == 3
    assert log.append(TICK, [row(0, 20)], once="0").duplicate


def test_a_failure_between_the_drafts_of_a_group_loses_only_its_own(gated: tuple[Log, Gate]) -> None:
    log, gate = gated

    def bad() -> None:
        log.append_watermark("Nowhere", START)

    gate._open.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(log.append, TICK, [row(1, 20)])
        assert gate._reached.wait(30)
        with pytest.raises(PresageError) as refused:
            bad()
        second = pool.submit(log.append, TICK, [row(2, 21)])
        gate._open.set()
    assert refused.value.code == "UNKNOWN_STREAM"
    assert (first.result().first_seq, second.result().first_seq) == (2, 3)


@pytest.mark.parametrize("where", [failpoints.STAGED_ONE, failpoints.STAGED, failpoints.COMMITTED])
def test_a_group_that_dies_is_there_as_a_whole_or_not_at_all(
    where: str, home: Path | str, points: Gated, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log.open(home, durable=False, points=points)
    log.create_stream(TICK)
    log.append(TICK, [row(0, 10)])
    points.gate = gate = Gate(log)
    arm = iter([lambda: None, lambda: points.dies.arm(where, 2 if where == failpoints.STAGED_ONE else 1)])
    works = Journal.write

    def write(self: Journal, *records: Any) -> None:
        works(self, *records)
        next(arm, lambda: None)()

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", write)
        next(arm)()
        told = gate.together(*[lambda n=n: log.append(TICK, [row(n, 20 + n)], once=str(n)) for n in range(4)])
    assert not isinstance(told[0], BaseException)
    assert sorted(type(one).__name__ for one in told[1:]) == ["Crash", "ResourceError", "ResourceError"]
    crash(log)
    with Log.open(home, durable=False) as log:
        happened = where == failpoints.COMMITTED
        assert len(contents(log)["Tick"]["events"]) == (5 if happened else 2)
        again = [log.append(TICK, [row(n, 20 + n)], once=str(n)) for n in range(4)]
        assert [report.duplicate for report in again] == [True] + [happened] * 3
        assert sequence_numbers(log) == [1, 2, 3, 4, 5]
        log.maintenance.vacuum()
        folder = log.home.table_folder("Tick", "events")
        assert len([name for name in log.home.store.names(folder) if name.endswith(".parquet")]) == 5


def test_an_overtaken_process_publishes_no_group(gated: tuple[Log, Gate]) -> None:
    log, gate = gated
    other = Journal(log.home.journal, log.home.store, failpoints.Failpoints())
    last = other.read().records[-1]

    def overtake() -> LoadReport:
        record = type(last)(log.records + 2, "takeover", 0, nonce="other", takeover="process 7")
        other.write(record)
        return log.append(TICK, [row(1, 21)])

    told = gate.together(lambda: log.append(TICK, [row(0, 20)]), overtake, lambda: log.append(TICK, [row(2, 22)]))
    assert told[0].first_seq == 2
    assert [problem.code for problem in told[1:]] == ["HOME_OVERTAKEN"] * 2
    with pytest.raises(PresageError) as refused:
        log.append(TICK, [row(3, 23)])
    assert refused.value.code == "HOME_OVERTAKEN"


@pytest.mark.parametrize("seed", range(3))
def test_loads_of_many_threads_equal_their_order_in_the_log(
    seed: int, home: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread may see only its own reports; together they say in which order all of it happened."""
    monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 7)
    dice = random.Random(seed)
    work: list[list[Load]] = []
    for _ in range(6):
        loads = []
        for _ in range(8):
            rows = [row(dice.randrange(99), dice.randrange(600)) for _ in range(dice.randint(1, 4))]
            bad = [{"x": "one", "at": "2024-01-01"}] * dice.randint(0, 1)
            key = str(dice.randrange(20)) if dice.random() < 0.5 else None
            loads.append((dice.choice([TICK, QUOTE]), rows + bad, key))
        work.append(loads)
    done: list[tuple[LoadReport, Load]] = []
    with Log.open(home, durable=False) as log:
        for each in (TICK, QUOTE):
            log.create_stream(each)
        sizes: list[int] = []
        works = Journal.write

        def write(self: Journal, *records: Any) -> None:
            sizes.append(len(records))
            threading.Event().wait(0.002)
            works(self, *records)

        def load(loads: list[Load]) -> None:
            for each in loads:
                report = log.append(*each)
                assert log.position >= (report.last_seq or 0)
                done.append((report, each))

        with monkeypatch.context() as patch, ThreadPoolExecutor(len(work)) as pool:
            patch.setattr(Journal, "write", write)
            list(pool.map(load, work))
        assert max(sizes) > 1
        found = contents(log)
    first = [pair for pair in done if not pair[0].duplicate and pair[0].first_seq is not None]
    with Log.open(tmp_path / "serial", durable=False) as serial:
        for each in (TICK, QUOTE):
            serial.create_stream(each)
        for report, load_ in sorted(first, key=lambda pair: pair[0].first_seq or 0):
            assert serial.append(*load_) == report
        for report, load_ in done:
            if report.duplicate:
                assert serial.append(*load_) == report
        assert contents(serial) == found
    with Log.open(home, durable=False) as log:
        assert contents(log) == found


# -- round trips -------------------------------------------------------------------------------------


@pytest.fixture
def requests() -> Iterator[Requests]:
    with counted_bucket() as requests:
        yield requests


def settled(log: Log, requests: Requests) -> list[tuple[str, str]]:
    """The requests so far, once the tables are up to date."""
    log._committer._behind.wait()
    return requests.take()


def test_an_append_costs_two_round_trips_and_its_rows_are_read_without_any(requests: Requests) -> None:
    with Log.open(ADDRESS) as log:
        log.create_stream(TICK)
        log.append(TICK, [row(0, 10)])
        settled(log, requests)
        requests.seconds, rounds = 0.03, []
        for second in range(20, 27):
            log.append(TICK, [row(1, second), row(2, 5), {"x": "one", "at": "2024-01-01"}])
            rounds.append(requests.rounds())
            assert log.archive.read_arrow(log.archive.snapshot("Tick")).num_rows == second - 18
            assert {key.rpartition("/")[0].rpartition("/")[2] for _, key in settled(log, requests)} <= {"_delta_log"}
        requests.seconds = 0.0
        assert median(rounds) == 2  # a thread of a busy machine may begin late


def test_a_group_costs_two_round_trips_and_one_entry_of_each_table(requests: Requests) -> None:
    points = Gated()
    with Log.open(ADDRESS, points=points) as log:
        log.create_stream(TICK)
        log.append(TICK, [row(0, 10)])
        settled(log, requests)
        points.gate = Gate(log)
        points.gate.together(*[lambda n=n: log.append(TICK, [row(n, 20 + n)]) for n in range(9)])
        made = [key.rpartition("/")[0].removeprefix("home/") for _, key in settled(log, requests)]
        assert made.count("streams/Tick/events") == 9
        assert made.count("journal") == 2
        assert made.count("streams/Tick/events/_delta_log") <= 2
        assert len(made) <= 13


def test_a_row_of_a_live_statement_follows_its_event_after_four_round_trips(requests: Requests) -> None:
    with Engine(home=ADDRESS) as engine:
        engine.execute("CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at")
        there = threading.Event()
        text = "SELECT sym, avg(price) AS mean FROM Tick#time(10 sec) GROUP BY sym"
        engine.deploy(text, name="average").subscribe(lambda row: there.set())

        def load(n: int) -> None:
            there.clear()
            engine.load("Tick", [{"sym": "a", "price": 1.0, "at": f"2024-03-01T09:{n // 60:02d}:{n % 60:02d}Z"}])
            assert there.wait(30)

        for n in range(3):
            load(n)
        settled(engine._log, requests)
        requests.seconds, rounds = 0.03, []
        for n in range(3, 40):
            load(n)
            rounds.append(requests.rounds())
            assert {act for act, _ in settled(engine._log, requests)} <= {"put", "delete"}
        requests.seconds = 0.0
        assert median(rounds) <= 4


def test_nothing_is_listed_or_read_while_events_are_loaded(requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 8)
    with Log.open(ADDRESS) as log:
        log.create_stream(TICK)
        log.append(TICK, [row(1, 1)])
        settled(log, requests)
        for second in range(60):
            log.append(TICK, [row(1, second)], once=str(second))
        made = settled(log, requests)
        assert {act for act, _ in made} == {"put", "delete"}
        records = [key for act, key in made if act == "put" and key.startswith("home/journal/0")]
        heads = [key for act, key in made if act == "put" and key.startswith("home/journal/head")]
        assert (len(records), len(heads)) == (60, 60 // 8)


# -- tables that are behind --------------------------------------------------------------------------


def test_rows_are_read_before_the_log_of_their_table_has_them(
    requests: Requests, caplog: pytest.LogCaptureFixture
) -> None:
    with Log.open(ADDRESS) as log:
        log.create_stream(TICK)
        log.append(TICK, [row(0, 10)])
        settled(log, requests)

        def fails(act: str, key: str) -> None:
            if "_delta_log" in key:
                raise StoreError("the store does not answer")

        requests.fail = fails
        for second in range(20, 24):
            log.append(TICK, [row(1, second)])
        assert len(contents(log)["Tick"]["events"]) == 5
        assert log.archive.describe("Tick").files == 5
        with pytest.raises(PresageError) as refused:  # a declaration needs all tables
            log.create_stream(QUOTE)
        assert refused.value.code == "STORAGE_FAILED"
        requests.fail = lambda act, key: None
        log.create_stream(QUOTE)
        entries = [key for _, key in requests.take() if "Tick/events/_delta_log" in key]
        assert len(set(entries)) <= 3
        assert len(contents(log)["Tick"]["events"]) == 5
    assert [record.message[:19] for record in caplog.records if "behind" in record.message] == ["tables are behind t"]


def test_what_a_dead_process_had_not_applied_is_applied_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FaultyStore, "is_distant", True)
    points = CrashAt()
    with bucket_in_memory():
        log = Log.open(ADDRESS, points=points)
        log.create_stream(TICK)
        points.arm(failpoints.TABLE_COMMITTED, 2)
        for second in range(10, 15):
            log.append(TICK, [row(second, second), {"x": "one", "at": "2024-01-01"}], once=str(second))
        with pytest.raises(Crash):
            log._committer._behind.wait()
        before = contents(log)
        crash(log)
        with Log.open(ADDRESS) as log:
            assert contents(log) == before
            assert sequence_numbers(log) == [1, 2, 3, 4, 5]
            assert all(log.append(TICK, [row(n, n)], once=str(n)).duplicate for n in range(10, 15))


def test_commits_wait_for_tables_that_are_far_behind(requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presage.storage.table_writer.MOST_BEHIND", 2)
    held = threading.Event()
    with Log.open(ADDRESS) as log:
        log.create_stream(TICK)
        settled(log, requests)

        def hold(act: str, key: str) -> None:
            if "_delta_log" in key:
                assert held.wait(30)

        requests.fail = hold
        with ThreadPoolExecutor(1) as pool:
            for second in range(3):
                log.append(TICK, [row(1, second)])
            waiting = pool.submit(log.append, TICK, [row(1, 9)])
            assert not threading.Event().wait(0.1)
            assert not waiting.done()
            held.set()
        assert waiting.result().accepted == 1
        assert len(contents(log)["Tick"]["events"]) == 4


def test_closing_writes_all_that_is_behind(requests: Requests) -> None:
    with Log.open(ADDRESS) as log:
        log.create_stream(TICK)
        requests.seconds = 0.01
        for second in range(5):
            log.append(TICK, [row(1, second)])
    requests.seconds = 0.0
    made = [key for _, key in requests.take()]
    assert made.index("home/journal/head-00000000000007.json") > max(
        number for number, key in enumerate(made) if "Tick/events/_delta_log" in key
    )


def test_a_folder_needs_no_thread_for_its_tables(tmp_path: Path) -> None:
    assert not FileStore.is_distant
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(TICK)
        log.append(TICK, [row(1, 1)])
        assert "presage-tables" not in {thread.name for thread in threading.enumerate()}
        assert (tmp_path / "home/streams/Tick/events/_delta_log/00000000000000000001.json").exists()
