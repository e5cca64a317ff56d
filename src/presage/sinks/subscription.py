"""A function that is subscribed by name in, what its user holds of it out: how far it is, its failure, an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from presage.errors import error
from presage.sinks.runner import Running
from presage.sinks.status import FAILED, STOPPED

LOOK_SECONDS = 0.05


class Subscribed:
    """Hands the rows of a statement to a function, and goes on there after a restart. An exception of the function is
    kept in `error` until it takes the row; `cancel` calls it no more, DROP SINK forgets how far it came."""

    def __init__(self, function: Callable[[dict[str, Any], str], object], number: int) -> None:
        self._function = function
        self._number = number
        self._running: Running | None = None
        self._detach: Callable[[], None] = lambda: None
        self._cancelled = False
        self.error: Exception | None = None

    def attach(self, running: Running, detach: Callable[[], None]) -> None:
        self._running, self._detach = running, detach

    def __call__(self, values: dict[str, Any], identity: str) -> None:
        try:
            self._function(values, identity)
        except SystemExit as end:
            # It would end the thread of the sink, without a word, and not the program.
            self.error = RuntimeError(f"it called sys.exit({end.code!r})")
            raise self.error from end
        except Exception as failure:
            self.error = failure
            raise
        self.error = None

    @property
    def delivered(self) -> int:
        """How many rows of the statement that was subscribed to are done with."""
        return self._running.reached(self._number) if self._running is not None else 0

    @property
    def goes_on(self) -> bool:
        return not self._cancelled

    def cancel(self) -> None:
        """Call the function no more. Rows that come later wait for the next one who subscribes by this name."""
        self._cancelled = True
        self._detach()

    def is_me(self) -> bool:
        """Whether it is the function itself that asks."""
        return self._running is not None and self._running.is_me()

    def wait(self, rows: int, until: float | None, strict: bool = True) -> None:
        """Wait until so many rows of the statement are delivered, or none will be for now."""
        while self.delivered < rows and self.error is None and not self._has_ended():
            if until is not None and time.monotonic() >= until:
                if not strict:
                    return
                assert self._running is not None
                raise error("TIMEOUT", what=f"the subscriber '{self._running.sink.name}'", fix="wait longer")
            time.sleep(LOOK_SECONDS)

    def _has_ended(self) -> bool:
        return self._cancelled or self._running is None or self._running.state in (FAILED, STOPPED)
