"""The lease of a home: a file that tells who has it, renewed by a heartbeat.

Another process knows the holder by change alone, never by clocks: a lease that does not change for `SECONDS` of its own
time has ended. It decides nothing: who takes over publishes a record of the journal, and the store refuses that number
to the process that was overtaken. The lease only says when to try. A process that was paused may write an old one over
that of its successor, who writes its own again: each has the number of its opening.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePath

from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store

FILE = "lease.json"
SECONDS = 6.0  # without change, after which a lease has ended
BEAT = 2.0  # seconds between two changes
LOOK = 0.25  # seconds between two looks at the lease of another process


@dataclass(frozen=True)
class LeaseState:
    """The content of a lease. `locked`: its holder has the lock of the folder, too, which the system frees when the
    process ends. `released`: by its holder; nobody has the home. `generation`: of the opening. `machine`: where the
    lock counts. `address`: where clients reach the holder, if it says so."""

    holder: str
    owner: str  # the process, for people
    beat: int = 0
    locked: bool = False
    released: bool = False
    generation: int = 0
    machine: str = ""
    address: str = ""

    @property
    def shown(self) -> str:
        """The holder, for people."""
        return f"{self.owner}, at {self.address}" if self.address else self.owner


class HomeLease:
    """The lease of this process. Its thread does not keep it alive."""

    def __init__(self, store: Store, home: PurePath, locked: bool) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        owner = f"process {os.getpid()} on {socket.gethostname()} since {since}"
        self.state = LeaseState(uuid.uuid4().hex, owner, locked=locked, machine=this_machine())
        self.lost = False  # whether another process has taken over
        self._followers: list[Callable[[], None]] = []
        self._store = store
        self._path = home / FILE
        self._begun = False
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def begin(self, generation: int) -> None:
        """Write the lease, and renew it until `release`."""
        self._begun = True
        self.state = replace(self.state, generation=generation)
        self._store.put(self._path, seal(asdict(self.state)))
        beating = threading.Thread(target=_beat, args=(weakref.ref(self), self._stopped), daemon=True)
        beating.name = "presage-lease"
        beating.start()

    def renew(self) -> None:
        """Renew the lease, or find that another process has taken over."""
        with self._lock:
            if not self._begun or self.lost or self._stopped.is_set():
                return
            found = read_lease(self._store, self._path.parent)
            if found is None or found.holder == self.state.holder or found.generation < self.state.generation:
                self.state = replace(self.state, beat=self.state.beat + 1)
                self._store.put(self._path, seal(asdict(self.state)))
                return
        self.lose()

    def lose(self) -> None:
        """Another process has taken over."""
        with self._lock:
            followers, self._followers, self.lost = self._followers, [], True
        for follower in followers:
            follower()

    def follow(self, follower: Callable[[], None]) -> None:
        """Call the follower once when the lease is lost, or at once if it is; it must not block."""
        with self._lock:
            if not self.lost:
                self._followers.append(follower)
                return
        follower()

    def tell(self, address: str) -> None:
        """Where clients reach this process; others read it soon."""
        with self._lock:
            self.state = replace(self.state, address=address)

    def release(self) -> None:
        """Tell that nobody has the home. Idempotent."""
        self.stop()
        with self._lock:
            found = read_lease(self._store, self._path.parent)
            if found is not None and found.holder == self.state.holder and not found.released:
                self._store.put(self._path, seal(asdict(replace(self.state, released=True))))

    def stop(self) -> None:
        """Stop renewing, as the end of the process would."""
        self._stopped.set()


def _beat(lease: weakref.ref[HomeLease], stopped: threading.Event) -> None:
    while not stopped.wait(BEAT):
        alive = lease()
        if alive is None or alive.lost:
            return
        # If the store does not answer for long, another process takes over, and the journal tells this one.
        with suppress(OSError):
            alive.renew()
        del alive


class Watch:
    """Looks at the lease of a home that another process has: that process may be paused, or end."""

    def __init__(self, store: Store, home: PurePath) -> None:
        self._store, self._home = store, home
        self.seen, self._since = read_lease(store, home), time.monotonic()
        self._looked = self._since
        self.ended = False  # at the last look

    def has_ended(self) -> bool:
        """Whether the lease has not changed for so long that another process may take over. A lease that is missing is
        written again by its holder.

        Only the time counts in which it was seen: not while the store did not answer, nor while this process was paused
        itself, perhaps together with the other one.
        """
        was_away = time.monotonic() - self._looked > SECONDS / 2
        try:
            found = read_lease(self._store, self._home)
        except OSError:
            self._since = self._looked = time.monotonic()
            self.ended = False
            raise
        self._looked = time.monotonic()
        if found != self.seen or was_away:
            self.seen, self._since = found, self._looked
        self.ended = self._looked - self._since >= SECONDS
        return self.ended


def read_lease(store: Store, home: PurePath) -> LeaseState | None:
    """The lease of a home; None if there is none, of an earlier version, or if it is damaged: it decides nothing."""
    try:
        return LeaseState(**unseal(store.read(home / FILE)))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def live_lease(store: Store, home: PurePath) -> LeaseState | None:
    """The lease of a process that has the home now: one that changes within a beat or so; None if there is none."""
    seen, since = read_lease(store, home), time.monotonic()
    while seen is not None and not seen.released and time.monotonic() - since < 2 * BEAT:
        time.sleep(LOOK)
        found = read_lease(store, home)
        if found != seen:
            return None if found is None or found.released else found
    return None


def await_end(store: Store, home: PurePath, holder: str = "", watch: Watch | None = None) -> bool:
    """Wait until the lease of another process has ended. False if it changes: that process is alive.

    `holder`: a process that took over; if the lease is not its own, it may be about to write it. `watch`: has seen the
    lease for some time.
    """
    seen = read_lease(store, home)
    if watch is None or watch.seen != seen or (seen is not None and seen.holder != (holder or seen.holder)):
        watch = Watch(store, home)
    seen = watch.seen
    if watch.ended:
        return True
    if (seen is None and not holder) or (seen is not None and seen.released and seen.holder == (holder or seen.holder)):
        return True
    while not watch.has_ended():
        if watch.seen != seen:
            return False
        time.sleep(LOOK)
    return watch.seen == seen


def this_machine() -> str:
    """What shares the locks of this process: a machine since its start, if the system tells."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()} {boot}".strip()
