"""The arguments of an aggregate's call: its values as one expression, and the constants after them."""

from __future__ import annotations

from collections.abc import Sequence

from presage.errors import error
from presage.functions.aggregates.aggregate import AggregateFunction, aggregate_named, written_form
from presage.model import types as t
from presage.model.text import Span
from presage.model.types import DecimalOf, StructOf
from presage.plan.constants import NOT_CONSTANT, constant_value
from presage.plan.expr import CastTo, Expr, MakeStruct, argument_names


def check_count(name: str, count: int, span: Span) -> AggregateFunction:
    """The aggregate of a call with so many arguments."""
    function = aggregate_named(name.lower())
    wanted = function.values + len(function.constants)
    if count != wanted:
        plain = wanted == 1
        fix = "" if plain and not count else f"write {written_form(function)}"
        fix = function.instead_of_several if plain and count else fix
        expected = "one argument" if plain else f"{wanted} arguments"
        raise error("WRONG_ARGUMENTS", span, name=function.name, expected=expected, found=count, fix=fix)
    return function


def bound_arguments(function: AggregateFunction, args: Sequence[Expr]) -> tuple[Expr, tuple[object, ...]]:
    """One expression for the values, a struct if there are several, and the values of the constants."""
    values, others = tuple(args[: function.values]), args[function.values :]
    constants = []
    for i, (arg, constant) in enumerate(zip(others, function.constants, strict=True), start=len(values) + 1):
        value = constant_value(arg)
        if value is NOT_CONSTANT or not constant.fits(value):
            found = "not a constant" if value is NOT_CONSTANT else "NULL" if value is None else repr(value)
            what, fix = f"argument {i} of {function.name}", f"write {written_form(function)}"
            raise error("BAD_VALUE", arg.span, what=what, found=found, expected=constant.expected, fix=fix)
        constants.append(value)
    if len(values) == 1:
        (arg,) = values
        rounded = function.numeric and not function.exact and isinstance(arg.type, DecimalOf)
        return CastTo(t.DOUBLE, arg, span=arg.span) if rounded else arg, tuple(constants)
    for i, arg in enumerate(values if function.numeric else (), start=1):
        if not t.is_number(arg.type):
            what = f"argument {i} of {function.name}"
            raise error("TYPE_MISMATCH", arg.span, what=what, expected="a number", found=arg.type)
    if function.numeric:
        values = tuple(arg if arg.type == t.DOUBLE else CastTo(t.DOUBLE, arg, span=arg.span) for arg in values)
    names = argument_names(len(values))
    kind = StructOf(tuple((name, arg.type) for name, arg in zip(names, values, strict=True)))
    return MakeStruct(kind, names, values), tuple(constants)
