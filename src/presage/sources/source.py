"""What a source is: a cursor in, the next delivery out, or what it waits for."""

from __future__ import annotations

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
