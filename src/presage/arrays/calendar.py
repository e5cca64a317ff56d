"""Calendar arithmetic for compiled loops and for whole columns.

Days are those since 1970-01-01, months those since January 1970, times microseconds; all in UTC.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.model import calendar
from presage.model.calendar import DAY

moved_by_months = inlined(calendar.moved_by_months)


def months_of(days: Ints) -> Ints:
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def first_day_of(months: Ints) -> Ints:
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def days_after(days: Ints, months: Ints | int) -> Ints:
    """The same day of the month, or its last one."""
    begun = months_of(days)
    last = first_day_of(begun + months + 1) - 1
    moved: Ints = np.minimum(first_day_of(begun + months) + days - first_day_of(begun), last)
    return moved


def times_after(times: Ints, months: int, micros: int) -> Ints:
    """Months of the calendar, then microseconds, after each time."""
    if not months:
        fixed: Ints = times + micros
        return fixed
    days = np.floor_divide(times, DAY)
    moved: Ints = days_after(days, months) * DAY + (times - days * DAY) + micros
    return moved
