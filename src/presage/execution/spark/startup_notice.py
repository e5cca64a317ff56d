"""The notice that Spark is starting: shown once, after a second, to interactive users."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import TypeVar

from presage.logging import INFO, tell

QUIET_SECONDS = 1.0
NOTICE = "starting Spark: the first query of a process waits for it, a few seconds"

T = TypeVar("T")


def wait_for(starting: Future[T]) -> T:
    """The result of a start. If it takes long, the notice is logged, and shown on stderr in a terminal or notebook."""
    try:
        return starting.result(QUIET_SECONDS)
    except NotYet:
        if starting.done():
            raise  # the start itself timed out
    tell(INFO, "SPARK_STARTING", NOTICE)
    # Only for the main thread: no user waits for the others.
    if threading.current_thread() is threading.main_thread() and (in_notebook() or _is_terminal()):
        sys.stderr.write(f"presage: {NOTICE} …\n")
        sys.stderr.flush()
    return starting.result()


def in_notebook() -> bool:
    """Whether this process runs the cells of a notebook, or of an IPython shell."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def _is_terminal() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
