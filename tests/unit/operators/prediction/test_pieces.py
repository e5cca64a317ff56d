"""Update-tuples become pieces: who is in force, from when, until when."""

from __future__ import annotations

import numpy as np

from presage.operators.prediction.kernel.pieces import Pieces, build_pieces, usable

SECOND = 1_000_000


def build(*updates: tuple[int, int, float], period: int = 10 * SECOND) -> Pieces:
    key, at, value = (np.array(column) for column in zip(*updates, strict=True))
    columns = value.astype(float).reshape(-1, 1)
    return build_pieces(key, at, columns, np.zeros_like(columns), np.zeros_like(columns), period)


def test_a_piece_ends_open_with_the_next_update_and_closed_with_its_period() -> None:
    pieces = build((1, 0, 0.0), (1, 4 * SECOND, 1.0), (1, 30 * SECOND, 2.0))
    assert pieces.end.tolist() == [4 * SECOND, 14 * SECOND, 40 * SECOND]
    assert pieces.end_open.tolist() == [True, False, False]


def test_an_update_at_the_last_moment_of_a_period_takes_that_moment() -> None:
    pieces = build((1, 0, 0.0), (1, 10 * SECOND, 1.0))
    assert pieces.end.tolist() == [10 * SECOND, 20 * SECOND]
    assert pieces.end_open.tolist() == [True, False]


def test_of_two_updates_at_one_time_the_later_row_wins() -> None:
    pieces = build((1, 0, 5.0), (2, 0, 6.0), (1, 0, 7.0))
    assert pieces.key.tolist() == [1, 2]
    assert pieces.value[:, 0].tolist() == [7.0, 6.0]


def test_rows_may_come_in_any_order() -> None:
    pieces = build((2, 3, 1.0), (1, 5, 2.0), (2, 1, 3.0), (1, 4, 4.0))
    assert pieces.key.tolist() == [1, 1, 2, 2]
    assert pieces.value[:, 0].tolist() == [4.0, 2.0, 3.0, 1.0]


def test_no_updates_make_no_pieces() -> None:
    none = np.empty((0, 1))
    assert len(build_pieces(np.empty(0, np.int64), np.empty(0, np.int64), none, none, none, SECOND)) == 0


def test_an_attribute_without_a_value_or_a_rate_is_of_no_use() -> None:
    value = np.array([[1.0, np.nan], [np.inf, 1.0], [1.0, 1.0], [1.0, 1.0]])
    rate = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, -np.inf], [0.0, 0.0]])
    threshold = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    pieces = build_pieces(np.arange(4), np.zeros(4, np.int64), value, rate, threshold, SECOND)
    assert usable(pieces, (0,)).tolist() == [True, False, True, False]
    assert usable(pieces, (1,)).tolist() == [False, True, False, True]
    assert usable(pieces, ()).tolist() == [True] * 4
