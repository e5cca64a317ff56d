"""`sink = 'callback'`: calls a function of the user for each row. Every new process must subscribe its function."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from presage.errors import error
from presage.sinks.runner import SinkRunner
from presage.sinks.sink import FAILED, STOPPED, Batch, NotTaken, Target

ROWS = 1_000
# The position is stored at least this often, in seconds: after a crash few rows are repeated.
NOTED_SECONDS = 0.5

# Called with the values of a row, and its id.
Function = Callable[[dict[str, Any], str], object]


class CallbackTarget(Target):
    most = ROWS

    def __init__(self, name: str, statement: str, function: Callable[[], Function | None]) -> None:
        self._name = name
        self._statement = statement
        self._function = function

    @property
    def why(self) -> str:
        if self._function() is not None:
            return ""
        return f"for its function: engine.deployments['{self._statement}'].subscribe(function, name='{self._name}')"

    def deliver(self, batch: Batch) -> int:
        until = time.monotonic() + NOTED_SECONDS
        done = 0
        for values, identity in zip(batch.rows.to_pylist(), batch.ids(), strict=True):
            function = self._function()
            if function is None or (done and time.monotonic() >= until):
                break
            try:
                function(values, identity)
            except Exception as failure:
                why = f"the function raised {type(failure).__name__}: {failure}"
                raise NotTaken(why, poison=True, done=done) from failure
            done += 1
        return done


LOOK_SECONDS = 0.05


class Subscribed:
    """A named subscription: calls a function for the rows of a statement, and continues after a restart. `error`: the
    last exception of the function, until it accepts the row. `cancel` stops it; DROP SINK deletes its position."""

    def __init__(self, function: Callable[[dict[str, Any], str], object], number: int) -> None:
        self._function = function
        self._number = number
        self._running: SinkRunner | None = None
        self._detach: Callable[[], None] = lambda: None
        self._cancelled = False
        self.error: Exception | None = None

    def attach(self, running: SinkRunner, detach: Callable[[], None]) -> None:
        self._running, self._detach = running, detach

    def __call__(self, values: dict[str, Any], identity: str) -> None:
        try:
            self._function(values, identity)
        except SystemExit as end:
            # It would silently end the sink's thread, not the program.
            self.error = RuntimeError(f"it called sys.exit({end.code!r})")
            raise self.error from end
        except Exception as failure:
            self.error = failure
            raise
        self.error = None

    @property
    def delivered(self) -> int:
        """How many rows of the statement are delivered or skipped."""
        return self._running.reached(self._number) if self._running is not None else 0

    @property
    def goes_on(self) -> bool:
        return not self._cancelled

    def cancel(self) -> None:
        """Stop calling the function. Later rows wait for the next subscription of this name."""
        self._cancelled = True
        self._detach()

    def is_me(self) -> bool:
        """Whether the caller is the function itself."""
        return self._running is not None and self._running.is_me()

    def wait(self, rows: int, until: float | None, strict: bool = True) -> None:
        """Wait until this many rows of the statement are delivered, or delivery has stopped."""
        while self.delivered < rows and self.error is None and not self._has_ended():
            if until is not None and time.monotonic() >= until:
                if not strict:
                    return
                assert self._running is not None
                raise error("TIMEOUT", what=f"the subscriber '{self._running.sink.name}'", fix="wait longer")
            time.sleep(LOOK_SECONDS)

    def _has_ended(self) -> bool:
        return self._cancelled or self._running is None or self._running.state in (FAILED, STOPPED)
