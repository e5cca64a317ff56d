"""max: the greatest value."""

from __future__ import annotations

from presage.functions.aggregates.aggregate import register_aggregate
from presage.functions.aggregates.min import Min
from presage.functions.aggregates.parts import GREATEST_VALUE


class Max(Min):
    name = "max"
    says = "the greatest value"
    greatest, part = True, GREATEST_VALUE
    instead_of_several = "greatest(a, b) is the greatest of several values, without those that are null"


register_aggregate(Max())
