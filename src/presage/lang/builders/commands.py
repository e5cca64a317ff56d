"""Builders of commands: CREATE STATEMENT, INSERT … VALUES, EXPLAIN, SHOW, DESCRIBE, DROP, and those of scenarios."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from presage.errors import error
from presage.lang.builders.clause import Clause, bad_value
from presage.lang.builders.declare import names
from presage.lang.builders.terms import read_number, read_string
from presage.lang.command_syntax import Advance, Assertion, CreateStatement, Include, InsertValues, Scenario
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Describe, Drop, Explain, Expr, Prefix, Query, Show
from presage.model.text import Span

FORMATS = ("text", "svg")


def create_statement(span: Span, *parts: Prefix | bool | Token | Clause | Query | None) -> CreateStatement:
    front = tuple(part for part in parts if isinstance(part, Prefix))
    replaces, absent, name, options, query = parts[len(front) :]
    assert isinstance(name, Token)
    assert isinstance(query, Query)
    if replaces is not None and isinstance(absent, Token):
        fix = "leave out OR REPLACE, or this"
        raise error("SYNTAX", absent.span, found="IF NOT EXISTS", expected="a name", fix=fix)
    whole = replace(query, prefixes=(*front, *query.prefixes)) if front else query
    given = options.value if isinstance(options, Clause) else ()
    return CreateStatement(read_name(name.text), whole, replaces is not None, given, absent is not None, span=span)


def insert_values(span: Span, name: Token, attributes: tuple[str, ...] | None, *rows: tuple[Expr, ...]) -> InsertValues:
    return InsertValues(read_name(name.text), rows, attributes, span=span)


def advance(span: Span, stream: Token | None, to: Token) -> Advance:
    return Advance(read_string(to), read_name(stream.text) if stream is not None else None, span=span)


def assertion(span: Span, name: Token, columns: tuple[str, ...] | None, expected: dict[str, Any]) -> Assertion:
    if columns is not None and "rows" not in expected:
        alone, fix = "EMPTY or COUNT n alone", "leave out the columns: no row is compared"
        raise error("SYNTAX", span, found="columns without VALUES", expected=alone, fix=fix)
    return Assertion(read_name(name.text), columns, **expected, span=span)


def expect_count(span: Span, number: Token) -> dict[str, Any]:
    count = read_number(number)
    if not isinstance(count, int):
        raise bad_value(number, "COUNT", "a whole number of rows")
    return {"count": count}


def expect_rows(span: Span, *parts: Any) -> dict[str, Any]:
    *rows, any_order, tolerance = parts
    return {"rows": tuple(rows), "any_order": any_order is not None, "tolerance": tolerance}


def explain(span: Span, query: Query, form: Token | None) -> Explain:
    if form is None:
        return Explain(query, span=span)
    chosen = form.text.lower()
    if chosen not in FORMATS:
        raise bad_value(form, "the FORMAT of EXPLAIN", " or ".join(FORMATS))
    return Explain(query, chosen, span=span)


def drop(span: Span, kind: Token, name: Token, cascade: Token | None) -> Drop:
    return Drop(kind.text.lower(), read_name(name.text), cascade is not None, span=span)


BUILDERS: dict[str, Builder] = {
    "create_statement": create_statement,
    "or_replace": lambda span, *words: True,
    "insert_values": insert_values,
    "attribute_names": lambda span, *tokens: names(*tokens),
    "advance": advance,
    "scenario": lambda span, title: Scenario(read_string(title), span=span),
    "include": lambda span, path: Include(read_string(path), span=span),
    "assertion": assertion,
    "expect_none": lambda span, word: {"count": 0},
    "expect_count": expect_count,
    "expect_rows": expect_rows,
    "any_order": lambda span, *words: True,
    "explain": explain,
    "show": lambda span, what: Show(what.text.lower(), span=span),
    "describe": lambda span, name: Describe(read_name(name.text), span=span),
    "drop": drop,
    "tolerance": lambda span, number: float(read_number(number)),
}
