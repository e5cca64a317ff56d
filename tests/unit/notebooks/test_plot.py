"""Pictures of rows: whatever the values are, they are well-formed and say what they show."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from presage.notebooks.plot import COLOURS, MOST_LINES, plot, ticks


class Rows:
    """As much of a result as a picture needs."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def to_arrow(self) -> pa.Table:
        sym, value, at = zip(*self._rows, strict=True) if self._rows else ((), (), ())
        kinds = (pa.string(), pa.float64(), pa.timestamp("us", "UTC"))
        return pa.table([pa.array(c, k) for c, k in zip((sym, value, at), kinds, strict=True)], ["sym", "v", "at"])


numbers = st.none() | st.floats(-1e12, 1e12) | st.sampled_from((math.nan, math.inf, -math.inf))


@given(
    st.lists(st.tuples(st.text(max_size=3), numbers, st.integers(0, 2**50))),
    st.booleans(),
    st.none() | st.floats(-5, 5),
)
def test_any_rows_give_a_picture(rows: list[tuple[Any, ...]], by: bool, threshold: float | None) -> None:
    picture = plot(Rows(rows), by="sym" if by else None, threshold=threshold)  # type: ignore[arg-type]
    svg = ElementTree.fromstring(picture.svg)
    known = {row[0] for row in rows}
    legend = [e for e in svg.iter() if e.tag.endswith("circle") and e.get("r") == "4"]
    drawable = any(v is not None and math.isfinite(v) for _, v, _ in rows) or (rows and threshold is not None)
    if by and drawable:
        assert len(legend) == min(len(known), MOST_LINES)
    assert len(COLOURS) == MOST_LINES


@example(0.0, 5e-324)
@example(6.0, -5e-324)
@example(1e9, 1e9 + 1e-7)
@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_ticks_are_few_and_hold_the_range(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    found = ticks(low, high)
    assert 2 <= len(found) <= 9
    near = 1e-6 * max(abs(low), abs(high))
    assert found[0] <= low + near
    assert found[-1] >= high - near
