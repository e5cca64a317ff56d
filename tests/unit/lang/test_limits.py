"""Limits: any text, however large or deep, ends quickly in a tree or in a named error."""

from __future__ import annotations

import time

import pytest

from presage.errors import PresageError
from presage.lang import parse, parse_expression, print_expression
from presage.lang.scanner import MAX_BYTES, MAX_DEPTH, cut_statements
from presage.lang.syntax import AllOf


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("(" * 10_000 + "1" + ")" * 10_000, "QUERY_TOO_DEEP"),
        ("NOT " * 10_000 + "a", "QUERY_TOO_DEEP"),
        ("NOT " * 60_000, "QUERY_TOO_DEEP"),
        ("CASE " * 50_000, "QUERY_TOO_DEEP"),
        ("- " * 10_000 + "a", "QUERY_TOO_DEEP"),
        ("1" + "+1" * 100_000, "QUERY_TOO_DEEP"),
        ("a" + ".b" * 10_000, "QUERY_TOO_DEEP"),
        ("CASE WHEN a THEN " * 5_000 + "1" + " END" * 5_000, "QUERY_TOO_DEEP"),
        ("CAST(a AS " + "ARRAY<" * 10_000 + "INT" + ">" * 10_000 + ")", "QUERY_TOO_DEEP"),
        ("a" * (MAX_BYTES + 1), "QUERY_TOO_LARGE"),
        ("é" * (MAX_BYTES // 2 + 1), "QUERY_TOO_LARGE"),
        ("'\n" * 10_000, "UNCLOSED"),
        ("/*" * 10_001 + "/", "SYNTAX"),
        ("<a:" * 10_000, "SYNTAX"),
        ("]" * 10_000, "UNOPENED"),
    ],
    ids=lambda value: value[:12],
)
def test_hostile_texts_end_in_a_named_error(text: str, code: str) -> None:
    start = time.process_time()
    with pytest.raises(PresageError) as raised:
        parse_expression(text)
    assert raised.value.code == code
    assert time.process_time() - start < 5


def test_the_deepest_tree_is_read_and_printed() -> None:
    for text in ("(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH, "NOT " * (MAX_DEPTH - 1) + "a", "a" + "+1" * (MAX_DEPTH - 1)):
        tree = parse_expression(text)
        assert parse_expression(print_expression(tree)) == tree


def test_chains_of_AND_may_be_long() -> None:
    tree = parse_expression(" AND ".join(f"a = {n}" for n in range(5_000)))
    assert isinstance(tree, AllOf)
    assert len(tree.operands) == 5_000


def test_an_error_of_size_has_its_source() -> None:
    with pytest.raises(PresageError) as raised:
        parse("(" * 300, "big.epl")
    assert "big.epl:1:201" in str(raised.value)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a; b", ["a", "b"]),
        ("a;", ["a"]),
        (" -- a;\n b /* ; */ ;; c ", ["b", "c"]),
        ("a 'x;''y' \"b;\" `c;` ; d", ["a 'x;''y' \"b;\" `c;`", "d"]),
        ("a [ b ; c { d ; e } ] ; f", ["a [ b ; c { d ; e } ]", "f"]),
        ("p <http://x/;(> q; r", ["p <http://x/;(> q", "r"]),
        ("WITHIN [a, b); c", ["WITHIN [a, b)", "c"]),
        ("within (a, b]; c", ["within (a, b]", "c"]),
        ("\ufeffa; b", ["a", "b"]),
        (r"'a\';'; b", [r"'a\';'", "b"]),
    ],
)
def test_statements_are_cut_at_semicolons_outside_of_everything(text: str, pieces: list[str]) -> None:
    spans, errors = cut_statements(text)
    assert errors == []
    assert [text[span.start : span.end] for span in spans] == pieces


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("a (b [c] d", "UNCLOSED", 2),
        ("a (b]", "UNCLOSED", 2),
        ("a b)", "UNOPENED", 3),
        ("a [b, c)", "UNCLOSED", 2),
        ("a 'b", "UNCLOSED", 2),
        ("a 'b''", "UNCLOSED", 2),
        ("a /* b", "UNCLOSED", 2),
        ("a `b", "UNCLOSED", 2),
    ],
)
def test_what_is_not_closed_is_reported_where_it_opens(text: str, code: str, at: int) -> None:
    spans, (found,) = cut_statements(text)
    assert (found.code, found.span.start if found.span else None) == (code, at)
    # What a comment swallows was no part of the statement before it.
    assert len(spans) == 0
