"""Errors in a clause show the user's own text, with the caret where it belongs."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.frames.clause import parse_clause


def problem(text: str) -> PresageError:
    with pytest.raises(PresageError) as caught:
        parse_clause(text)
    return caught.value


def marked(found: PresageError) -> str:
    assert found.source is not None
    assert found.span is not None
    return found.source.text[found.span.start : found.span.end]


def test_a_clause_is_what_stands_inside_of_the_brackets() -> None:
    clause, _ = parse_clause("PARTITION BY sym ORDER BY at PATTERN (A B+) DEFINE B AS x > 1")
    assert len(clause.partition_by) == len(clause.order_by) == len(clause.definitions) == 1


@pytest.mark.parametrize("end", [";", " -- as always", " /* so */ ", "\n\n"])
def test_what_follows_a_clause_without_meaning_anything_is_let_be(end: str) -> None:
    clause, _ = parse_clause("ORDER BY at PATTERN (A)" + end)
    assert clause == parse_clause("ORDER BY at PATTERN (A)")[0]


def test_the_caret_stands_under_the_users_own_word() -> None:
    found = problem("  -- first a comment\n  ORDER BY at\n  PATTERN (A B) DEFAIN A AS x > 1")
    assert (found.code, marked(found), found.line, found.column) == ("SYNTAX", "DEFAIN", 3, 17)


def test_a_clause_that_breaks_off_ends_where_its_text_ends() -> None:
    found = problem("ORDER BY at PATTERN (A) DEFINE A AS x >  ")
    assert "the end of the clause" in found.message
    assert (marked(found), found.column) == ("", 40)


def test_a_bracket_too_many_does_not_end_the_clause() -> None:
    found = problem("ORDER BY at PATTERN (A) DEFINE A AS x > 1) WHERE (y < 2")
    assert (found.code, marked(found), found.column) == ("UNOPENED", ")", 42)


def test_a_bracket_that_is_not_closed_is_shown() -> None:
    found = problem("ORDER BY at PATTERN (A B DEFINE A AS x > 1")
    assert (found.code, found.column) == ("UNCLOSED", 21)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("PARTITION BY sym", "PARTITION BY sym"),
        ("", ""),
        ("MATCH_RECOGNIZE (PATTERN (A))", "MATCH_RECOGNIZE"),
        ("PATTERN (A); DROP STREAM x", "DROP STREAM x"),
    ],
)
def test_what_is_no_clause_is_refused_as_a_whole(text: str, place: str) -> None:
    found = problem(text)
    assert (found.code, marked(found)) == ("SYNTAX", place)


def test_a_text_that_is_too_large_is_refused() -> None:
    assert problem("ORDER BY at PATTERN (A) --" + "x" * 300_000).code == "QUERY_TOO_LARGE"
