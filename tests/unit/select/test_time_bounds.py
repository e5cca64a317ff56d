"""WITHIN: brackets include, parentheses exclude, and the clock stops at the upper bound as written."""

from __future__ import annotations

import pytest

from presage.model.time import TimeRange
from unit.declared import NOW, bind, refusals

SECOND = 1_000_000
CASES = {
    "": (None, None, None),
    "WITHIN [, )": (None, None, None),
    "WITHIN [2024-03-01T09:00:01, 2024-03-01T09:00:05)": (1 * SECOND, 5 * SECOND, 5 * SECOND),
    "WITHIN (2024-03-01T09:00:01, 2024-03-01T09:00:05]": (1 * SECOND + 1, 5 * SECOND + 1, 5 * SECOND),
    "WITHIN ['2024-03-01T10:00:01+01:00', )": (1 * SECOND, None, None),
    "WITHIN (, 2024-03-01T09:00:05)": (None, 5 * SECOND, 5 * SECOND),
    "WITHIN [now, )": (0, None, None),
    "WITHIN [now - 5 sec, now + 1 min)": (-5 * SECOND, 60 * SECOND, 60 * SECOND),
    "WITHIN [now, now]": (0, 1, 0),
}


@pytest.mark.parametrize("clause", CASES)
def test_bounds_of_event_time(clause: str) -> None:
    query = bind(f"SELECT x FROM Motion {clause}")
    low, high, upper = (None if offset is None else NOW + offset for offset in CASES[clause])
    (scan,) = query.scans()
    assert (scan.time, query.upper) == (TimeRange(low, high), upper)


@pytest.mark.parametrize("clause", ["WITHIN [now, now)", "WITHIN (now, now]", "WITHIN [now, now - 1 sec]"])
def test_a_range_without_any_time_is_refused(clause: str) -> None:
    (found,) = refusals(f"SELECT x FROM Motion {clause}")
    assert (found.code, found.column) == ("BAD_VALUE", 22)


def test_a_bound_at_the_end_of_time_can_be_shown() -> None:
    (scan,) = bind("SELECT x FROM Motion WITHIN [, 9999-12-31T23:59:59.999999]").scans()
    assert "253402300800000000 microseconds since 1970" in scan.label()
