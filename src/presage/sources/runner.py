"""The runner of a source: a thread that reads, delivers to the log, and waits."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from presage.errors import PresageError
from presage.logging import ERROR, WARNING, tell
from presage.model.catalog import EventType
from presage.sources.source import FAILED, FINISHED, PAUSE, RUNNING, STOPPED, WAITING, Source, SourceStatus
from presage.storage import Log, SourceState

TRY_AGAIN_SECONDS = 1.0
JOIN_SECONDS = 30.0
FINAL = ("TABLE_CHANGED", "TABLE_GAP", "TABLE_FEATURE", "CHECKPOINT_CHANGED")

# The last record that the deployed statements have processed; None if none is running.
Reached = Callable[[], int | None]


class SourceRunner:
    """One stream and its source. A source that is created again continues from the cursor in the log.

    `rows_ahead`: back-pressure; how many of its rows the deployed statements may have still to process.
    """

    def __init__(
        self, event_type: EventType, make: Callable[[], Source], log: Log, reached: Reached, rows_ahead: int
    ) -> None:
        self._type = event_type
        self._make = make
        self._log = log
        self._reached = reached
        self._rows_ahead = rows_ahead
        self._sent: deque[tuple[int, int]] = deque()  # records that statements have still to process, and their rows
        self._name = event_type.options["source"]
        self._source: Source | None = None
        self._state, self._why = WAITING, ""
        self._notes: tuple[str, ...] = ()
        self._left: int | None = None
        # As visible to readers: while a record is being published, the log's own state is ahead.
        self._visible: SourceState | None = None
        self._stopped = threading.Event()
        self.quiet = False  # the source is connected and has no new rows
        # Weak reference: the thread stops when an unclosed engine is garbage-collected.
        arguments = (weakref.ref(self), self._stopped)
        self._thread = threading.Thread(
            target=_run, args=arguments, name=f"presage-source-{event_type.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish the current delivery, and stop."""
        self._stopped.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(JOIN_SECONDS)
        if self._source is not None and not self._thread.is_alive():
            self._source.close()
        self._set_state(STOPPED)

    def status(self) -> SourceStatus:
        visible = self._visible or self._log.deliveries.state(self._type.name, self._name)
        position = self._source.position(visible.cursor) if self._source is not None else ""
        values = self._state, self._why, position, visible.rows, visible.rejected, self._notes, self._left
        return SourceStatus(self._type.name, self._name, *values)

    @property
    def is_quiet(self) -> bool:
        """Whether there are no new rows, found or on their way."""
        return self.quiet and not (self._source is not None and self._source.left)

    def round(self) -> float | None:
        """One step; the seconds until the next one, None if it was the last."""
        try:
            return self._step()
        except PresageError as problem:
            if problem.code in ("ENGINE_CLOSED", "UNKNOWN_STREAM"):  # about to be stopped
                return None
            text = "; ".join(filter(None, (problem.message, problem.fix)))
            # Its declaration cannot work, or the table that it follows cannot be continued: do not retry.
            if self._source is None or problem.code in FINAL:
                self._set_state(FAILED, f"{problem.code}: {text}")
                return None
            self._set_state(WAITING, text)
        except OSError as failure:
            self._set_state(WAITING, str(failure))
        except Exception as failure:
            # A bug of ours: retried when the engine is opened again.
            self.tell(ERROR, "SOURCE_FAILED", " has failed", failure=failure)
            self._set_state(FAILED, f"{type(failure).__name__}: {failure}")
            return None
        return TRY_AGAIN_SECONDS

    def _step(self) -> float | None:
        source = self._source = self._source or self._make()
        if self._ahead() >= self._rows_ahead:
            why = f"the deployed statements have {self._rows_ahead:,} rows of it to process first"
            self._set_state(WAITING, why, usual=True)
            return PAUSE
        self._visible = self._log.deliveries.state(self._type.name, self._name)
        delivery = source.read(self._visible.cursor)
        self._note(source.notes)
        if delivery is None:
            self._set_state(FINISHED if source.finished else WAITING if source.why else RUNNING, source.why)
            self.quiet = not source.why and not source.left
            self._left = source.left
            return None if source.finished else source.pause
        report = self._log.deliver(self._type, delivery)
        if report.duplicate:
            source.close()
            self._source = None  # another process has delivered: continue from the log's cursor
            return 0.0
        self._visible = self._log.deliveries.state(self._type.name, self._name)
        source.settle(delivery)
        self._left = source.left
        self._sent.append((self._log.point.arrivals, report.accepted + report.late))
        self._set_state(RUNNING)
        return 0.0

    def _ahead(self) -> int:
        """Rows of this source that the deployed statements have still to process."""
        reached = self._reached()
        while self._sent and (reached is None or self._sent[0][0] <= reached):
            self._sent.popleft()
        return sum(rows for _, rows in self._sent)

    def _set_state(self, state: str, why: str = "", usual: bool = False) -> None:
        changed = (state, why) != (self._state, self._why)
        self._state, self._why, self.quiet = state, why, False
        if changed and why and not usual:
            self.tell(WARNING, "SOURCE_STATE", " is {state}: {why}", state=state, why=why)

    def _note(self, notes: list[str]) -> None:
        for note in notes:
            if note not in self._notes:
                self.tell(WARNING, "SOURCE_NOTE", ": {note}", note=note)
        self._notes = tuple(notes)

    def tell(self, level: int, code: str, text: str, **more: Any) -> None:
        text = "the source '{source}' of stream '{stream}'" + text
        tell(level, code, text, source=self._name, stream=self._type.name, **more)


def _run(running: weakref.ref[SourceRunner], stopped: threading.Event) -> None:
    pause: float | None = 0.0
    while pause is not None and not stopped.wait(pause):
        alive = running()
        if alive is None:
            return
        pause = alive.round()
        del alive
