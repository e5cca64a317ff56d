"""Events of a window, how they are cut into steps, and what is asked of them: drawn, for the laws of window kernels.

Small worlds full of ties in time, nulls, NaN, infinities and both zeros; some of all aggregates in each.
"""

from __future__ import annotations

import math
from datetime import date, timedelta
from decimal import Context, Decimal
from typing import Any

from hypothesis import strategies as st

from presage.operators.windows.kernel.spec import PASS, SEQ, TIME
from reference.aggregate_worlds import AGGREGATES, GROUPINGS, ORDER

WIDE = Context(prec=40)
PAIRED = st.none() | st.sampled_from([0.0, 0.1, 1.0, 1.0, -2.5, 3.0, 1e6, 7.0, math.inf, math.nan])
VALUES = {
    PASS: st.sampled_from([True, True, True, False, None]),
    "k": st.sampled_from(["a", "a", "b", "ç", None]),
    "g": st.sampled_from([0.0, -0.0, math.nan, 1.5, None]),
    "n": st.none() | st.integers(-5, 5),
    "x": st.none() | st.sampled_from([0.0, -0.0, 1.0, 0.1, -2.5, 1e6, 3.0, 7.0, math.inf, -math.inf, math.nan]),
    "s": st.sampled_from(["", "a", "b", "zz", "é", "𝄞", None]),
    "b": st.sampled_from([True, False, None]),
    "at": st.none() | st.integers(0, 5).map(lambda i: i * 1_000_000),
    "st": st.none()
    | st.fixed_dictionaries({"room": st.sampled_from(["r1", "r2", None]), "floor": st.none() | st.just(1)}),
    "tags": st.sampled_from([None, [], ["u"], ["u", None]]),
    "z": st.none(),
    "d": st.none() | st.integers(-300, 300).map(lambda n: Decimal(n).scaleb(-2)) | st.just(Decimal("99999999.99")),
    "w": st.none()
    | st.sampled_from([Decimal(n).scaleb(-4, WIDE) for n in (0, 1, -25_000, 10**37, 1 - 10**38, 10**38 - 1)]),
    "day": st.none() | st.integers(-1, 2).map(lambda n: date(1970, 1, 5) + timedelta(n)),
    "raw": st.sampled_from([b"", b"\x00", b"\xff", b"a", None]),
    "xs": st.fixed_dictionaries({"x1": PAIRED, "x2": PAIRED}),
}
SOME_AGGREGATES = st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=7, unique=True).map(tuple)
GROUP_BY = st.sampled_from(GROUPINGS)


@st.composite
def worlds(draw: st.DrawFn, most: int = 20) -> tuple[list[dict[str, Any]], list[tuple[int, int]]]:
    """Events in processing order and how to cut them: (events so far, clock) for each step."""
    events = draw(st.lists(st.fixed_dictionaries(VALUES), max_size=most))
    time = 0
    for i, event in enumerate(events):
        time += draw(st.sampled_from([0, 0, 1, 2, 5]))
        event.update({TIME: time, SEQ: i // 2, ORDER: i % 2})
    cuts = sorted(draw(st.lists(st.integers(0, len(events)), max_size=4)))
    steps = []
    clock = 0
    for cut in [*cuts, len(events)]:
        low = max(clock, events[cut - 1][TIME] if cut else 0)
        high = events[cut][TIME] if cut < len(events) else time + 9
        clock = draw(st.integers(low, high))
        steps.append((cut, clock))
    return events, steps
