"""Result types of DECIMAL operators and aggregates, by Spark's rules, and the DECIMAL type of a literal.

Where the exact result has more than 38 digits, digits behind the point are given up, but not below six.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

from presage.model.types import MOST_DIGITS, DecimalOf

KEPT_BEHIND = 6  # digits behind the point that a quotient or product keeps
SUM_DIGITS = 10  # by which a sum is wider than its values
AVG_DIGITS = 4  # by which a mean is wider and finer than its values
MOST_FLOAT_DIGITS = 15  # a DOUBLE keeps the text of every number of so many digits


def result_of(op: str, a: DecimalOf, b: DecimalOf) -> DecimalOf:
    """The type of `a op b`."""
    if op == "*":
        return _adjusted(a.precision + b.precision + 1, a.scale + b.scale)
    if op == "/":
        scale = max(KEPT_BEHIND, a.scale + b.precision + 1)
        return _adjusted(a.whole + b.scale + scale, scale)
    scale = max(a.scale, b.scale)
    whole = min(a.whole, b.whole) if op == "%" else max(a.whole, b.whole) + 1
    return _adjusted(whole + scale, scale)


def sum_of(a: DecimalOf) -> DecimalOf:
    return DecimalOf(min(MOST_DIGITS, a.precision + SUM_DIGITS), a.scale)


def avg_of(a: DecimalOf) -> DecimalOf:
    return DecimalOf(min(MOST_DIGITS, a.precision + AVG_DIGITS), min(MOST_DIGITS, a.scale + AVG_DIGITS))


def rounded_of(a: DecimalOf, places: int) -> DecimalOf:
    if places < 0:
        return DecimalOf(min(MOST_DIGITS, max(a.whole + 1, 1 - places)), 0)
    scale = min(a.scale, places)
    return DecimalOf(min(MOST_DIGITS, a.whole + 1 + scale), scale)


def _same(a: DecimalOf, _: int) -> DecimalOf:
    return a


def _whole(a: DecimalOf, _: int) -> DecimalOf:
    return DecimalOf(min(MOST_DIGITS, a.whole + 1), 0)


# The functions of numbers that compute with decimals: the type of the result, by the argument and round's places.
DECIMAL_RESULTS: dict[str, Callable[[DecimalOf, int], DecimalOf]] = {
    **dict.fromkeys(("abs", "mod", "negative", "nullifzero", "positive", "zeroifnull"), _same),
    **dict.fromkeys(("ceil", "floor"), _whole),
    "round": rounded_of,
}


def _adjusted(precision: int, scale: int) -> DecimalOf:
    if precision <= MOST_DIGITS:
        return DecimalOf(precision, scale)
    return DecimalOf(MOST_DIGITS, max(MOST_DIGITS - (precision - scale), min(scale, KEPT_BEHIND)))


def type_of(value: Decimal) -> DecimalOf:
    """The type of a literal: its digits, as written."""
    behind = max(-int(value.as_tuple().exponent), 0)
    return DecimalOf(max(len(value.as_tuple().digits), behind, 1), behind)


def literal_of(value: object) -> Decimal | None:
    """A number of the text as a DECIMAL; None for a float that may have lost digits of its text."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 10**MOST_DIGITS else None
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    shortest = Decimal(repr(value))
    sign, digits, exponent = shortest.as_tuple()
    if len(digits) > MOST_FLOAT_DIGITS or not -MOST_DIGITS <= int(exponent) <= MOST_FLOAT_DIGITS:
        return None
    # Without a positive exponent: 1e3 is 1000.
    return Decimal((sign, (*digits, *[0] * max(int(exponent), 0)), min(int(exponent), 0)))
