"""A source in, its stream filled: reads, appends, waits, in a thread of its own."""

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
FINAL = ("TABLE_CHANGED", "TABLE_GAP", "TABLE_FEATURE")

# The last record whose arrivals the standing statements have taken in; None if none of them runs.
Reached = Callable[[], int | None]


class SourceRunner:
    """One stream and its source. It lives in the log: a source that is made again goes on from the cursor there.

    `rows_ahead`: how many rows may be in the log that the standing statements have not taken in.
    """

    def __init__(
        self, event_type: EventType, make: Callable[[], Source], log: Log, reached: Reached, rows_ahead: int
    ) -> None:
        self._type = event_type
        self._make = make
        self._log = log
        self._reached = reached
        self._rows_ahead = rows_ahead
        self._sent: deque[tuple[int, int]] = deque()  # records that statements have not taken in, and their rows
        self._name = event_type.options["source"]
        self._source: Source | None = None
        self._state, self._why = WAITING, ""
        self._notes: tuple[str, ...] = ()
        self._left: int | None = None
        # What readers can see: while a record is being published, the log itself is already further.
        self._known: SourceState | None = None
        self._stopped = threading.Event()
        self.quiet = False  # the source has nothing to bring: silence, and not a line that is cut
        # The thread knows it weakly: an engine that nobody closed and nobody holds takes it along.
        arguments = (weakref.ref(self), self._stopped)
        self._thread = threading.Thread(
            target=_run, args=arguments, name=f"presage-source-{event_type.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Wait for the delivery that is on its way; none will follow."""
        self._stopped.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(JOIN_SECONDS)
        if self._source is not None and not self._thread.is_alive():
            self._source.close()
        self._say(STOPPED)

    def status(self) -> SourceStatus:
        known = self._known or self._log.deliveries.state(self._type.name, self._name)
        position = self._source.position(known.cursor) if self._source is not None else ""
        said = self._state, self._why, position, known.rows, known.rejected, self._notes, self._left
        return SourceStatus(self._type.name, self._name, *said)

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to bring; what was found and is on its way is something."""
        return self.quiet and not (self._source is not None and self._source.left)

    def round(self) -> float | None:
        """One step; how many seconds to wait before the next, None if there is none."""
        try:
            return self._step()
        except PresageError as problem:
            if problem.code in ("ENGINE_CLOSED", "UNKNOWN_STREAM"):  # closed, or dropped: it is about to be stopped
                return None
            # It cannot be made as it is declared, or what it follows has no next step: waiting will not help.
            is_final = self._source is None or problem.code in FINAL
            told = "; ".join(filter(None, (problem.message, problem.fix)))
            if is_final:
                self._say(FAILED, f"{problem.code}: {told}")
                return None
            self._say(WAITING, told)
        except OSError as failure:
            self._say(WAITING, str(failure))
        except Exception as failure:
            # Our own mistake. The stream keeps what it has; an engine that is opened again tries again.
            said: dict[str, Any] = {"source": self._name, "stream": self._type.name}
            tell(
                ERROR, "SOURCE_FAILED", "the source '{source}' of stream '{stream}' has failed", failure=failure, **said
            )
            self._say(FAILED, f"{type(failure).__name__}: {failure}")
            return None
        return TRY_AGAIN_SECONDS

    def _step(self) -> float | None:
        source = self._source = self._source or self._make()
        if self._ahead() >= self._rows_ahead:
            self._say(
                WAITING, f"the standing statements have {self._rows_ahead:,} rows of it to take in first", usual=True
            )
            return PAUSE
        self._known = self._log.deliveries.state(self._type.name, self._name)
        delivery = source.read(self._known.cursor)
        self._note(source.notes)
        if delivery is None:
            self._say(FINISHED if source.finished else WAITING if source.why else RUNNING, source.why)
            self.quiet = not source.why and not source.left
            self._left = source.left
            return None if source.finished else source.pause
        report = self._log.deliver(self._type, delivery)
        if report.duplicate:
            source.close()
            self._source = None  # somebody else has gone on: begin where the log is
            return 0.0
        self._known = self._log.deliveries.state(self._type.name, self._name)
        source.settle(delivery)
        self._left = source.left
        self._sent.append((self._log.point.arrivals, report.accepted + report.late))
        self._say(RUNNING)
        return 0.0

    def _ahead(self) -> int:
        """Rows of this source that the standing statements have still to take in."""
        reached = self._reached()
        while self._sent and (reached is None or self._sent[0][0] <= reached):
            self._sent.popleft()
        return sum(rows for _, rows in self._sent)

    def _say(self, state: str, why: str = "", usual: bool = False) -> None:
        changed = (state, why) != (self._state, self._why)
        self._state, self._why, self.quiet = state, why, False
        if changed and why and not usual:
            told: dict[str, Any] = {"source": self._name, "stream": self._type.name, "state": state, "why": why}
            tell(WARNING, "SOURCE_STATE", "the source '{source}' of stream '{stream}' is {state}: {why}", **told)

    def _note(self, notes: list[str]) -> None:
        for note in notes:
            if note not in self._notes:
                told: dict[str, Any] = {"source": self._name, "stream": self._type.name, "note": note}
                tell(WARNING, "SOURCE_NOTE", "the source '{source}' of stream '{stream}': {note}", **told)
        self._notes = tuple(notes)


def _run(running: weakref.ref[SourceRunner], stopped: threading.Event) -> None:
    pause: float | None = 0.0
    while pause is not None and not stopped.wait(pause):
        alive = running()
        if alive is None:
            return
        pause = alive.round()
        del alive
