"""Functions of time, in UTC for every session time zone. A DATE of Spark becomes a TIMESTAMP at 00:00."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from presage.execution.spark import utc_time as clock
from presage.functions.catalyst.call import Builder, Call
from presage.functions.catalyst.time_text import DEFAULT_FORMAT, print_time
from presage.model import types as t
from presage.plan.time_format import DATE_UNITS, TIME_UNITS, WEEKDAYS, ZONE_LETTERS, Letters, parse_format

_WIDTHS = {"day": clock.DAY, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000}
# Weeks start on Monday; 1970-01-05 was one.
_WEEK, _MONDAY = 7 * clock.DAY, 4 * clock.DAY
# Ten thousand years: Spark's calendar fails beyond.
_MAX_DAYS, _MAX_MONTHS = 3_650_000, 120_000


def _field(read: Callable[[Column], Column]) -> Builder:
    """A field of the calendar."""
    return lambda call: read(clock.date_of(call.args[0]))


def _moved(call: Call, move: Callable[[Column, Column], Column], most: int) -> Column:
    timestamp, count = call.args
    return clock.midnight(move(clock.date_of(timestamp), F.when(count.between(-most, most), count)))


def _truncated(timestamp: Column, word: str) -> Column:
    unit = {**DATE_UNITS, **TIME_UNITS}[word.lower()]
    if unit == "microsecond":
        return timestamp
    if unit == "week":
        return clock.truncate(timestamp, _WEEK, _MONDAY)
    if unit in _WIDTHS:
        return clock.truncate(timestamp, _WIDTHS[unit])
    return clock.midnight(F.trunc(clock.date_of(timestamp), unit))


def _parsed(call: Call) -> Column:
    """TIMESTAMP of a TIMESTAMP, an ISO text, or a text by a pattern."""
    if call.types[0] == t.TIMESTAMP:
        return call.args[0]
    if len(call.args) == 1:
        return clock.from_text(call.args[0])
    pattern = call.text(1)
    text = call.args[0]
    parts = parse_format(pattern)
    if not any(isinstance(p, Letters) and p.letter in ZONE_LETTERS for p in parts):
        # A text without a zone would be read in that of the session: append UTC.
        text, pattern = F.concat(text, F.lit(" Z")), f"{pattern} XXX"
    return F.try_to_timestamp(text, F.lit(pattern)).cast(s.TimestampType())


def _scaled(call: Call, factor: int) -> Column:
    (x,) = call.args
    if call.types[0] == t.DOUBLE:
        return clock.from_micros((x * F.lit(float(factor))).try_cast(s.LongType()))
    return clock.from_micros(F.try_multiply(x, clock.whole(factor)))


def _made(*parts: Column) -> Column:
    """Of year, month, day, hour, minute, second."""
    year, month, day, hour, minute, seconds = parts
    exact = seconds.try_cast(s.DecimalType(16, 6))
    return F.try_make_timestamp_ltz(year, month, day, hour, minute, exact, F.lit("UTC"))


def _from_unixtime(call: Call) -> Column:
    timestamp = clock.from_micros(F.try_multiply(call.args[0], clock.whole(clock.SECOND)))
    return print_time(timestamp, call.text(1) if len(call.args) == 2 else DEFAULT_FORMAT)


TIME: dict[str, Builder] = {
    "add_months": lambda c: _moved(c, F.add_months, _MAX_MONTHS),
    "date_add": lambda c: _moved(c, F.date_add, _MAX_DAYS),
    "date_format": lambda c: print_time(c.args[0], c.text(1)),
    "date_sub": lambda c: _moved(c, F.date_sub, _MAX_DAYS),
    "date_trunc": lambda c: _truncated(c.args[1], c.text(0)),
    "datediff": lambda c: F.datediff(clock.date_of(c.args[0]), clock.date_of(c.args[1])),
    "day": _field(F.day),
    "dayname": _field(F.dayname),
    "dayofweek": _field(F.dayofweek),
    "dayofyear": _field(F.dayofyear),
    "from_unixtime": _from_unixtime,
    "hour": lambda c: clock.hour(c.args[0]),
    "last_day": lambda c: clock.midnight(F.last_day(clock.date_of(c.args[0]))),
    "make_date": lambda c: _made(*c.args, F.lit(0), F.lit(0), F.lit(0.0)),
    "make_timestamp": lambda c: _made(*c.args),
    "minute": lambda c: clock.minute(c.args[0]),
    "month": _field(F.month),
    "monthname": _field(F.monthname),
    "next_day": lambda c: clock.midnight(F.next_day(clock.date_of(c.args[0]), WEEKDAYS[c.text(1).lower()])),
    "quarter": _field(F.quarter),
    "second": lambda c: clock.second(c.args[0]),
    "timestamp_millis": lambda c: _scaled(c, 1_000),
    "timestamp_seconds": lambda c: _scaled(c, clock.SECOND),
    "to_date": lambda c: clock.truncate(_parsed(c), clock.DAY),
    "to_timestamp": _parsed,
    "trunc": lambda c: _truncated(c.args[0], c.text(1)),
    "unix_date": lambda c: F.unix_date(clock.date_of(c.args[0])),
    "unix_timestamp": lambda c: F.unix_seconds(_parsed(c)),
    "weekday": _field(F.weekday),
    "weekofyear": _field(F.weekofyear),
    "year": _field(F.year),
}
