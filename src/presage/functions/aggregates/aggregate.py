"""What an aggregate is: name, types, kernel step over windows, mergeable parts, and its line for readers.

An aggregate is one module with one object. Modules are light, because checking a query loads no data library: what
computes imports NumPy, Arrow or Spark when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.errors import error
from presage.functions.extension import calling_module, own_name
from presage.model import types as t
from presage.model.types import DataType

if TYPE_CHECKING:
    import pyarrow as pa

    from presage.arrays.aggregate_engine import AggregateColumn, AggregateEngine
    from presage.arrays.columns import Values

# What DISTINCT does to an aggregate: it is refused, it changes nothing, or repeated values are left out.
REFUSED, IDLE, COUNTS_ONCE = "refused", "idle", "counts once"


class AggregateFunction:
    """The base of all aggregates: one object of a subclass is registered for each.

    Nulls are skipped unless an aggregate says otherwise; over no value at all it is null.
    """

    name: str
    says: str  # for the page of functions
    distinct = REFUSED
    numeric = False  # its argument is a number: a null without a type is one, too
    takes_events = False  # `alias.*` may be its argument
    ordered = False  # depends on the order of events
    keeps_values = False  # needs every value again when nothing leaves the window: state grows for ever
    grows = False  # with the history that it is taken over: scaled where that is covered in part
    newest = False  # of its parts TIME, SEQ and VALUE those of the last event, not of the first
    is_native = True  # Spark's own column of it does not depend on the order of rows
    of_nothing: int | None = None  # its value over no row

    def result(self, argument: DataType) -> DataType | str:
        """The type of the result; for an argument that it cannot take, what it expects in its place."""
        if self.numeric and not t.is_numeric(argument):
            return "a number"
        return t.DOUBLE if self.numeric else argument

    def evaluate(self, column: AggregateColumn, name: str, values: Values, engine: AggregateEngine) -> pa.Array:
        """Its column over a window. `name` tells the accumulators of one column from those of another."""
        raise NotImplementedError

    def parts(self, integral: bool) -> tuple[str, ...]:
        """Kinds of the partial values that merge to the whole (see `parts`); none: it is evaluated over all rows."""
        return ()

    def finish(self, merged: Any) -> pa.Array:
        """Its values of merged parts (`recall.finish.Merged`)."""
        raise NotImplementedError

    def catalyst(self, call: Any, value: Any, place: Any) -> Any:
        """Its column of Spark over the rows of a group. `place` orders the events; None: RECALL refuses it."""
        return None

    def over(self, value: Any) -> Any:
        """Its column of Spark before OVER; None: it may not stand there."""
        return None


_TABLE: dict[str, AggregateFunction] = {}


def register_aggregate(function: AggregateFunction) -> AggregateFunction:
    """Adds an aggregate, which statements may call from then on."""
    function.name = own_name(function.name.lower(), calling_module(), (known.name for known in aggregates()))
    _TABLE[function.name] = function
    return function


def aggregates() -> tuple[AggregateFunction, ...]:
    """All of them, in the order in which they were registered."""
    return tuple(_TABLE.values())


def is_aggregate(name: str) -> bool:
    return name.lower() in _TABLE


def aggregate_named(name: str) -> AggregateFunction:
    if name not in _TABLE:
        raise error("INTERNAL", what=f"there is no aggregate {name}")
    return _TABLE[name]
