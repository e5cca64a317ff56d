"""Laws of boundaries: polygons of (t_a, t_b) against corners found by brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
from hypothesis import given, settings

from presage.operators.prediction.kernel.join import join, join_with_boundary
from property.prediction_worlds import all_rows, joins, kernel_join, periods, pieces_of, updates
from reference.predictions import SECOND, Join, Update, allowed, value_of

Point = tuple[Fraction, Fraction]
Line = tuple[Fraction, Fraction, Fraction]


def lines_of(asked: Join, a: Update, b: Update, spans: tuple[Fraction, ...]) -> list[Line]:
    """p·t_a + q·t_b = c wherever anything may begin or end, in seconds."""
    one, none = Fraction(1), Fraction(0)
    window = Fraction(asked.window, SECOND)
    lines = [(one, none, spans[0]), (one, none, spans[1]), (none, one, spans[2]), (none, one, spans[3])]
    lines += [(one, -one, window), (one, -one, -window)]
    for term in asked.terms:
        x, y = value_of(a, term.left, 0), value_of(b, term.right, 0)
        assert x is not None
        assert y is not None
        slack = Fraction(a.thresholds[term.left]) + Fraction(b.thresholds[term.right])
        for sign, k in itertools.product((-1, 1), (-1, 0, 1)):
            bound = sign * Fraction(term.constant) + k * slack
            lines.append((Fraction(a.rates[term.left]), -Fraction(b.rates[term.right]), bound - x + y))
    return lines


def meetings(lines: list[Line]) -> set[Point]:
    """Where any two of them cross."""
    points = set()
    for (p, q, c), (r, s, d) in itertools.combinations(lines, 2):
        if p * s != q * r:
            points.add(((c * s - d * q) / (p * s - q * r), (p * d - r * c) / (p * s - q * r)))
    return points


def contains(corners: list[tuple[int, int]], point: Point, slack: float) -> bool:
    """Whether a convex polygon, anticlockwise, holds a point, in microseconds."""
    x, y = float(point[0] * SECOND), float(point[1] * SECOND)
    if len(corners) < 3:
        first, last = np.array(corners[0], float), np.array(corners[-1], float)
        along = last - first
        share = 0.0 if not along.any() else float(np.clip((np.array([x, y]) - first) @ along / (along @ along), 0, 1))
        return bool(np.hypot(*(first + share * along - [x, y])) <= slack)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) < -slack * np.hypot(x1 - x0, y1 - y0):
            return False
    return True


@settings(max_examples=60)
@given(joins(), updates((1,), 1, lacking=False), updates((2,), 1, lacking=False), periods)
def test_a_boundary_has_the_corners_that_brute_force_finds_and_holds_all_allowed_times(
    asked: Join, left: list[Update], right: list[Update], period: int
) -> None:
    asked = Join(asked.terms, asked.window)
    a, b = left[0], right[0]
    rows, polygons = join_with_boundary(pieces_of(left, period), pieces_of(right, period), kernel_join(asked))
    assert all_rows(rows) == all_rows(join(pieces_of(left, period), pieces_of(right, period), kernel_join(asked)))
    shapes = []
    for i in range(len(polygons)):
        chosen = slice(polygons.starts[i], polygons.starts[i + 1])
        shapes.append(list(zip(polygons.t_a[chosen].tolist(), polygons.t_b[chosen].tolist(), strict=True)))
        assert shapes[-1]
        # Each polygon gives times of its own row alone.
        row = polygons.row[i]
        latest = [max(corner) for corner in shapes[-1]]
        assert rows.valid_from[row] - 1 <= min(latest)
        assert max(latest) <= rows.valid_to[row] + 1
    spans = tuple(Fraction(t, SECOND) for t in (a.at, a.at + period, b.at, b.at + period))
    points = meetings(lines_of(asked, a, b, spans))
    for shape in shapes:
        for x, y in shape:
            assert any(abs(p * SECOND - x) <= 1 and abs(q * SECOND - y) <= 1 for p, q in points)
    for p, q in points:
        inside = spans[0] <= p <= spans[1] and spans[2] <= q <= spans[3]
        if inside and allowed(asked, a, p * SECOND, b, q * SECOND):
            assert any(contains(shape, (p, q), 2.0) for shape in shapes)
    for shape in shapes:
        middle = (
            sum(Fraction(x, SECOND) for x, _ in shape) / len(shape),
            sum(Fraction(y, SECOND) for _, y in shape) / len(shape),
        )
        # Of a polygon with an inside, the middle is allowed whether its border is or not.
        if len(shape) > 2:
            assert allowed(asked, a, middle[0] * SECOND, b, middle[1] * SECOND)
