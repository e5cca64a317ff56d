"""Expressions and plans as text, for EXPLAIN and for errors."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from presage.model import types as t
from presage.model.time import format_date, format_duration, format_timestamp
from presage.plan import expr as e

if TYPE_CHECKING:
    from presage.plan.nodes import Node

LIST_LIMIT = 8


def show(expr: e.Expr) -> str:
    """An expression in the notation of the language, without implicit conversions."""
    match expr:
        case e.Constant():
            return _constant(expr)
        case e.ColumnRef():
            return expr.name
        case e.Duration():
            return format_duration(expr.rest, expr.months)
        case e.FieldOf():
            return f"{show(expr.base)}.{expr.name}"
        case e.ElementOf():
            return f"{show(expr.base)}.lastOf()" if expr.from_end else f"{show(expr.base)}[{show(expr.index)}]"
        case e.MakeStruct():
            return f"struct({', '.join(map(show, expr.values))})"
        case e.FunctionCall():
            return f"{expr.name}({', '.join(map(show, expr.args))})"
        case e.AggregateCall():
            inner = "*" if expr.arg is None else show_arguments(expr.arg, expr.constants)
            return f"{expr.function}({'DISTINCT ' if expr.distinct else ''}{inner})"
        case e.Negate():
            return f"-{_tight(expr.operand)}"
        case e.Arithmetic() | e.Comparison():
            return f"{_tight(expr.left)} {expr.op} {_tight(expr.right)}"
        case e.And():
            return " AND ".join(_tight(o) if isinstance(o, e.Or) else show(o) for o in expr.operands)
        case e.Or():
            return " OR ".join(map(show, expr.operands))
        case e.Not():
            return f"NOT {_tight(expr.operand)}"
        case e.InList():
            shown = [show(i) for i in expr.items[:LIST_LIMIT]] + (["…"] if len(expr.items) > LIST_LIMIT else [])
            return f"{_tight(expr.operand)} IN ({', '.join(shown)})"
        case e.InRelation():
            terms = [f"{name} = {show(arg)}" for name, arg in zip(expr.attributes, expr.args, strict=True)]
            if expr.condition is not None:
                given = {f"{e.GIVEN}{i}": value for i, value in enumerate(expr.values)}
                terms.append(show(expr.condition.expr.rewrite(lambda x: _given(x, given))))
            return f"{expr.relation}({', '.join(terms)})"
        case e.Like():
            return f"{_tight(expr.operand)} LIKE {show(expr.pattern)}"
        case e.IsNull():
            return f"{_tight(expr.operand)} IS NULL"
        case e.CaseWhen():
            pairs = zip(expr.branches[::2], expr.branches[1::2], strict=True)
            whens = " ".join(f"WHEN {show(c)} THEN {show(v)}" for c, v in pairs)
            return f"CASE {whens} ELSE {show(expr.otherwise)} END"
        case e.CastTo():
            widening = t.common_type(expr.operand.type, expr.type) == expr.type
            return show(expr.operand) if widening else f"CAST({show(expr.operand)} AS {expr.type})"
    raise TypeError(f"no notation for {type(expr).__name__}")


def show_arguments(value: e.Expr, constants: tuple[object, ...]) -> str:
    """The arguments of an aggregate, whose values are a struct if they are several."""
    packed = isinstance(value, e.MakeStruct) and value.names == e.argument_names(len(value.names))
    values = value.values if isinstance(value, e.MakeStruct) and packed else (value,)
    return ", ".join([*map(show, values), *map(str, constants)])


def _given(expr: e.Expr, values: dict[str, e.Expr]) -> e.Expr:
    return values.get(expr.name, expr) if isinstance(expr, e.ColumnRef) else expr


def show_named(name: str, expr: e.Expr) -> str:
    text = show(expr)
    return text if text == name else f"{text} AS {name}"


def _constant(expr: e.Constant) -> str:
    value = expr.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if expr.type == t.TIMESTAMP:
        return f"'{format_timestamp(int(str(value)))}'"
    if expr.type == t.DATE:
        return f"DATE '{format_date(int(str(value)))}'"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def _tight(expr: e.Expr) -> str:
    loose = isinstance(expr, e.Arithmetic | e.Comparison | e.And | e.Or | e.Not | e.InList | e.Like | e.IsNull)
    return f"({show(expr)})" if loose else show(expr)


def show_plan(node: Node, indent: int = 0) -> str:
    """The plan as an indented tree, the last step first."""
    lines = ["  " * indent + node.label()]
    lines.extend(show_plan(child, indent + 1) for child in node.inputs)
    return "\n".join(lines)
