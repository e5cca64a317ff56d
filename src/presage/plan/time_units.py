"""Words for units of the calendar and days of the week, in lower case, as Spark's date functions take them."""

from __future__ import annotations

# Units that start at midnight; months and longer have no fixed length.
DATE_UNITS = {
    "year": "year",
    "yyyy": "year",
    "yy": "year",
    "quarter": "quarter",
    "month": "month",
    "mon": "month",
    "mm": "month",
    "week": "week",
}
TIME_UNITS = {
    "day": "day",
    "dd": "day",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "millisecond",
    "microsecond": "microsecond",
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS = {word: day[:2] for day in _DAYS for word in (day, day[:3], day[:2])}
