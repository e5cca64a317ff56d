"""Coercion of whole Arrow columns to a declared type, as fast path of `value_coercion`.

Every function returns `(column, undecided)`. Where the mask `undecided` is true, the column is null and
`value_coercion` must decide on the single value. Both give the same results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.decimals import Wholes, moved, remainder, to_array, wholes_of
from presage.model.arrow import to_arrow
from presage.model.calendar import DAY
from presage.model.types import BOOLEAN, BYTES, DATE, DOUBLE, LONG, STRING, TIMESTAMP, DataType, DecimalOf
from presage.storage.columns import MAX_TIME, MIN_TIME
from presage.storage.columns import TIMESTAMP as ARROW_TIMESTAMP
from presage.storage.value_coercion import RANGES

Mask = npt.NDArray[np.bool_]
Decided = tuple[pa.Array, Mask]

MAX_EXACT = 2**53  # a DOUBLE holds all integers up to here
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_INTEGER = r"^-?[0-9]{1,18}$"
_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?"
_ISO_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_SURE_DIGITS = 15  # a double holds the text of every number of so many digits
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
_ZONE = r"(Z|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"


def coerce_array(array: pa.Array, wanted: DataType) -> Decided:
    """Coerce a column of any type."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), to_arrow(wanted)), _none(array)
    if wanted == STRING and _is_text(kind):
        return _text(array)
    if wanted in RANGES and pa.types.is_integer(kind):
        return _whole(array, wanted)
    if wanted in RANGES and pa.types.is_floating(kind):
        return _whole_from_float(array, wanted)
    if wanted == DOUBLE and pa.types.is_floating(kind):
        return array.cast(pa.float64()), _none(array)
    if wanted == DOUBLE and pa.types.is_integer(kind):
        return _double_from_whole(array)
    if wanted == BOOLEAN and pa.types.is_boolean(kind):
        return array, _none(array)
    if wanted == TIMESTAMP and pa.types.is_timestamp(kind):
        return _moment(array)
    if wanted == TIMESTAMP and pa.types.is_date(kind):
        return _moment(array.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms")))
    if wanted == DATE and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return _day(array)
    if wanted in (TIMESTAMP, DATE) and _is_text(kind):
        return parse_array(array.cast(pa.string()), wanted)
    if wanted == BYTES and any(test(kind) for test in _BYTES):
        return array.cast(pa.binary()), _none(array)
    if isinstance(wanted, DecimalOf):
        return _decimal(array, wanted)
    target = to_arrow(wanted)
    # Nested times and days need a range check, value by value.
    if (
        pa.types.is_nested(kind)
        and _same(kind, target)
        and not any(word in str(kind) for word in ("timestamp", "date"))
    ):
        return array.cast(target), _none(array)
    return _undecided(array, wanted)


def parse_array(array: pa.Array, wanted: DataType) -> Decided:
    """Parse fields of a text file, as far as they have the usual spelling."""
    if wanted == STRING:
        return array, _none(array)
    if wanted in RANGES:
        numbers, rest = _parse(array, _INTEGER, pa.int64())
        column, outside = _whole(numbers, wanted)
        return column, rest | outside
    if wanted == DOUBLE:
        return _parse(array, _NUMBER, pa.float64())
    if wanted == BOOLEAN:
        lower = pc.utf8_lower(array)
        valid = pc.is_in(lower, pa.array(["true", "false"]))
        return pc.if_else(valid, pc.equal(lower, "true"), None), _still(array, valid)
    if wanted == TIMESTAMP:
        return _parse_moments(array)
    if wanted == DATE:
        return _parse_days(array)
    if isinstance(wanted, DecimalOf):
        return _parse_decimals(array, wanted)
    return _undecided(array, wanted)


def _text(array: pa.Array) -> Decided:
    try:
        array.validate(full=True)
        return array.cast(pa.string()), _none(array)
    except pa.ArrowInvalid:  # bytes that are not UTF-8, or more than one column can hold
        return _undecided(array, STRING)


def _whole(array: pa.Array, wanted: DataType) -> Decided:
    target = to_arrow(wanted)
    low, high = RANGES[wanted]  # type: ignore[index]
    if pa.types.is_signed_integer(array.type) and array.type.bit_width <= target.bit_width:
        return array.cast(target), _none(array)
    fits = pc.less_equal(array, pa.scalar(high, pa.uint64()) if pa.types.is_uint64(array.type) else high)
    if pa.types.is_signed_integer(array.type):
        fits = pc.and_(fits, pc.greater_equal(array, low))
    return pc.if_else(fits, array, None).cast(target), _still(array, fits)


def _whole_from_float(array: pa.Array, wanted: DataType) -> Decided:
    values = array.cast(pa.float64())
    low, high = RANGES[wanted]  # type: ignore[index]
    # float(2**63 - 1) is 2**63, one too many: exclude the upper bound.
    upper = pc.less(values, float(high)) if wanted == LONG else pc.less_equal(values, float(high))
    fits = pc.and_(pc.and_(pc.equal(values, pc.floor(values)), upper), pc.greater_equal(values, float(low)))
    return pc.if_else(fits, values, None).cast(to_arrow(wanted), safe=False), _still(array, fits)


def _double_from_whole(array: pa.Array) -> Decided:
    if array.type.bit_width <= 32:
        return array.cast(pa.float64()), _none(array)
    fits = pc.less_equal(array, pa.scalar(MAX_EXACT, array.type))
    if pa.types.is_signed_integer(array.type):
        fits = pc.and_(fits, pc.greater_equal(array, pa.scalar(-MAX_EXACT, array.type)))
    return pc.if_else(fits, array, None).cast(pa.float64()), _still(array, fits)


def _moment(array: pa.Array) -> Decided:
    """Times of any unit; without a zone they are UTC."""
    unit = array.type.unit
    counts: npt.NDArray[np.int64] = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if unit == "ns":
        micros = counts // 1000  # rounds down before 1970 too
        fits = np.ones(len(counts), dtype=bool)
    else:
        per = _PER_UNIT[unit]
        fits = (counts >= -(-MIN_TIME // per)) & (counts <= MAX_TIME // per)
        micros = np.where(fits, counts, 0) * per
    null = array.is_null().to_numpy(zero_copy_only=False)
    column = pa.array(micros, pa.int64(), mask=null | ~fits).cast(ARROW_TIMESTAMP)
    return column, ~fits & ~null


def _parse_moments(array: pa.Array) -> Decided:
    zoned = pc.match_substring_regex(array, _MOMENT + _ZONE + "$")
    # Texts of one source mostly have one spelling: if all have a zone, skip the second match.
    plain = pa.scalar(False) if pc.all(zoned).as_py() else pc.match_substring_regex(array, _MOMENT + "$")
    try:
        moments = pc.coalesce(
            pc.if_else(plain, array, None).cast(pa.timestamp("us")).cast(pa.int64()),
            pc.if_else(zoned, array, None).cast(ARROW_TIMESTAMP).cast(pa.int64()),
        ).cast(ARROW_TIMESTAMP)
    except pa.ArrowInvalid:  # a day or an hour that does not exist
        return _undecided(array, TIMESTAMP)
    column, outside = _moment(moments)
    return column, outside | _still(array, pc.or_(plain, zoned))


def _day(array: pa.Array) -> Decided:
    """Days, and times at 00:00 UTC."""
    if pa.types.is_date32(array.type):
        micros, undecided = array.view(pa.int32()).cast(pa.int64()), _none(array)
        fits = pc.and_(pc.greater_equal(micros, MIN_TIME // DAY), pc.less_equal(micros, MAX_TIME // DAY))
        return pc.if_else(fits, array, None), _still(array, fits)
    times = array.cast(pa.timestamp("ms")) if pa.types.is_date64(array.type) else array
    if pa.types.is_timestamp(times.type) and times.type.unit == "ns":
        return _undecided(array, DATE)  # a rest of nanoseconds is a time of day
    moments, undecided = _moment(times)
    micros = moments.cast(pa.int64())
    days = pc.divide(pc.subtract(micros, MIN_TIME), DAY)
    days = pc.add(days, MIN_TIME // DAY)
    whole = pc.equal(pc.multiply(days, DAY), micros)
    column = pc.if_else(whole, days, None).cast(pa.int32()).view(pa.date32())
    return column, undecided | _still(moments, whole)


def _parse_days(array: pa.Array) -> Decided:
    plain = pc.match_substring_regex(array, _ISO_DAY)
    try:
        days = pc.if_else(plain, array, None).cast(pa.date32())
    except pa.ArrowInvalid:  # a day that does not exist
        return _undecided(array, DATE)
    column, outside = _day(days)
    return column, outside | _still(array, plain)


def _decimal(array: pa.Array, wanted: DecimalOf) -> Decided:
    kind = array.type
    if pa.types.is_decimal(kind):
        if pa.types.is_decimal256(kind):
            return _undecided(array, wanted)
        if not pa.types.is_decimal128(kind):
            array = array.cast(pa.decimal128(kind.precision, kind.scale))
        if kind.scale < 0:
            return _undecided(array, wanted)
        wholes, lost = wholes_of(array), max(kind.scale - wanted.scale, 0)
        inexact = np.asarray(remainder(wholes, np.array([10**lost], object)) != 0, np.bool_)
        found = moved(wholes, wanted.scale - kind.scale)
        if inexact.any():
            found = np.where(inexact, 10**wanted.precision, found.astype(object))
        return _of_wholes(array, found, wanted)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        wholes = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return _of_wholes(array, moved(wholes, wanted.scale), wanted)
    if pa.types.is_float64(kind) and wanted.scale <= _SURE_DIGITS:
        return _decimal_from_float(array, wanted)
    if _is_text(kind):
        return _parse_decimals(array.cast(pa.string()), wanted)
    return _undecided(array, wanted)


def _of_wholes(array: pa.Array, wholes: Wholes, wanted: DecimalOf) -> Decided:
    """`wholes` beyond the digits of the type are undecided."""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    column = to_array(wholes, valid, to_arrow(wanted))
    return column, valid & column.is_null().to_numpy(zero_copy_only=False)


def _decimal_from_float(array: pa.Array, wanted: DecimalOf) -> Decided:
    """The shortest text of a double has at most `scale` digits behind the point if a number with so many is next to it:
    up to 15 digits there is one such number at most."""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    values = array.fill_null(0.0).to_numpy(zero_copy_only=False)
    with np.errstate(all="ignore"):
        near = np.rint(values * 10.0**wanted.scale)
        sure = (np.abs(near) < 10.0**_SURE_DIGITS) & (near / 10.0**wanted.scale == values)
    wholes = np.where(sure, near, 0).astype(np.int64)
    column = to_array(wholes, valid & sure, to_arrow(wanted))
    return column, valid & column.is_null().to_numpy(zero_copy_only=False)


def _parse_decimals(array: pa.Array, wanted: DecimalOf) -> Decided:
    behind = f"(\\.[0-9]{{1,{wanted.scale}}})?" if wanted.scale else ""
    pattern = f"^-?[0-9]{{1,{wanted.whole}}}{behind}$" if wanted.whole else f"^-?0{behind}$"
    return _parse(array, pattern, to_arrow(wanted))


def _parse(array: pa.Array, pattern: str, target: pa.DataType) -> Decided:
    plain = pc.match_substring_regex(array, pattern)
    return pc.if_else(plain, array, None).cast(target), _still(array, plain)


def _same(kind: pa.DataType, target: pa.DataType) -> bool:
    """Whether two nested types differ at most in the names of list items."""
    if pa.types.is_struct(kind) and pa.types.is_struct(target):
        pairs = list(zip(kind, target, strict=False))
        return bool(kind.num_fields == target.num_fields) and all(
            a.name == b.name and _same(a.type, b.type) for a, b in pairs
        )
    if pa.types.is_list(kind) and pa.types.is_list(target):
        return _same(kind.value_type, target.value_type)
    return not pa.types.is_map(kind) and bool(kind == target)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _none(array: pa.Array) -> Mask:
    return np.zeros(len(array), dtype=bool)


def _undecided(array: pa.Array, wanted: DataType) -> Decided:
    return pa.nulls(len(array), to_arrow(wanted)), array.is_valid().to_numpy(zero_copy_only=False)


def _still(array: pa.Array, decided: Any) -> Mask:
    """The rows that have a value and are not decided."""
    open_rows = pc.and_(array.is_valid(), pc.invert(pc.fill_null(decided, False)))
    mask: Mask = open_rows.to_numpy(zero_copy_only=False)
    return mask
