"""Several processes on one home in a bucket, each paused in the middle of any request, with faults: the code keeps the
promises of the model (`reference.writers`)."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from presage.errors import PresageError
from presage.storage import Log, committer
from presage.storage.failures import KEPT, NOT_DONE
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import read_journal
from recovery.crashing import MemoryDisk, Place, crash, row, sequence_numbers, stream
from recovery.faulty_store import ADDRESS, FAULTS, FaultyStore, bucket_in_memory

TICK = stream()
PROCESSES = 3
REFUSALS = ("HOME_LOCKED", "HOME_OVERTAKEN", "STORAGE_FAILED", "HOME_CORRUPT")

acts = st.tuples(st.integers(0, PROCESSES - 1), st.sampled_from(["open", "load", "load", "load", "close", "kill"]))
pauses = st.none() | st.tuples(st.integers(1, 14), st.lists(acts, min_size=1, max_size=8))
faults = st.none() | st.tuples(st.integers(1, 6), st.sampled_from(FAULTS))


class Writers(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.exits = ExitStack()
        self.bucket = self.exits.enter_context(bucket_in_memory())
        self.exits.enter_context(patch.object(committer, "RECORDS_PER_HEAD", 2))
        self.place = Place(ADDRESS, self.bucket, MemoryDisk())
        self.logs: list[Log | None] = [None] * PROCESSES
        self.at_work: set[int] = set()  # paused in the middle of something
        self.loads = 0
        self.promised: list[str] = []  # keys of loads whose clients were told that they are committed
        self.denied: set[str] = set()  # keys of loads whose clients were told that nothing has been written
        self.history: list[str] = []
        with self.place.open() as log:
            log.append_catalog("create", "stream", "Tick", "…", creates=[TICK])

    @property
    def store(self) -> FaultyStore:
        return self.bucket.store

    @rule(act=acts, pause=pauses, fault=faults)
    def act(self, act: tuple[int, str], pause: Any, fault: Any) -> None:
        if pause is not None:
            others = [other for other in pause[1] if other[0] != act[0]]
            self.store.pauses = {self.store.requests + pause[0]: lambda: [self.do(*other) for other in others] and None}
        if fault is not None:
            self.store.faults = {self.store.acts + fault[0]: fault[1]}
        self.do(*act)

    @rule()
    def arrive(self) -> None:
        self.store.arrive()

    @rule()
    def lose_power(self) -> None:
        for process in range(PROCESSES):
            self.do(process, "kill")

    @invariant()
    def no_promise_is_broken(self) -> None:
        state = self.read()
        found = list(state.streams["Tick"].once)
        assert found[: len(self.history)] == self.history, "a load is lost, or comes in another order"
        self.history = found
        assert set(self.promised) <= set(found)
        assert not self.denied & set(found)

    def teardown(self) -> None:
        with self.exits:
            self.store.pauses, self.store.faults = {}, {}
            for process in range(PROCESSES):
                self.do(process, "kill")
            self.store.arrive()
            self.no_promise_is_broken()
            with self.place.open() as log:
                # Data files are there, too.
                assert sequence_numbers(log) == list(range(1, log.position + 1))
                assert len(sequence_numbers(log)) == len(self.history)

    # -- what a process does -------------------------------------------------------------------------

    def do(self, process: int, what: str) -> None:
        if process in self.at_work:
            return
        self.at_work.add(process)
        try:
            getattr(self, f"_{what}")(process)
        except PresageError as problem:
            if problem.code not in REFUSALS:
                raise
        finally:
            self.at_work.discard(process)

    def _open(self, process: int) -> None:
        if self.logs[process] is None:
            self.logs[process] = self.place.open()

    def _load(self, process: int) -> None:
        log = self.logs[process]
        if log is None:
            return
        self.loads += 1
        key = str(self.loads)
        try:
            log.append(TICK, [row(self.loads, self.loads % 60)], once=key)
        except PresageError as problem:
            if NOT_DONE in problem.fix or problem.code == "HOME_OVERTAKEN":
                self.denied.add(key)
            elif KEPT in problem.fix:
                self.promised.append(key)
            if problem.code in ("HOME_OVERTAKEN", "HOME_CORRUPT"):
                crash(log)
                self.logs[process] = None
            raise
        self.promised.append(key)

    def _close(self, process: int) -> None:
        log, self.logs[process] = self.logs[process], None
        if log is not None:
            log.close()

    def _kill(self, process: int) -> None:
        log, self.logs[process] = self.logs[process], None
        if log is not None:
            crash(log)

    def read(self) -> HomeState:
        """What is committed now."""
        journal = self.store.path(f"{ADDRESS}/journal")
        content = read_journal(FaultyStore(self.store.files), journal)
        return state_after(journal, content.head, content.records)


TestWriters = Writers.TestCase
TestWriters.settings = settings(max_examples=120, stateful_step_count=15, deadline=None)
