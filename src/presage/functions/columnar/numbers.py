"""Kernels of functions of numbers and of NULL that equal Java's result to the last bit."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable

import numpy as np

from presage.columnar import decimals
from presage.columnar.arithmetic import LEAST, compute, negate, nonzero
from presage.columnar.distinct import per_distinct
from presage.columnar.logic import choose, first_valid, is_null, is_true, negation, null_where
from presage.columnar.order import compare
from presage.columnar.vectors import DTYPES, Bools, Flat, Numbers, Vector, both_valid, constant
from presage.functions.columnar.call import Builder, Kernel, by_value, constant_of
from presage.functions.columnar.strict_math import exp, log, log10
from presage.model import types as t
from presage.model.types import DecimalOf
from presage.plan.expr import FunctionCall

_EXACT = decimal.Context(prec=800)
# sin, tan, cbrt … are missing on purpose: Java differs from NumPy and the C library in the last bit.


def _of_double(function: Callable[[Numbers], Numbers]) -> Builder:
    def run(x: Flat) -> Vector:
        with np.errstate(all="ignore"):
            return Flat(function(x.values), x.valid)

    return lambda call: run


def _abs(call: FunctionCall) -> Kernel:
    if isinstance(call.type, DecimalOf):
        return decimals.absolute(call.type)
    opposite = negate(call.type)

    def run(x: Flat) -> Vector:
        if call.type == t.DOUBLE:
            return Flat(np.abs(x.values), x.valid)
        return choose(x.values < 0, opposite(x), x, call.type)

    return run


def _whole(function: np.ufunc) -> Builder:
    """ceil and floor; NULL beyond LONG."""

    def build(call: FunctionCall) -> Kernel:
        source = call.args[0].type
        if isinstance(source, DecimalOf):
            return decimals.towards(source, call.type, function is np.ceil)
        if source != t.DOUBLE:
            return lambda x: x

        def run(x: Flat) -> Vector:
            inside = (x.values >= -(2.0**63)) & (x.values < 2.0**63)
            with np.errstate(invalid="ignore"):
                values = function(x.values).astype(np.int64)
            return Flat(values, x.valid if inside.all() else both_valid(x.valid, inside))

        return run

    return build


def _round(mode: str) -> Builder:
    def build(call: FunctionCall) -> Kernel | None:
        scale = constant_of(call, 1, 0)
        if not isinstance(scale, int):
            return None
        source = call.args[0].type
        if isinstance(source, DecimalOf) and isinstance(call.type, DecimalOf):
            return decimals.rounded(source, call.type, scale)
        if call.type == t.DOUBLE:
            # For negative scales the result may depend on digits that Java 17 and 19 print differently.
            return per_distinct(lambda x: _rounded(x, scale, mode), (t.DOUBLE,), t.DOUBLE) if scale >= 0 else None
        if scale >= 0:
            return _first
        least = LEAST[call.type]

        def whole(x: int) -> int | None:
            exact = decimal.Decimal(x).quantize(decimal.Decimal(1).scaleb(-scale), mode, _EXACT)
            return int(exact) if least <= exact < -least else None

        rounded = per_distinct(whole, (call.args[0].type,), call.type)
        return lambda x, *rest: rounded(x)

    def with_scale(call: FunctionCall) -> Kernel | None:
        kernel = build(call)
        return kernel if kernel is None else lambda x, *rest: kernel(x)

    return with_scale


def _rounded(x: float, scale: int, mode: str) -> float:
    """Rounds the shortest decimal text of x, as Java does. A decimal has no -0.0."""
    if not math.isfinite(x):
        return x
    digits = decimal.Decimal(repr(x))
    if scale > 400 or -digits.as_tuple().exponent <= scale:  # type: ignore[operator]
        return x + 0.0
    return float(digits.quantize(decimal.Decimal(1).scaleb(-scale), mode, _EXACT)) + 0.0


def _first(x: Vector, *rest: Vector) -> Vector:
    return x


def _extreme(op: str) -> Builder:
    """greatest and least, which ignore NULLs; of equal values the first."""

    def build(call: FunctionCall) -> Kernel:
        better = compare(op, call.type)

        def run(*args: Vector) -> Vector:
            best = args[0]
            for other in args[1:]:
                wins = better(other, best).values
                if best.valid is not None:
                    wins = wins | ~best.valid
                if other.valid is not None:
                    wins = wins & other.valid
                best = choose(wins, other, best, call.type)
            return best

        return run

    return build


def _logarithm(function: Callable[[Numbers], Numbers]) -> Callable[[FunctionCall], Callable[..., Flat]]:
    """NULL unless x > 0; NaN counts as greater."""

    def run(x: Flat) -> Flat:
        above = ~(x.values <= 0)
        return Flat(function(x.values), x.valid if above.all() else both_valid(x.valid, above))

    return lambda call: run


def _log2(x: Numbers) -> Numbers:
    with np.errstate(all="ignore"):
        return log(x) / _LN2


def _log(call: FunctionCall) -> Kernel | None:
    of = _logarithm(log)(call)
    if len(call.args) == 1:
        return of

    def run(base: Flat, x: Flat) -> Flat:
        a, b = of(x), of(base)
        with np.errstate(all="ignore"):
            return Flat(a.values / b.values, both_valid(a.valid, b.valid))

    return run


def _power(call: FunctionCall) -> Kernel | None:
    """For exponents that Java treats as special cases; Spark computes the others."""
    exponent = constant_of(call, 1)
    function = _POWERS.get(exponent) if isinstance(exponent, float) else None
    if function is None:
        return None
    simple = _of_double(function)(call)
    assert simple is not None
    return lambda x, _: simple(x)


def _root(x: Numbers) -> Numbers:
    return np.where(x == -np.inf, np.inf, np.sqrt(x + 0.0))


_LN2 = log(np.array([2.0]))
_POWERS: dict[float, Callable[[Numbers], Numbers]] = {
    0.0: np.ones_like,
    0.5: _root,
    1.0: lambda x: x,
    -1.0: lambda x: 1.0 / x,
    2.0: lambda x: x * x,
}


def _pmod(call: FunctionCall) -> Kernel | None:
    rest = compute("%", call.type)
    dtype = DTYPES[call.type]

    def run(a: Flat, b: Flat) -> Flat:
        found = rest(a, b)
        r, n = found.values.astype(dtype), b.values
        # (r + n) % n with Java's wrapping sum; the remainder by -1 is never negative.
        with np.errstate(all="ignore"):
            moved = np.fmod(r + n, np.where((n == 0) | (n == -1), 1, n))
        return Flat(np.where(r < 0, moved, r).astype(dtype), found.valid)

    return run


def _div(a: Flat, b: Flat) -> Vector:
    x, y = np.broadcast_arrays(a.values, b.values)
    safe = np.where((y == 0) | (y == -1), 1, y)
    # Rounds towards zero, by the remainder with the dividend's sign: NumPy's division rounds down.
    quotient = (x - np.fmod(x, safe)) // safe
    values = np.where(y == -1, np.negative(x), quotient)
    fits = (y != 0) & ~((y == -1) & (x == LEAST[t.LONG]))
    return Flat(values, both_valid(both_valid(a.valid, b.valid), fits))


def _equal_null(call: FunctionCall) -> Kernel:
    equal = compare("=", call.args[0].type)
    if call.args[0].type == t.NULL:
        return lambda a, b: Flat(np.ones(1, np.bool_))

    def run(a: Vector, b: Vector) -> Vector:
        found = equal(a, b)
        if found.valid is None:
            return found
        neither = is_null(a).values & is_null(b).values
        return Flat(is_true(found) | neither)

    return run


def _nullif(call: FunctionCall) -> Kernel:
    equal = compare("=", call.type)
    return lambda a, b: null_where(is_true(equal(a, b)), a, call.type)


def _if(call: FunctionCall) -> Kernel:
    return lambda condition, yes, no: choose(is_true(condition), yes, no, call.type)


def _nvl2(call: FunctionCall) -> Kernel:
    return lambda tested, yes, no: yes if tested.valid is None else choose(tested.valid, yes, no, call.type)


def _nullifzero(call: FunctionCall) -> Kernel:
    if isinstance(call.type, DecimalOf):
        return lambda x: null_where(~decimals.nonzero(x), x, call.type)
    return lambda x: Flat(x.values, both_valid(x.valid, nonzero(x.values)))


def _mod(call: FunctionCall) -> Kernel:
    if isinstance(call.type, DecimalOf):
        a, b = (arg.type for arg in call.args)
        return decimals.compute("%", a, b, call.type)  # type: ignore[arg-type]
    return compute("%", call.type)


def _negative(call: FunctionCall) -> Kernel:
    return decimals.negated(call.type) if isinstance(call.type, DecimalOf) else negate(call.type)


def _zeroifnull(call: FunctionCall) -> Kernel:
    zero = constant(0, call.type)
    return lambda x: first_valid(call.type)(x, zero)


def _isnan(x: Flat) -> Vector:
    found: Bools = x.values != x.values
    return Flat(found if x.valid is None else found & x.valid)


def _nanvl(a: Flat, b: Vector) -> Vector:
    return choose(a.values == a.values if a.valid is None else (a.values == a.values) | ~a.valid, a, b, t.DOUBLE)


def _shift(function: Callable[[Numbers, Numbers], Numbers]) -> Builder:
    """Java takes the count modulo the number of bits."""

    def build(call: FunctionCall) -> Kernel:
        bits = 64 if call.type == t.LONG else 32
        dtype = DTYPES[call.type]

        def run(x: Flat, count: Flat) -> Vector:
            values = function(x.values, (count.values & (bits - 1)).astype(dtype))
            return Flat(values.astype(dtype), both_valid(x.valid, count.valid))

        return run

    return build


def _unsigned_right(x: Numbers, count: Numbers) -> Numbers:
    unsigned = np.uint64 if x.dtype == np.int64 else np.uint32
    shifted: Numbers = np.right_shift(x.view(unsigned), count.astype(unsigned)).view(x.dtype)
    return shifted


def _bit_get(x: int, place: int) -> int | None:
    return (x >> place) & 1 if 0 <= place < 64 else None


def _fixed(value: float) -> Builder:
    return lambda call: lambda: constant(value, t.DOUBLE)


def _isnotnull(x: Vector) -> Vector:
    return negation(is_null(x))


NUMBERS: dict[str, Builder] = {
    "abs": _abs,
    "bin": by_value(lambda x: f"{x & (2**64 - 1):b}"),
    "bit_count": by_value(lambda x: int(x & (2**64 - 1)).bit_count()),
    "bit_get": by_value(_bit_get),
    "bround": _round(decimal.ROUND_HALF_EVEN),
    "ceil": _whole(np.ceil),
    "coalesce": lambda c: first_valid(c.type),
    "degrees": _of_double(lambda x: x * 57.29577951308232),
    "div": lambda c: _div,
    "e": _fixed(math.e),
    "equal_null": _equal_null,
    "exp": _of_double(exp),
    "factorial": by_value(lambda x: math.factorial(x) if 0 <= x <= 20 else None),
    "floor": _whole(np.floor),
    "greatest": _extreme(">"),
    "if": _if,
    "isnan": lambda c: _isnan,
    "isnotnull": lambda c: _isnotnull,
    "isnull": lambda c: is_null,
    "least": _extreme("<"),
    "ln": _logarithm(log),
    "log": _log,
    "log10": _logarithm(log10),
    "log2": _logarithm(_log2),
    "mod": _mod,
    "nanvl": lambda c: _nanvl,
    "negative": _negative,
    "nullif": _nullif,
    "nullifzero": _nullifzero,
    "nvl": lambda c: first_valid(c.type),
    "nvl2": _nvl2,
    "pi": _fixed(math.pi),
    "pmod": _pmod,
    "positive": lambda c: _first,
    "power": _power,
    "radians": _of_double(lambda x: x * 0.017453292519943295),
    "rint": _of_double(np.rint),
    "round": _round(decimal.ROUND_HALF_UP),
    "shiftleft": _shift(np.left_shift),
    "shiftright": _shift(np.right_shift),
    "shiftrightunsigned": _shift(_unsigned_right),
    "sign": _of_double(lambda x: np.where(x == 0, x, np.sign(x))),
    "sqrt": _of_double(np.sqrt),
    "zeroifnull": _zeroifnull,
}
