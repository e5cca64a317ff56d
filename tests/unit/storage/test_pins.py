"""What is held stays held until the last holder lets go."""

from __future__ import annotations

import gc

from presage.storage.leases import Pins


def test_a_file_is_held_until_the_last_holder_lets_go() -> None:
    pins = Pins()
    first, second = pins.hold(["a", "b"]), pins.hold(["a"])
    first.release()
    assert (pins.holds("a"), pins.holds("b")) == (True, False)
    second.release()
    assert not pins.holds("a")


def test_releasing_twice_counts_once() -> None:
    pins = Pins()
    first, second = pins.hold(["a"]), pins.hold(["a"])
    first.release()
    first.release()
    assert pins.holds("a")
    second.release()


def test_a_holder_that_is_forgotten_lets_go() -> None:
    pins = Pins()
    held = pins.hold(["a"])
    assert pins.holds("a")
    del held
    gc.collect()
    assert not pins.holds("a")


def test_the_oldest_pin_counts() -> None:
    pins = Pins()
    assert (pins.oldest(), pins.since()) == (None, None)
    with pins.pin(7, []), pins.pin(3, ["a"]) as oldest:
        assert pins.oldest() == 3
        oldest.release()
        assert (pins.oldest(), pins.holds("a")) == (7, False)
    assert pins.oldest() is None
