"""The interface of sources, and their status for users."""

from __future__ import annotations

from dataclasses import dataclass

from presage.storage import Cursor, Delivery

PAUSE = 0.25  # seconds between two polls of a source without new rows
MOST_NOTES = 10


class Source:
    """Reads rows after a cursor. All durable state is in the cursor: after a crash the source is created again.

    `read` may be called again with the same cursor, if a delivery could not be committed; `settle` is called if it was.
    `PresageError` and `OSError` are retried; any other exception is a bug and stops the source.
    """

    name: str  # as in WITH (source = …), and in the internal tables of the stream
    finished = False  # no more rows will come

    def __init__(self) -> None:
        self.why = ""  # what it waits for; empty if there is just nothing new
        self.pause = PAUSE  # seconds until the next poll, if there are no rows
        self.notes: list[str] = []  # for the user

    @property
    def left(self) -> int:
        """The number of parts, such as files, that are found and not delivered."""
        return 0

    def read(self, cursor: Cursor | None) -> Delivery | None:
        """The next rows after a cursor, bounded in size; None if there are none now."""
        raise NotImplementedError

    def settle(self, delivery: Delivery) -> None:
        """A delivery is committed."""

    def position(self, cursor: Cursor | None) -> str:
        """A cursor in words, for the user."""
        raise NotImplementedError

    def close(self) -> None:
        """Release resources."""

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes = [*self.notes[1 - MOST_NOTES :], text]


RUNNING, WAITING, FAILED, FINISHED, STOPPED = "running", "waiting", "failed", "finished", "stopped"


@dataclass(frozen=True)
class SourceStatus:
    """A source at one moment. `why`: what it waits for, or why it failed. `rows`: events since the stream was declared,
    including late ones; `rejected`: rejected records. `notes`: hints for the user. `left`: parts, such as files, that
    are found and not delivered; None before the first poll."""

    stream: str
    source: str
    state: str  # running, waiting, failed, finished, stopped
    why: str
    position: str
    rows: int
    rejected: int
    notes: tuple[str, ...] = ()
    left: int | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in (FINISHED, FAILED, STOPPED)

    def __str__(self) -> str:
        return f"{self.state}: {self.why}" if self.why else self.state

    def described(self) -> list[tuple[str, str]]:
        """Properties and values, for DESCRIBE."""
        counts = [("source rows", str(self.rows)), ("source rejected", str(self.rejected))]
        notes = [(f"source note {i}", note) for i, note in enumerate(self.notes, 1)]
        return [("source state", str(self)), ("source position", self.position), *counts, *notes]
