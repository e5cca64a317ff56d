"""What a source is: a cursor in, the next delivery out, or what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from presage.storage import Cursor, Delivery

# A source that has nothing to bring looks again after so many seconds.
PAUSE = 0.25


class Source(Protocol):
    """Reads on from a cursor. It keeps nothing that the log would have to know: after a crash it is made anew.

    A source may be asked again from the same cursor, when a delivery could not be appended. `settle` tells it that one
    was. What it raises as a `PresageError` or an `OSError` is waited out; anything else is our own mistake.
    """

    name: str  # as in WITH (source = …), and in the tables beside the stream
    why: str  # it waits; empty while there is simply nothing new
    pause: float  # seconds until it should be asked again, after it had nothing
    finished: bool  # nothing will come any more
    notes: list[str]

    @property
    def left(self) -> int:
        """Parts, files for example, that it has found and not brought."""

    def read(self, cursor: Cursor | None) -> Delivery | None:
        """The next rows after a cursor, bounded in size; None if there are none now."""

    def settle(self, delivery: Delivery) -> None:
        """A delivery is in the log."""

    def position(self, cursor: Cursor | None) -> str:
        """A cursor in words."""

    def close(self) -> None:
        """It will not be asked any more."""


RUNNING, WAITING, FAILED, FINISHED, STOPPED = "running", "waiting", "failed", "finished", "stopped"


@dataclass(frozen=True)
class SourceStatus:
    """A source at one moment. `why`: what it waits for, or why it has failed. `rows`: events, late ones too, that it
    has brought since the stream was declared; `rejected`: records that were none. `notes`: what one should look at.
    `left`: parts, files for example, that it has found and not brought; None before it has looked."""

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
