"""The type of an aggregate's call, or the error that says why there is none."""

from __future__ import annotations

from presage.errors import error
from presage.functions.aggregates.aggregate import REFUSED, aggregate_named, aggregates
from presage.model import types as t
from presage.model.text import Span
from presage.model.types import DataType


def resolve_aggregate(name: str, arg_type: DataType | None, distinct: bool, span: Span | None = None) -> DataType:
    """The result type of an aggregate; `arg_type` is None for `count(*)`."""
    lower = name.lower()
    function = aggregate_named(lower)
    if distinct and (function.distinct == REFUSED or arg_type is None):
        *some, last = (each.name for each in aggregates() if each.distinct != REFUSED)
        raise error(
            "WRONG_ARGUMENTS",
            span,
            name=name,
            expected="no DISTINCT",
            found="DISTINCT" if arg_type is not None else "DISTINCT *",
            fix=f"DISTINCT goes with an expression in {', '.join(some)} and {last}",
        )
    if arg_type is None:
        if function.of_nothing is None:
            raise error(
                "WRONG_ARGUMENTS", span, name=name, expected="an expression", found="*", fix=f"write {lower}(x)"
            )
        return t.LONG
    result = function.result(arg_type)
    if isinstance(result, str):
        raise error("TYPE_MISMATCH", span, what=lower, expected=result, found=arg_type)
    return result
