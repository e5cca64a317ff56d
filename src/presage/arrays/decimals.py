"""DECIMAL columns as whole numbers of their last digit, and back.

The numbers are int64 where all of a column fit, else Python's; both take the same operators of NumPy, so each
algorithm is written once. Beyond the digits of a type a value is NULL.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.arrays.jit import Bools, Ints

# int64, or Python's integers as objects.
Wholes = npt.NDArray[Any]
FAST = 1 << 62  # int64 holds the sum of two numbers below
LIMB_BITS = 32
_WORD = 1 << 64
_LIMB = (1 << LIMB_BITS) - 1


def words(array: pa.Array) -> tuple[npt.NDArray[np.uint64], Ints]:
    """The lower and the upper 64 bits of each value; 0 under a NULL."""
    pairs = np.frombuffer(array.buffers()[1] or b"", np.uint64)[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = pairs[0::2], pairs[1::2].view(np.int64)
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        low, high = np.where(valid, low, 0).astype(np.uint64), np.where(valid, high, 0)
    return low, high


def wholes_of(array: pa.Array) -> Wholes:
    """The values times 10**scale; 0 under a NULL."""
    low, high = words(array)
    near = low.view(np.int64) if low.flags.c_contiguous else low.astype(np.int64)
    if np.array_equal(near >> 63, high):
        return near
    exact: Wholes = high.astype(object) * _WORD + low.astype(object)
    return exact


def limbs_of(array: pa.Array) -> tuple[Ints, ...]:
    """The values times 10**scale as sums of limb * 2**(32 * its number), the last one signed; 0 under a NULL. Limbs can
    be added up over 2**31 rows. Up to 18 digits two of them are enough."""
    low, high = words(array)
    lower = (low & np.uint64(_LIMB)).astype(np.int64)
    if array.type.precision <= 18:
        return lower, low.astype(np.int64) >> LIMB_BITS
    return lower, (low >> np.uint64(LIMB_BITS)).astype(np.int64), high & _LIMB, high >> LIMB_BITS


def from_limbs(limbs: list[Ints]) -> Wholes:
    """The numbers that sums of limbs make."""
    carried = list(limbs)
    for i in range(len(carried) - 1):
        carried[i + 1] = carried[i + 1] + (carried[i] >> LIMB_BITS)
        carried[i] = carried[i] & _LIMB
    lowest, rest = carried[0] | (carried[1] << LIMB_BITS), carried[2:]
    top = carried[1] >> 31 if not rest else None  # int64 holds two limbs if the upper one has 31 bits and its sign
    if top is not None and bool(np.all((top == 0) | (top == -1))):
        return lowest
    whole: Wholes = np.zeros(len(lowest), object)
    for i, limb in enumerate(carried):
        whole = whole + limb.astype(object) * (1 << (LIMB_BITS * i))
    return narrowed(whole)


def to_array(wholes: Wholes, valid: Bools | None, kind: pa.Decimal128Type) -> pa.Array:
    """The column of numbers of its last digit."""
    beyond = 10**kind.precision
    if greatest(wholes) >= beyond:
        outside = np.asarray((wholes >= beyond) | (wholes <= -beyond), np.bool_)
        wholes = np.where(outside, 0, wholes)
        valid = ~outside if valid is None else valid & ~outside
    pairs = np.empty((len(wholes), 2), np.int64)
    if wholes.dtype == object:
        data = b"".join([int(each).to_bytes(16, "little", signed=True) for each in wholes])
        pairs = np.frombuffer(data, np.int64).reshape(len(wholes), 2)
    else:
        pairs[:, 0], pairs[:, 1] = wholes, wholes >> 63
    present = None if valid is None else pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(wholes), [present, pa.py_buffer(np.ascontiguousarray(pairs))])


def greatest(wholes: Wholes) -> int:
    """The greatest magnitude."""
    return max(int(wholes.max()), -int(wholes.min())) if len(wholes) else 0


def narrowed(wholes: Wholes) -> Wholes:
    """As int64 if all of them fit."""
    return wholes.astype(np.int64) if wholes.dtype == object and greatest(wholes) < FAST else wholes


def wide(wholes: Wholes, most: int) -> Wholes:
    """As Python's numbers unless int64 holds results up to `most`."""
    return wholes if most < FAST else wholes.astype(object)


def times(a: Wholes, b: Wholes | int) -> Wholes:
    most = greatest(a) * (abs(b) if isinstance(b, int) else greatest(b))
    if isinstance(b, int):
        product: Wholes = wide(a, max(most, abs(b))) * b
    else:
        product = wide(a, most) * wide(b, most)
    return product


def divided(a: Wholes, b: Wholes | int) -> Wholes:
    """Quotients, half away from zero; `b` is nowhere 0."""
    if isinstance(b, int):
        b = np.array([b], np.int64 if b < FAST else object)
    top = max(greatest(a), greatest(b))
    a, b = wide(a, top), wide(b, top)
    size, by = np.abs(a), np.abs(b)
    quotient = size // by
    left = size - quotient * by
    quotient = quotient + np.where(np.asarray(left >= by - left, np.bool_), 1, 0)
    result: Wholes = np.where(np.asarray((a < 0) != (b < 0), np.bool_), -quotient, quotient)
    return result


def truncated(a: Wholes, b: int) -> Wholes:
    """Quotients towards zero."""
    a = wide(a, max(greatest(a), b))
    result: Wholes = np.where(np.asarray(a < 0, np.bool_), -(np.abs(a) // b), np.abs(a) // b)
    return result


def remainder(a: Wholes, b: Wholes) -> Wholes:
    """With the sign of `a`; `b` is nowhere 0."""
    top = max(greatest(a), greatest(b))
    a, b = wide(a, top), wide(b, top)
    rest = np.abs(a) % np.abs(b)
    result: Wholes = np.where(np.asarray(a < 0, np.bool_), -rest, rest)
    return result


def moved(wholes: Wholes, digits: int) -> Wholes:
    """With so many more digits behind the point; fewer are rounded half away from zero."""
    if not digits:
        return wholes
    return times(wholes, 10**digits) if digits > 0 else divided(wholes, 10**-digits)


def doubles_of(wholes: Wholes, scale: int) -> npt.NDArray[np.float64]:
    """The nearest doubles."""
    if wholes.dtype != object and greatest(wholes) <= 1 << 53 and scale <= 22:
        return np.asarray(wholes / 10.0**scale, np.float64)  # both are exact, so the quotient is rounded once
    exact: npt.NDArray[np.float64] = (wholes.astype(object) / 10**scale).astype(np.float64)
    return exact


def order_texts(array: pa.Array) -> pa.Array:
    """Texts in the order of the values of a column of DECIMAL or BYTES, NULL for NULL."""
    if pa.types.is_decimal(array.type):
        given = [order_text(each) for each in wholes_of(array).tolist()]
    else:
        given = [order_text(each or b"") for each in array.to_pylist()]
    return pa.array(given, pa.large_string(), mask=array.is_null().to_numpy(zero_copy_only=False))


def order_text(value: int | bytes) -> str:
    return value.hex() if isinstance(value, bytes) else f"{value + 10**38:039d}"
