"""Groups of dependent values of several items.

A value depends on those that it is compared with, through their errors. The chance of a group can be computed if it is
a star: one value, and others that are compared with that one alone. The binder imports this module, so it imports no
NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from presage.operators.prediction.kernel.spec import GREATER, LESS, Comparator, JoinTerm, ValueTerm

# A value: the number of an item, and of its attribute.
Value = tuple[int, int]
NOBODY = -1


@dataclass
class Groups:
    """Bounds of values, the greatest distance of two of them, and those that must equal each other or a constant
    (NOBODY). `stars`: for each group the value in the middle, then the others."""

    low: dict[Value, float] = field(default_factory=dict)
    high: dict[Value, float] = field(default_factory=dict)
    reach: dict[tuple[Value, Value], float] = field(default_factory=dict)
    never: list[tuple[int, int, int, int]] = field(default_factory=list)
    stars: list[list[Value]] = field(default_factory=list)


def groups_of(
    values: Sequence[Sequence[ValueTerm]], joins: Mapping[tuple[int, int], Sequence[JoinTerm]]
) -> Groups | None:
    """`values`: the terms of each item alone; `joins`: those of two items. None: some group is not a star, or a
    distance has a lower bound, so that its chance may have several peaks."""
    made = Groups()
    for item, terms in enumerate(values):
        for term in terms:
            one = item, term.attribute
            if term.comparator in LESS:
                made.high[one] = min(made.high.get(one, math.inf), term.constant)
            elif term.comparator in GREATER:
                made.low[one] = max(made.low.get(one, -math.inf), term.constant)
            elif term.comparator == Comparator.EQ:
                made.never.append((*one, NOBODY, NOBODY))
    for (a, b), joined in joins.items():
        for join in joined:
            ends = (a, join.left), (b, join.right)
            if join.comparator in GREATER and join.constant >= 0:
                return None
            if join.comparator in LESS:
                made.reach[ends] = min(made.reach.get(ends, math.inf), join.constant)
            elif join.comparator == Comparator.EQ:
                made.never.append((*ends[0], *ends[1]))
    stars = _stars([*made.low, *made.high], list(made.reach))
    if stars is None:
        return None
    made.stars = stars
    return made


def _stars(alone: Sequence[Value], edges: Sequence[tuple[Value, Value]]) -> list[list[Value]] | None:
    """For each group the value in the middle, then the others. None: some group is not a star."""
    near: dict[Value, set[Value]] = {value: set() for value in alone}
    for one, other in edges:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)
    found, seen = list[list[Value]](), set[Value]()
    for value in sorted(near, key=lambda value: (-len(near[value]), value)):
        if value in seen:
            continue
        group = [value, *sorted(near[value])]
        if any(near[other] != {value} for other in group[1:]):
            return None
        seen |= set(group)
        found.append(group)
    return found
