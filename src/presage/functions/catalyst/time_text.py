"""Formatting of timestamps in UTC by a checked pattern. Spark's date_format always uses the session's zone."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as s

from presage.execution.spark import utc_time as clock
from presage.plan.time_format import Letters, parse_format

DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ZONES = {"V": "UTC", "X": "Z", "Z": "+0000"}


def print_time(timestamp: Column, pattern: str) -> Column:
    parts = [F.lit(p) if isinstance(p, str) else _field(timestamp, p) for p in parse_format(pattern)]
    # The first part makes the result NULL for NULL, even if the pattern has no field.
    return F.concat(F.when(timestamp.isNotNull(), F.lit("")), *parts)


def _field(timestamp: Column, field: Letters) -> Column:
    date, count = clock.date_of(timestamp), field.count
    match field.letter:
        case "y":
            return _digits(F.pmod(F.year(date), F.lit(100)) if count == 2 else F.year(date), count)
        case "M" | "L":
            return _month(date, count)
        case "d":
            return _digits(F.day(date), count)
        case "D":
            return _digits(F.dayofyear(date), count)
        case "Q" | "q":
            return _digits(F.quarter(date), count)
        case "E":
            return F.dayname(date) if count < 4 else _word(_DAYS, F.weekday(date))
        case "a":
            return F.when(clock.hour(timestamp) < 12, F.lit("AM")).otherwise(F.lit("PM"))
        case "H":
            return _digits(clock.hour(timestamp), count)
        case "K":
            return _digits(F.pmod(clock.hour(timestamp), F.lit(12)), count)
        case "h":
            return _digits(_from_one(clock.hour(timestamp), 12), count)
        case "k":
            return _digits(_from_one(clock.hour(timestamp), 24), count)
        case "m":
            return _digits(clock.minute(timestamp), count)
        case "s":
            return _digits(clock.second(timestamp), count)
        case "S":
            return F.substring(_digits(clock.micro(timestamp), 6), 1, count)
        case "z":
            return F.lit("UTC" if count < 4 else "Coordinated Universal Time")
        case "x":
            return F.lit(("+00", "+0000", "+00:00")[count - 1])
    return F.lit(_ZONES[field.letter])


def _from_one(hour: Column, hours: int) -> Column:
    """12 (or 24) instead of 0."""
    rest = F.pmod(hour, F.lit(hours))
    return F.when(rest == 0, F.lit(hours)).otherwise(rest)


def _month(date: Column, count: int) -> Column:
    if count == 3:
        return F.monthname(date)
    return _digits(F.month(date), count) if count < 3 else _word(_MONTHS, F.month(date) - 1)


def _word(words: tuple[str, ...], index: Column) -> Column:
    return F.get(F.array(*[F.lit(w) for w in words]), index)


def _digits(number: Column, width: int) -> Column:
    text = number.cast(s.StringType())
    # lpad would truncate longer texts.
    return text if width == 1 else F.when(F.length(text) < width, F.lpad(text, width, "0")).otherwise(text)
