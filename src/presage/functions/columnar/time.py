"""Kernels of time functions, in UTC. A date is a TIMESTAMP at 00:00."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from presage.arrays.calendar import days_after, first_day_of, months_of
from presage.columnar.arithmetic import compute
from presage.columnar.casts import cast
from presage.columnar.distinct import per_distinct
from presage.columnar.vectors import Flat, Ints, Numbers, Vector, both_valid, constant
from presage.functions.columnar.call import Builder, Kernel, constant_of
from presage.model import types as t
from presage.model.calendar import DAY
from presage.plan.expr import FunctionCall
from presage.plan.time_format import DATE_UNITS, TIME_UNITS, WEEKDAYS

SECOND = 1_000_000
_WIDTHS = {"day": DAY, "hour": 3_600 * SECOND, "minute": 60 * SECOND, "second": SECOND, "millisecond": 1_000}
_WEEK, _MONDAY = 7 * DAY, 4 * DAY
# Spark's calendar fails beyond.
_MAX_DAYS, _MAX_MONTHS = 3_650_000, 120_000
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _part(read: Callable[[Ints], Numbers]) -> Builder:
    """An INT read from the microseconds."""

    def run(x: Flat) -> Vector:
        return Flat(read(x.values).astype(np.int32), x.valid)

    return lambda call: run


def _days(micros: Ints) -> Ints:
    return np.floor_divide(micros, DAY)


def _year(micros: Ints) -> Ints:
    return np.floor_divide(months_of(_days(micros)), 12) + 1970


def _month(micros: Ints) -> Ints:
    return np.mod(months_of(_days(micros)), 12) + 1


def _day(micros: Ints) -> Ints:
    days = _days(micros)
    return days - first_day_of(months_of(days)) + 1


def _day_of_year(micros: Ints) -> Ints:
    days = _days(micros)
    return days - first_day_of(np.floor_divide(months_of(days), 12) * 12) + 1


def _weekday(micros: Ints) -> Ints:
    """0 is Monday; 1970-01-01 was a Thursday."""
    return np.mod(_days(micros) + 3, 7)


def _week_of_year(micros: Ints) -> Ints:
    """By ISO 8601: a week belongs to the year of its Thursday."""
    thursday = _days(micros) - _weekday(micros) + 3
    return np.floor_divide(_day_of_year(thursday * DAY) - 1, 7) + 1


def _named(names: tuple[str, ...], read: Callable[[Ints], Ints]) -> Builder:
    name = per_distinct(lambda i: names[i], (t.INT,), t.STRING)

    def run(x: Flat) -> Vector:
        return name(Flat(read(x.values).astype(np.int32), x.valid))

    return lambda call: run


# -- new timestamps -------------------------------------------------------------------------------------


def _midnight(days: Ints, valid: Numbers | None) -> Flat:
    """NULL outside of the range of a TIMESTAMP."""
    micros = days * DAY
    fits = np.floor_divide(micros, DAY) == days
    return Flat(micros, valid if fits.all() else both_valid(valid, fits))


def _truncated(x: Flat, width: int, phase: int = 0) -> Flat:
    subtract = compute("-", t.LONG)
    moved = subtract(x, constant(phase, t.LONG)) if phase else x
    return subtract(x, Flat(np.mod(moved.values, width), moved.valid))


def _truncation(unit: str) -> Callable[[Flat], Flat]:
    if unit == "microsecond":
        return lambda x: x
    if unit == "week":
        return lambda x: _truncated(x, _WEEK, _MONDAY)
    if unit in _WIDTHS:
        return lambda x: _truncated(x, _WIDTHS[unit])
    size = {"year": 12, "quarter": 3, "month": 1}[unit]
    return lambda x: _midnight(first_day_of(np.floor_divide(months_of(_days(x.values)), size) * size), x.valid)


def _trunc(unit_at: int, time_at: int) -> Builder:
    def build(call: FunctionCall) -> Kernel | None:
        unit = {**DATE_UNITS, **TIME_UNITS}.get(str(constant_of(call, unit_at)).lower())
        if unit is None:
            return None
        truncate = _truncation(unit)
        return lambda *args: truncate(args[time_at])

    return build


def _moved(move: Callable[[Ints, Ints], Ints], most: int) -> Builder:
    def run(x: Flat, count: Flat) -> Vector:
        near = (count.values >= -most) & (count.values <= most)
        by = np.where(near, count.values, 0).astype(np.int64)
        return _midnight(move(_days(x.values), by), both_valid(both_valid(x.valid, count.valid), near))

    return lambda call: run


def _last_day(x: Flat) -> Vector:
    return _midnight(first_day_of(months_of(_days(x.values)) + 1) - 1, x.valid)


def _next_day(call: FunctionCall) -> Kernel | None:
    word = WEEKDAYS.get(str(constant_of(call, 1)).lower())
    if word is None:
        return None
    wanted = [day.lower()[:2] for day in _DAYS].index(word.lower())

    def run(x: Flat, _: Vector) -> Vector:
        return _midnight(_days(x.values) + 1 + np.mod(wanted - _weekday(x.values) - 1, 7), x.valid)

    return run


def _datediff(a: Flat, b: Flat) -> Vector:
    return Flat((_days(a.values) - _days(b.values)).astype(np.int32), both_valid(a.valid, b.valid))


# -- numbers and texts ----------------------------------------------------------------------------------


def _since(width: int) -> Builder:
    """A LONG of whole units since 1970."""

    def run(x: Flat) -> Vector:
        return Flat(np.floor_divide(x.values, width), x.valid)

    return lambda call: run


def _scaled(factor: int) -> Builder:
    def build(call: FunctionCall) -> Kernel:
        if call.args[0].type == t.DOUBLE:
            to_long = cast(t.DOUBLE, t.LONG)
            assert to_long is not None
            times = compute("*", t.DOUBLE)
            return lambda x: to_long(times(x, constant(float(factor), t.DOUBLE)))
        product = compute("*", t.LONG)
        return lambda x: product(x, constant(factor, t.LONG))

    return build


def _parsed(then: Callable[[Flat], Flat]) -> Builder:
    """Takes a TIMESTAMP or an ISO text; Spark parses texts by a pattern."""

    def build(call: FunctionCall) -> Kernel | None:
        if len(call.args) > 1 and call.args[0].type != t.TIMESTAMP:
            return None
        parse = cast(call.args[0].type, t.TIMESTAMP)
        return None if parse is None else lambda x, *rest: then(parse(x))  # type: ignore[arg-type]

    return build


TIME: dict[str, Builder] = {
    "add_months": _moved(days_after, _MAX_MONTHS),
    "date_add": _moved(lambda days, count: days + count, _MAX_DAYS),
    "date_sub": _moved(lambda days, count: days - count, _MAX_DAYS),
    "date_trunc": _trunc(0, 1),
    "datediff": lambda c: _datediff,
    "day": _part(_day),
    "dayname": _named(_DAYS, _weekday),
    "dayofweek": _part(lambda x: np.mod(_weekday(x) + 1, 7) + 1),
    "dayofyear": _part(_day_of_year),
    "hour": _part(lambda x: np.floor_divide(np.mod(x, DAY), 3_600 * SECOND)),
    "last_day": lambda c: _last_day,
    "minute": _part(lambda x: np.floor_divide(np.mod(x, 3_600 * SECOND), 60 * SECOND)),
    "month": _part(_month),
    "monthname": _named(_MONTHS, lambda x: _month(x) - 1),
    "next_day": _next_day,
    "quarter": _part(lambda x: np.floor_divide(_month(x) - 1, 3) + 1),
    "second": _part(lambda x: np.floor_divide(np.mod(x, 60 * SECOND), SECOND)),
    "timestamp_micros": lambda c: lambda x: x,
    "timestamp_millis": _scaled(1_000),
    "timestamp_seconds": _scaled(SECOND),
    "to_date": _parsed(lambda x: _truncated(x, DAY)),
    "to_timestamp": _parsed(lambda x: x),
    "trunc": _trunc(1, 0),
    "unix_date": _part(_days),
    "unix_micros": _since(1),
    "unix_millis": _since(1_000),
    "unix_seconds": _since(SECOND),
    "unix_timestamp": _parsed(lambda x: Flat(np.floor_divide(x.values, SECOND), x.valid)),
    "weekday": _part(_weekday),
    "weekofyear": _part(_week_of_year),
    "year": _part(_year),
}
