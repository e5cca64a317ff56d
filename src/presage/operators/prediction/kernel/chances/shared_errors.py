"""Groups of terms with common errors, as arrays for the loops.

Terms on one attribute, or on one attribute of each side and their distance, depend on one or two errors: their joint
chance is not a product. Terms with `=` and `<>` are in no group: their chance is 0 or 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.spec import LESS, JoinTerm, ValueTerm, chained, chancy

# Columns of a group: one of its join terms and one margin of each side (-1: none), then the bounds of both values and
# of their distance.
A_TERM, A_MARGIN, B_MARGIN, LOW_A, HIGH_A, LOW_B, HIGH_B, NEARER, FARTHER = range(9)


def groups_of(
    terms: Sequence[JoinTerm], left: Sequence[ValueTerm], right: Sequence[ValueTerm] = ()
) -> tuple[Ints, Floats]:
    """The group of each term and of each margin of the left and the right (`sides.margins_of`); and the groups."""
    if chained(terms):
        raise ValueError("an attribute that is compared with several others has no chance of its own")
    places: dict[tuple[int, int | None], int] = {}
    rows: list[list[float]] = []
    numbers: list[int] = []

    def group(*ends: tuple[int, int]) -> list[float]:
        number = next((places[end] for end in ends if end in places), len(rows))
        if number == len(rows):
            rows.append([-1, -1, -1, -np.inf, np.inf, -np.inf, np.inf, -1.0, np.inf])
        places.update(dict.fromkeys(ends, number))
        numbers.append(number)
        return rows[number]

    for k, term in enumerate(terms):
        if not chancy(term):
            numbers.append(-1)
            continue
        row = group((0, term.left), (1, term.right))
        row[A_TERM] = k
        if term.comparator in LESS:
            row[FARTHER] = min(row[FARTHER], term.constant)
        else:
            row[NEARER] = max(row[NEARER], term.constant)
    for side, margin, low, i, value in _margins(left, right):
        row = group((side, value.attribute))
        row[margin] = i
        if value.comparator in LESS:
            row[low + 1] = min(row[low + 1], value.constant)
        else:
            row[low] = max(row[low], value.constant)
    return np.array(numbers, np.int64), np.array(rows, np.float64).reshape(-1, 9)


def _margins(left: Sequence[ValueTerm], right: Sequence[ValueTerm]) -> Iterator[tuple[int, int, int, int, ValueTerm]]:
    """For each margin its side, the columns of the margin and of the lower bound, its number within the side, its
    term."""
    for side, terms in enumerate((left, right)):
        with_margin = [term for term in terms if chancy(term)]
        for i, term in enumerate(with_margin):
            yield side, (A_MARGIN, B_MARGIN)[side], (LOW_A, LOW_B)[side], i, term
