"""Leases of readers on files and positions, which maintenance must not remove."""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterable
from types import TracebackType


class FileLease:
    """Keeps files on disk as long as it is referenced, or until `release`."""

    def __init__(self, leases: Leases, paths: tuple[str, ...]) -> None:
        leases._change(paths, 1)
        self.release = weakref.finalize(self, leases._change, paths, -1)
        self.release.atexit = False


class Lease:
    """Keeps the live files on disk, and events after `position` in their tables, until `release`."""

    def __init__(self, leases: Leases, position: int, files: FileLease) -> None:
        self.position = position
        self.since = time.monotonic()
        self._files = files
        self._leases = leases
        leases._leases.add(self)

    def release(self) -> None:
        """Idempotent."""
        self._files.release()
        self._leases._leases.discard(self)

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        self.release()


class Leases:
    """All leases. That of an unclosed query ends when its file set is garbage-collected."""

    def __init__(self) -> None:
        # Reentrant: the garbage collector may run a finalizer inside a call that has the lock.
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._leases: set[Lease] = set()

    def hold(self, paths: Iterable[str]) -> FileLease:
        return FileLease(self, tuple(paths))

    def lease(self, position: int, paths: Iterable[str]) -> Lease:
        return Lease(self, position, self.hold(paths))

    def holds(self, path: str) -> bool:
        with self._lock:
            return self._counts[path] > 0

    def oldest(self) -> int | None:
        """The least position with a lease."""
        return min((pin.position for pin in list(self._leases)), default=None)

    def since(self) -> float | None:
        """When the oldest lease began, by the clock that never jumps."""
        return min((pin.since for pin in list(self._leases)), default=None)

    def _change(self, paths: tuple[str, ...], by: int) -> None:
        with self._lock:
            for path in paths:
                self._counts[path] += by
                if not self._counts[path]:
                    del self._counts[path]
