"""Functions of time, in UTC for every session time zone. Where Spark makes a DATE of a time, it has type TIMESTAMP."""

from __future__ import annotations

from presage.functions.scalars.entry import entry

_FIELD = "TIMESTAMP -> INT"
_MIDNIGHT = "(at 00:00; of a DATE a DATE)"
_PARSED = "TIMESTAMP -> TIMESTAMP | STRING, STRING? -> TIMESTAMP"
_BY_TEXT = "TIMESTAMP, STRING -> TIMESTAMP"

TIME = (
    entry("add_months", "TIMESTAMP, INT -> TIMESTAMP", f"the day n months later {_MIDNIGHT}"),
    entry("date_add dateadd", "TIMESTAMP, INT -> TIMESTAMP", f"the day n days later {_MIDNIGHT}"),
    entry(
        "date_format",
        "TIMESTAMP, STRING -> STRING",
        "the time as a string, by a pattern: 'yyyy-MM-dd HH:mm'",
        arg1="format",
    ),
    entry("date_sub", "TIMESTAMP, INT -> TIMESTAMP", f"the day n days earlier {_MIDNIGHT}"),
    entry(
        "date_trunc",
        "STRING, TIMESTAMP -> TIMESTAMP",
        "the start of the unit: year, quarter, …, microsecond",
        arg0="unit",
    ),
    entry(
        "datediff date_diff",
        "TIMESTAMP, TIMESTAMP -> INT",
        "the number of days from the date of the second to the date of the first",
    ),
    entry("day dayofmonth", _FIELD, "the day of the month"),
    entry("dayname", "TIMESTAMP -> STRING", "Mon, Tue, …"),
    entry("dayofweek", _FIELD, "1 (Sunday) to 7"),
    entry("dayofyear", _FIELD, "1 to 366"),
    entry("from_unixtime", "LONG, STRING? -> STRING", "seconds since 1970 as a string, by a pattern", arg1="format"),
    entry("from_utc_timestamp", _BY_TEXT, "converted from UTC to the local time of a time zone", arg1="zone"),
    entry("hour", _FIELD, "0 to 23"),
    entry("last_day", "TIMESTAMP -> TIMESTAMP", f"the last day of the month {_MIDNIGHT}"),
    entry(
        "make_date",
        "INT, INT, INT -> TIMESTAMP",
        "the date of year, month and day; NULL if there is none (at 00:00; Spark: a DATE)",
    ),
    entry(
        "make_timestamp",
        "INT, INT, INT, INT, INT, DOUBLE -> TIMESTAMP",
        "the time of year, month, day, hour, minute and second; NULL if there is none",
    ),
    entry("minute", _FIELD, "0 to 59"),
    entry("month", _FIELD, "1 to 12"),
    entry("monthname", "TIMESTAMP -> STRING", "Jan, Feb, …"),
    entry("next_day", _BY_TEXT, f"the next 'Monday', … after the time {_MIDNIGHT}", arg1="weekday"),
    entry("quarter", _FIELD, "1 to 4"),
    entry("second", _FIELD, "0 to 59"),
    entry("timestamp_micros", "LONG -> TIMESTAMP", "the time of microseconds since 1970"),
    entry("timestamp_millis", "LONG -> TIMESTAMP", "the time of milliseconds since 1970"),
    entry("timestamp_seconds", "LONG -> TIMESTAMP | DOUBLE -> TIMESTAMP", "the time of seconds since 1970"),
    entry("to_date date", _PARSED, f"the day {_MIDNIGHT}", arg1="parse format"),
    entry(
        "to_timestamp try_to_timestamp",
        _PARSED,
        "the time of an ISO 8601 string, or of a string by a pattern; NULL if it is not valid",
        arg1="parse format",
    ),
    entry("to_utc_timestamp", _BY_TEXT, "converted from the local time of a time zone to UTC", arg1="zone"),
    entry("trunc", _BY_TEXT, f"the start of the 'year', 'quarter', 'month' or 'week' {_MIDNIGHT}", arg1="unit"),
    entry("unix_date", "TIMESTAMP -> INT", "days since 1970"),
    entry("unix_micros", "TIMESTAMP -> LONG", "microseconds since 1970"),
    entry("unix_millis", "TIMESTAMP -> LONG", "milliseconds since 1970"),
    entry("unix_seconds", "TIMESTAMP -> LONG", "seconds since 1970"),
    entry(
        "unix_timestamp to_unix_timestamp",
        "TIMESTAMP -> LONG | STRING, STRING? -> LONG",
        "seconds since 1970, of a timestamp or of a string by a pattern",
        arg1="parse format",
    ),
    entry("weekday", _FIELD, "0 (Monday) to 6"),
    entry("weekofyear", _FIELD, "the week of ISO 8601"),
    entry("year", _FIELD, "the year"),
)
