"""Arithmetic on vectors of one numeric type; overflow and division by zero give NULL."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from presage.arrays.calendar import days_after
from presage.columnar.vectors import Bools, Cells, Flat, Numbers, Vector, both_valid
from presage.model import types as t
from presage.model.calendar import DAY, MOST_DAYS
from presage.model.types import DataType

Operation = Callable[..., Flat]

LEAST: dict[DataType, int] = {t.INT: -(2**31), t.LONG: -(2**63)}
_SIMPLE: dict[str, np.ufunc] = {"+": np.add, "-": np.subtract, "*": np.multiply}


def compute(op: str, data_type: DataType) -> Operation:
    """`+ - * / %` on operands of this type."""
    if data_type == t.DOUBLE:
        return _double_division(op) if op in "/%" else _double(_SIMPLE[op])
    if op == "%":
        return _remainder
    return _small(_SIMPLE[op]) if data_type == t.INT else _large(op)


def _double(operator: np.ufunc) -> Operation:
    def run(a: Flat, b: Flat) -> Flat:
        with np.errstate(all="ignore"):
            return Flat(operator(a.values, b.values), both_valid(a.valid, b.valid))

    return run


def _double_division(op: str) -> Operation:
    operator = np.true_divide if op == "/" else np.fmod

    def run(a: Flat, b: Flat) -> Flat:
        with np.errstate(all="ignore"):
            return Flat(operator(a.values, b.values), both_valid(both_valid(a.valid, b.valid), nonzero(b.values)))

    return run


def nonzero(values: Numbers) -> Bools | None:
    found: Bools = values != 0
    return None if found.all() else found


def _remainder(a: Flat, b: Flat) -> Flat:
    """With the sign of the dividend."""
    divisor = b.values
    # The remainder by -1 is 0; the processor traps on the least number by -1, and on zero.
    safe = np.where((divisor == 0) | (divisor == -1), 1, divisor).astype(divisor.dtype, copy=False)
    return Flat(np.fmod(a.values, safe), both_valid(both_valid(a.valid, b.valid), nonzero(divisor)))


def _small(operator: np.ufunc) -> Operation:
    """INT: every sum and product fits in LONG."""

    def run(a: Flat, b: Flat) -> Flat:
        wide = operator(a.values.astype(np.int64), b.values)
        values = wide.astype(np.int32)
        valid = both_valid(a.valid, b.valid)
        fits = values == wide
        return Flat(values, valid if fits.all() else both_valid(valid, fits))

    return run


def _large(op: str) -> Operation:
    check = {"+": sum_fits, "-": difference_fits, "*": product_fits}[op]
    operator = _SIMPLE[op]

    def run(a: Flat, b: Flat) -> Flat:
        values = operator(a.values, b.values)
        valid = both_valid(a.valid, b.valid)
        fits = check(a.values, b.values, values)
        return Flat(values, valid if fits.all() else both_valid(valid, fits))

    return run


def sum_fits(a: Numbers, b: Numbers, total: Numbers) -> Bools:
    """Overflow turns the sign against both operands."""
    found: Bools = ((a ^ total) & (b ^ total)) >= 0
    return found


def difference_fits(a: Numbers, b: Numbers, difference: Numbers) -> Bools:
    found: Bools = ((a ^ b) & (a ^ difference)) >= 0
    return found


def product_fits(a: Numbers, b: Numbers, product: Numbers) -> Bools:
    # The product in DOUBLE has a tiny relative error: far from the limit it decides.
    near = np.abs(a.astype(np.float64) * b)
    found: Bools = near < 2.0**62
    doubtful = ~found & (near < 2.0**64)
    if doubtful.any():
        x, y, p = (np.broadcast_to(v, found.shape)[doubtful] for v in (a, b, product))
        # Neither is zero here. The least number by -1 is the one product that divides back to its factor.
        back = np.where(x == -1, y != LEAST[t.LONG], p // np.where(x == -1, 1, x) == y)
        found[doubtful] = back & (p % np.where(x == -1, 1, x) == 0)
    return found


def negate(data_type: DataType) -> Operation:
    """The least INT and LONG have no opposite: NULL."""
    least = LEAST.get(data_type)

    def run(a: Flat) -> Flat:
        if least is None:
            return Flat(-a.values, a.valid)
        fits = a.values != least
        return Flat(np.negative(a.values), a.valid if fits.all() else both_valid(a.valid, fits))

    return run


def concatenated(*texts: Vector) -> Cells:
    """`||`, and concat of texts."""
    same = len({len(text) for text in texts}) == 1
    parts = [text.scalar if len(text) == 1 and not same else text.array for text in texts]  # type: ignore[union-attr]
    return Cells(pc.binary_join_element_wise(*parts, ""))


# -- times ----------------------------------------------------------------------------------------------


def seconds_between(a: Vector, b: Vector) -> Flat:
    micros = _large("-")(a, b)
    return Flat(micros.values.astype(np.float64) / 1e6, micros.valid)


def months_later(op: str, months: int, rest: int) -> Operation:
    """TIMESTAMP ± months of the calendar, then microseconds; NULL outside of the range of a TIMESTAMP."""

    def run(a: Flat, _: Vector) -> Flat:
        days = np.floor_divide(a.values, DAY)
        moved = days_after(days, months if op == "+" else -months)
        fits = np.abs(moved) <= MOST_DAYS
        time = np.where(fits, moved, 0) * DAY + (a.values - days * DAY)
        return _large(op)(Flat(time, a.valid if fits.all() else both_valid(a.valid, fits)), Flat(np.array([rest])))

    return run
