"""Names and argument types of aggregates in, result types out. Which rows they see is the windows room's matter."""

from __future__ import annotations

from presage.errors import error
from presage.model import types as t
from presage.model.text import Span
from presage.model.types import ArrayOf, DataType, Scalar

_TO_DOUBLE = ("avg", "stddev", "median")
AGGREGATES = ("count", "sum", "avg", "min", "max", "stddev", "median", "first", "last", "window")
# The least and the greatest are the same with and without repetitions, so DISTINCT changes nothing there.
_DISTINCT = ("count", "sum", "avg", "min", "max")


def is_aggregate(name: str) -> bool:
    return name.lower() in AGGREGATES


def resolve_aggregate(name: str, arg_type: DataType | None, distinct: bool, span: Span | None = None) -> DataType:
    """The result type of an aggregate; `arg_type` is None for `count(*)`."""
    lower = name.lower()
    if distinct and (lower not in _DISTINCT or arg_type is None):
        raise error(
            "WRONG_ARGUMENTS",
            span,
            name=name,
            expected="no DISTINCT",
            found="DISTINCT" if arg_type is not None else "DISTINCT *",
            fix="DISTINCT goes with an expression in count, sum, avg, min and max",
        )
    if lower == "count":
        return t.LONG
    if arg_type is None:
        raise error("WRONG_ARGUMENTS", span, name=name, expected="an expression", found="*", fix=f"write {lower}(x)")
    if lower in ("sum", *_TO_DOUBLE):
        if not t.is_numeric(arg_type):
            raise error("TYPE_MISMATCH", span, what=lower, expected="a number", found=arg_type)
        return t.LONG if lower == "sum" and t.is_integral(arg_type) else t.DOUBLE
    if lower in ("min", "max"):
        if not isinstance(arg_type, Scalar):
            raise error(
                "TYPE_MISMATCH", span, what=lower, expected="a number, text, time or truth value", found=arg_type
            )
        return arg_type
    return ArrayOf(arg_type) if lower == "window" else arg_type
