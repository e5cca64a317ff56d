"""Cancellation of a thread's step: Python code checks between its pieces, compiled loops check their cancel word."""

from __future__ import annotations

import threading

from presage.arrays.cancel import CancelledError, cancel_loops

_threads: set[int] = set()


def cancel_thread(identity: int) -> None:
    """Make the thread raise a CancelledError at its next check."""
    _threads.add(identity)
    cancel_loops(identity)


def check_cancelled() -> None:
    if _threads and threading.get_ident() in _threads:
        raise CancelledError


def leave_thread() -> None:
    """Called by a thread that ends: another thread may get its identity."""
    if threading.get_ident() in _threads:
        _threads.discard(threading.get_ident())
        cancel_loops(0)
