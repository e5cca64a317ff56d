"""Versions of what a buffer held: when each was so, and what was known of an object at a time."""

from __future__ import annotations

import numpy as np

from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec
from presage.operators.prediction.kernel.buffer.versions import last_begun_at, unchanged, versions_of
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.regions.evaluation import ALWAYS, FOREVER

SECOND = 1_000_000


def fed(times: list[int], keys: list[int], limit: int, before: int = 0) -> list[tuple[int, int, int, int, int]]:
    """Arrival, start, end, from when and until before when, in seconds; the first `before` were held already."""
    buffer = Buffer(BufferSpec(limit, 100 * SECOND, 10 * SECOND, 1, "oldest"))
    time, key, zeros = np.array(times) * SECOND, np.array(keys), np.zeros((len(times), 1))
    buffer.feed(time[:before], key[:before], zeros[:before], zeros[:before])
    held = buffer.in_force()
    changes = buffer.feed(time[before:], key[before:], zeros[before:], zeros[before:]).changes
    made = versions_of(held, np.full(len(held.arrival), ALWAYS), changes, time[changes.at])
    known = ([t if t in (ALWAYS, FOREVER) else t // SECOND for t in side] for side in made.visible.T.tolist())
    intervals = zip(made.arrival.tolist(), made.start // SECOND, made.end // SECOND, *known, strict=True)
    return [tuple(map(int, row)) for row in intervals]


def test_a_tuple_has_a_version_until_its_successor_comes_and_one_after() -> None:
    assert fed([0, 4], [0, 0], limit=5) == [(0, 0, 10, 0, 4), (0, 0, 4, 4, FOREVER), (1, 4, 14, 4, FOREVER)]


def test_what_was_held_before_was_always_so() -> None:
    assert fed([0, 4], [0, 1], limit=5, before=1) == [(0, 0, 10, ALWAYS, FOREVER), (1, 4, 14, 4, FOREVER)]


def test_what_was_evicted_has_no_version_from_then_on() -> None:
    assert fed([0, 4], [0, 1], limit=1) == [(0, 0, 10, 0, 4), (1, 4, 14, 4, FOREVER)]


def test_a_neighbour_that_stands_in_has_a_version_with_the_longer_interval() -> None:
    # The tuple of second 0 goes, and the one of second 4 begins where that one began.
    assert (1, 0, 14, 6, FOREVER) in fed([0, 4, 6], [0, 0, 1], limit=2)


def test_of_several_changes_in_one_moment_the_last_counts() -> None:
    assert fed([4, 4, 4], [0, 1, 2], limit=1) == [(2, 4, 14, 4, FOREVER)]


def test_without_changes_all_is_known_from_when_it_was_known_before() -> None:
    buffer = Buffer(BufferSpec(3, 0, SECOND, 1))
    buffer.feed(np.array([0, 5]), np.array([0, 1]), np.zeros((2, 1)), np.zeros((2, 1)))
    made = unchanged(buffer.in_force(), np.array([ALWAYS, 4]))
    assert made.arrival.tolist() == [0, 1]
    assert made.visible.tolist() == [[ALWAYS, FOREVER], [4, FOREVER]]


def test_an_object_is_seen_as_it_was_known_at_the_time() -> None:
    start = np.array([0, 5, 2, 0])
    key, end, zeros = np.array([7, 7, 7, 8]), start + 10, np.zeros((4, 1))
    pieces = Pieces(key, start, end, np.zeros(4, np.bool_), zeros, zeros, zeros)
    known = np.array([[ALWAYS, 8], [4, FOREVER], [8, FOREVER], [ALWAYS, FOREVER]])

    def at(asked_key: int, time: int, seen: int) -> int:
        return int(last_begun_at(pieces, known, *(np.array([x]) for x in (asked_key, time, seen)))[0])

    assert at(7, 4, 4) == 0
    assert at(7, 6, 6) == 1
    # Seen from 7, when the third version is not yet so, and from 8, when the first is no more.
    assert (at(7, 3, 7), at(7, 3, 8)) == (0, 2)
    assert at(8, 3, 9) == 3
    assert at(9, 3, 9) == -1
    assert at(7, -1, 0) == -1
