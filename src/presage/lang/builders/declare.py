"""Builders of declarations: CREATE SCHEMA, STREAM, RELATION and SINK."""

from __future__ import annotations

from typing import Any

from presage.lang.builders.clause import Clause, collect_clauses
from presage.lang.builders.terms import read_duration, read_number, read_string
from presage.lang.builders.types import ColumnAt
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Column, CreateRelation, CreateSink, CreateType, Option
from presage.model.text import Span
from presage.model.time import format_duration


def create_type(
    span: Span, kind: Token, absent: Token | None, name: Token, columns: tuple[Column, ...] | None, *clauses: Clause
) -> CreateType:
    fields = collect_clauses(clauses)
    return CreateType(
        kind.text.lower(), read_name(name.text), columns or (), **fields, if_not_exists=absent is not None, span=span
    )


def column_list(span: Span, *columns: ColumnAt | None) -> tuple[Column, ...]:
    return tuple(column.column for column in columns if column is not None)


def names(*tokens: Token) -> tuple[str, ...]:
    return tuple(read_name(token.text) for token in tokens)


def option(span: Span, name: str, value: str | int | float | bool) -> Option:
    return Option(name, value, span=span)


def option_number(span: Span, sign: Token | None, number: Token) -> int | float:
    value = read_number(number)
    return -value if sign is not None and sign.text == "-" else value


def create_relation(
    span: Span, absent: Token | None, name: Token, columns: tuple[Column, ...], rows: dict[str, Any]
) -> CreateRelation:
    return CreateRelation(read_name(name.text), columns, **rows, if_not_exists=absent is not None, span=span)


def relation_file(span: Span, path: Token, options: Clause | None) -> dict[str, Any]:
    return {"path": read_string(path), "options": options.value if options is not None else ()}


def create_sink(span: Span, absent: Token | None, name: Token, statement: Token, options: Clause | None) -> CreateSink:
    given = options.value if options is not None else ()
    return CreateSink(read_name(name.text), read_name(statement.text), given, absent is not None, span=span)


BUILDERS: dict[str, Builder] = {
    "create_type": create_type,
    "column_list": column_list,
    "inherits": lambda span, *bases: Clause("INHERITS", "inherits", names(*bases), span),
    "event_time": lambda span, name: Clause("EVENT TIME", "event_time", read_name(name.text), span),
    "key": lambda span, *attributes: Clause("KEY", "key", names(*attributes), span),
    "options": lambda span, *options: Clause("WITH", "options", options, span),
    "option": option,
    "option_name": lambda span, *parts: ".".join(names(*parts)),
    "quoted_option_name": lambda span, token: read_string(token),
    "option_string": lambda span, token: read_string(token),
    "option_number": option_number,
    # WITH (max_delay = 5 sec) is WITH (max_delay = '5 sec').
    "option_duration": lambda span, token: format_duration(read_duration(token)),
    "option_truth": lambda span, token: token.text.upper() == "TRUE",
    "create_relation": create_relation,
    "create_sink": create_sink,
    "relation_file": relation_file,
    "relation_values": lambda span, *rows: {"rows": rows},
    "row": lambda span, *values: values,
}
