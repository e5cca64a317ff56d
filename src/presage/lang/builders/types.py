"""Builders of attribute types and of the columns of declarations."""

from __future__ import annotations

import re
from typing import NamedTuple

from presage.errors import did_you_mean, error
from presage.lang.builders.clause import depth_over
from presage.lang.identifiers import read_name
from presage.lang.lalr import Builder
from presage.lang.lexer import Token
from presage.lang.syntax import Column
from presage.model.text import Span
from presage.model.types import MOST_DIGITS, SCALARS, ArrayOf, DataType, DecimalOf, MapOf, StructOf

# Types of other SQL dialects, with ours.
_ELSEWHERE = {
    **dict.fromkeys(("INTEGER", "SMALLINT"), "INT"),
    "BIGINT": "LONG",
    "BOOL": "BOOLEAN",
    **dict.fromkeys(("FLOAT", "REAL"), "DOUBLE"),
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR"), "STRING"),
    **dict.fromkeys(("BINARY", "VARBINARY", "BLOB", "BYTEA"), "BYTES"),
    "DATETIME": "TIMESTAMP",
    "NUMERIC": "DECIMAL(p,s)",
}
DECIMAL = "DECIMAL"
_DIGITS = re.compile("[0-9]{1,9}")


class TypeAt(NamedTuple):
    """A type with its depth."""

    type: DataType
    depth: int


class ColumnAt(NamedTuple):
    """A column with the depth of its type."""

    column: Column
    depth: int


def scalar_type(span: Span, name: Token) -> TypeAt:
    spelled = read_name(name.text).upper()
    if spelled == DECIMAL:
        return TypeAt(DecimalOf(10, 0), 1)  # as in Spark
    if spelled not in SCALARS:
        ours = _ELSEWHERE.get(spelled)
        known = [*SCALARS, "DECIMAL(p,s)", "ARRAY<…>", "MAP<…>", "STRUCT<…>"]
        fix = f"write {ours}" if ours else did_you_mean(spelled, SCALARS, otherwise=f"known: {', '.join(known)}")
        raise error("UNKNOWN_TYPE", span, name=read_name(name.text), fix=fix)
    return TypeAt(SCALARS[spelled], 1)


def decimal_type(span: Span, name: Token, precision: Token, scale: Token | None) -> TypeAt:
    if read_name(name.text).upper() != DECIMAL:
        ours = _ELSEWHERE.get(read_name(name.text).upper())
        fix = f"write {ours}" if ours else "only DECIMAL takes numbers: DECIMAL(10,2)"
        raise error("UNKNOWN_TYPE", span, name=f"{read_name(name.text)}(…)", fix=fix)
    digits, behind = (_count(token) for token in (precision, scale))
    if not 1 <= digits <= MOST_DIGITS or not 0 <= behind <= digits:
        expected = f"1 to {MOST_DIGITS} digits, of which 0 to all are behind the point"
        shown = ",".join(token.text for token in (precision, scale) if token is not None)
        raise error("BAD_VALUE", span, what="a DECIMAL", found=f"DECIMAL({shown})", expected=expected)
    return TypeAt(DecimalOf(digits, behind), 1)


def _count(token: Token | None) -> int:
    """The value of a whole number; -1 where it is none."""
    return 0 if token is None else int(token.text) if _DIGITS.fullmatch(token.text) else -1


def array_type(span: Span, element: TypeAt) -> TypeAt:
    return TypeAt(ArrayOf(element.type), depth_over(span, element))


def map_type(span: Span, key: TypeAt, value: TypeAt) -> TypeAt:
    return TypeAt(MapOf(key.type, value.type), depth_over(span, key, value))


def struct_type(span: Span, *fields: ColumnAt) -> TypeAt:
    names = tuple((field.column.name, field.column.type) for field in fields)
    return TypeAt(StructOf(names), depth_over(span, *fields))


def column(span: Span, name: Token, data_type: TypeAt) -> ColumnAt:
    return ColumnAt(Column(read_name(name.text), data_type.type, span=span), data_type.depth)


BUILDERS: dict[str, Builder] = {
    "scalar_type": scalar_type,
    "decimal_type": decimal_type,
    "array_type": array_type,
    "map_type": map_type,
    "struct_type": struct_type,
    "column": column,
}
