"""The base class of aggregates: name, types, kernel step over windows, mergeable parts, and a line of documentation.

An aggregate is one module with one object; no other module names it. Checking a query loads no data library, so methods
that compute import NumPy, Arrow or Spark when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from presage.errors import error
from presage.functions.extension import calling_module, own_name
from presage.model import types as t
from presage.model.text import Span
from presage.model.types import DataType, StructOf

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values

# What DISTINCT does to an aggregate: it is an error, it changes nothing, or repeated values count once.
REFUSED, IDLE, COUNTS_ONCE = "refused", "idle", "counts once"


@dataclass(frozen=True)
class ConstantArgument:
    """An argument after the values, equal for all rows: checked when a statement is bound."""

    expected: str  # in words
    fits: Callable[[Any], bool]
    example: object


class AggregateFunction:
    """The base of all aggregates: one object of a subclass is registered for each.

    Unless documented otherwise, nulls are skipped and the value over no row is null.
    """

    name: str
    says: str  # the line of documentation on the page of functions
    distinct = REFUSED
    numeric = False  # the argument is a number; a null without a type counts as one
    exact = False  # computes with DECIMALs themselves; others take them as DOUBLEs
    takes_events = False  # `alias.*` may be the argument
    counts_rows = False  # `*` may be the argument
    values = 1  # how many arguments have a value in each row; several come as one struct, numbers in it as doubles
    constants: tuple[ConstantArgument, ...] = ()  # the arguments after them
    ordered = False  # depends on the order of events
    keeps_values = False  # reads every value again when nothing leaves the window: state grows for ever
    grows = False  # with the history that it covers: extrapolated while only a part is read
    newest = False  # its parts TIME, SEQ and VALUE are those of the last event, not of the first
    is_native = True  # Spark's own column does not depend on the order of rows
    of_nothing: int | None = None  # the value over no row
    instead_of_several = ""  # the fix when it is called with several arguments

    @property
    def example(self) -> tuple[object, ...]:
        """Constants that fit."""
        return tuple(each.example for each in self.constants)

    def result(self, argument: DataType) -> DataType | str:
        """The type of the result; for an argument of a wrong type, what is expected instead."""
        given = [kind for _, kind in argument.fields] if isinstance(argument, StructOf) else [argument]
        if self.numeric and (len(given) != self.values or not all(map(t.is_number, given))):
            return "a number"
        return t.DOUBLE if self.numeric else argument

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        """The column over a window. `name` distinguishes the accumulators of this column from others."""
        raise NotImplementedError

    def parts(self, integral: bool) -> tuple[str, ...]:
        """Kinds of the partial values that merge to the whole (see `parts`); none if it is evaluated over all rows."""
        return ()

    def finish(self, merged: Any) -> pa.Array:
        """The values of merged parts (`recall.finish.Merged`)."""
        raise NotImplementedError

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        """Spark's column over the rows of a group, in order of `place`; None if RECALL does not support it."""
        return None

    def over(self, call: Any, value: Any) -> Any:
        """Spark's column before OVER; None if that is not supported."""
        return None

    def may_overflow(self, result: DataType) -> bool:
        """Whether a result of this type may leave its range, so that `wide` must be checked."""
        return False

    def wide(self, call: Any, value: Any) -> Any:
        """Spark's column in a type that cannot overflow."""
        raise NotImplementedError

    def overflow_fix(self, argument: str) -> str:
        """The fix when a result over history leaves its range."""
        return "recall a shorter span"


_TABLE: dict[str, AggregateFunction] = {}


def register_aggregate(function: AggregateFunction) -> AggregateFunction:
    """Add an aggregate, which statements can call from then on."""
    function.name = own_name(function.name.lower(), calling_module(), (each.name for each in aggregates()))
    _TABLE[function.name] = function
    return function


def aggregates() -> tuple[AggregateFunction, ...]:
    """All aggregates, in the order of their registration."""
    return tuple(_TABLE.values())


def written_form(function: AggregateFunction) -> str:
    """A call of it, as an example."""
    values = "x" if function.values == 1 else ", ".join("xyzuvw"[: function.values])
    return f"{function.name}({', '.join([values, *map(str, function.example)])})"


def is_aggregate(name: str) -> bool:
    return name.lower() in _TABLE


def aggregate_named(name: str) -> AggregateFunction:
    if name not in _TABLE:
        raise error("INTERNAL", what=f"there is no aggregate {name}")
    return _TABLE[name]


def resolve_aggregate(name: str, arg_type: DataType | None, distinct: bool, span: Span | None = None) -> DataType:
    """The result type of a call; `arg_type` is None for `*`."""
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
        if not function.counts_rows:
            raise error(
                "WRONG_ARGUMENTS",
                span,
                name=name,
                expected="an expression",
                found="*",
                fix=f"write {written_form(function)}",
            )
        return t.LONG
    result = function.result(arg_type)
    if isinstance(result, str):
        raise error("TYPE_MISMATCH", span, what=lower, expected=result, found=arg_type)
    return result
