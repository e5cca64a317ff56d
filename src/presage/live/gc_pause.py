"""A pause of Python's garbage collector during a batch of many statements.

Such a batch makes thousands of objects without cycles, which trigger full collections: with a thousand statements one
batch in eight took five times as long as the others.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Batches of fewer statements make too few objects.
MANY_STATEMENTS = 64
_LOCK = threading.Lock()
_batches = 0  # running now, of all engines of this process
_was_enabled = False


@contextmanager
def gc_paused(statements: int) -> Iterator[None]:
    """Around a batch of so many statements. A collector that is off already stays off."""
    if statements < MANY_STATEMENTS:
        yield
        return
    _change(1)
    try:
        yield
    finally:
        _change(-1)


def _change(by: int) -> None:
    global _batches, _was_enabled
    with _LOCK:
        if not _batches:
            _was_enabled = gc.isenabled()
            gc.disable()
        _batches += by
        if not _batches and _was_enabled:
            gc.enable()
