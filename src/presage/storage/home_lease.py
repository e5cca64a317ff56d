"""The lease of a home: a file that tells who has it, renewed by a heartbeat.

Another process knows the holder by change alone, never by clocks: a lease that does not change for `SECONDS` of its own
time has ended. It decides nothing: who takes over publishes a record of the journal, and the store refuses that number
to the process that was overtaken. The lease only says when to try.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
import weakref
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath

from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store

FILE = "lease.json"
SECONDS = 7.0  # without change, after which a lease has ended
BEAT = 2.0  # seconds between two changes
LOOK = 0.25  # seconds between two looks at the lease of another process


@dataclass(frozen=True)
class LeaseState:
    """The content of a lease. `locked`: its holder has the lock of the folder, too, which the system frees when the
    process ends. `released`: by its holder; nobody has the home."""

    holder: str
    owner: str  # the process, for people
    beat: int = 0
    locked: bool = False
    released: bool = False


class HomeLease:
    """The lease of this process. Its thread does not keep it alive."""

    def __init__(self, store: Store, home: PurePath, locked: bool) -> None:
        since = datetime.now(UTC).isoformat(timespec="seconds")
        owner = f"process {os.getpid()} on {socket.gethostname()} since {since}"
        self.state = LeaseState(uuid.uuid4().hex, owner, locked=locked)
        self.lost = False  # whether another process has taken over
        self._store = store
        self._path = home / FILE
        self._begun = False
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def begin(self) -> None:
        """Write the lease, and renew it until `release`."""
        self._begun = True
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
            if found is not None and found.holder != self.state.holder:
                self.lost = True
                return
            self.state = replace(self.state, beat=self.state.beat + 1)
            self._store.put(self._path, seal(asdict(self.state)))

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
    """Looks at the lease of a folder whose lock another process has: that process may be paused."""

    def __init__(self, store: Store, home: PurePath) -> None:
        self._store, self._home = store, home
        self._seen, self._since = read_lease(store, home), time.monotonic()

    def has_ended(self) -> bool:
        """Whether the lease has not changed for so long that another process may take over."""
        found = read_lease(self._store, self._home)
        if found != self._seen:
            self._seen, self._since = found, time.monotonic()
        return found is not None and time.monotonic() - self._since >= SECONDS


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


def await_end(store: Store, home: PurePath, holder: str = "") -> bool:
    """Wait until the lease of another process has ended. False if it changes: that process is alive.

    `holder`: a process that took over; if the lease is not its own, it may be about to write it.
    """
    seen, since = read_lease(store, home), time.monotonic()
    if (seen is None and not holder) or (seen is not None and seen.released and seen.holder == (holder or seen.holder)):
        return True
    while time.monotonic() - since < SECONDS:
        time.sleep(LOOK)
        if read_lease(store, home) != seen:
            return False
    return True
