"""The obvious twin of the expression compiler: plan expressions over rows as dicts, in plain Python.

NULL is None, a TIMESTAMP is microseconds as int, a STRUCT or a MAP is a dict, an ARRAY a list.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from presage.model import types as t
from presage.model.time import parse_timestamp
from presage.model.types import ArrayOf, DataType
from presage.plan import expr as e
from reference.pattern_programs import add_months

Row = dict[str, Any]
RANGES = {t.INT: (-(2**31), 2**31 - 1), t.LONG: (-(2**63), 2**63 - 1)}
TRUE_WORDS, FALSE_WORDS = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def evaluate(expr: e.Expr, row: Row) -> Any:
    return _EVALUATORS[type(expr)](expr, row)


# -- nulls and order ----------------------------------------------------------------------------------


def order(value: Any) -> Any:
    """A key by which values of one type compare: NaN is equal to itself and greatest."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def equal(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else order(a) == order(b)


def conjunction(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def negation(value: bool | None) -> bool | None:
    return None if value is None else not value


def _comparison(expr: e.Comparison, row: Row) -> bool | None:
    a, b = evaluate(expr.left, row), evaluate(expr.right, row)
    if a is None or b is None:
        return None
    x, y = order(a), order(b)
    return {"=": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[expr.op]


def _and(expr: e.And, row: Row) -> bool | None:
    return conjunction([evaluate(o, row) for o in expr.operands])


def _or(expr: e.Or, row: Row) -> bool | None:
    return negation(conjunction([negation(evaluate(o, row)) for o in expr.operands]))


def _in_list(expr: e.InList, row: Row) -> bool | None:
    value = evaluate(expr.operand, row)
    return negation(conjunction([negation(equal(value, evaluate(i, row))) for i in expr.items]))


def _like(expr: e.Like, row: Row) -> bool | None:
    text, pattern = evaluate(expr.operand, row), evaluate(expr.pattern, row)
    if text is None or pattern is None:
        return None
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(p, re.escape(p[-1])) for p in parts)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _case(expr: e.CaseWhen, row: Row) -> Any:
    for condition, value in zip(expr.branches[0::2], expr.branches[1::2], strict=True):
        if evaluate(condition, row):
            return evaluate(value, row)
    return evaluate(expr.otherwise, row)


# -- numbers and times --------------------------------------------------------------------------------


def within(value: int, data_type: DataType) -> int | None:
    low, high = RANGES[data_type]
    return value if low <= value <= high else None


def _arithmetic(expr: e.Arithmetic, row: Row) -> Any:
    a, b = evaluate(expr.left, row), evaluate(expr.right, row)
    if a is None or b is None:
        return None
    if expr.op == "||":
        return a + b
    if expr.left.type == t.TIMESTAMP and expr.right.type == t.TIMESTAMP:
        return (a - b) / 1e6
    if isinstance(expr.right, e.Duration) and expr.right.months:
        moved = add_months(a, expr.right.months if expr.op == "+" else -expr.right.months)
        b = expr.right.micros - expr.right.months * 30 * 86_400_000_000
        return within(moved + b if expr.op == "+" else moved - b, t.LONG)
    if expr.type == t.TIMESTAMP:
        return within(a + b if expr.op == "+" else a - b, t.LONG)
    if expr.op in "/%" and b == 0:
        return None
    if expr.type == t.DOUBLE:
        return _double(expr.op, a, b)
    exact = {"+": a + b, "-": a - b, "*": a * b}
    return within(exact[expr.op] if expr.op in exact else int(math.copysign(1, a)) * (abs(a) % abs(b)), expr.type)


def _double(op: str, a: float, b: float) -> float:
    if op == "%":
        return math.nan if math.isnan(a) or math.isnan(b) or math.isinf(a) else math.fmod(a, b)
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b}[op]()


def _negate(expr: e.Negate, row: Row) -> Any:
    value = evaluate(expr.operand, row)
    return value if value is None else -value if expr.type == t.DOUBLE else within(-value, expr.type)


# -- conversions --------------------------------------------------------------------------------------


def _cast(expr: e.CastTo, row: Row) -> Any:
    value, source, target = evaluate(expr.operand, row), expr.operand.type, expr.type
    if value is None or source == target:
        return value
    if target == t.STRING:
        return to_text(value, source)
    if source == t.STRING:
        return from_text(value, target)
    if target == t.BOOLEAN:
        return value != 0
    if target == t.DOUBLE:
        return float(value)
    if isinstance(value, float):
        return None if math.isnan(value) or math.isinf(value) else within(int(value), target)
    return within(int(value), target)


def to_text(value: Any, source: DataType) -> str:
    if source == t.BOOLEAN:
        return "true" if value else "false"
    if source == t.DOUBLE:
        return _java_text(value)
    if source == t.TIMESTAMP:
        when = EPOCH + timedelta(microseconds=value)
        text = f"{when.year:04d}" + when.strftime("-%m-%d %H:%M:%S")
        return text + (f".{when.microsecond:06d}".rstrip("0") if when.microsecond else "")
    return str(value)


def _java_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, exponent = f"{value:e}".split("e")
    mantissa = repr(float(digits)) if float(f"{digits}e{exponent}") == value else repr(value / 10.0 ** int(exponent))
    return f"{mantissa}E{int(exponent)}"


def from_text(text: str, target: DataType) -> Any:
    if target == t.TIMESTAMP:
        return parse_timestamp(text)
    text = text.strip()
    if target == t.BOOLEAN:
        return True if text.lower() in TRUE_WORDS else False if text.lower() in FALSE_WORDS else None
    if target == t.DOUBLE:
        named = {"nan": math.nan, "infinity": math.inf, "inf": math.inf, "-infinity": -math.inf, "-inf": -math.inf}
        if text.lower() in named:
            return named[text.lower()]
        return float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) else None
    return within(int(text), target) if re.fullmatch(r"[+-]?\d+", text) else None


# -- access -------------------------------------------------------------------------------------------


def _element(expr: e.ElementOf, row: Row) -> Any:
    base, index = evaluate(expr.base, row), evaluate(expr.index, row)
    if base is None or index is None:
        return None
    if not isinstance(expr.base.type, ArrayOf):
        return base.get(index)
    place = len(base) - 1 - index if expr.from_end else index
    return base[place] if 0 <= place < len(base) else None


def _field(expr: e.FieldOf, row: Row) -> Any:
    base = evaluate(expr.base, row)
    return None if base is None else base[expr.name]


# -- functions ----------------------------------------------------------------------------------------


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """NULL for a NULL argument."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        return None if None in args else function(*args)

    return call


def _moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        given = [a for a in args if a is not None]
        return choose(given, key=order) if given else None

    return call


def _substring(text: str, start: int, length: int) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    return text[max(begin, 0) : max(begin + length, 0)]


def _contains(array: list[Any] | None, value: Any) -> bool | None:
    if array is None or value is None:
        return None
    return negation(conjunction([negation(equal(value, element)) for element in array]))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": strict(abs),
    "array_contains": _contains,
    "coalesce": lambda *args: next((a for a in args if a is not None), None),
    "concat": strict(lambda *args: "".join(args)),
    "dayofweek": strict(lambda x: _moment(x).isoweekday() % 7 + 1),
    "greatest": _extreme(max),
    "hour": strict(lambda x: _moment(x).hour),
    "if": lambda condition, a, b: a if condition else b,
    "least": _extreme(min),
    "length": strict(len),
    "lower": strict(str.lower),
    "month": strict(lambda x: _moment(x).month),
    "nullif": lambda a, b: None if equal(a, b) else a,
    "replace": strict(lambda text, old, new: text.replace(old, new) if old else text),
    "size": strict(len),
    "startswith": strict(str.startswith),
    "substring": strict(_substring),
    "timestamp_micros": strict(lambda x: x),
    "unix_seconds": strict(lambda x: x // 1_000_000),
    "upper": strict(str.upper),
    "year": strict(lambda x: _moment(x).year),
}


def _call(expr: e.FunctionCall, row: Row) -> Any:
    value = FUNCTIONS[expr.name](*[evaluate(a, row) for a in expr.args])
    return within(value, expr.type) if value is not None and expr.type in RANGES else value


_EVALUATORS: dict[type[e.Expr], Callable[[Any, Row], Any]] = {
    e.And: _and,
    e.Arithmetic: _arithmetic,
    e.CaseWhen: _case,
    e.CastTo: _cast,
    e.ColumnRef: lambda expr, row: row[expr.name],
    e.Comparison: _comparison,
    e.Constant: lambda expr, row: expr.value,
    e.Duration: lambda expr, row: expr.micros,
    e.ElementOf: _element,
    e.FieldOf: _field,
    e.FunctionCall: _call,
    e.InList: _in_list,
    e.IsNull: lambda expr, row: evaluate(expr.operand, row) is None,
    e.Like: _like,
    e.MakeStruct: lambda expr, row: {n: evaluate(v, row) for n, v in zip(expr.names, expr.values, strict=True)},
    e.Negate: _negate,
    e.Not: lambda expr, row: negation(evaluate(expr.operand, row)),
    e.Or: _or,
}
