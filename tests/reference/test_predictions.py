"""The slow evaluator itself, on examples that can be worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from reference.predictions import (
    SECOND,
    Join,
    Term,
    Update,
    chance_of,
    holds_at,
    in_force,
    matches_at,
    matches_on_grid,
)

PERIOD = 30 * SECOND
# The paper's example in section 4.3: tp1 = t, tp2 = 2t − 3, w = 4, K = 1.
ONE, TWO = Update(1, 0, (0.0,), (1.0,), (0.0,)), Update(2, 0, (-3.0,), (2.0,), (0.0,))
EXAMPLE = Join((Term(0, "<=", 1.0),), 4 * SECOND)


def test_the_last_update_is_in_force_until_its_period_is_over() -> None:
    updates = [ONE, Update(1, 5 * SECOND, (9.0,), (0.0,), (0.0,))]
    assert in_force(updates, 1, -1, PERIOD) is None
    assert in_force(updates, 1, 5 * SECOND - 1, PERIOD) is updates[0]
    assert in_force(updates, 1, 5 * SECOND, PERIOD) is updates[1]
    assert in_force(updates, 1, 35 * SECOND, PERIOD) is updates[1]
    assert in_force(updates, 1, 35 * SECOND + 1, PERIOD) is None


def test_of_two_updates_at_one_time_the_later_wins() -> None:
    updates = [ONE, Update(1, 0, (9.0,), (0.0,), (0.0,))]
    assert in_force(updates, 1, 0, PERIOD) is updates[1]


def test_the_example_of_the_paper_matches_only_once_the_later_value_is_there() -> None:
    # tp1(0) = 0 meets tp2(1) = -1, so the pair matches at 1, not at 0.
    assert not matches_at(EXAMPLE, [ONE], 1, [TWO], 2, PERIOD, SECOND - 1)
    assert matches_at(EXAMPLE, [ONE], 1, [TWO], 2, PERIOD, SECOND)
    # tp1 = t within 1 of 2u − 3 for some u from t − 4 to t: until 2(t − 4) − 3 = t + 1.
    assert matches_at(EXAMPLE, [ONE], 1, [TWO], 2, PERIOD, 12 * SECOND)
    assert not matches_at(EXAMPLE, [ONE], 1, [TWO], 2, PERIOD, 12 * SECOND + 1)


def test_the_system_of_the_papers_figure_2_agrees_with_the_definition() -> None:
    # a·tk − c·tl + b − d <= K and the seven other lines, tried on all pairs of a grid.
    steps = range(0, 16 * SECOND, SECOND // 2)
    by_lines = {
        max(tk, tl)
        for tk in steps
        for tl in steps
        if tk / SECOND - (2 * tl / SECOND - 3) <= 1
        and (2 * tl / SECOND - 3) - tk / SECOND <= 1
        and tk - tl <= 4 * SECOND
        and tl - tk <= 4 * SECOND
        and 0 <= tk <= PERIOD
        and 0 <= tl <= PERIOD
    }
    assert matches_on_grid(EXAMPLE, [ONE], 1, [TWO], 2, PERIOD, steps) == by_lines
    assert min(by_lines) == SECOND
    assert max(by_lines) == 12 * SECOND


def test_a_moment_is_decided_between_the_points_of_any_grid() -> None:
    join = Join((Term(0, "=", 0.0),), 0)
    # t = 2t − 3 at 3, and t = 3t − 1 at a half of a third of a second.
    assert matches_at(join, [ONE], 1, [TWO], 2, PERIOD, 3 * SECOND)
    other = Update(2, 0, (-1.0,), (4.0,), (0.0,))
    assert matches_at(join, [ONE], 1, [other], 2, PERIOD, Fraction(SECOND, 3))
    assert not matches_at(join, [ONE], 1, [other], 2, PERIOD, SECOND // 3)


@pytest.mark.parametrize(
    ("mode", "comparator", "expected"),
    [
        ("plain", "<=", False),
        ("may", "<=", True),
        ("must", "<=", False),
        ("plain", ">", True),
        ("may", ">", True),
        ("must", ">", False),
        ("may", "=", True),
        ("must", "<>", False),
        ("may", "<>", True),
        ("must", "=", False),
    ],
)
def test_a_value_of_11_give_or_take_2_against_10(mode: str, comparator: str, expected: bool) -> None:
    update = Update(1, 0, (11.0,), (0.0,), (2.0,))
    assert holds_at((Term(0, comparator, 10.0, mode),), [update], 1, 0, PERIOD) is expected


def test_chances_of_uniform_errors_by_area() -> None:
    # Errors in ±1 and ±1: their difference is a triangle over ±2.
    assert chance_of(Term(0, "<=", 1.0), 0.0, 1.0, 1.0) == pytest.approx(0.75, abs=1e-12)
    assert chance_of(Term(0, ">", 1.0), 0.0, 1.0, 1.0) == pytest.approx(0.25, abs=1e-12)
    assert chance_of(Term(0, "<=", 1.0), 1.0, 0.0, 2.0) == pytest.approx(0.5, abs=1e-12)
    assert chance_of(Term(0, "<", 5.0), 6.0, 2.0, None) == pytest.approx(0.25, abs=1e-12)
    assert chance_of(Term(0, "=", 0.0), 0.0, 0.0, 0.0) == 1
    assert chance_of(Term(0, "=", 0.0), 0.0, 0.0, 1.0) == pytest.approx(0.0, abs=1e-12)
