"""`sink = 'callback'`: rows in, calls of a user's function out. The function comes with every new process."""

from __future__ import annotations

import time
from collections.abc import Callable
from time import monotonic
from typing import Any

from presage.errors import error
from presage.sinks.runner import SinkRunner
from presage.sinks.sink import FAILED, STOPPED, Batch, NotTaken

ROWS = 1_000
# After so many seconds it is noted how far the function came: what is called again after a crash is little.
NOTED_SECONDS = 0.5

# Called with the values of a row, and its id.
Function = Callable[[dict[str, Any], str], object]


class CallbackTarget:
    most = ROWS
    every = 0.0

    def __init__(self, name: str, statement: str, function: Callable[[], Function | None]) -> None:
        self._name = name
        self._statement = statement
        self._function = function

    @property
    def why(self) -> str:
        if self._function() is not None:
            return ""
        return f"for its function: engine.deployments['{self._statement}'].subscribe(function, name='{self._name}')"

    def prepare(self, batch: Batch) -> None:
        """A call is nothing before it is made."""

    def deliver(self, batch: Batch) -> int:
        until = monotonic() + NOTED_SECONDS
        done = 0
        for values, identity in zip(batch.rows.to_pylist(), batch.ids(), strict=True):
            function = self._function()
            if function is None or (done and monotonic() >= until):
                break
            try:
                function(values, identity)
            except Exception as failure:
                told = f"the function raised {type(failure).__name__}: {failure}"
                raise NotTaken(told, poison=True, done=done) from failure
            done += 1
        return done

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        return False  # only the function knows

    def close(self) -> None:
        """Nothing is open."""

    def masked(self, text: str) -> str:
        return text


LOOK_SECONDS = 0.05


class Subscribed:
    """Hands the rows of a statement to a function, and goes on there after a restart. An exception of the function is
    kept in `error` until it takes the row; `cancel` calls it no more, DROP SINK forgets how far it came."""

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
