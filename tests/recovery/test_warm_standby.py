"""A standby does not read again what it has read while it waited, and an engine that is overtaken stops."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from presage import Engine, Leader, Standby, leader
from presage.errors import PresageError
from presage.live import state_files
from presage.live.statement_compiler import StatementCompiler
from presage.live.warm_copy import WarmCopy
from presage.storage import committer, home_lease, journal, standby
from presage.storage.file_store import FileStore
from presage.storage.home_lease import read_lease

STREAM = "CREATE STREAM Tick (sym STRING, n LONG, at TIMESTAMP) EVENT TIME at"
SUMS = "SELECT sym, sum(n) AS total FROM Tick#length(3) GROUP BY sym"
COUNTS = "SELECT sym, count(*) AS seen FROM Tick#time(1 hour) GROUP BY sym"


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(home_lease, "SECONDS", 3.0)
    monkeypatch.setattr("presage.live.warm_copy.PAUSE", 0.1)


def eventually(done: Callable[[], bool], seconds: float = 30.0) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < until, "not in time"
        time.sleep(0.02)


def load(engine: Engine, first: int, count: int) -> None:
    for n in range(first, first + count):
        engine.load("Tick", [{"sym": "ab"[n % 2], "n": n, "at": f"2024-03-01T09:00:{n:02d}Z"}])


def totals(engine: Engine, name: str = "sums") -> list[dict[str, Any]]:
    engine.deployments[name].drain()
    return list(engine.deployments[name].results())


def pause(engine: Engine) -> None:
    """Its lease does not change any more, as if its process were paused."""
    engine._log.home.lease.renew = lambda: None  # type: ignore[method-assign]


@contextmanager
def overtaken(engine: Engine) -> Iterator[Engine]:
    """An engine that is closed at the end although it has been overtaken."""
    try:
        yield engine
    finally:
        vars(engine._log.home.lease).pop("renew", None)
        with suppress(PresageError):
            engine.close()


@contextmanager
def waiting(home: Path, **options: Any) -> Iterator[tuple[Standby, Callable[[], Engine]]]:
    """A second engine that waits in a thread, and what gives it once it has opened."""
    found: list[Any] = []
    waits = Standby()

    def open_it() -> None:
        try:
            found.append(Engine(home=home, standby=waits, **options))
        except PresageError as problem:
            found.append(problem)

    thread = threading.Thread(target=open_it)
    thread.start()

    def opened() -> Engine:
        thread.join(60)
        if isinstance(found[0], PresageError):
            raise found[0]
        engine: Engine = found[0]
        return engine

    try:
        eventually(lambda: waits.leader is not None)
        yield waits, opened
    finally:
        waits.cancel()
        thread.join(60)
        for each in found:
            if isinstance(each, Engine):
                each.close()


class Counted:
    """Counts the calls of functions of the product."""

    def __init__(self, patch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> None:
        self.calls: dict[str, list[tuple[Any, ...]]] = {}
        for owner, name in places:
            patch.setattr(owner, name, self._counting(getattr(owner, name), name))

    def _counting(self, real: Any, name: str) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            self.calls.setdefault(name, []).append(given)
            return real(*given, **named)

        return called


def test_a_standby_takes_over_without_compiling_statements_or_reading_states_and_records_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[WarmCopy] = []
    real = WarmCopy.__init__
    monkeypatch.setattr(WarmCopy, "__init__", lambda self, *given: (copies.append(self), real(self, *given))[1])
    with overtaken(Engine(home=tmp_path / "home")) as holder:
        holder.execute(STREAM)
        holder.deploy(SUMS, name="sums")
        holder.deploy(COUNTS, name="counts")
        load(holder, 0, 20)
        before = totals(holder), totals(holder, "counts")
        with waiting(tmp_path / "home") as (waits, opened):
            eventually(lambda: bool(copies) and len(copies[0].states) == 2)
            eventually(lambda: max(waits.records, default=0) == holder._log.records)
            last = max(waits.records)
            counted = Counted(
                monkeypatch,
                (StatementCompiler, "compile"),
                (state_files, "read_state"),
                (journal, "read_records"),
            )
            holder._log.home.unlock()  # as if it had been killed
            engine = opened()
            assert "compile" not in counted.calls
            assert min(int(path.stem) for _, path in counted.calls["read_records"]) == last  # to compare it
            load(engine, 20, 4)
            after = totals(engine), totals(engine, "counts")
            assert "read_state" not in counted.calls
            assert [rows[: len(old)] for rows, old in zip(after, before, strict=True)] == [*before]
            assert [len(rows) for rows in after] == [24, 24]
        with pytest.raises(PresageError, match="HOME_OVERTAKEN"):
            load(holder, 20, 1)


def test_what_changes_while_a_standby_waits_is_what_it_goes_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer, "RECORDS_PER_HEAD", 3)
    with Engine(home=tmp_path / "home") as holder:
        holder.execute(STREAM)
        holder.deploy(SUMS, name="sums")
        load(holder, 0, 4)
        with waiting(tmp_path / "home") as (_, opened):
            time.sleep(0.5)
            holder.deploy(COUNTS, name="counts")
            holder.deployments["sums"].stop()
            holder.execute("CREATE RELATION Room (name STRING) VALUES ('hall'), ('attic')")
            load(holder, 4, 4)
            time.sleep(0.5)
            holder.deploy("SELECT n FROM Tick WHERE n > 5", name="large")
            load(holder, 8, 4)
            expected = {name: totals(holder, name) for name in holder.deployments}
            holder.close()
            engine = opened()
            assert {name: totals(engine, name) for name in engine.deployments} == expected
            assert engine._tables()["Room"]["name"].to_pylist() == ["hall", "attic"]
            load(engine, 12, 1)
            assert [row["n"] for row in totals(engine, "large")] == [8, 9, 10, 11, 12]


def test_records_of_a_home_that_was_replaced_while_a_standby_waited_count_for_nothing(tmp_path: Path) -> None:
    with Engine(home=tmp_path / "home") as holder:
        holder.execute(STREAM)
        load(holder, 0, 3)
        store, folder = holder._log.home.store, holder._log.home.journal
        known, records = (content := journal.read_journal(store, folder)).groups, content.records
        assert journal.read_journal(store, folder, known=known).records == records
        last = max(known)
        foreign = {**known, last: known[last - 1], 1: known[2]}
        assert journal.read_journal(store, folder, known=foreign).records == records


def test_who_leads_is_told_with_the_address_that_the_leader_states(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with Engine(home=home, address="http://plant:8765/") as holder:
        owner = holder._log.home.lease.state.owner
        eventually(lambda: leader(home) == Leader(owner, "http://plant:8765/"))
        assert holder.leader == leader(home)
        with pytest.raises(PresageError, match=r"HOME_LOCKED.*at http://plant:8765/"):
            Engine(home=home)
        with waiting(home) as (waits, _):
            assert waits.leader == leader(home)
            assert str(waits.leader) == f"{owner}, at http://plant:8765/"
    assert leader(home) is None


def test_a_standby_that_is_cancelled_does_not_open(tmp_path: Path) -> None:
    with Engine(home=tmp_path / "home"), waiting(tmp_path / "home") as (waits, opened):
        waits.cancel()
        with pytest.raises(PresageError, match="ENGINE_CLOSED"):
            opened()


CALLS: dict[str, Callable[[Engine], Any]] = {
    "load": lambda e: load(e, 50, 1),
    "query": lambda e: e.query("SELECT n FROM Tick"),
    "show": lambda e: e.execute("SHOW STREAMS"),
    "create": lambda e: e.execute("CREATE STREAM Tock (at TIMESTAMP) EVENT TIME at"),
    "deploy": lambda e: e.deploy(COUNTS),
    "drain": lambda e: e.deployments["sums"].drain(),
    "results": lambda e: e.deployments["sums"].results(),
    "stop": lambda e: e.deployments["sums"].stop(),
    "advance": lambda e: e.advance("Tick", "2024-03-02T00:00:00Z"),
    "check": lambda e: e.check("SELECT n FROM Tick"),
    "explain": lambda e: e.explain("SELECT n FROM Tick"),
    "maintain": lambda e: e.maintain(),
    "metrics": lambda e: e.metrics(),
    "rejected": lambda e: e.rejected("Tick"),
    "late": lambda e: e.late("Tick"),
    "gaps": lambda e: e.gaps("Tick"),
    "start_sources": lambda e: e.start_sources(),
    "flush": lambda e: e.sinks.flush(),
}


def _code_of(call: Callable[[Engine], Any], engine: Engine) -> str:
    try:
        call(engine)
    except PresageError as problem:
        return problem.code
    return ""


@pytest.mark.parametrize("jump", [-3600, 0, 3600])
def test_an_engine_that_was_overtaken_stops_and_every_call_says_so(
    jump: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home_lease, "BEAT", 6.0)  # as if it were paused: its lease has ended before it beats again
    received: list[int] = []
    before = set(threading.enumerate())  # other tests may leave engines that nobody closes
    holder = Engine(home=tmp_path / "home")
    holder.execute(STREAM)
    holder.execute("CREATE STREAM Pulse (at TIMESTAMP) EVENT TIME at WITH (source = 'rate', rows_per_second = 50)")
    holder.deploy(SUMS, name="sums")
    holder.deploy("SELECT count(*) AS c FROM Pulse#length(5)", name="pulses")
    out = tmp_path / "out"
    holder.execute(f"CREATE SINK files FROM pulses WITH (sink = 'parquet', path = '{out}', rows = 5, every = '1 sec')")
    holder.deployments["pulses"].subscribe(lambda row: received.append(row["c"]))
    holder.deployments["sums"].subscribe(lambda row: None, name="mine")
    load(holder, 0, 5)
    stopped: list[float] = []
    holder.when_overtaken(lambda: stopped.append(time.monotonic()))
    names = {"presage-batches", "presage-sink-files", "presage-sink-mine", "presage-source-Pulse", "presage-lease"}
    names |= {"presage-upkeep", "presage-report", "presage-pulses"}
    threads = [thread for thread in threading.enumerate() if thread.name in names and thread not in before]
    assert {thread.name for thread in threads} == names
    # No clock is asked who has the home.
    for place in ("presage.storage.committer.wall_clock", "presage.model.time.wall_clock"):
        real = time.time_ns
        monkeypatch.setattr(place, lambda real=real: real() // 1_000 + jump * 1_000_000)
    real_time = time.time
    monkeypatch.setattr(time, "time", lambda: real_time() + jump)
    with Engine(home=tmp_path / "home", standby=True) as engine:
        monkeypatch.setattr(home_lease, "BEAT", 0.2)
        eventually(lambda: bool(stopped), 20)
        eventually(lambda: not any(thread.is_alive() for thread in threads), 40)
        count = len(received)
        for name, call in CALLS.items():
            assert _code_of(call, holder) == "HOME_OVERTAKEN", name
        assert holder.leader == engine.leader == leader(tmp_path / "home")
        time.sleep(0.5)
        assert len(received) == count
        with suppress(PresageError):
            holder.close()
        holder.close()  # without effect
        engine.execute("DROP SINK files")
        rows = totals(engine, "pulses")
    written = [row["_id"] for path in sorted(out.iterdir()) for row in pq.read_table(path).to_pylist()]
    assert len(written) == len(set(written)) <= len(rows)


def test_a_stale_lease_over_that_of_the_successor_is_put_right_and_hides_nobody(tmp_path: Path) -> None:
    with overtaken(Engine(home=tmp_path / "home")) as holder:
        pause(holder)
        with Engine(home=tmp_path / "home", standby=True) as engine:
            store, folder = engine._log.home.store, engine._log.home.path
            # A process that was paused between reading its lease and writing it.
            store.put(folder / home_lease.FILE, home_lease.seal(home_lease.asdict(holder._log.home.lease.state)))
            engine._log.home.lease.renew()
            assert not engine._log.home.lease.lost
            lease = read_lease(store, folder)
            assert lease is not None
            assert lease.holder == engine._log.home.lease.state.holder


def test_a_released_lease_of_a_process_that_was_overtaken_lets_nobody_in(tmp_path: Path) -> None:
    holder = Engine(home=tmp_path / "home")
    pause(holder)
    with Engine(home=tmp_path / "home", standby=True) as engine:
        store, folder = engine._log.home.store, engine._log.home.path
        old = home_lease.replace(holder._log.home.lease.state, released=True)
        with overtaken(holder):
            pass  # its lock is free now
        store.put(folder / home_lease.FILE, home_lease.seal(home_lease.asdict(old)))
        with pytest.raises(PresageError, match="HOME_LOCKED"):
            Engine(home=tmp_path / "home")
        engine.execute(STREAM)


@pytest.mark.parametrize("damage", ["deleted", "damaged"])
def test_a_lease_that_is_deleted_or_damaged_while_it_is_held_is_written_again(tmp_path: Path, damage: str) -> None:
    with Engine(home=tmp_path / "home") as holder:
        file = tmp_path / "home" / home_lease.FILE
        if damage == "deleted":
            file.unlink()
        else:
            file.write_bytes(b"{")
        with pytest.raises(PresageError) as refused:
            Engine(home=tmp_path / "home")
        assert refused.value.code == "HOME_LOCKED"
        assert holder._log.home.lease.state.owner.split(" since")[0] in refused.value.message
        eventually(lambda: leader(tmp_path / "home") == holder.leader)
        holder.execute(STREAM)


def test_a_lease_that_is_lost_with_its_process_means_a_takeover(tmp_path: Path) -> None:
    holder = Engine(home=tmp_path / "home", live=False)
    holder.execute(STREAM)
    holder._log.home.unlock()
    (tmp_path / "home" / home_lease.FILE).unlink()
    with overtaken(holder), Engine(home=tmp_path / "home") as engine:
        assert engine._log._committer.state.takeovers
        with pytest.raises(PresageError, match="HOME_OVERTAKEN"):
            load(holder, 0, 1)


def test_where_locks_do_not_count_the_lease_keeps_a_second_process_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A network file system whose locks are those of each machine alone.
    monkeypatch.setattr("presage.storage.lock._flock", lambda *given: None)
    machines = {"this": "one"}
    for place in ("home", "home_lease"):
        monkeypatch.setattr(f"presage.storage.{place}.this_machine", lambda: machines["this"])
    with overtaken(Engine(home=tmp_path / "home")) as holder:
        holder.execute(STREAM)
        machines["this"] = "two"
        with pytest.raises(PresageError) as refused:
            Engine(home=tmp_path / "home")
        assert refused.value.code == "HOME_LOCKED"
        assert holder.leader is not None
        assert holder.leader.owner in refused.value.message
        with waiting(tmp_path / "home") as (_, opened):
            time.sleep(1.0)
            load(holder, 0, 3)
            pause(holder)
            engine = opened()
            with pytest.raises(PresageError, match="HOME_OVERTAKEN"):
                load(holder, 3, 1)
            load(engine, 3, 1)
            assert engine.query("SELECT n FROM Tick").to_arrow()["n"].to_pylist() == [0, 1, 2, 3]


def test_of_several_standbys_one_takes_over_and_the_others_wait_on(tmp_path: Path) -> None:
    with overtaken(Engine(home=tmp_path / "home")) as holder:
        holder.execute(STREAM)
        with waiting(tmp_path / "home") as (first, _), waiting(tmp_path / "home") as (second, _):
            before = first.leader
            pause(holder)
            eventually(lambda: (first.leader != before) or (second.leader != before), 30)
            now = leader(tmp_path / "home")
            assert now is not None
            assert now != before
            assert now in (first.leader, second.leader)
    assert standby.leader(tmp_path / "home") is None


def test_a_lease_counts_as_unchanged_only_while_it_was_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(home_lease.time, "monotonic", lambda: now[0])
    store = FileStore()
    state = home_lease.LeaseState("holder", "process 7 on plant")
    store.put(tmp_path / home_lease.FILE, home_lease.seal(home_lease.asdict(state)))
    watch = home_lease.Watch(store, tmp_path)

    def ended_after(*pauses: float) -> bool:
        for pause in pauses:
            now[0] += pause
            ended = watch.has_ended()
        return ended

    assert not ended_after(1.0, 1.0)
    assert ended_after(1.0)
    store.put(tmp_path / home_lease.FILE, home_lease.seal(home_lease.asdict(home_lease.replace(state, beat=1))))
    assert not ended_after(1.0)
    # This process was paused, as the holder may have been: the holder gets its time to go on.
    assert not ended_after(3600.0)
    assert ended_after(1.0, 1.0, 1.0)
    with monkeypatch.context() as away:
        away.setattr(store, "read", _unanswered)
        with pytest.raises(OSError, match="not there"):
            ended_after(1.0)
    assert not ended_after(1.0, 1.0)
    assert ended_after(1.0)


def _unanswered(path: Path) -> bytes:
    raise OSError(f"{path} is not there")


@pytest.mark.parametrize(("condition", "needs_spark"), [("n > 3", False), ("sin(n) > 0", True)])
def test_a_standby_starts_spark_only_if_a_statement_needs_it(
    condition: str, needs_spark: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    loaded: list[list[str]] = []
    monkeypatch.setattr("presage.execution.spark.session_handle.SessionHandle.start", lambda self: started.append(self))
    monkeypatch.setattr("presage.live.warm_copy._warm", loaded.append)
    with Engine(home=tmp_path / "home", driven=False) as holder:
        holder.execute(STREAM)
        holder.deploy(f"SELECT sym, sum(n) AS s FROM Tick#length(2) WHERE {condition} GROUP BY sym", name="one")
        with waiting(tmp_path / "home", driven=False) as (_, opened):
            eventually(lambda: bool(loaded))
            eventually(lambda: bool(started) == needs_spark)
            holder.close()
            opened()
    assert loaded == [["presage.operators.windows.kernel.warm"]]
    assert bool(started) == needs_spark
