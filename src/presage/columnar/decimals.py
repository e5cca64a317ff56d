"""Arithmetic, casts and rounding of DECIMAL vectors, to the digits that Spark gives. Beyond the digits of the result
NULL; rounded half away from zero."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable

import numpy as np

from presage.arrays import decimals as d
from presage.arrays.decimals import Wholes
from presage.columnar.arithmetic import LEAST
from presage.columnar.distinct import per_distinct
from presage.columnar.vectors import Bools, Cells, Flat, Vector, both_valid
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType, DecimalOf

Kernel = Callable[..., Vector]
# Spark divides to so many digits behind the point, then rounds to those of the result.
_QUOTIENT = 39
# An exponent of more digits makes a number that no DECIMAL holds, or zero.
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_EXACT = decimal.Context(prec=2_000)
_BLANKS = "".join(map(chr, range(33)))


def wholes(vector: Vector) -> Wholes:
    assert isinstance(vector, Cells)
    return d.wholes_of(vector.array)


def made(values: Wholes, valid: Bools | None, data_type: DataType) -> Cells:
    if valid is not None and len(valid) != len(values):
        size = max(len(valid), len(values)) if min(len(valid), len(values)) else 0
        values, valid = np.broadcast_to(values, size), np.broadcast_to(valid, size)
    return Cells(d.to_array(values, valid, to_arrow(data_type)))


def compute(op: str, a: DecimalOf, b: DecimalOf, result: DecimalOf) -> Kernel:
    """`+ - * / %` on operands of these types."""
    scale = max(a.scale, b.scale)

    def run(left: Vector, right: Vector) -> Vector:
        x, y, valid = wholes(left), wholes(right), both_valid(left.valid, right.valid)
        if op == "*":
            return made(d.moved(d.times(x, y), result.scale - a.scale - b.scale), valid, result)
        if op in "/%":
            zero = np.asarray(y == 0, np.bool_)
            if zero.any():
                y, valid = np.where(zero, 1, y), both_valid(valid, ~zero)
        if op == "/":
            return made(_quotient(x, y, b.scale - a.scale, result.scale), valid, result)
        x, y = d.moved(x, scale - a.scale), d.moved(y, scale - b.scale)
        if op == "%":
            return made(d.remainder(x, y), valid, result)
        most = d.greatest(x) + d.greatest(y)
        x, y = d.wide(x, most), d.wide(y, most)
        return made(d.moved(x + y if op == "+" else x - y, result.scale - scale), valid, result)

    return run


def _quotient(x: Wholes, y: Wholes, digits: int, scale: int) -> Wholes:
    """`digits`: of the divisor behind the point, less those of the dividend."""
    further = scale + digits
    if further >= 0 and d.greatest(x) * 10**further < d.FAST and d.greatest(y) < d.FAST:
        # As near to half a digit as 39 digits cannot tell apart no quotient of such numbers comes.
        return d.divided(d.times(x, 10**further), y)
    return d.moved(d.divided(d.times(x, 10 ** (_QUOTIENT + digits)), y), scale - _QUOTIENT)


def negated(data_type: DataType) -> Kernel:
    return lambda x: made(-wholes(x), x.valid, data_type)


def absolute(data_type: DataType) -> Kernel:
    return lambda x: made(np.abs(wholes(x)), x.valid, data_type)


def nonzero(x: Vector) -> Bools:
    return np.asarray(wholes(x) != 0, np.bool_)


def rounded(source: DecimalOf, result: DecimalOf, places: int) -> Kernel:
    """Half away from zero, to so many digits behind the point; before it if negative."""

    def run(x: Vector, *_: Vector) -> Vector:
        kept = d.moved(wholes(x), places - source.scale) if places < source.scale else wholes(x)
        return made(d.moved(kept, result.scale - min(places, source.scale)), x.valid, result)

    return run


def towards(source: DecimalOf, result: DataType, up: bool) -> Kernel:
    """ceil and floor."""

    def run(x: Vector) -> Vector:
        power, given = 10**source.scale, wholes(x)
        given = d.wide(given, max(d.greatest(given), power))
        return made(-(-given // power) if up else given // power, x.valid, result)

    return run


# -- casts ----------------------------------------------------------------------------------------------


def from_number(source: DataType, target: DecimalOf) -> Kernel | None:
    """From a number, a truth value or a text."""
    if isinstance(source, DecimalOf):
        digits = target.scale - source.scale
        return lambda x: made(d.moved(wholes(x), digits), x.valid, target)
    if source == t.STRING:
        return per_distinct(lambda text: read(text, target), (source,), target)
    if source == t.DOUBLE:
        return per_distinct(lambda x: fitting(decimal.Decimal(repr(x)), target), (source,), target)
    return lambda x: made(d.moved(x.values.astype(np.int64), target.scale), x.valid, target)


def to_number(source: DecimalOf, target: DataType) -> Kernel:
    """To a number or a truth value: digits behind the point of an integer are dropped."""
    if target == t.DOUBLE:
        return lambda x: Flat(d.doubles_of(wholes(x), source.scale), x.valid)
    if target == t.BOOLEAN:
        return lambda x: Flat(nonzero(x), x.valid)
    least, dtype = LEAST[target], to_arrow(target).to_pandas_dtype()

    def run(x: Vector) -> Vector:
        whole = d.truncated(wholes(x), 10**source.scale)
        fits = np.asarray((whole >= least) & (whole <= -least - 1), np.bool_)
        return Flat(np.where(fits, whole, 0).astype(dtype), x.valid if fits.all() else both_valid(x.valid, fits))

    return run


def to_text(source: DecimalOf) -> Kernel:
    return per_distinct(lambda value: f"{value:f}", (source,), t.STRING)


def read(text: str, target: DecimalOf) -> decimal.Decimal | None:
    """A number as a text spells it; None if it does not fit."""
    bare = text.strip(_BLANKS)
    return fitting(decimal.Decimal(bare), target) if _NUMBER.fullmatch(bare) else None


def fitting(value: decimal.Decimal, target: DecimalOf) -> decimal.Decimal | None:
    """Rounded to the digits of the type; None if it has too many before the point."""
    if not value.is_finite() or (value and value.adjusted() >= t.MOST_DIGITS):
        return None
    near = value.quantize(decimal.Decimal(1).scaleb(-target.scale), decimal.ROUND_HALF_UP, _EXACT)
    if not near:
        return near.copy_abs()
    return near if near.adjusted() < target.whole else None
