"""An extension, as a user would write it: a window, an aggregate and a scalar function, by registration alone."""

from __future__ import annotations

from typing import Any

from presage.functions import AggregateFunction, register_aggregate, register_function
from presage.functions.aggregates.parts import GREATEST_VALUE, LEAST
from presage.model.types import DataType
from presage.operators.windows import WindowType, register_window
from presage.operators.windows.window_types import TIME

MINUTE = 60_000_000


class Minute(WindowType):
    """`#minute`: the events of the current minute of the clock."""

    name = "minute"
    says = "the events of the current minute"
    retention = TIME

    def holds(self, size: int, by: str) -> str:
        return "the events of the current minute"

    def place(self, time: Any) -> Any:
        return time // MINUTE

    def leaves(self, time: Any, size: Any) -> Any:
        return (time // MINUTE + 1) * MINUTE


class Extent(AggregateFunction):
    """`extent(x)`: how far the greatest value lies from the least."""

    name = "extent"
    says = "the greatest value less the least"
    is_native = False

    def result(self, argument: DataType) -> DataType | str:
        from presage.model.types import is_numeric

        return argument if is_numeric(argument) else "a number"

    def evaluate(self, column: Any, name: str, values: Any, engine: Any) -> Any:
        least = engine.extreme(name + ".least", values, greatest=False)
        return self._between(least, engine.extreme(name + ".greatest", values, greatest=True))

    def parts(self, integral: bool) -> tuple[str, ...]:
        return (LEAST, GREATEST_VALUE)

    def finish(self, merged: Any) -> Any:
        return self._between(merged.found[LEAST], merged.found[GREATEST_VALUE])

    def _between(self, least: Any, greatest: Any) -> Any:
        import pyarrow.compute as pc

        return pc.subtract(greatest, least)


def initials(text: str) -> str:
    return "".join(word[0] for word in text.split())


register_window(Minute())
register_aggregate(Extent())
register_function("initials", "STRING -> STRING", "the first letters of the words", value=initials)
