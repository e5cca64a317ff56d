"""Exact sums of doubles and of their squares by group, independent of the order of addition.

A sum is a list of integers: a head with the number of its first limb and flags for non-finite values, then the limbs. A
limb counts steps of 2**(32 * its number - BIAS); after `_carried` each lies in [-2**31, 2**31]. A double is an integer
of 53 bits times a power of two (IEEE 754), so it touches three limbs; its square takes three products of integers.
Limbs are added as int64: 2**31 rows fit without a carry.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Floats, Ints

LISTS = pa.list_(pa.int64())
BITS, MASK, HALF = 32, (1 << 32) - 1, 1 << 31
BIAS = 1074  # the last bit of the least double is 2**-1074; squares have twice as much
HEAD_BITS = 16
HEAD_MASK = (1 << HEAD_BITS) - 1
PLUS, MINUS, NOT_A_NUMBER = 1, 2, 4
EXPONENT, MANTISSA = 0x7FF, (1 << 52) - 1
ROWS_AT_ONCE = 1 << 20  # bounds temporary memory


class Limbs(NamedTuple):
    """One row of limbs for each group, all from the limb `first` on, and its flags."""

    first: int
    limbs: Ints
    flags: Ints


def sums_of(codes: Ints, groups: int, values: Floats, squares: bool = False) -> pa.Array:
    """The sum of the values of each code, or of their squares."""
    finite = np.isfinite(values)
    flags = np.zeros(groups, np.int64)
    special = values[~finite]
    found = np.where(np.isnan(special), NOT_A_NUMBER, np.where(special > 0, PLUS, MINUS))
    np.bitwise_or.at(flags, codes[~finite], found)
    rows = np.flatnonzero(finite & (values != 0.0))
    if not len(rows):
        return _lists(Limbs(0, np.zeros((groups, 0), np.int64), flags))
    bits = np.ascontiguousarray(values).view(np.int64)
    # The place of a double's last bit, in steps of 2**-BIAS.
    place = np.maximum((bits >> 52) & EXPONENT, 1) - 1
    times = 2 if squares else 1
    first = times * int(place[rows].min()) >> 5
    count = (times * int(place[rows].max()) >> 5) - first + 3 * times
    made = np.zeros(groups * count, np.int64)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        some = rows[start : start + ROWS_AT_ONCE]
        _add_doubles(made, codes[some] * count - first, bits[some], place[some], squares)
    return _lists(_carried(Limbs(first, made.reshape(groups, count), flags)))


def _add_doubles(limbs: Ints, at: Ints, bits: Ints, place: Ints, squares: bool) -> None:
    normal = (bits >> 52) & EXPONENT > 0
    whole = (bits & MANTISSA) | (normal.astype(np.int64) << 52)
    if not squares:
        _add(limbs, at, whole, place, np.where(bits < 0, -1, 1))
        return
    high, low = whole >> 27, whole & ((1 << 27) - 1)
    _add(limbs, at, low * low, 2 * place)
    _add(limbs, at, 2 * high * low, 2 * place + 27)
    _add(limbs, at, high * high, 2 * place + 54)


def _add(limbs: Ints, at: Ints, whole: Ints, place: Ints, sign: Ints | int = 1) -> None:
    """Whole numbers of up to 55 bits times 2**place."""
    limb, shift = at + (place >> 5), place & 31
    low = (whole & MASK) << shift
    high = ((whole >> BITS) << shift) + (low >> BITS)
    for i, part in enumerate((low & MASK, high & MASK, high >> BITS)):
        np.add.at(limbs, limb + i, part * sign)


def merged_sums(codes: Ints, groups: int, sums: pa.Array) -> pa.Array:
    """The total of the sums of each code; null is an empty sum."""
    known = np.flatnonzero(sums.is_valid().to_numpy(zero_copy_only=False))
    starts = sums.offsets.to_numpy().astype(np.int64)[:-1][known]
    sizes = sums.value_lengths().to_numpy(zero_copy_only=False)[known].astype(np.int64) - 1
    values, own = sums.values.to_numpy(), codes[known]
    heads = values[starts]
    flags = np.zeros(groups, np.int64)
    np.bitwise_or.at(flags, own, heads >> HEAD_BITS)
    numbers, some = heads & HEAD_MASK, sizes > 0
    if not some.any():
        return _lists(Limbs(0, np.zeros((groups, 0), np.int64), flags))
    first = int(numbers[some].min())
    count = int((numbers + sizes)[some].max()) - first + 1
    row = np.repeat(np.arange(len(known)), sizes)
    within = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    made = np.zeros(groups * count, np.int64)
    np.add.at(made, own[row] * count + numbers[row] - first + within, values[starts[row] + 1 + within])
    return _lists(_carried(Limbs(first, made.reshape(groups, count), flags)))


def repeated(counts: Ints, values: Floats, squares: bool = False) -> pa.Array:
    """Each value, or its square, times its count."""
    once = _unpacked(sums_of(np.arange(len(values)), len(values), values, squares))
    return _lists(_carried(once._replace(limbs=once.limbs * counts[:, None])))


def _carried(sums: Limbs) -> Limbs:
    """Normalize: each limb lies in [-2**31, 2**31), and outer limbs that are 0 in all groups are dropped."""
    limbs = np.concatenate([sums.limbs, np.zeros((len(sums.limbs), 1), np.int64)], axis=1)
    for i in range(limbs.shape[1] - 1):
        carry = (limbs[:, i] + HALF) >> BITS
        limbs[:, i] -= carry << BITS
        limbs[:, i + 1] += carry
    used = np.flatnonzero(limbs.any(axis=0))
    if not len(used):
        return Limbs(0, limbs[:, :0], sums.flags)
    return Limbs(sums.first + int(used[0]), limbs[:, used[0] : used[-1] + 1], sums.flags)


def _lists(sums: Limbs) -> pa.Array:
    heads = (sums.flags << HEAD_BITS) | sums.first
    rows = np.concatenate([heads[:, None], sums.limbs], axis=1)
    offsets = np.arange(len(rows) + 1) * rows.shape[1]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(rows.reshape(-1)))


def _held(sums: pa.Array) -> Limbs:
    """Lists as limbs of one length."""
    return _unpacked(merged_sums(np.arange(len(sums)), len(sums), sums))


def _unpacked(sums: pa.Array) -> Limbs:
    width = len(sums.values) // len(sums) if len(sums) else 1
    rows = sums.values.to_numpy().reshape(len(sums), width)
    heads = rows[:, 0]
    return Limbs(int(heads[0] & HEAD_MASK) if len(heads) else 0, rows[:, 1:], heads >> HEAD_BITS)


def rounded(sums: pa.Array) -> Floats:
    """The nearest doubles, ties to even; infinite beyond their range."""
    first, limbs, flags = _held(sums)
    sign, limbs = _unsigned(limbs)
    count = limbs.shape[1]
    # The highest limb that is not zero and the two below it; `rest`: whether anything below these is not zero.
    top = count - 1 - np.argmax(limbs[:, ::-1] != 0, axis=1)
    padded = np.concatenate([np.zeros((len(limbs), 2), np.int64), limbs], axis=1).astype(np.uint64)
    row = np.arange(len(limbs))
    high, middle, low = (padded[row, top + 2 - i] for i in range(3))
    rest = np.cumsum(padded != 0, axis=1)[row, np.maximum(top - 1, 0)] > 0
    empty = np.uint64(BITS) - _bit_lengths(high)
    whole = (((high << np.uint64(BITS)) | middle) << empty) | (low >> (np.uint64(BITS) - empty))
    rest |= ((low << empty) & np.uint64(MASK)) != 0
    # `whole` has 64 bits, of which the first 53 are kept.
    place = (first + top) * BITS + (BITS - 1) - empty.astype(np.int64)
    kept, dropped = whole >> np.uint64(11), whole & np.uint64(0x7FF)
    up = (dropped > 0x400) | ((dropped == 0x400) & (rest | (kept & np.uint64(1) == 1)))
    with np.errstate(over="ignore"):
        made = np.ldexp((kept + up).astype(np.float64), (place - 52 - BIAS).astype(np.int32))
    return _with_flags(np.where(high == 0, 0.0, sign * made), flags)


def _unsigned(limbs: Ints) -> tuple[Ints, Ints]:
    """The sign of each sum, and the limbs of its absolute value, which lie in [0, 2**32)."""
    limbs = np.concatenate([limbs, np.zeros((len(limbs), 1), np.int64)], axis=1)
    count = limbs.shape[1]
    top = count - 1 - np.argmax(limbs[:, ::-1] != 0, axis=1)
    sign = np.where(limbs[np.arange(len(limbs)), top] < 0, -1, 1)
    limbs = limbs * sign[:, None]
    for i in range(count - 1):
        carry = limbs[:, i] >> BITS
        limbs[:, i] &= MASK
        limbs[:, i + 1] += carry
    return sign, limbs


def _bit_lengths(values: np.ndarray) -> np.ndarray:
    """Of whole numbers below 2**32, which doubles hold exactly."""
    return np.frexp(values.astype(np.float64))[1].astype(np.uint64)


def _with_flags(values: Floats, flags: Ints) -> Floats:
    values = np.where(flags == PLUS, np.inf, np.where(flags == MINUS, -np.inf, values))
    return np.where(flags > MINUS, np.nan, values)


def deviations(counts: Ints, sums: pa.Array, squares: pa.Array) -> Floats:
    """Sample standard deviations, from counts, sums and sums of squares; NaN where a value is not finite, 0 for fewer
    than two values."""
    plain, squared = _held(sums), _held(squares)
    made = np.zeros(len(counts))
    for row in np.flatnonzero(counts > 1).tolist():
        if plain.flags[row]:
            made[row] = np.nan
            continue
        count = int(counts[row])
        # n * sum(x**2) - sum(x)**2 and n * (n - 1): the quotient of whole numbers is rounded once.
        distance = count * _whole(squared, row) - _whole(plain, row) ** 2
        try:
            made[row] = math.sqrt(distance / (count * (count - 1) << (2 * BIAS)))
        except OverflowError:
            made[row] = math.inf
    return made


def _whole(sums: Limbs, row: int) -> int:
    """A sum in steps of 2**-BIAS, of squares 2**(-2 * BIAS)."""
    return sum(limb << (BITS * i) for i, limb in enumerate(sums.limbs[row].tolist(), sums.first))
