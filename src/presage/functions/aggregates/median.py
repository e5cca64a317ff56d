"""median: the value in the middle, a DOUBLE: of two the mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.functions.aggregates.aggregate import register_aggregate
from presage.functions.aggregates.percentile import Percentile

if TYPE_CHECKING:
    from presage.arrays.jit import Floats


class Median(Percentile):
    name = "median"
    says = "the middle value, or the mean of the two middle values, as a DOUBLE"
    constants = ()

    def share(self, call: Any) -> float:
        return 0.5

    def between(self, low: Floats, high: Floats, weight: Floats) -> Floats:
        return 0.5 * low + 0.5 * high


register_aggregate(Median())
