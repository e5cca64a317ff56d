"""Terms of several items come in; what they say of values that depend on each other goes out, group by group.

A value is tied to those that it is compared with, through their errors. A group can be integrated over if it is a star:
one value, and others that are compared with that one alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.prediction.kernel.spec import GREATER, LESS, Comparator, JoinTerm, ValueTerm

# A value: the number of an item, and of its attribute.
Value = tuple[int, int]
NOBODY = -1


@dataclass(frozen=True)
class Stars:
    """`value`: item and attribute, with bounds `low` and `high`. Of each group the value in the `middle`, and from
    `begin` on, up to where the next begins, the values `around` it, with how far from it they may be (`reach`).
    `never`: item and attribute of two values, or of one (NOBODY), that are the same only if both are sure."""

    value: Ints
    low: Floats
    high: Floats
    middle: Ints
    begin: Ints
    around: Ints
    reach: Floats
    never: Ints


def stars_of(
    values: Sequence[Sequence[ValueTerm]], joins: Mapping[tuple[int, int], Sequence[JoinTerm]]
) -> Stars | None:
    """`values`: the terms of each item alone; `joins`: those of two items. None: there is a group that is no star, or a
    distance with a lower bound, whose chance may have several peaks."""
    low, high, reach = dict[Value, float](), dict[Value, float](), dict[tuple[Value, Value], float]()
    never = list[tuple[int, int, int, int]]()
    for item, terms in enumerate(values):
        for term in terms:
            one = item, term.attribute
            if term.comparator in LESS:
                high[one] = min(high.get(one, math.inf), term.constant)
            elif term.comparator in GREATER:
                low[one] = max(low.get(one, -math.inf), term.constant)
            elif term.comparator == Comparator.EQ:
                never.append((*one, NOBODY, NOBODY))
    for (a, b), joined in joins.items():
        for join in joined:
            ends = (a, join.left), (b, join.right)
            if join.comparator in GREATER and join.constant >= 0:
                return None
            if join.comparator in LESS:
                reach[ends] = min(reach.get(ends, math.inf), join.constant)
            elif join.comparator == Comparator.EQ:
                never.append((*ends[0], *ends[1]))
    found = _groups([*low, *high], list(reach))
    if found is None:
        return None
    order = [value for group in found for value in group]
    place = {value: i for i, value in enumerate(order)}
    sizes = np.array([len(group) - 1 for group in found], np.int64)
    tied = [(group[0], other) for group in found for other in group[1:]]
    reaches = [reach[edge] if (edge := (one, other)) in reach else reach[other, one] for one, other in tied]
    return Stars(
        np.array(order, np.int64).reshape(-1, 2),
        np.array([low.get(value, -math.inf) for value in order], np.float64),
        np.array([high.get(value, math.inf) for value in order], np.float64),
        np.array([place[group[0]] for group in found], np.int64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        np.array([place[other] for _, other in tied], np.int64),
        np.array(reaches, np.float64),
        np.array(never, np.int64).reshape(-1, 4),
    )


def _groups(alone: Sequence[Value], edges: Sequence[tuple[Value, Value]]) -> list[list[Value]] | None:
    """Of each group the value in the middle, then the others. None: there is one that is no star."""
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
