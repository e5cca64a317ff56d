"""Patterns and matches as items of FROM: their names, their time, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM A (id STRING, v INT, ts TIMESTAMP) EVENT TIME ts;
CREATE STREAM B (id STRING, v INT, ts TIMESTAMP) EVENT TIME ts;
"""


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    """One event a second: the stream's letter and its value."""
    return [(t[0], {"id": "x", "v": int(t[1:]), "ts": i * 1_000_000}) for i, t in enumerate(text.split())]


def refused(query: str) -> PresageError:
    workspace = Workspace([], ".")
    workspace.check(DECLARED)
    with pytest.raises(PresageError) as found:
        workspace.check(query)
    assert found.value.span is not None
    return found.value


@pytest.mark.parametrize("cuts", [[], [2], [1, 2, 3, 4]])
def test_matches_that_are_joined_have_the_time_of_the_pair(cuts: list[int]) -> None:
    query = """SELECT m.x, n.y FROM A MATCH_RECOGNIZE ( MEASURES X.v AS x PATTERN (X Y) ) AS m,
        B MATCH_RECOGNIZE ( MEASURES Z.v AS y PATTERN (Z) ) AS n"""
    rows = run_in_steps(DECLARED, query, events("A1 A2 B3 B4"), cuts)
    assert rows == [{"x": 1, "y": 3, "at": 2_000_000}, {"x": 1, "y": 4, "at": 3_000_000}]


@pytest.mark.parametrize("cuts", [[], [2], [1, 2, 3, 4]])
@pytest.mark.parametrize("mode", ["ALL", "LAST"])
def test_a_match_that_the_bound_settles_is_put_out_at_the_bound(mode: str, cuts: list[int]) -> None:
    query = f"""SELECT m.x FROM A MATCH_RECOGNIZE ( MEASURES X.v AS x PATTERN (X Y{{1,3}}) ) AS m
        WITHIN [1970-01-01T00:00:00, 1970-01-01T00:01:00] OUTPUT {mode} EVERY 7 sec"""
    rows = run_in_steps(DECLARED, query, events("A1 A2 A3 A4 A5 A6"), cuts)
    assert rows == [{"x": 1, "at": 7_000_000}, {"x": 5, "at": 60_000_000}]


def test_a_patterns_alias_holds_its_tags() -> None:
    query = "SELECT p.a.v AS first, b.v AS second FROM PATTERN [ EVERY a=A -> b=B(v > a.v) ] AS p"
    assert run_in_steps(DECLARED, query, events("A1 B2"), []) == [{"first": 1, "second": 2, "at": 1_000_000}]


@pytest.mark.parametrize(("rows", "name"), [("ONE ROW", "id"), ("ALL ROWS", "id"), ("ALL ROWS", "v")])
def test_a_measure_hides_the_column_of_its_name(rows: str, name: str) -> None:
    query = f"""SELECT *, m.{name} AS again FROM A MATCH_RECOGNIZE (
        PARTITION BY id MEASURES X.v + 10 AS {name} {rows} PER MATCH PATTERN (X) ) AS m"""
    (row,) = run_in_steps(DECLARED, query, events("A1"), [])
    assert row == {"again": 11, name: 11, "at": 0} | ({"id": "x"} if name != "id" else {})


def test_a_lone_tag_is_shown_as_a_struct() -> None:
    (row,) = run_in_steps(DECLARED, "SELECT * FROM PATTERN [ a=A ]", events("A1"), [])
    assert row["a"]["v"] == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        (
            "SELECT * FROM A MATCH_RECOGNIZE ( MEASURES X.v AS timed_out PATTERN (X) WITHIN 1 sec EMIT TIMEOUT )",
            "DUPLICATE_NAME",
        ),
        ("SELECT * FROM A MATCH_RECOGNIZE ( PATTERN (X) EMIT TIMEOUT )", "SYNTAX"),
        ("SELECT 1 AS x FROM PATTERN [ (EVERY a=A) WHERE timer:withinmax(2 sec, -1) ]", "BAD_VALUE"),
        ("SELECT 1 AS x FROM PATTERN [ EVERY a=A ] AS p, PATTERN [ EVERY a=B ] AS q", "DUPLICATE_NAME"),
        ("SELECT a.v FROM PATTERN [ [2] a=A ]", "TYPE_MISMATCH"),
        ("SELECT * FROM A MATCH_RECOGNIZE ( MEASURES sum(sum(X.v)) AS s PATTERN (X) )", "UNSUPPORTED"),
        ("SELECT * FROM A MATCH_RECOGNIZE ( MEASURES X AS s PATTERN (X) )", "TYPE_MISMATCH"),
        ("SELECT * FROM A MATCH_RECOGNIZE ( MEASURES PREV(X.v, 1.5) AS s PATTERN (X) )", "BAD_VALUE"),
        ("SELECT * FROM A#unique(id) MATCH_RECOGNIZE ( PATTERN (X) )", "UNSUPPORTED"),
        ("SELECT * FROM PATTERN [ a=A ] MATCH_RECOGNIZE ( PATTERN (X) )", "UNSUPPORTED"),
    ],
)
def test_nonsense_is_refused_with_its_place(query: str, code: str) -> None:
    found = refused(query)
    assert found.code == code
    assert found.fix or code == "BAD_VALUE"


def test_a_pattern_that_would_feed_itself_is_refused() -> None:
    workspace = Workspace([], ".")
    workspace.check(f"{DECLARED} INSERT INTO Made SELECT a.v FROM PATTERN [ EVERY a=A ]")
    with pytest.raises(PresageError) as found:
        workspace.check("INSERT INTO Made SELECT b.v FROM PATTERN [ EVERY b=Made ]")
    assert found.value.code == "CYCLE"


def test_a_stream_that_a_pattern_reads_cannot_go() -> None:
    workspace = Workspace([], ".")
    workspace.check(f"{DECLARED} INSERT INTO Made SELECT a.v FROM PATTERN [ EVERY a=A -> B ]")
    with pytest.raises(PresageError) as found:
        workspace.check("DROP STREAM B")
    assert found.value.code == "IN_USE"
