"""Rows of statements past their retention go, the first ones first; who follows a statement misses none of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.live.deployment import Deployment, describe_statement, show_statements
from presage.live.row_retention import RowRetention
from presage.operations.verification import Verification
from presage.sinks.runner import ALL
from presage.storage import failpoints
from presage.storage.chunks import Shape
from presage.storage.home import RESULTS
from recovery.crashing import SECOND, Crash, CrashAt, MemoryDisk
from recovery.living import Living
from unit.sinks.delivering import Delivering, in_files

START = 1_704_067_200_000_000  # 2024-01-01
NOW = START + 10_000 * SECOND
STREAM = "CREATE STREAM Tick (n LONG, at TIMESTAMP) EVENT TIME at;"
EVERY = "SELECT n FROM Tick"


def retention(home: Living, taken: Callable[[str, int], int] = lambda name, number: ALL) -> RowRetention:
    return RowRetention(home.log, home.deployments, taken)


def load(home: Living, *seconds: int) -> None:
    for second in seconds:
        home.load("Tick", [{"n": second, "at": f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}"}])
        home.drain()


def rows_of(home: Living, name: str = "all") -> list[int]:
    return [row["n"] for row in home.rows(name)]


def in_results(home: Living) -> int:
    return home.log.archive.snapshot(RESULTS).rows


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Living]:
    with Living(tmp_path / "home") as made:
        made.declare(STREAM)
        yield made


def test_rows_older_than_the_retention_go_and_the_others_keep_their_numbers(home: Living) -> None:
    live = home.deploy(EVERY, "all", retention=10 * SECOND)
    load(home, *range(0, 30, 5))
    assert retention(home).apply(NOW) == 3
    assert rows_of(home) == [15, 20, 25]
    assert (live.status.rows_out, live.status.rows_kept, live.first_row) == (6, 3, 3)
    assert [first for _, first, _ in live.after(0, 0)] == [3, 4, 5]
    assert retention(home).apply(NOW) == 0
    load(home, 40)
    assert rows_of(home) == [15, 20, 25, 40]
    assert retention(home).apply(NOW) == 3
    assert rows_of(home) == [40]


def test_what_is_gone_leaves_the_disk(home: Living, tmp_path: Path) -> None:
    home.deploy(EVERY, "all", retention=10 * SECOND)
    home.deploy("SELECT n, n + 1 AS m FROM Tick", "ever")
    load(home, *range(16))
    home.log.maintain([])  # sixteen files of two rows each become one
    load(home, *range(30, 46))
    before = in_results(home)
    assert retention(home).apply(NOW) == 21
    assert in_results(home) == before - 21
    assert rows_of(home) == list(range(35, 46))
    assert [row["m"] for row in home.rows("ever")] == [*range(1, 17), *range(31, 47)]
    home.log.maintain([])  # all in one file, of which less than half is not wanted a second later
    load(home, 46)
    assert retention(home).apply(NOW) == 1
    assert in_results(home) == before - 21 + 2
    assert rows_of(home) == list(range(36, 47))
    home.close()
    assert list(Verification(tmp_path / "home").findings()) == []


def test_files_of_which_nothing_is_wanted_go_in_one_record(home: Living) -> None:
    home.deploy(EVERY, "all", retention=10 * SECOND)
    load(home, *range(30))
    records = home.log.records
    assert retention(home).apply(NOW) == 19
    assert home.log.records == records + 2  # what readers see, then the files
    assert in_results(home) == 11


def test_a_statement_without_retention_keeps_all_and_costs_nothing(home: Living) -> None:
    home.deploy(EVERY, "all")
    load(home, 0, 500)
    records = home.log.records
    assert retention(home).apply(NOW) == 0
    assert home.log.records == records
    assert rows_of(home) == [0, 500]


def test_an_event_from_the_far_future_does_not_make_all_others_old(home: Living) -> None:
    home.deploy(EVERY, "all", retention=10 * SECOND)
    load(home, 0, 5, 3000)
    assert retention(home).apply(START + 6 * SECOND) == 0
    assert rows_of(home) == [0, 5, 3000]


def test_rows_of_a_statement_that_has_ended_go_with_the_clock_on_the_wall(
    home: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.deploy(EVERY, "all", retention=10 * SECOND)
    load(home, 0, 5)
    monkeypatch.setattr(time, "time_ns", lambda: NOW * 1_000)
    home.stop("all")
    assert retention(home).apply(NOW + 5 * SECOND) == 0
    assert retention(home).apply(NOW + 6 * SECOND) == 1
    assert retention(home).apply(NOW + 11 * SECOND) == 1
    assert rows_of(home) == []


def test_the_same_text_with_another_retention_is_the_same_statement(home: Living) -> None:
    home.deploy(EVERY, "all")
    load(home, *range(0, 30, 5))
    home.deploy(EVERY, "all", retention=10 * SECOND)
    assert home.deploy(EVERY, "all").status.rows_out == 6
    assert retention(home).apply(NOW) == 3


def test_it_is_known_again_after_a_restart(tmp_path: Path) -> None:
    disk = MemoryDisk()
    with Living(tmp_path / "home", disk) as home:
        home.declare(STREAM)
        home.deploy(EVERY, "all", retention=10 * SECOND)
        load(home, 0, 5, 20)
        retention(home).apply(NOW)
    with Living(tmp_path / "home", disk) as home:
        assert rows_of(home) == [20]
        load(home, 31)
        assert retention(home).apply(NOW) == 1
        assert rows_of(home) == [31]


def test_who_looked_earlier_brings_no_row_back(home: Living) -> None:
    live = home.deploy(EVERY, "all", retention=10 * SECOND)
    load(home, *range(0, 30, 5))
    assert retention(home).apply(NOW) == 3
    home.deployments.job.remove_rows({"1": 2})
    assert live.first_row == 3


@pytest.mark.parametrize(
    "point", [failpoints.COMMITTED, failpoints.REWRITTEN_ONE, failpoints.REWRITTEN, failpoints.TABLE_COMMITTED]
)
def test_a_crash_at_any_moment_leaves_the_rows_that_should_be_there(point: str, tmp_path: Path) -> None:
    disk, points = MemoryDisk(), CrashAt()
    home = Living(tmp_path / "home", disk, points)
    home.declare(STREAM)
    home.deploy(EVERY, "all", retention=10 * SECOND)
    home.deploy("SELECT n, n + 1 AS m FROM Tick", "ever")
    load(home, *range(16))
    home.log.maintain([])
    load(home, 30)
    points.arm(point)
    with pytest.raises(Crash):
        retention(home).apply(NOW)
    home.die()
    with Living(tmp_path / "home", disk) as home:
        assert rows_of(home) == [30]
        retention(home).apply(NOW)
        assert in_results(home) == 16 + 2
        assert rows_of(home) == [30]
        assert len(home.rows("ever")) == 17


def test_the_rows_of_a_derived_stream_go_when_those_of_all_who_fill_it_may(tmp_path: Path) -> None:
    with Living(tmp_path / "home") as home:
        home.declare(STREAM)
        home.deploy("INSERT INTO Made SELECT n FROM Tick WHERE n < 100", "first", retention=10 * SECOND)
        home.deploy("INSERT INTO Made SELECT n FROM Tick WHERE n >= 100", "second", retention=20 * SECOND)
        reader = home.deploy("SELECT count(*) AS c FROM Made", "reader")
        load(home, *range(0, 50, 5))
        types = retention(home).of_streams(home.catalog.types.values())
        home.log.maintain(types, home.deployments.in_use(), grace=0.0)
        assert [row["n"] for row in home.derived("Made")] == [25, 30, 35, 40, 45]
        assert reader.status.rows_out == 10
        home.deploy("INSERT INTO Made SELECT n + 1 AS n FROM Tick WHERE n < 0", "ever")
        types = retention(home).of_streams(home.catalog.types.values())
        load(home, 90)
        home.log.maintain(types, home.deployments.in_use(), grace=0.0)
        assert len(home.derived("Made")) == 6


# -- those who follow a statement ------------------------------------------------------------------------


def test_a_subscriber_who_is_behind_keeps_what_it_has_not_had(home: Living) -> None:
    live = home.deploy(EVERY, "all", retention=10 * SECOND)
    may_go, seen = threading.Semaphore(2), list[str]()

    def slow(row: Any) -> None:
        may_go.acquire()
        seen.append(row.id)

    subscription = live.subscribe(slow)
    load(home, *range(0, 50, 5))
    subscription.wait(2, time.monotonic() + 30)
    assert retention(home).apply(NOW) == 2
    for _ in range(8):
        may_go.release()
    live.drain(timeout=30)
    assert seen == [f"all/1/{n}" for n in range(10)]
    subscription.cancel()
    assert retention(home).apply(NOW) == 5


def test_a_subscriber_who_comes_later_begins_with_the_first_row_there_is(home: Living) -> None:
    live = home.deploy(EVERY, "all", retention=10 * SECOND)
    load(home, *range(0, 30, 5))
    retention(home).apply(NOW)
    seen: list[tuple[str, int]] = []
    live.subscribe(lambda row: seen.append((row.id, row["n"])))
    live.drain(timeout=30)
    assert seen == [("all/1/3", 15), ("all/1/4", 20), ("all/1/5", 25)]


def test_one_who_subscribes_when_all_rows_are_gone_waits_for_the_next(home: Living) -> None:
    live = home.deploy(EVERY, "all", retention=0)
    load(home, 0, 5)
    home.log.append_watermark("Tick", START + 9 * SECOND)
    home.drain()
    assert retention(home).apply(NOW) == 2
    assert rows_of(home) == []
    seen: list[str] = []
    live.subscribe(lambda row: seen.append(row.id))
    live.drain(timeout=30)
    load(home, 10)
    live.drain(timeout=30)
    assert seen == ["all/1/2"]


def test_a_sink_that_is_behind_keeps_what_it_has_not_had_and_a_new_one_begins_with_what_there_is(
    tmp_path: Path,
) -> None:
    world = Delivering(tmp_path)
    home, folder = world.home, str(tmp_path)
    home.deployments.job.retain("1", 10 * SECOND)
    apply = RowRetention(home.log, home.deployments, world.sinks.taken).apply
    world.create(f"CREATE SINK early FROM odd WITH (sink = 'parquet', path = '{folder}/early', every = '0 sec')")
    world.load(0, 100)
    rows = world.expected()
    assert apply(NOW) == 0  # the sink has not begun
    world.sinks.start()
    world.sinks.flush(timeout=30)
    assert in_files(tmp_path / "early") == rows
    world.load(150, 2)
    world.sinks.flush(timeout=30)
    assert apply(NOW) == len(rows)
    world.create(f"CREATE SINK late FROM odd WITH (sink = 'parquet', path = '{folder}/late', every = '0 sec')")
    assert world.sinks["late"].left <= 1
    world.sinks.flush(timeout=30)
    assert in_files(tmp_path / "late") == in_files(tmp_path / "early")[len(rows) :] == world.expected()
    world.close()


# -- what a user sees ------------------------------------------------------------------------------------


def test_shown_and_described(home: Living) -> None:
    live = home.deploy(EVERY, "all", retention=36 * 3600 * SECOND)
    other = home.deploy("SELECT n, 1 AS one FROM Tick", "other")
    names, rows = show_statements({"all": live, "other": other})
    assert [row[names.index("retention")] for row in rows] == ["1 day 12 hour", ""]
    assert ("retention", "1 day 12 hour") in describe_statement(live)[1]
    assert ("rows kept", "0") in describe_statement(live)[1]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CREATE STATEMENT x WITH (retention = 'soon') AS SELECT n FROM Tick", "soon"),
        ("CREATE STATEMENT x WITH (retention = 5) AS SELECT n FROM Tick", "5"),
        ("CREATE STATEMENT x WITH (retain = '1 day') AS SELECT n FROM Tick", "retention"),
        ("CREATE STATEMENT x WITH (retention = '1 day', retention = '1 day') AS SELECT n FROM Tick", "twice"),
    ],
)
def test_what_is_wrong_is_shown_where_it_stands(home: Living, text: str, told: str) -> None:
    with pytest.raises(PresageError) as caught:
        home.workspace.check(text)
    shown = caught.value.render()
    assert told in shown
    assert "^" in shown


# -- the law ---------------------------------------------------------------------------------------------


@dataclass
class Twin:
    """One statement as the definition says: batches of rows, each with its last time and the number after its last
    row; all before `gone` are gone."""

    keeps: int | None
    batches: list[tuple[int, int]] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    gone: int = 0

    def made(self, rows: list[int]) -> None:
        if rows:
            self.rows += rows
            self.batches.append((max(rows), len(self.rows)))

    def let_go(self, clock: int, taken: int) -> None:
        if self.keeps is None:
            return
        for last, end in self.batches:
            if end > self.gone:
                if last >= clock - self.keeps or end > taken:
                    return
                self.gone = end


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("load"), st.lists(st.integers(0, 4), min_size=1, max_size=4)),
        st.tuples(st.just("retain"), st.integers(0, 12)),
        st.tuples(st.just("merge"), st.just(None)),
        st.tuples(st.just("open"), st.just(None)),
    ),
    max_size=14,
)


@given(st.lists(st.sampled_from([None, 0, 3, 10]), min_size=1, max_size=4), STEPS)
@settings(max_examples=60, deadline=None)
def test_the_rows_are_those_of_the_definition(keeps: list[int | None], steps: list[tuple[str, Any]]) -> None:
    """Statements of one form and of others, files merged, homes opened again: what is kept are the last rows, from the
    first batch on that is young enough or that somebody still wants."""
    with TemporaryDirectory() as folder:
        disk, clock, shape = MemoryDisk(), 0, Shape(fan=2)
        home = Living(Path(folder) / "home", disk, least_members=2)
        home.declare(STREAM)
        twins = [Twin(keep) for keep in keeps]
        for i, keep in enumerate(keeps):
            held = None if keep is None else keep * SECOND
            home.deploy(f"SELECT n FROM Tick WHERE n % {i % 2 + 1} = 0", f"s{i}", retention=held)
        for what, value in steps:
            if what == "load":
                seconds = [clock := clock + more for more in value]
                rows = [{"n": s, "at": f"2024-01-01T00:{s // 60:02d}:{s % 60:02d}"} for s in seconds]
                home.load("Tick", rows)
                home.drain()
                for i, twin in enumerate(twins):
                    twin.made([s for s in seconds if s % (i % 2 + 1) == 0])
            elif what == "retain" and any(twin.rows for twin in twins):
                retention(home, lambda name, number, most=value: most).apply(NOW)
                for twin in twins:
                    twin.let_go(clock, value)
            elif what == "merge":
                home.log.maintenance.run([], shape=shape)
            elif what == "open":
                home.close()
                home = Living(Path(folder) / "home", disk, least_members=2)
            for i, twin in enumerate(twins):
                live: Deployment = home.deployments[f"s{i}"]
                assert rows_of(home, f"s{i}") == twin.rows[twin.gone :]
                assert live.status.rows_kept == len(twin.rows) - twin.gone
        home.close()
