"""MATCH_RECOGNIZE: the kernel = its twin by plain backtracking, and rows do not depend on how the input is cut.

Small worlds with several partitions, a null key, ties in time, nulls in conditions; random patterns.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.operators.match.kernel.match import MatchKernel
from presage.operators.match.kernel.spec import SEQ, TIME
from presage.operators.match.regex import (
    Alternation,
    Concat,
    Empty,
    EndAnchor,
    Exclude,
    Permute,
    Regex,
    Repeat,
    StartAnchor,
    Variable,
)
from reference.cut_input import comparable, cuts, run_calls
from reference.match_recognize import SkipError, match_rows
from reference.match_worlds import AHEAD, ASKED, ORDER, PATH, PURE, SCHEMA, VARIABLES, Parity, queries

# Shared out over the kinds of conditions.
LAW = settings(max_examples=settings().max_examples // 2, deadline=None, suppress_health_check=list(HealthCheck))
BOUNDS = [(0, None), (1, None), (0, 1), (2, 2), (1, 2), (0, 2), (2, None)]


def repeats(items: st.SearchStrategy[Regex]) -> st.SearchStrategy[Regex]:
    return st.builds(lambda i, b, g: Repeat(i, *b, g), items, st.sampled_from(BOUNDS), st.booleans())


def patterns() -> st.SearchStrategy[Regex]:
    leaves = st.sampled_from([*map(Variable, VARIABLES), *map(Variable, VARIABLES), Empty()])
    inner = st.recursive(
        leaves | repeats(leaves),
        lambda items: st.one_of(
            st.lists(items, min_size=2, max_size=3).map(lambda i: Concat(tuple(i))),
            st.lists(items, min_size=2, max_size=3).map(lambda i: Alternation(tuple(i))),
            st.lists(items, min_size=2, max_size=3).map(lambda i: Permute(tuple(i))),
            items.map(Exclude),
            repeats(items),
        ),
        max_leaves=5,
    )
    anchored = st.tuples(st.sampled_from([0, 0, 0, 0, 0, 1, 2]), inner)
    return anchored.map(
        lambda p: p[1] if not p[0] else Concat((StartAnchor(), p[1]) if p[0] == 1 else (p[1], EndAnchor()))
    )


@st.composite
def events(draw: st.DrawFn, most: int = 10) -> list[dict[str, Any]]:
    rows = []
    time = 0
    for i in range(draw(st.integers(0, most))):
        time += draw(st.sampled_from([0, 1, 1, 2, 5]))
        rows.append(
            {
                TIME: time,
                SEQ: i // 2,
                ORDER: i % 2,
                "id": i,
                "k": draw(st.sampled_from(["a", "a", "a", "b", None])),
                "f": draw(st.sampled_from([True, True, False, None])),
                "g": draw(st.sampled_from([True, False])),
                "x": draw(st.sampled_from([0, 1, 2, 3, None])),
            }
        )
    return rows


ROWS = st.sampled_from(["one", "all", "all_omit", "all_unmatched"])
SPANS = st.sampled_from([None, None, 1, 2, 4, 7])


@st.composite
def skips(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["past_last", "past_last", "to_next", "to_next", "to_first", "to_last"]))
    named = st.lists(st.sampled_from(VARIABLES), min_size=1, max_size=2, unique=True).map(tuple)
    return {"skip": kind, "skip_to": draw(named) if kind in ("to_first", "to_last") else ()}


@st.composite
def options(draw: st.DrawFn, skip: dict[str, Any] | None = None) -> dict[str, Any]:
    chosen = {"rows": draw(ROWS), "within": draw(SPANS), "gap": draw(SPANS), "timeouts": draw(st.booleans())}
    chosen["held"] = chosen["within"] is not None and draw(st.integers(0, 3)) == 0
    return chosen | (draw(skips()) if skip is None else skip) | {"waits": draw(st.integers(0, 5)) == 0}


def check(
    data: st.DataObject, pattern: Regex, pairs: dict[str, Any], rows: list[dict[str, Any]], chosen: Any, unit: int = 1
) -> None:
    spec, query = queries(pattern, pairs, **chosen)
    clock = max([0, *(r[TIME] for r in rows)]) + unit * data.draw(st.sampled_from([0, 0, 1, 3, 9]), "clock")
    calls = data.draw(cuts(rows, (TIME, SEQ, ORDER), clock), "cuts")
    kernel = MatchKernel(spec, Parity())
    if "sort" in chosen:
        # Ascending time, then x from the greatest down, nulls last.
        rows = sorted(rows, key=lambda r: (r[TIME], r["x"] is None, -(r["x"] or 0)))
    try:
        wanted = match_rows(query, rows, clock)
    except SkipError:
        with pytest.raises(PresageError) as raised:
            run_calls(kernel, calls, SCHEMA, end=True)
        assert raised.value.code == "SKIP_TARGET"
        return
    assert comparable(run_calls(kernel, calls, SCHEMA, end=True)) == comparable(wanted)


def conditions(pool: list[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.sampled_from(pool) for name in VARIABLES})


@LAW
@given(st.data(), patterns(), conditions(PURE), events(), options())
def test_conditions_over_rows_and_their_neighbours(data, pattern, pairs, rows, chosen):
    check(data, pattern, pairs, rows, chosen)


@LAW
@given(st.data(), patterns(), conditions(PURE + PATH[:1]), events(), options(), st.integers(0, 2), st.integers(0, 2))
def test_bounds_in_months(data, pattern, pairs, rows, chosen, within_months, gap_months):
    # From 29 January 1971 in steps of 37 hours: the last days of January lead to the end of February, not in order.
    hour = 3_600_000_000
    rows = [row | {TIME: 393 * 24 * hour + row[TIME] * 37 * hour} for row in rows]
    for bound, months in (("within", within_months), ("gap", gap_months)):
        if chosen[bound] is not None:
            chosen[bound] = (chosen[bound] - (months > 0)) * 20 * hour
            chosen[f"{bound}_months"] = months
    check(data, pattern, pairs, rows, chosen, 37 * hour)


@LAW
@given(st.data(), patterns(), conditions(PURE + AHEAD), events(), options())
def test_conditions_that_look_ahead(data, pattern, pairs, rows, chosen):
    check(data, pattern, pairs, rows, chosen)


@LAW
@given(st.data(), patterns(), conditions(PURE[:3] + AHEAD + PATH + PATH), events(), options())
def test_conditions_over_the_match_so_far(data, pattern, pairs, rows, chosen):
    check(data, pattern, pairs, rows, chosen)


@LAW
@given(st.data(), patterns(), conditions(PURE[:3] + ASKED * 2), events(), options())
def test_conditions_that_only_the_host_can_evaluate(data, pattern, pairs, rows, chosen):
    check(data, pattern, pairs, rows, chosen)


@LAW
@given(st.data(), patterns(), conditions(PURE + AHEAD + PATH[:-1] + ASKED), events(7), options({"skip": "to_current"}))
def test_every_match_of_every_row(data, pattern, pairs, rows, chosen):
    check(data, pattern, pairs, rows, chosen)


@LAW
@given(st.data(), patterns(), conditions(PURE + PATH), events(), options())
def test_rows_of_one_time_that_are_sorted_by_a_further_column(data, pattern, pairs, rows, chosen):
    check(data, pattern, pairs, rows, chosen | {"sort": ((TIME, True), ("x", False))})
