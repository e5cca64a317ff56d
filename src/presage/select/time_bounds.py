"""WITHIN -> a range of event time and the time at which the clock of a bounded query stops."""

from __future__ import annotations

from presage.errors import error
from presage.lang.syntax import Bound, WithinClause
from presage.model.time import TimeRange, format_timestamp


def bind_within(clause: WithinClause | None, now: int) -> tuple[TimeRange, int | None]:
    """The range (low included, high excluded) and the upper bound as written, or None."""
    if clause is None:
        return TimeRange(), None
    low = _edge(clause.low, now, shift_if_inclusive=False)
    high = _edge(clause.high, now, shift_if_inclusive=True)
    if low is not None and high is not None and low >= high:
        found = f"empty ({format_timestamp(low)} to {format_timestamp(high)})"
        expected, fix = "a range that begins before it ends", "exchange the bounds"
        raise error("BAD_VALUE", clause.span, what="the range of WITHIN", found=found, expected=expected, fix=fix)
    return TimeRange(low, high), _time(clause.high, now)


def _time(bound: Bound | None, now: int) -> int | None:
    return bound.at(now) if bound is not None else None


def _edge(bound: Bound | None, now: int, shift_if_inclusive: bool) -> int | None:
    """Event time is whole microseconds, so an inclusive upper or exclusive lower bound is the next one."""
    time = _time(bound, now)
    if bound is None or time is None:
        return None
    return time + (bound.inclusive == shift_if_inclusive)
