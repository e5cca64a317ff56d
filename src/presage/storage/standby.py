"""A standby: waits while another process has a home, and knows who that is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from presage.errors import PresageError, error
from presage.storage import lock
from presage.storage.home import HomeLayout, has_leases, open_place
from presage.storage.home_lease import LOOK, LeaseState, Watch, read_lease
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import Record, read_journal
from presage.storage.snapshot_reader import PAUSE, TRIES


@dataclass(frozen=True)
class Leader:
    """The process that has a home. `address`: where clients reach it, if it says so."""

    owner: str
    address: str = ""

    def __str__(self) -> str:
        return f"{self.owner}, at {self.address}" if self.address else self.owner


def leader(home: str | PathLike[str], storage_options: Mapping[str, str] | None = None) -> Leader | None:
    """Who has a home, as far as its lease tells; None if it was released. After a crash it is the process that died,
    until another one opens the home."""
    return leader_of(read_lease(*open_place(home, storage_options)))


def leader_of(lease: LeaseState | None) -> Leader | None:
    return None if lease is None or lease.released else Leader(lease.owner, lease.address)


class Standby:
    """The waiting of one engine. `told` is called when there is another leader, by the thread that waits."""

    def __init__(self, told: Callable[[Leader], None] = lambda leader: None) -> None:
        self._told = told
        self._ended = threading.Event()
        self.begun: Callable[[], None] = lambda: None  # called when it begins to wait
        self.watch: Watch | None = None
        self.leader: Leader | None = None  # while it waits
        self.records: Mapping[int, list[Record]] = {}  # those after the head, by their files' numbers, as last read

    def cancel(self) -> None:
        """End the waiting: the constructor of the engine raises ENGINE_CLOSED."""
        self._ended.set()

    def wait(self, home: str | PathLike[str], options: Mapping[str, str] | None) -> bool:
        """Wait until it is worth a try to open the home; whether without the lock of its folder, which a process has
        whose lease has ended."""
        store, folder = open_place(home, options)
        if self.watch is None:
            self.watch = Watch(store, folder)
            self.begun()
        watch = self.watch
        while not self._ended.wait(LOOK):
            try:
                has_ended = watch.has_ended()
            except OSError:
                continue  # the store does not answer
            found = leader_of(watch.seen)
            if found is None and store.is_local:
                found = Leader(lock.owner_line(Path(folder)))  # of an earlier version, without a lease
            if found is not None and found != self.leader:
                self.leader = found
                self._told(found)
            if has_ended:
                return store.is_local and has_leases(store, folder)
            if store.is_local or watch.seen is None or watch.seen.released:
                return False  # the lock tells
        raise error("ENGINE_CLOSED")

    def follow(self, home: HomeLayout) -> HomeState:
        """The present state of the home; `records` has what it was read from."""
        for tries in range(TRIES, 0, -1):
            try:
                content = read_journal(home.store, home.journal, known=self.records)
            except (FileNotFoundError, PresageError):
                if tries == 1:
                    raise
                time.sleep(PAUSE)  # a new head covers what is missing
                continue
            self.records = content.groups
            return state_after(home.journal, content.head, content.records)
        raise AssertionError("the last try returns or raises")
