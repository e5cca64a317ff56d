"""Terms and conditions: what binds how, and what the words of a term mean."""

from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import parse_expression
from presage.lang.builders.terms import MAX_DURATION
from presage.lang.syntax import (
    AllOf,
    AnyOf,
    Between,
    Binary,
    Call,
    DurationLiteral,
    Expr,
    Index,
    InList,
    Like,
    Literal,
    Member,
    Method,
    Name,
    Not,
    Star,
    Unary,
)
from presage.model.time import UNIT_NAMES, parse_duration

A, B, C = Name("a"), Name("b"), Name("c")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a OR b AND c", AnyOf((A, AllOf((B, C))))),
        ("NOT a AND b", AllOf((Not(A), B))),
        ("NOT a = b", Not(Binary("=", A, B))),
        ("a + b * c", Binary("+", A, Binary("*", B, C))),
        ("a - b - c", Binary("-", Binary("-", A, B), C)),
        ("a || b + c", Binary("||", A, Binary("+", B, C))),
        ("a = b || c", Binary("=", A, Binary("||", B, C))),
        ("-a * b", Binary("*", Unary("-", A), B)),
        ("-a.b", Unary("-", Member(A, "b"))),
        ("-5", Unary("-", Literal(5))),
        ("a BETWEEN b AND c AND a", AllOf((Between(A, B, C), A))),
        ("a NOT BETWEEN b + a AND c", Between(A, Binary("+", B, A), C, negated=True)),
        ("a IN [b:c]", Between(A, B, C)),
        ("a NOT IN (b:c)", Between(A, B, C, negated=True, above=True, below=True)),
        ("a IN [b : c + a)", Between(A, B, Binary("+", C, A), below=True)),
        ("a IN (b:c]", Between(A, B, C, above=True)),
        ("a NOT LIKE 'x'", Like(A, Literal("x"), negated=True)),
        ("a IN (b)", InList(A, (B,))),
        ("a.b[c].d(a)", Method(Index(Member(A, "b"), C), "d", (A,))),
        ("a != b", Binary("<>", A, B)),
        ("a == b", Binary("=", A, B)),
        ("count(*)", Call("count", (Star(),))),
        ("count(a.*)", Call("count", (Star("a"),))),
        ("count(DISTINCT a)", Call("count", (A,), distinct=True)),
    ],
)
def test_operators_bind_as_in_SQL(text: str, tree: Expr) -> None:
    assert parse_expression(text) == tree


def test_chains_of_AND_are_flat_but_parentheses_count() -> None:
    assert parse_expression("a AND b AND c") == AllOf((A, B, C))
    assert parse_expression("(a AND b) AND c") == AllOf((AllOf((A, B)), C))


@pytest.mark.parametrize("word", ["at", "first", "key", "min", "sec", "stream", "left", "now", "array", "create"])
def test_words_that_are_keywords_elsewhere_are_names_and_functions_here(word: str) -> None:
    assert parse_expression(word) == Name(word)
    assert parse_expression(f"{word}(a)") == Call(word, (A,))


@pytest.mark.parametrize("word", ["where", "select", "window", "end", "in"])
def test_after_a_dot_any_word_is_a_name(word: str) -> None:
    assert parse_expression(f"a.{word}.{word}()") == Method(Member(A, word), word)


def test_keywords_have_no_case_and_names_have() -> None:
    assert parse_expression("a and Not b") == AllOf((A, Not(B)))
    assert parse_expression("A") != A


def test_letters_whose_capital_is_ASCII_make_no_keyword() -> None:
    assert parse_expression("ſelect") == Name("ſelect")
    assert parse_expression("ıs") == Name("ıs")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("2.5e-1", 0.25),
        ("007", 7),
        ("true", True),
        ("NULL", None),
        ("'it''s'", "it's"),
        ("'say \"\"'", 'say ""'),
        ('"say ""hi"""', 'say "hi"'),
        (r"'a\nb\tc\\d\'e\"f'", "a\nb\tc\\d'e\"f"),
        (r"'\d+\w'", r"\d+\w"),
        ("''", ""),
        ("'--;/*'", "--;/*"),
    ],
)
def test_literals(text: str, value: object) -> None:
    assert parse_expression(text) == Literal(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("5 sec", 5_000_000),
        ("5min", 300_000_000),
        ("1 hour 30 min", 5_400_000_000),
        ("1.5 hours", 5_400_000_000),
        ("500 MSEC", 500_000),
        ("1\n day", 86_400_000_000),
    ],
)
def test_a_number_with_a_unit_is_a_duration(text: str, micros: int) -> None:
    assert parse_expression(text) == DurationLiteral(micros)


@pytest.mark.parametrize("unit", UNIT_NAMES)
def test_every_unit_of_the_model_is_a_unit_of_the_grammar(unit: str) -> None:
    months = 2 if unit.startswith("month") else 0
    assert parse_expression(f"2 {unit}") == DurationLiteral(parse_duration(f"2 {unit}") or 0, months)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("5 minimum", "SYNTAX"),
        ("5 msecond", "BAD_DURATION"),
        ("99999999 weeks", "LIMIT"),
        ("9" * 390 + " days", "LIMIT"),
        ("9" * 500, "LIMIT"),
        ("1e999", "BAD_VALUE"),
        ("a b", "SYNTAX"),
        ("", "SYNTAX"),
        ("a < b < c", "SYNTAX"),
        ("a.firstOf(DISTINCT b)", "SYNTAX"),
        ("f(a).*", "SYNTAX"),
        ("a; b", "SYNTAX"),
        ("a & b", "UNSUPPORTED"),
        ("a ! b", "BAD_CHARACTER"),
        ("CAST(a AS FLOAT)", "UNKNOWN_TYPE"),
        ("a IN ()", "SYNTAX"),
        ("CASE END", "SYNTAX"),
        ("x IN (SELECT y FROM T)", "UNSUPPORTED"),
    ],
)
def test_what_is_no_term_is_refused_by_name(text: str, code: str) -> None:
    with pytest.raises(PresageError) as raised:
        parse_expression(text)
    assert raised.value.code == code


def test_the_longest_duration_is_read_exactly() -> None:
    assert parse_expression(f"{MAX_DURATION // 1000} msec {MAX_DURATION % 1000 / 1000} msec") == DurationLiteral(
        MAX_DURATION
    )
