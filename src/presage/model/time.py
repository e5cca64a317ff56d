"""Event time as microseconds since 1970 UTC: durations, timestamps, ranges."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone

MICROS = {
    "msec": 1_000,
    "sec": 1_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
    # As the width of a window or of RECALL. Added to a time, it is a month of the calendar.
    "month": 30 * 86_400_000_000,
}
UNIT_NAMES = {
    **{unit: unit for unit in MICROS},
    **{unit + "s": unit for unit in MICROS},
    **dict.fromkeys(("millisecond", "milliseconds"), "msec"),
    **dict.fromkeys(("second", "seconds"), "sec"),
    **dict.fromkeys(("minute", "minutes"), "min"),
}
# Longer than any limit on durations; keeps huge numbers finite.
BEYOND = 2.0**63
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?"
    r"\s*(Z|z|[+-]\d\d(?::?\d\d)?)?"
)


def wall_clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1_000


def parse_duration(text: str) -> int | None:
    """Microseconds of '1 hour 30 min', '5min', '500 msec'; None if it is no duration."""
    total, position = 0.0, 0
    while position < len(text.rstrip()):
        part = _PART.match(text, position)
        if part is None or part[2].lower() not in UNIT_NAMES:
            return None
        total += float(part[1]) * MICROS[UNIT_NAMES[part[2].lower()]]
        position = part.end()
    return round(min(total, BEYOND)) if position else None


def count_months(text: str) -> int:
    """The whole months in a duration's text, which `parse_duration` counts as 30 days each."""
    return sum(int(n) for n in _months_in(text) if n.is_integer())


def part_of_month(text: str) -> str:
    """The fractional months in a duration's text, which the calendar does not have; empty if none."""
    return next((f"{n:g} month" for n in _months_in(text) if not n.is_integer()), "")


def _months_in(text: str) -> list[float]:
    return [float(n) for n, unit in _PART.findall(text) if UNIT_NAMES[unit.lower()] == "month"]


def format_duration(micros: int, months: int = 0) -> str:
    """The shortest spelling that `parse_duration` reads back, with `months` in front."""
    if months:
        return f"{months} month {format_duration(micros)}" if micros else f"{months} month"
    parts = []
    for unit in ("day", "hour", "min", "sec", "msec"):
        count, micros = divmod(micros, MICROS[unit])
        if count:
            parts.append(f"{count} {unit}")
    if micros:
        parts.append(f"{micros / 1000:g} msec")
    return " ".join(parts) or "0 sec"


def parse_timestamp(text: str) -> int | None:
    """Microseconds of an ISO 8601 text, UTC unless it has an offset; None if it is no timestamp."""
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        offset = _offset(zone)
        when = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=offset
        )
    except ValueError:
        return None
    return to_micros(when) + int((fraction or "0")[:6].ljust(6, "0"))


def _offset(zone: str | None) -> timezone:
    if not zone or zone in "Zz":
        return UTC
    digits = zone[1:].replace(":", "").ljust(4, "0")
    shift = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-shift if zone[0] == "-" else shift)


def parse_date(text: str) -> int | None:
    """Days since 1970 of `2024-01-31`; None if it is no day of the years 1 to 9999."""
    try:
        return date.fromisoformat(text).toordinal() - EPOCH_DAY if _DAY.fullmatch(text) else None
    except ValueError:
        return None


def format_date(days: int) -> str:
    """`2024-01-31` of days since 1970."""
    try:
        return date.fromordinal(days + EPOCH_DAY).isoformat()
    except (OverflowError, ValueError):
        return f"{days} days since 1970"


def to_micros(when: datetime) -> int:
    """Microseconds since the epoch; a datetime without a zone is UTC."""
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    # Integer arithmetic: float seconds lose microseconds for years far from 1970.
    delta = when - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def format_timestamp(micros: int) -> str:
    """ISO 8601 in UTC with as many decimals as needed."""
    try:
        when = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} microseconds since 1970"  # a bound outside of the years 1 to 9999
    text = when.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    if when.microsecond:
        text += f".{when.microsecond:06d}".rstrip("0")
    return text + "Z"


@dataclass(frozen=True)
class TimeRange:
    """A range of event time in microseconds: `low` included, `high` excluded; None is unbounded."""

    low: int | None = None
    high: int | None = None

    def __contains__(self, micros: int) -> bool:
        return (self.low is None or micros >= self.low) and (self.high is None or micros < self.high)


ALL_TIME = TimeRange()
