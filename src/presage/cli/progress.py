"""A progress line on stderr, shown in a terminal when something takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.status import Status

PATIENCE = 2.0


class Progress:
    """`with Progress("loading Motion"):` Shows nothing for work that ends sooner."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._status: Status | None = None
        self._over = False
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._over = True
            if self._timer is not None:
                self._timer.cancel()
            if self._status is not None:
                self._status.stop()

    def _show(self) -> None:
        # Loaded only when there is something to show.
        from rich.console import Console

        with self._lock:
            if not self._over:
                self._status = Console(stderr=True).status(f"{self._what} …", spinner="dots")
                self._status.start()
