"""Exponential and logarithms equal to Java's StrictMath (fdlibm) to the last bit; the C library's are not.

As fdlibm does: x is reduced to a small interval, a polynomial is evaluated there, and the parts are added in the same
order, which decides the last bit.
"""

from __future__ import annotations

import numpy as np

from presage.columnar.vectors import Ints, Numbers

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_EXP = (
    1.66666666666666019037e-01,
    -2.77777777770155933842e-03,
    6.61375632143793436117e-05,
    -1.65339022054652515390e-06,
    4.13813679705723846039e-08,
)
_OVERFLOW, _UNDERFLOW = 7.09782712893383973096e02, -7.45133219101941108420e02
_LOG10_2_HIGH, _LOG10_2_LOW = 3.01029995663611771306e-01, 3.69423907715893078616e-13
_INVERSE_LN10 = 4.34294481903251816668e-01
_HALF_LN2, _THREE_HALVES_LN2 = 0x3FD62E42, 0x3FF0A2B2


def _high_word(x: Numbers) -> Ints:
    return x.view(np.int64) >> 32


def _with_high_word(x: Numbers, high: Ints) -> Numbers:
    low = x.view(np.int64) & 0xFFFFFFFF
    found: Numbers = ((high << 32) | low).view(np.float64)
    return found


def log(x: Numbers) -> Numbers:
    """For positive numbers; undefined for others. Infinity and NaN are returned as they are."""
    with np.errstate(all="ignore"):
        small = x < 2.0**-1022
        scaled = np.ascontiguousarray(np.where(small, x * 2.0**54, x))
        high = _high_word(scaled)
        k = (high >> 20) - 1023 - np.where(small, 54, 0)
        high = high & 0x000FFFFF
        i = (high + 0x95F64) & 0x100000
        # x is 2**k * (1 + f) with 1 + f between sqrt(2)/2 and sqrt(2).
        k = k + (i >> 20)
        f = _with_high_word(scaled, high | (i ^ 0x3FF00000)) - 1.0
        dk = k.astype(np.float64)
        found = np.where((0x000FFFFF & (2 + high)) < 3, _log_near_one(f, k, dk), _log_apart(f, high, k, dk))
        return np.where(np.isfinite(x), found, x + x)


def _log_near_one(f: Numbers, k: Ints, dk: Numbers) -> Numbers:
    """For |f| below 2**-20."""
    r = f * f * (0.5 - 0.33333333333333333 * f)
    whole = dk * _LN2_HIGH - ((r - dk * _LN2_LOW) - f)
    none = np.where(k == 0, 0.0, dk * _LN2_HIGH + dk * _LN2_LOW)
    return np.where(f == 0.0, none, np.where(k == 0, f - r, whole))


def _log_apart(f: Numbers, high: Ints, k: Ints, dk: Numbers) -> Numbers:
    a, b, c, d, e, g, h = _LOG
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * (a + w * (c + w * (e + w * h))) + w * (b + w * (d + w * g))
    with_square = ((high - 0x6147A) | (0x6B851 - high)) > 0
    square = 0.5 * f * f
    one = np.where(k == 0, f - (square - s * (square + r)), _sum(dk, square - (s * (square + r) + dk * _LN2_LOW), f))
    other = np.where(k == 0, f - s * (f - r), _sum(dk, s * (f - r) - dk * _LN2_LOW, f))
    found: Numbers = np.where(with_square, one, other)
    return found


def _sum(dk: Numbers, small: Numbers, f: Numbers) -> Numbers:
    found: Numbers = dk * _LN2_HIGH - (small - f)
    return found


def log10(x: Numbers) -> Numbers:
    with np.errstate(all="ignore"):
        tiny = x < 2.0**-1022
        scaled = np.ascontiguousarray(np.where(tiny, x * 2.0**54, x))
        high = _high_word(scaled)
        k = (high >> 20) - 1023 - np.where(tiny, 54, 0)
        i = (k < 0).astype(np.int64)
        y = (k + i).astype(np.float64)
        reduced = _with_high_word(scaled, (high & 0x000FFFFF) | ((0x3FF - i) << 20))
        z = y * _LOG10_2_LOW + _INVERSE_LN10 * log(reduced)
        return np.where(np.isfinite(x), z + y * _LOG10_2_HIGH, x + x)


def exp(x: Numbers) -> Numbers:
    a, b, c, d, e = _EXP
    with np.errstate(all="ignore"):
        high = _high_word(np.ascontiguousarray(x)) & 0x7FFFFFFF
        negative = np.signbit(x)
        sign = np.where(negative, -1.0, 1.0)
        near = high < _THREE_HALVES_LN2
        # Below 1.5 ln 2 the multiple is one; beyond, it is x / ln 2 plus a half, truncated.
        bounded = np.where(np.isfinite(x) & (np.abs(x) < 800.0), x, 0.0)
        k = np.where(near, sign, np.trunc(1.44269504088896338700e00 * bounded + sign * 0.5))
        k = np.where(high > _HALF_LN2, k, 0.0)
        top = bounded - k * _LN2_HIGH
        low = k * _LN2_LOW
        r = np.where(k == 0, bounded, top - low)
        z = r * r
        t = r - z * (a + z * (b + z * (c + z * (d + z * e))))
        small = 1.0 - ((r * t) / (t - 2.0) - r)
        y = 1.0 - ((low - (r * t) / (2.0 - t)) - top)
        found = np.where(k == 0, small, _scaled(y, k.astype(np.int64)))
        found = np.where(high < 0x3E300000, 1.0 + x, found)
        found = np.where(x > _OVERFLOW, np.inf, np.where(x < _UNDERFLOW, 0.0, found))
        return np.where(np.isnan(x), x, found)


def _scaled(y: Numbers, k: Ints) -> Numbers:
    """y * 2**k by its exponent; below the normal numbers in two steps, as fdlibm does."""
    bits = np.ascontiguousarray(y).view(np.int64)
    usual = (bits + (k << 52)).view(np.float64)
    tiny = (bits + ((k + 1000) << 52)).view(np.float64) * 2.0**-1000
    found = np.where(k >= -1021, usual, tiny)
    # 2**1024 has no exponent in a double.
    return np.where(k == 1024, y * 2.0 * 2.0**1023, found)
