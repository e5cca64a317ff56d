"""Resolution of scalar function calls by name and argument types: Spark's name, result type, casts. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from presage.errors import PresageError, did_you_mean, error
from presage.functions.constant_arguments import check_constants
from presage.functions.epl_functions import refused_function
from presage.functions.scalars import BY_NAME
from presage.functions.scalars.entry import Entry
from presage.functions.scalars.refused import REFUSED
from presage.functions.signatures import Fit, Misfit, Signature, Variable, describe, fit, parse_signature
from presage.model import types as t
from presage.model.decimals import DECIMAL_RESULTS, result_of
from presage.model.text import Span
from presage.model.types import DataType, DecimalOf, MapOf, StructOf
from presage.plan.constants import NOT_CONSTANT, constant_value
from presage.plan.expr import Expr


@dataclass(frozen=True)
class ResolvedFunction:
    """A well-typed call; `coerced` are the types that the arguments are cast to."""

    name: str
    result: DataType
    coerced: tuple[DataType, ...]
    of_days: bool = False  # given a DATE it gives one: computed with the times at 00:00


def is_function(name: str) -> bool:
    return name.lower() in BY_NAME


def constants_of(args: Sequence[Expr]) -> dict[int, object]:
    """The values of the constant arguments, by place."""
    values = {index: constant_value(arg) for index, arg in enumerate(args)}
    return {index: value for index, value in values.items() if value is not NOT_CONSTANT}


def resolve_function(
    name: str,
    arg_types: tuple[DataType, ...],
    span: Span | None = None,
    constants: Mapping[int, object] | None = None,
    relations: Iterable[str] = (),
) -> ResolvedFunction:
    """The function of a call. With `constants` (see `constants_of`) patterns, units and formats are checked too;
    named_struct needs them. `relations` look like calls: their names are suggested as well."""
    check_known(name, span, relations)
    lower = name.lower()
    entry = BY_NAME[lower]
    if entry.names[0] in DECIMAL_RESULTS and isinstance(arg_types[0] if arg_types else None, DecimalOf):
        result = _of_decimals(entry, name, arg_types, span, constants or {})
    elif entry.names[0] in _MAKERS:
        result = _MAKERS[entry.names[0]](name, arg_types, span, constants or {})
    else:
        result = _fit_forms(entry, name, arg_types, span)
    if constants is not None:
        check_constants(lower, len(arg_types), constants, span)
    of_days = entry.names[0] in KEEPS_DATE and arg_types[0] == t.DATE
    return ResolvedFunction(entry.names[0], result.result, result.coerced, of_days)


# Functions whose result is a DATE if their first argument is one.
KEEPS_DATE = frozenset(("add_months", "date_add", "date_sub", "last_day", "next_day", "to_date", "trunc"))


def check_known(name: str, span: Span | None, relations: Iterable[str] = ()) -> None:
    """Raise where no such function exists, or a query may not call it."""
    lower = name.lower()
    if lower in REFUSED:
        raise error("FUNCTION_NOT_ALLOWED", span, name=name, why=REFUSED[lower])
    if lower in OF_A_MATCH:
        fix = f"name it in MEASURES and select that: MEASURES {name.upper()}({OF_A_MATCH[lower]}) AS n"
        where = "outside MEASURES and DEFINE of MATCH_RECOGNIZE"
        raise error("UNSUPPORTED", span, what=f"{name}(…)", where=where, fix=fix)
    if lower not in BY_NAME:
        of_epl = refused_function(name, span)
        if of_epl is not None:
            raise of_epl
        raise error("UNKNOWN_FUNCTION", span, name=name, fix=did_you_mean(name, [*BY_NAME, *relations], _FAMILIES_HINT))


# Functions of MATCH_RECOGNIZE alone, with the arguments of an example.
OF_A_MATCH = {"match_number": "", "classifier": "", "prev": "A.x", "next": "A.x"}
_FAMILIES_HINT = "docs/language/functions.md lists all functions"


def _fit_forms(entry: Entry, name: str, arg_types: tuple[DataType, ...], span: Span | None) -> Fit:
    forms = [parse_signature(text) for text in entry.forms]
    candidates = [form for form in forms if form.takes(len(arg_types))]
    if not candidates:
        raise _wrong_count(name, forms, len(arg_types), span)
    misfits: list[Misfit] = []
    for form in candidates:
        result = fit(form, arg_types)
        if isinstance(result, Fit):
            return result
        misfits.append(result)
    if len(candidates) > 1:
        expected = " or ".join(f"({_parameters(form)})" for form in candidates)
        raise error("WRONG_ARGUMENTS", span, name=name, expected=expected, found=f"({', '.join(map(str, arg_types))})")
    (misfit,) = misfits
    what = f"argument {misfit.index + 1} of {name}"
    found = arg_types[misfit.index]
    fix = f"write CAST(… AS {misfit.expected})" if misfit.expected in t.SCALARS else ""
    if isinstance(found, DecimalOf) and misfit.expected in _NUMBERS:
        fix = f"write CAST(… AS {_NUMBERS[misfit.expected]})"
    raise error("TYPE_MISMATCH", span, what=what, expected=misfit.expected, found=found, fix=fix)


# The type to cast a DECIMAL to where a variable of numbers does not take it.
_NUMBERS = {describe(Variable("N"), {}): t.DOUBLE, describe(Variable("I"), {}): t.LONG}


def _parameters(form: Signature) -> str:
    return form.text.partition("->")[0].strip()


def _wrong_count(name: str, forms: list[Signature], found: int, span: Span | None) -> PresageError:
    least = min(form.least for form in forms)
    most = None if any(form.most is None for form in forms) else max(form.most or 0 for form in forms)
    if most is None:
        expected = f"at least {_arguments(least)}"
    elif least == most:
        expected = _arguments(least)
    else:
        expected = f"{least} to {_arguments(most)}"
    example = " or ".join(f"{name}({_parameters(form)})" for form in forms)
    return error("WRONG_ARGUMENTS", span, name=name, expected=expected, found=found, fix=f"write {example}")


def _arguments(count: int) -> str:
    return "no argument" if count == 0 else "one argument" if count == 1 else f"{count} arguments"


# -- functions of DECIMAL ---------------------------------------------------------------------------------


def _of_decimals(
    entry: Entry, name: str, types: tuple[DataType, ...], span: Span | None, constants: Mapping[int, object]
) -> Fit:
    """A call whose first argument is a DECIMAL: it is checked as one of a LONG is."""
    (decimal, *others) = types
    assert isinstance(decimal, DecimalOf)
    if entry.names[0] == "mod" and len(types) == 2:
        if others[0] == t.DOUBLE:
            return Fit((t.DOUBLE, t.DOUBLE), t.DOUBLE)
        divisor = t.as_decimal(others[0])
        if divisor is None or decimal.whole + divisor.scale > t.MOST_DIGITS:
            raise error(
                "TYPE_MISMATCH",
                span,
                what=name,
                expected=f"a quotient of at most {t.MOST_DIGITS} digits",
                found=f"{decimal} and {others[0]}",
                fix="CAST one side to a DECIMAL with fewer digits",
            )
        return Fit((decimal, divisor), result_of("%", decimal, divisor))
    rest = _fit_forms(entry, name, (t.LONG, *others), span).coerced[1:]
    places = constants.get(1, 0)
    return Fit((decimal, *rest), DECIMAL_RESULTS[entry.names[0]](decimal, places if isinstance(places, int) else 0))


# -- functions whose result depends on more than a signature can say ------------------------------------------------


def _make_struct(name: str, types: tuple[DataType, ...], span: Span | None, constants: Mapping[int, object]) -> Fit:
    if not types:
        raise error("WRONG_ARGUMENTS", span, name=name, expected="at least one argument", found=0)
    return Fit(types, StructOf(tuple((f"col{i}", found) for i, found in enumerate(types, start=1))))


def _make_named_struct(
    name: str, types: tuple[DataType, ...], span: Span | None, constants: Mapping[int, object]
) -> Fit:
    if not types or len(types) % 2:
        raise error("WRONG_ARGUMENTS", span, name=name, expected="names and values in turn", found=len(types))
    fields: dict[str, DataType] = {}
    for index in range(0, len(types), 2):
        field = constants.get(index)
        if not isinstance(field, str):
            expected, found = "a name as a constant text", types[index] if field is None else field
            raise error("TYPE_MISMATCH", span, what=f"argument {index + 1} of {name}", expected=expected, found=found)
        if field in fields:
            raise error("DUPLICATE_NAME", span, name=field, where=name, fix="choose another name")
        fields[field] = types[index + 1]
    return Fit(types, StructOf(tuple(fields.items())))


def _make_map(name: str, types: tuple[DataType, ...], span: Span | None, constants: Mapping[int, object]) -> Fit:
    if len(types) % 2:
        raise error("WRONG_ARGUMENTS", span, name=name, expected="keys and values in turn", found=len(types))
    keys = _common("the keys of map", types[0::2], span)
    values = _common("the values of map", types[1::2], span)
    if not t.is_orderable(keys):
        raise error("TYPE_MISMATCH", span, what="a key of map", expected="no MAP", found=keys)
    keys = t.STRING if keys == t.NULL else keys
    return Fit((keys, values) * (len(types) // 2), MapOf(keys, values))


def _common(what: str, types: tuple[DataType, ...], span: Span | None) -> DataType:
    common: DataType = t.NULL
    for found in types:
        joined = t.common_type(common, found)
        if joined is None:
            raise error("TYPE_MISMATCH", span, what=what, expected=f"one type ({common})", found=found)
        common = joined
    return common


_MAKERS = {"struct": _make_struct, "named_struct": _make_named_struct, "map": _make_map}
