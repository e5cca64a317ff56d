"""Printing: the canonical text of what was parsed."""

from __future__ import annotations

import pytest

from presage.lang import parse, parse_expression, parse_statement, print_expression, print_script, print_statement
from unit.lang.texts import ALL


@pytest.mark.parametrize("text", ALL)
def test_printing_a_second_time_changes_nothing(text: str) -> None:
    once = print_statement(parse_statement(text))
    assert parse_statement(once) == parse_statement(text)
    assert print_statement(parse_statement(once)) == once


def test_a_query_has_one_clause_on_a_line() -> None:
    text = """insert into Out select tentative distinct a.x as y, count(*) from A#time(90 sec) a, B
        join C on a.k=C.k analysis event within [now, 2012-05-07T09:00) where x=1 group by x, y having z
        output every 5sec with probability>0.5 approximate(error 0.1)"""
    assert print_statement(parse_statement(text)).splitlines() == [
        "INSERT INTO Out",
        "SELECT TENTATIVE DISTINCT a.x AS y, count(*)",
        "FROM A#time(1 min 30 sec) AS a, B JOIN C ON a.k = C.k ANALYSIS EVENT",
        "WITHIN [now, 2012-05-07T09:00:00Z)",
        "WHERE x = 1",
        "GROUP BY x, y",
        "HAVING z",
        "OUTPUT ALL EVERY 5 sec",
        "WITH PROBABILITY > 0.5",
        "APPROXIMATE (ERROR 0.1, CONFIDENCE 0.95)",
    ]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("((a))+(b*c)", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a AND b) AND c", "(a AND b) AND c"),
        ("(a AND b) OR (c AND d)", "a AND b OR c AND d"),
        ("NOT(a=b)", "NOT a = b"),
        ("(NOT a)=b", "(NOT a) = b"),
        ("- -1", "- -1"),
        ("-(a.b)", "-a.b"),
        ("(-a).b", "(-a).b"),
        ("x in (a or b)", "x IN (a OR b)"),
        ("Window(x)", "Window(x)"),
        ("a.`select`", "a.`select`"),
        ("1e300", "1e+300"),
        ('"it\'s"', "'it''s'"),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(text: str, printed: str) -> None:
    assert print_expression(parse_expression(text)) == printed


def test_a_script_ends_each_statement() -> None:
    assert print_script(parse("show streams; describe T")) == "SHOW STREAMS;\n\nDESCRIBE T;\n"
