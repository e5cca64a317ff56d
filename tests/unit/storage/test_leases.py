"""What is held stays held until the last holder lets go."""

from __future__ import annotations

import gc

from presage.storage.leases import Leases


def test_a_file_is_held_until_the_last_holder_lets_go() -> None:
    leases = Leases()
    first, second = leases.hold(["a", "b"]), leases.hold(["a"])
    first.release()
    assert (leases.holds("a"), leases.holds("b")) == (True, False)
    second.release()
    assert not leases.holds("a")


def test_releasing_twice_counts_once() -> None:
    leases = Leases()
    first, second = leases.hold(["a"]), leases.hold(["a"])
    first.release()
    first.release()
    assert leases.holds("a")
    second.release()


def test_a_holder_that_is_forgotten_lets_go() -> None:
    leases = Leases()
    held = leases.hold(["a"])
    assert leases.holds("a")
    del held
    gc.collect()
    assert not leases.holds("a")


def test_the_oldest_pin_counts() -> None:
    leases = Leases()
    assert (leases.oldest(), leases.since()) == (None, None)
    with leases.lease(7, []), leases.lease(3, ["a"]) as oldest:
        assert leases.oldest() == 3
        oldest.release()
        assert (leases.oldest(), leases.holds("a")) == (7, False)
    assert leases.oldest() is None
