"""The maintenance thread of an open engine: watermarks of idle streams, compaction, retention.

A live stream without events for `idle_after` gets a watermark in the log. Streams that are filled by `load` or from
files are live only if they declare `idle_after`: the next file may hold the events of the last hour. The thread also
wakes the trigger for deadlines of the wall clock.
"""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace

import pyarrow as pa

from presage.logging import INFO, WARNING, tell
from presage.model.catalog import EventType
from presage.model.time import parse_duration, wall_clock
from presage.storage import InUse, Log, MaintenanceReport, max_ahead

LOOK_SECONDS = 0.25
RECORDS_PER_MAINTENANCE = 400
# Sources whose events are loaded, and do not arrive as they happen.
LOADED = ("memory", "files")
# The default for streams of other sources.
IDLE_AFTER = "10 sec"


class MaintenanceThread:
    """Runs until `stop`. `failure` is the last exception; the next round retries."""

    def __init__(
        self,
        log: Log,
        types: Callable[[], Iterable[EventType]],
        in_use: Callable[[], InUse],
        wake: Callable[[], None] = lambda: None,
        is_quiet: Callable[[str], bool] = lambda stream: True,
        remove_rows: Callable[[], int] = lambda: 0,
    ) -> None:
        self._log = log
        self._remove_rows = remove_rows  # applies the retention of statements' rows; how many it removed
        self._is_quiet = is_quiet  # whether a source is connected, and has no events
        self._types = types
        self._in_use = in_use
        self._wake = wake
        self._stopped = threading.Event()
        self._maintained = log.records
        self._heard: dict[str, tuple[int | None, int]] = {}  # rows of a stream, and when the last of them arrived
        self.failure: Exception | None = None
        # Weak reference: the thread stops when an unclosed engine is garbage-collected.
        arguments = (weakref.ref(self), self._stopped)
        self._thread = threading.Thread(target=_look, args=arguments, name="presage-upkeep", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def look(self) -> None:
        """One round; a failure is logged."""
        try:
            self.round(time.monotonic_ns() // 1_000)
        except Exception as failure:
            # For example a full disk: the thread continues, and the next round retries.
            if str(failure) != str(self.failure):
                tell(WARNING, "UPKEEP_FAILED", "maintenance of the home failed and will be retried: {why}", why=failure)
            self.failure = failure

    def round(self, monotonic: int) -> None:
        """One round at a monotonic time in microseconds."""
        self._wake()
        for event_type in self._types():
            idle_after = _idle_after(event_type)
            # A stream that has just been dropped may still be declared.
            if idle_after is not None and event_type.kind == "stream" and event_type.name in self._log.point.watermarks:
                self._tell_silence(event_type, idle_after, monotonic)
        if self._log.records - self._maintained >= RECORDS_PER_MAINTENANCE:
            self._maintained, started = self._log.records, time.monotonic()
            done = self.maintain()
            give_back_memory()  # merging takes megabytes that are free until the next time
            text = (
                "maintenance: {compacted} files compacted, {removed} events and {rows_removed} rows of statements "
                "removed, {deleted} files deleted"
            )
            tell(INFO, "MAINTENANCE", text, seconds=round(time.monotonic() - started, 3), **asdict(done))

    def maintain(self, grace: float | None = None) -> MaintenanceReport:
        """See `Engine.maintain`. Rows of statements first: their files are deleted with the others."""
        rows_removed = self._remove_rows()
        done = self._log.maintain(list(self._types()), self._in_use(), grace)
        return replace(done, rows_removed=rows_removed)

    def _tell_silence(self, event_type: EventType, idle_after: int, monotonic: int) -> None:
        """Append a watermark if the stream has been silent for long enough.

        Event time advances from the last event with the monotonic clock; without any event, it is the wall clock. A
        jump of the wall clock has no other effect.
        """
        progress = self._log.progress(event_type.name)
        if self._heard.get(event_type.name, (None, 0))[0] != progress.rows or not self._is_quiet(event_type.name):
            self._heard[event_type.name] = (progress.rows, monotonic)
        silent = monotonic - self._heard[event_type.name][1]
        if silent < idle_after:
            return
        now = wall_clock() if progress.last_time is None else progress.last_time + silent
        watermark = now - event_type.max_delay
        if progress.watermark is None or watermark >= progress.watermark + idle_after:
            self._log.append_watermark(event_type.name, watermark, max_ahead(event_type))


def give_back_memory() -> None:
    """Release the free memory of the allocators to the system: Arrow's, and the C library's."""
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc only; others release by themselves
    if trim is not None:
        trim(0)


def _idle_after(event_type: EventType) -> int | None:
    live = event_type.options.get("source", "memory") not in LOADED
    text = event_type.options.get("idle_after", IDLE_AFTER if live else None)
    return None if text is None else parse_duration(text)


def _look(maintenance: weakref.ref[MaintenanceThread], stopped: threading.Event) -> None:
    while not stopped.wait(LOOK_SECONDS):
        alive = maintenance()
        if alive is None:
            return
        alive.look()
        del alive
