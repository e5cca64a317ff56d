"""Kinds of partial values of an aggregate: those of the parts of history merge to those of the whole."""

from __future__ import annotations

# A LONG is high * 2**32 + low, so that no sum of parts overflows before the whole is known.
COUNT, HIGH, LOW = "count", "high", "low"
TRUE = "true"  # how many values are true
EXACT, EXACT_SQUARES = "exact", "exact squares"  # sums of doubles: `presage.arrays.exact_sums`
LEAST, GREATEST_VALUE = "least", "greatest"
TIME, SEQ, VALUE = "time", "seq", "value"  # of the first or last row, by (time, seq)


def sum_parts(integral: bool) -> tuple[str, ...]:
    return (COUNT, HIGH, LOW) if integral else (COUNT, EXACT)
