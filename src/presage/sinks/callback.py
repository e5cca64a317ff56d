"""`sink = 'callback'`: rows in, calls of a user's function out. The function comes with every new process."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from presage.sinks.sink import Batch, NotTaken

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
