"""The buffer of update-tuples: what contributes how much, who goes, and who stands in."""

from __future__ import annotations

import numpy as np
import pytest

from presage.operators.prediction.kernel.buffer.buffer import Buffer, BufferSpec, Fed

SECOND = 1_000_000


def make(limit: int, policy: str = "min-c", width: float = 1000, period: float = 1000, seed: int = 0) -> Buffer:
    return Buffer(BufferSpec(limit, int(width * SECOND), int(period * SECOND), 1, policy, seed))


def feed(buffer: Buffer, *tuples: tuple[float, int, float, float]) -> Fed:
    """Tuples of time in seconds, key, value and rate."""
    time, key, value, rate = (np.array(column) for column in zip(*tuples, strict=True))
    return buffer.feed((time * SECOND).astype(np.int64), key, value[:, None] * 1.0, rate[:, None] * 1.0)


def intervals(buffer: Buffer) -> dict[int, tuple[float, float]]:
    pieces = buffer.in_force()
    return {int(a): (s / SECOND, e / SECOND) for a, s, e in zip(pieces.arrival, pieces.start, pieces.end, strict=True)}


def test_a_tuple_is_in_force_until_the_next_of_its_key_at_most_for_the_period() -> None:
    buffer = make(10, period=30)
    feed(buffer, (0, 0, 0, 0), (5, 1, 0, 0), (10, 0, 0, 0), (50, 0, 0, 0))
    assert intervals(buffer) == {0: (0, 10), 1: (5, 35), 2: (10, 40), 3: (50, 80)}
    # The moment at which the next one begins is the next one's; the last moment of the period is its own.
    assert dict(zip(buffer.in_force().arrival.tolist(), buffer.in_force().end_open.tolist(), strict=True)) == {
        0: True,
        1: False,
        2: False,
        3: False,
    }


def test_the_tuple_whose_neighbour_predicts_nearly_the_same_goes() -> None:
    buffer = make(4)
    # Three tuples of a car that goes straight on, then one that turns.
    fed = feed(buffer, (0, 0, 0, 1), (10, 0, 10, 1.1), (20, 0, 21, 1), (30, 0, 31, -5), (40, 0, -19, -5))
    # Arrivals 1 and 2 hardly matter: over its ten seconds 1 differs from 0 by 5, 2 differs from 1 by 5, 0 from 1 by 5,
    # 3 is what 4 says as well.
    assert fed.evicted.tolist() == [-1, -1, -1, -1, 3]
    assert intervals(buffer)[4] == (30, 1040)


def test_the_neighbour_with_the_smaller_error_stands_in() -> None:
    forward, back = make(2), make(2)
    feed(forward, (0, 0, 0, 0), (10, 0, 1, 0), (12, 0, 9, 0))
    assert intervals(forward) == {0: (0, 12), 2: (12, 1012)}
    feed(back, (0, 0, 0, 0), (10, 0, 8, 0), (12, 0, 9, 0))
    assert intervals(back) == {0: (0, 10), 2: (10, 1012)}


def test_the_first_of_a_key_goes_by_what_the_next_one_says() -> None:
    buffer = make(2)
    fed = feed(buffer, (0, 0, 1, 0), (10, 0, 1, 0), (20, 0, 50, 0))
    assert fed.evicted.tolist() == [-1, -1, 0]
    assert intervals(buffer) == {1: (0, 20), 2: (20, 1020)}


def test_errors_of_attributes_add_up() -> None:
    buffer = Buffer(BufferSpec(4, 10**9, 10**9, 2))
    time = np.array([0, 10, 20, 30, 40]) * SECOND
    # Tuple 1 is 3 off in one attribute, tuple 2 is 2 off in each of both, tuple 3 is far off.
    values = np.array([[0, 0], [3, 0], [5, 2], [90, 90], [-90, -90]], np.float64)
    fed = buffer.feed(time, np.zeros(5, np.int64), values, np.zeros((5, 2)))
    assert fed.evicted[-1] == 0
    values[0] = [100, 100]
    again = Buffer(buffer.spec).feed(time, np.zeros(5, np.int64), values, np.zeros((5, 2)))
    # 1 loses 4 · 10 to the next one, 2 the same to the one before: the first to have come goes.
    assert again.evicted[-1] == 1


def test_the_absolute_value_is_of_the_integral() -> None:
    """Lines that cross in the middle cancel out, as in the paper's formula."""
    buffer = make(2)
    fed = feed(buffer, (0, 0, 100, 0), (10, 0, 0, 1), (20, 0, 5, 0))
    assert fed.evicted.tolist() == [-1, -1, 1]


def test_single_tuples_of_keys_are_drawn_by_seed_and_arrival() -> None:
    tuples = [(float(i), i, 0.0, 0.0) for i in range(40)]
    drawn = [feed(make(8, seed=seed), *tuples).evicted.tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0][8:])) == 32


def test_the_new_tuple_may_go_itself() -> None:
    buffer = make(2)
    feed(buffer, (0, 0, 0, 0), (20, 0, 90, 0))
    fed = feed(buffer, (10, 0, 90, 0))
    # It came late and says what the next one says.
    assert fed.evicted.tolist() == [2]
    assert intervals(buffer) == {0: (0, 10), 1: (10, 1020)}


def test_if_full_leaves_a_gap() -> None:
    buffer = make(2, "if-full", width=5, period=100)
    fed = feed(buffer, (0, 0, 0, 0), (1, 1, 0, 0), (10, 0, 0, 0))
    # The one before ends where the refused one would have begun: nobody knows what came then.
    assert fed.evicted.tolist() == [-1, -1, 2]
    assert intervals(buffer) == {0: (0, 10), 1: (1, 101)}
    # So it can be purged, and there is room again.
    assert feed(buffer, (15, 0, 0, 0)).evicted.tolist() == [-1]
    assert intervals(buffer) == {1: (1, 101), 3: (15, 115)}


def test_oldest_goes_by_time_not_by_arrival() -> None:
    buffer = make(3, "oldest")
    fed = feed(buffer, (10, 0, 0, 0), (5, 1, 0, 0), (20, 1, 0, 0), (30, 0, 0, 0), (1, 0, 0, 0))
    # The last one is older than all, but it is the oldest of those that were there that makes room.
    assert fed.evicted.tolist() == [-1, -1, -1, 1, 0]
    assert intervals(buffer) == {2: (5, 1020), 3: (30, 1030), 4: (1, 30)}


def test_an_evicted_last_tuple_is_stood_in_for_as_long_as_it_would_have_held() -> None:
    for seed in range(20):
        buffer = make(2, "random", period=30, seed=seed)
        fed = feed(buffer, (0, 0, 0, 0), (5, 1, 0, 0), (20, 0, 0, 0))
        if fed.evicted[-1] == 2:
            assert intervals(buffer) == {0: (0, 50), 1: (5, 35)}
            return
    raise AssertionError("no seed drew the last one")


def test_purging_extends_nothing_and_what_is_last_stays_for_its_period() -> None:
    buffer = make(10, width=5, period=30)
    feed(buffer, (0, 0, 0, 0), (10, 0, 0, 0), (12, 1, 0, 0))
    assert buffer.advance(15 * SECOND - 1).piece.size == 0
    changes = buffer.advance(15 * SECOND)
    assert (changes.piece.tolist(), changes.why.tolist()) == ([0], [2])
    assert intervals(buffer) == {1: (10, 40), 2: (12, 42)}
    # The last moment of the period still counts.
    buffer.advance(45 * SECOND)
    assert buffer.count == 2
    buffer.advance(47 * SECOND + 1)
    assert buffer.count == 0


def test_a_tuple_that_comes_too_late_for_any_window_is_not_kept() -> None:
    buffer = make(2, width=5, period=10)
    feed(buffer, (100, 0, 0, 0), (100, 1, 0, 0))
    fed = feed(buffer, (20, 2, 0, 0))
    assert fed.evicted.tolist() == [-1]
    assert fed.changes.why.tolist() == [0, 2]
    assert set(intervals(buffer)) == {0, 1}


def test_a_late_tuple_takes_over_the_stretch_that_another_stood_in_for() -> None:
    buffer = make(2)
    feed(buffer, (0, 0, 50, 0), (10, 0, 9, 0), (20, 0, 9, 0))
    assert intervals(buffer) == {0: (0, 10), 2: (10, 1020)}
    roomy = Buffer.from_state(BufferSpec(3, 10**9, 10**9, 1), buffer.to_state())
    feed(roomy, (15, 0, -70, 0))
    assert intervals(roomy) == {0: (0, 10), 3: (10, 20), 2: (20, 1020)}


def test_an_unknown_value_is_worth_everything() -> None:
    buffer = make(2)
    fed = feed(buffer, (0, 0, 0, 0), (10, 0, np.nan, np.nan), (20, 0, 0, 0), (30, 0, 1, 0), (40, 0, 1, 0))
    assert len(set(fed.evicted.tolist())) == 4


def test_thresholds_stay_with_their_tuples() -> None:
    buffer = make(2)
    time, key, zeros = np.array([0, 1, 2]) * SECOND, np.array([0, 1, 0]), np.zeros((3, 1))
    buffer.feed(time, key, zeros, zeros, np.array([[5.0], [6.0], [7.0]]))
    again = Buffer.from_state(buffer.spec, buffer.to_state())
    for one in (buffer, again):
        assert dict(zip(one.in_force().arrival.tolist(), one.in_force().thresholds[:, 0], strict=True)) == {
            1: 6.0,
            2: 7.0,
        }


def test_memory_grows_with_what_is_held_not_with_the_limit() -> None:
    buffer = make(10**12)
    feed(buffer, *((float(i), i % 3, 0.0, 0.0) for i in range(100)))
    assert buffer.count == 100
    assert buffer._slots.shape[1] < 1000


@pytest.mark.parametrize("policy", ["min-c", "if-full", "oldest", "random"])
def test_long_batches_are_fed_in_parts(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    tuples = [(float(i), int(random.integers(5)), float(random.normal()), 0.0) for i in range(200)]
    whole = make(20, policy)
    expected = feed(whole, *tuples)
    monkeypatch.setattr("presage.operators.prediction.kernel.buffer.buffer.PART", 7)
    found = feed(parts := make(20, policy), *tuples)
    assert found.evicted.tolist() == expected.evicted.tolist()
    assert intervals(parts) == intervals(whole)
