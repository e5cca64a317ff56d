"""Calendar arithmetic on one time in microseconds: whole numbers alone, because kernels compile it.

Kernels may import this module, so it imports nothing, and the name of their cache counts it in.
"""

from __future__ import annotations

DAY = 86_400_000_000  # microseconds
# Days from 1970 that a time in 64 bits reaches, before and after.
MOST_DAYS = 106_751_990


def moved_by_months(time: int, months: int) -> int:
    """The same day and time of day so many months later; the day is clipped to the month's length. UTC."""
    # Years from 1 March, in eras of 400 years: February's length is then the last to matter.
    shifted = time // DAY + 719_468
    era = shifted // 146_097
    of_era = shifted - era * 146_097
    year_of_era = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    part = (5 * of_year + 2) // 153
    day = of_year - (153 * part + 2) // 5 + 1
    month = part + 3 if part < 10 else part - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    total = year * 12 + month - 1 + months
    year = total // 12
    month = total % 12 + 1
    leap = (year % 4 == 0 and year % 100 != 0) or year % 400 == 0
    longest = 31
    if month == 2:
        longest = 29 if leap else 28
    elif month == 4 or month == 6 or month == 9 or month == 11:
        longest = 30
    day = min(day, longest)
    if month <= 2:
        year -= 1
    era = year // 400
    year_of_era = year - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year
    return (era * 146_097 + of_era - 719_468) * DAY + time % DAY
