"""Files and positions that someone still reads in, what maintenance must leave alone out."""

from __future__ import annotations

import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterable
from types import TracebackType


class Held:
    """Keeps files on disk for as long as it is referred to, or until `release`."""

    def __init__(self, pins: Pins, paths: tuple[str, ...]) -> None:
        pins._change(paths, 1)
        self.release = weakref.finalize(self, pins._change, paths, -1)
        self.release.atexit = False


class Pin:
    """Keeps what is live now on disk, and events after `position` in their tables, until `release`."""

    def __init__(self, pins: Pins, position: int, files: Held) -> None:
        self.position = position
        self.since = time.time()
        self._files = files
        self._pins = pins
        pins._pins.add(self)

    def release(self) -> None:
        """Releasing twice is fine."""
        self._files.release()
        self._pins._pins.discard(self)

    def __enter__(self) -> Pin:
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        self.release()


class Pins:
    """Who reads what. A query that nobody closed lets go when its file set is collected."""

    def __init__(self) -> None:
        # Finalizers run wherever the collector does, perhaps inside a call that has the lock.
        self._lock = threading.RLock()
        self._counts: Counter[str] = Counter()
        self._pins: set[Pin] = set()

    def hold(self, paths: Iterable[str]) -> Held:
        return Held(self, tuple(paths))

    def pin(self, position: int, paths: Iterable[str]) -> Pin:
        return Pin(self, position, self.hold(paths))

    def holds(self, path: str) -> bool:
        with self._lock:
            return self._counts[path] > 0

    def oldest(self) -> int | None:
        """The least position that is pinned."""
        return min((pin.position for pin in list(self._pins)), default=None)

    def since(self) -> float | None:
        """When the oldest pin was made, in seconds of wall time."""
        return min((pin.since for pin in list(self._pins)), default=None)

    def _change(self, paths: tuple[str, ...], by: int) -> None:
        with self._lock:
            for path in paths:
                self._counts[path] += by
                if not self._counts[path]:
                    del self._counts[path]
