"""A month: of the calendar beside a time, 30 days as a width, refused where it has no length."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.model.time import parse_timestamp
from presage.operators.match.nodes import Match
from presage.workspace import Workspace

DECLARED = "CREATE STREAM A (k STRING, n INT, ts TIMESTAMP) EVENT TIME ts;"


def at(text: str) -> int:
    found = parse_timestamp(text)
    assert found is not None
    return found


def rows(query: str, *events: tuple[str, str], cuts: list[int] | None = None) -> list[dict[str, Any]]:
    """Rows over events, each its letter and its time."""
    given = [("A", {"k": k, "n": i, "ts": at(time)}) for i, (k, time) in enumerate(events)]
    return run_in_steps(DECLARED, query, given, cuts or [])


def days(found: list[dict[str, Any]]) -> list[str]:
    return [datetime.fromtimestamp(row["at"] / 1e6, UTC).strftime("%m-%d %H:%M") for row in found]


@pytest.mark.parametrize(
    ("term", "time", "moved"),
    [
        ("ts + 1 month", "2024-01-31T10:00", "2024-02-29T10:00"),
        ("1 month + ts", "2023-01-30T10:00", "2023-02-28T10:00"),
        ("ts - 1 month", "2024-03-31T00:00:00.5", "2024-02-29T00:00:00.5"),
        ("ts + 13 months 3 days 1 hour", "2023-01-30", "2024-03-03T01:00"),
        ("ts - 1 month 1 day", "2024-03-31", "2024-02-28"),
        ("ts - 25 months", "1970-01-01", "1967-12-01"),
    ],
)
def test_a_time_is_moved_by_months_of_the_calendar(term: str, time: str, moved: str) -> None:
    (row,) = rows(f"SELECT {term} AS t FROM A", ("x", time))
    assert row["t"] == datetime.fromisoformat(moved).replace(tzinfo=UTC)


def test_conditions_compare_with_a_month_later() -> None:
    query = "SELECT b.n FROM PATTERN [ EVERY a=A(k = 'x') -> b=A(k = 'y' AND ts < a.ts + 1 month) ]"
    found = rows(query, ("x", "2024-01-31"), ("y", "2024-02-29"), ("x", "2024-03-31"), ("y", "2024-04-29T23:59"))
    assert [row["n"] for row in found] == [3]


@pytest.mark.parametrize("cuts", [[], [1, 2]])
def test_timers_that_began_later_may_fall_due_earlier(cuts: list[int]) -> None:
    query = "SELECT a.k FROM PATTERN [ EVERY a=A -> timer:interval(1 month) ] WITHIN [2023-01-01, 2023-04-01]"
    found = rows(query, ("x", "2023-01-30T10:00"), ("y", "2023-01-31T09:00"), ("z", "2023-02-01"), cuts=cuts)
    assert ([row["k"] for row in found], days(found)) == (
        ["y", "x", "z"],
        ["02-28 09:00", "02-28 10:00", "03-01 00:00"],
    )


def test_guards_and_keys_end_after_a_month_and_some_days() -> None:
    query = "SELECT b.n FROM PATTERN [ EVERY a=A(k = 'x') -> b=A(k = 'y') WHERE timer:within(1 month 2 days) ]"
    assert [row["n"] for row in rows(query, ("x", "2023-01-31"), ("y", "2023-03-01T23:59"))] == [1]
    assert rows(query, ("x", "2023-01-31"), ("y", "2023-03-02")) == []
    query = "SELECT a.n FROM PATTERN [ EVERY-DISTINCT(a.k, 1 month) a=A ]"
    found = rows(query, ("x", "2023-01-31"), ("x", "2023-02-27"), ("x", "2023-02-28"))
    assert [row["n"] for row in found] == [0, 2]


@pytest.mark.parametrize(("bound", "taken"), [("WITHIN 1 month", 2), ("INTERVAL 1 month", 2), ("GAP 1 month", 3)])
@pytest.mark.parametrize("cuts", [[], [1, 2, 3]])
def test_bounds_of_a_match_count_by_the_calendar(bound: str, taken: int, cuts: list[int]) -> None:
    query = f"""SELECT n FROM A MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (X Y*) {bound}
                DEFINE X AS X.k = 'x', Y AS Y.k = 'y') WITHIN [2023-01-01, 2023-06-01]"""
    # The third row is a month after the first, and less after the second; the fourth is a month after it.
    events = (("x", "2023-01-31"), ("y", "2023-02-27"), ("y", "2023-02-28"), ("y", "2023-03-28"))
    assert [row["n"] for row in rows(query, *events, cuts=cuts)] == [taken]


def test_a_window_of_a_month_is_of_30_days() -> None:
    query = "SELECT n, count(*) AS c FROM A#time(1 month)"
    found = rows(query, ("x", "2023-01-01"), ("x", "2023-01-30T23:59"), ("x", "2023-01-31"))
    assert [row["c"] for row in found] == [1, 2, 2]


def test_now_is_moved_by_months() -> None:
    statement = parse_statement("SELECT n FROM A WITHIN [now - 1 month 1 day, now]")
    assert isinstance(statement, s.Query)
    assert statement.within is not None
    assert statement.within.low is not None
    assert statement.within.low.at(at("2024-03-31")) == at("2024-02-28")
    assert print_statement(statement).endswith("WITHIN [now - 1 month 1 day, now]")


def test_a_bound_in_months_is_printed_as_such_and_part_of_the_plan() -> None:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    statement = parse_statement(
        "SELECT n FROM A MATCH_RECOGNIZE (MEASURES 1 AS n PATTERN (X Y) WITHIN 2 months GAP 1 day)"
    )
    assert "WITHIN 2 month GAP 1 day" in print_statement(statement)
    assert isinstance(statement, s.Query)
    (node,) = [node for node in workspace.bind(statement).plan.walk() if isinstance(node, Match)]
    assert "within 2 month gap 1 day" in node.label()


@pytest.mark.parametrize(
    ("query", "code", "place", "fix"),
    [
        ("SELECT n FROM A OUTPUT LAST EVERY 1 month", "UNSUPPORTED", "1 month", "30 days"),
        ("SELECT 1 month AS x FROM A", "UNSUPPORTED", "1 month", "30 days"),
        ("SELECT b.n FROM PATTERN [ a=A -> b=A(ts - a.ts < 1 month) ]", "UNSUPPORTED", "1 month", "a.at + 1 month"),
        ("SELECT n FROM A#time(1.5 months)", "BAD_VALUE", "1.5 months", "in days"),
        ("SELECT ts + 0.5 month AS t FROM A", "BAD_VALUE", "0.5 month", "in days"),
        ("SELECT a.n FROM PATTERN [ a=A -> timer:interval(a.n months) ]", "UNSUPPORTED", "a.n months", "* 30) days"),
        (
            "SELECT n FROM A#time(30 days) MATCH_RECOGNIZE (MEASURES 1 AS n PATTERN (X Y) WITHIN 1 month)",
            "UNSUPPORTED",
            "1 month",
            "in days",
        ),
    ],
)
def test_where_a_month_has_no_length_it_is_refused(query: str, code: str, place: str, fix: str) -> None:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    with pytest.raises(PresageError) as found:
        workspace.check(query)
    span = found.value.span
    assert span is not None
    assert (found.value.code, query[span.start : span.end]) == (code, place)
    assert fix in found.value.fix
