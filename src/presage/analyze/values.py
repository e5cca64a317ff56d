"""Rows of VALUES, converted to the types of their attributes."""

from __future__ import annotations

from typing import NamedTuple

from presage.analyze.expressions import ExpressionBinder
from presage.analyze.scope import Scope
from presage.analyze.type_rules import cast_to, coerce_literal
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.lang.command_syntax import InsertValues
from presage.model.catalog import Attribute, EventType
from presage.model.text import Span
from presage.model.types import common_type
from presage.plan.expr import Constant


def bind_row(row: tuple[s.Expr, ...], attributes: tuple[Attribute, ...], owner: str, span: Span) -> tuple[object, ...]:
    """The values of one row. `owner` has the attributes (`relation 'Hall'`); `span` locates errors of an empty row."""
    if len(row) != len(attributes):
        name, expected = f"a row of {owner}", f"{len(attributes)} values"
        raise error("WRONG_ARGUMENTS", row[0].span if row else span, name=name, expected=expected, found=len(row))
    binder = ExpressionBinder(Scope([]), no_aggregates_in="VALUES")
    values: list[object] = []
    for expr, attribute in zip(row, attributes, strict=True):
        bound = coerce_literal(binder.bind(expr), attribute.type)
        if common_type(bound.type, attribute.type) != attribute.type:
            what = f"'{attribute.name}' of {owner}"
            raise error("TYPE_MISMATCH", expr.span, what=what, expected=attribute.type, found=bound.type)
        value = cast_to(bound, attribute.type)
        if not isinstance(value, Constant):
            what = f"a value of {owner}"
            raise error("BAD_VALUE", expr.span, what=what, found="an expression", expected="a literal")
        values.append(value.value)
    return tuple(values)


class Inserted(NamedTuple):
    """The attributes that INSERT … VALUES gives, in its order, and its rows."""

    attributes: tuple[Attribute, ...]
    rows: list[tuple[object, ...]]


def bind_insert(node: InsertValues, stream: EventType) -> Inserted:
    """Unlike a load, which rejects single events, INSERT fails on an event without a time."""
    owner = f"stream '{stream.name}'"
    attributes = stream.attributes if node.attributes is None else _named(node, stream, owner)
    if all(attribute.name != stream.event_time for attribute in attributes):
        found, expected = f"without '{stream.event_time}'", "with the event time of every row"
        raise error("BAD_VALUE", node.span, what=f"INSERT INTO {stream.name}", found=found, expected=expected)
    rows = [bind_row(row, attributes, owner, node.span) for row in node.rows]
    at = next(i for i, attribute in enumerate(attributes) if attribute.name == stream.event_time)
    for row, values in zip(node.rows, rows, strict=True):
        if values[at] is None:
            what = f"the event time '{stream.event_time}' of {owner}"
            raise error("BAD_VALUE", row[at].span, what=what, found="NULL", expected="a time")
    return Inserted(attributes, rows)


def _named(node: InsertValues, stream: EventType, owner: str) -> tuple[Attribute, ...]:
    found = []
    for name in node.attributes or ():
        attribute = stream.attribute(name)
        if attribute is None:
            fix = did_you_mean(name, [a.name for a in stream.attributes])
            raise error("UNKNOWN_ATTRIBUTE", node.span, owner=owner, name=name, fix=fix)
        if attribute in found:
            fix = "name each attribute once"
            raise error("DUPLICATE_NAME", node.span, name=name, where=f"INSERT INTO {stream.name}", fix=fix)
        found.append(attribute)
    return tuple(found)
