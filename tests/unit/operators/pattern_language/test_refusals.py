"""What a pattern cannot mean is refused at its place, with what to write instead; and what timers without length do."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM A (id STRING, v INT, d DOUBLE, ts TIMESTAMP) EVENT TIME ts;
CREATE STREAM B (id STRING, v INT, d DOUBLE, ts TIMESTAMP) EVENT TIME ts;
"""
NAN, INFINITE = float("nan"), float("inf")


def events(*given: tuple[str, float | None]) -> list[tuple[str, dict[str, Any]]]:
    """One event a second: its stream and its `d`."""
    return [(name, {"id": "x", "v": 1, "d": d, "ts": i * 1_000_000}) for i, (name, d) in enumerate(given)]


def refused(query: str) -> PresageError:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    with pytest.raises(PresageError) as found:
        workspace.check(query)
    assert found.value.others == ()
    return found.value


def marked(query: str, found: PresageError) -> str:
    assert found.span is not None
    return query[found.span.start : found.span.end]


@pytest.mark.parametrize(
    ("term", "code", "place", "fix"),
    [
        ("[3:1] a=A UNTIL B", "BAD_VALUE", "3", "write [1:3]"),
        ("[0] a=A", "BAD_VALUE", "0", "write [1]"),
        ("[:0] a=A UNTIL B", "BAD_VALUE", "0", "write [:1]"),
        ("[-1:3] a=A UNTIL B", "BAD_VALUE", "-1", "[:m]"),
        ("[1.5] a=A", "TYPE_MISMATCH", "1.5", "[(a.n)]"),
        ("[10001] a=A", "LIMIT", "10001", "UNTIL"),
        ("[2:1000000000] a=A UNTIL B", "LIMIT", "1000000000", "UNTIL"),
        ("a=A -[0]> b=B", "BAD_VALUE", "0", "-> for no limit"),
        ("a=A -> timer:interval(-1 sec)", "BAD_VALUE", "-1 sec", "write 1 sec"),
        ("a=A -> timer:interval(-1)", "BAD_VALUE", "-1", "without a sign"),
        ("a=A -> timer:interval(1e300)", "BAD_VALUE", "1e300", "leave the timer out"),
        ("a=A WHERE timer:within(-2 min)", "BAD_VALUE", "-2 min", "write 2 min"),
        ("EVERY-DISTINCT(a.v, -1 sec) a=A", "BAD_VALUE", "-1 sec", "write 1 sec"),
        ("EVERY timer:interval(0 sec)", "BAD_VALUE", "timer:interval(0 sec)", "a period above 0"),
        ("EVERY (a=A OR timer:interval(0))", "BAD_VALUE", "a=A OR timer:interval(0)", "a period above 0"),
        ("EVERY (timer:interval(0) AND NOT A)", "BAD_VALUE", "timer:interval(0) AND NOT A", "a period above 0"),
        ("@Note('x') a=A", "SYNTAX", "@", "PATTERN @Name ["),
        ("EVERY @SuppressOverlappingMatches a=A", "SYNTAX", "@", "PATTERN @Name ["),
        ("a=A UNTIL NOT B", "UNSUPPORTED", "NOT B", "UNTIL b=B"),
        ("[1:3] a=A UNTIL (NOT B OR b=B)", "UNSUPPORTED", "NOT B OR b=B", "UNTIL b=B"),
        (
            "a=A UNTIL EVERY (NOT B WHERE timer:within(1 sec))",
            "UNSUPPORTED",
            "EVERY (NOT B WHERE timer:within(1 sec))",
            "timer",
        ),
        ("a=A@consume(9999999999999999999)", "BAD_VALUE", "9999999999999999999", "@consume(1)"),
        ("a=A@consume(0.5)", "BAD_VALUE", "0.5", "@consume(1)"),
        ("a=A -> b=B(v = a[0].v)", "TYPE_MISMATCH", "a[0]", "'a' is one event"),
        ("[2] a=A -> b=B(v = a[-1].v)", "BAD_VALUE", "-1", "a.lastOf()"),
        ("(a=A AND NOT b=B) -> c=A(v = b.v)", "UNSUPPORTED", "b.v", "take 'b' out"),
    ],
)
def test_a_term_without_meaning_is_refused_where_it_stands(term: str, code: str, place: str, fix: str) -> None:
    query = f"SELECT 1 AS x FROM PATTERN [ {term} ]"
    found = refused(query)
    assert (found.code, marked(query, found)) == (code, place)
    assert fix in found.fix


@pytest.mark.parametrize(
    ("query", "code", "place", "fix"),
    [
        ("SELECT a[0].v FROM PATTERN [ a=A ]", "TYPE_MISMATCH", "a[0]", "write a.x"),
        ("SELECT a.lastOf().v FROM PATTERN [ a=A ]", "TYPE_MISMATCH", "a.lastOf()", "write a.x"),
        ("SELECT a[-1].v FROM PATTERN [ [2] a=A ]", "BAD_VALUE", "-1", "a.lastOf()"),
        ("SELECT v FROM PATTERN [ [2] a=A ]", "UNKNOWN_ATTRIBUTE", "v", "write a[0].v"),
        ("SELECT s FROM A MATCH_RECOGNIZE ( MEASURES X[-1].v AS s PATTERN (X+) )", "BAD_VALUE", "-1", "other end"),
        ("SELECT 1 AS x FROM A MATCH_RECOGNIZE ( PATTERN (X{10001}) )", "LIMIT", "X{10001}", "smaller"),
        ("SELECT MATCH_NUMBER() AS n FROM A", "UNSUPPORTED", "MATCH_NUMBER()", "MEASURES MATCH_NUMBER() AS n"),
        ("SELECT CLASSIFIER() AS n FROM PATTERN [ a=A ]", "UNSUPPORTED", "CLASSIFIER()", "MEASURES CLASSIFIER()"),
        ("SELECT v FROM A WHERE prev(v) > 1", "UNSUPPORTED", "prev(v)", "MEASURES PREV(A.x)"),
    ],
)
def test_a_term_that_the_rows_cannot_have_is_refused_where_it_stands(
    query: str, code: str, place: str, fix: str
) -> None:
    found = refused(query)
    assert (found.code, marked(query, found)) == (code, place)
    assert fix in found.fix


@pytest.mark.parametrize("term", ["b.v", "b.*", "b", "count(b.*)", "count(b.v)"])
def test_a_tag_that_stands_only_under_not_cannot_be_selected(term: str) -> None:
    found = refused(f"SELECT {term} FROM PATTERN [ EVERY a=A AND NOT b=B ]")
    assert found.code == "UNSUPPORTED"
    assert "'b'" in found.message
    assert "take 'b' out of SELECT" in found.fix


def test_a_tag_under_not_can_be_used_inside_that_not() -> None:
    query = "SELECT a.d FROM PATTERN [ EVERY a=A -> (timer:interval(3 sec) AND NOT (b=B -> B(d = b.d))) ]"
    given = events(("A", 1.0), ("B", 5.0), ("B", 5.0), ("A", 2.0), ("B", 5.0), ("B", 6.0), ("A", 3.0))
    assert run_in_steps(DECLARED, query, given, []) == [{"d": 2.0, "at": 6_000_000}]


def test_a_tag_that_also_stands_outside_of_not_can_be_selected() -> None:
    query = "SELECT a.d AS a, b.d AS b FROM PATTERN [ b=B OR (a=A -> (timer:interval(1 sec) AND NOT b=B)) ]"
    assert run_in_steps(DECLARED, query, events(("B", 4.0)), []) == [{"a": None, "b": 4.0, "at": 0}]


def test_all_columns_are_those_of_tags_that_a_match_holds() -> None:
    query = "SELECT * FROM PATTERN [ a=A -> (c=A AND NOT b=B) ]"
    (row,) = run_in_steps(DECLARED, query, events(("A", 1.0), ("A", 2.0)), [])
    assert set(row) == {"a", "c", "at"}


def test_an_attribute_without_a_tag_is_not_that_of_a_tag_under_not() -> None:
    query = "SELECT d FROM PATTERN [ a=A AND NOT b=B ]"
    assert run_in_steps(DECLARED, query, events(("A", 1.0)), []) == [{"d": 1.0, "at": 0}]


def test_two_patterns_with_one_tag_are_told_which_to_rename() -> None:
    query = "SELECT p.a.v FROM PATTERN [ EVERY a=A ] AS p, PATTERN [ EVERY a=B ] AS q"
    found = refused(query)
    assert (found.code, marked(query, found)) == ("DUPLICATE_NAME", "PATTERN [ EVERY a=B ] AS q")
    assert "rename the tag 'a'" in found.fix


@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 4]])
def test_an_interval_of_zero_or_less_fires_at_once_and_an_unknown_one_never(cuts: list[int]) -> None:
    query = "SELECT a.d FROM PATTERN [ EVERY a=A -> timer:interval(a.d) ]"
    given = events(("A", NAN), ("A", None), ("A", 0.0), ("A", -1.0), ("A", INFINITE), ("A", -INFINITE), ("B", 0.0))
    rows = run_in_steps(DECLARED, query, given, cuts)
    assert [(row["d"], row["at"]) for row in rows] == [(0.0, 2_000_000), (-1.0, 3_000_000), (-INFINITE, 5_000_000)]


@pytest.mark.parametrize("cuts", [[], [1, 2, 3, 4]])
def test_a_guard_of_zero_or_less_or_unknown_ends_at_once(cuts: list[int]) -> None:
    query = "SELECT a.d FROM PATTERN [ EVERY a=A -> b=B WHERE timer:within(a.d) ]"
    given = events(("A", NAN), ("A", None), ("A", 0.0), ("A", -1.0), ("A", 9.0), ("A", INFINITE), ("B", 0.0))
    rows = run_in_steps(DECLARED, query, given, cuts)
    assert [(row["d"], row["at"]) for row in rows] == [(9.0, 6_000_000), (INFINITE, 6_000_000)]


@pytest.mark.parametrize("cuts", [[], [1], [1, 2]])
@pytest.mark.parametrize("repeat", ["{} UNTIL b=B", "[2:] {} UNTIL b=B", "[2:3] {} UNTIL b=B", "[:3] {} UNTIL b=B"])
def test_rounds_without_length_are_as_many_as_must_be(repeat: str, cuts: list[int]) -> None:
    query = f"SELECT a.d, b.d AS e FROM PATTERN [ a=A -> {repeat.format('timer:interval(a.d)')} ]"
    rows = run_in_steps(DECLARED, query, events(("A", 0.0), ("A", 1.0), ("B", 2.0)), cuts)
    assert rows == [{"d": 0.0, "e": 2.0, "at": 2_000_000}]


def test_as_many_rounds_without_length_as_an_event_says_take_no_time() -> None:
    query = "SELECT a.d FROM PATTERN [ a=A -> [(CAST(a.id AS INT))] timer:interval(a.d) ]"
    (name, event) = events(("A", 0.0))[0]
    rows = run_in_steps(DECLARED, query, [(name, {**event, "id": "2000000000"})], [])
    assert rows == [{"d": 0.0, "at": 0}]


def test_an_every_whose_term_is_true_at_its_start_ends_there() -> None:
    query = "SELECT a.d FROM PATTERN [ EVERY a=A -> (EVERY timer:interval(a.d)) ]"
    rows = run_in_steps(DECLARED, query, events(("A", 0.0), ("A", 1.0), ("A", None), ("A", None)), [])
    assert [(row["d"], row["at"]) for row in rows] == [(1.0, 2_000_000), (1.0, 3_000_000)]


@pytest.mark.parametrize("term", ["v[0].d", "v.firstOf().d"])
def test_a_repeated_tag_is_not_hidden_by_an_attribute_of_its_name(term: str) -> None:
    query = f"SELECT {term} AS first, v[1].v AS v, b.v AS w FROM PATTERN [ [2] v=A -> b=B(d = {term} AND v = 1) ]"
    rows = run_in_steps(DECLARED, query, events(("A", 1.0), ("A", 2.0), ("B", 2.0), ("B", 1.0)), [])
    assert rows == [{"first": 1.0, "v": 1, "w": 1, "at": 3_000_000}]


def test_a_list_that_may_be_a_tag_or_an_attribute_is_refused() -> None:
    workspace = Workspace([], ".")
    workspace.check("CREATE STREAM L (d ARRAY<INT>, ts TIMESTAMP) EVENT TIME ts;" + DECLARED)
    with pytest.raises(PresageError) as found:
        workspace.check("SELECT 1 AS x FROM PATTERN [ [2] d=A -> b=L(d[0] = 1) ]")
    assert (found.value.code, found.value.fix) == ("AMBIGUOUS_NAME", "write another tag than 'd'")
