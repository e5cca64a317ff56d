"""Groups of dependent values as arrays, for the loops that integrate over them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.prediction.kernel.chances.star_groups import Groups


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


def stars_of(groups: Groups) -> Stars:
    found, reach = groups.stars, groups.reach
    order = [value for group in found for value in group]
    place = {value: i for i, value in enumerate(order)}
    sizes = np.array([len(group) - 1 for group in found], np.int64)
    tied = [(group[0], other) for group in found for other in group[1:]]
    reaches = [reach[edge] if (edge := (one, other)) in reach else reach[other, one] for one, other in tied]
    return Stars(
        np.array(order, np.int64).reshape(-1, 2),
        np.array([groups.low.get(value, -math.inf) for value in order], np.float64),
        np.array([groups.high.get(value, math.inf) for value in order], np.float64),
        np.array([place[group[0]] for group in found], np.int64),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        np.array([place[other] for _, other in tied], np.int64),
        np.array(reaches, np.float64),
        np.array(groups.never, np.int64).reshape(-1, 4),
    )
