"""A compiled loop stops when its thread is told to, and no other does."""

from __future__ import annotations

import threading

from presage.arrays.cancel import CancelledError, cancel_loops, check_cancelled
from presage.arrays.jit import inlined


@inlined
def _count(rounds: int) -> int:
    done = 0
    while done < rounds:
        check_cancelled(done)
        done += 1
    return done


def test_a_loop_without_end_stops_when_its_thread_is_cancelled() -> None:
    assert _count(100) == 100  # compiled
    ended = threading.Event()

    def endless() -> None:
        try:
            _count(2**62)
        except CancelledError:
            ended.set()

    thread = threading.Thread(target=endless, daemon=True)
    thread.start()
    try:
        cancel_loops(thread.ident or 0)
        assert _count(1_000_000) == 1_000_000  # in another thread it goes on
        assert ended.wait(10)
    finally:
        cancel_loops(0)
