"""Every allowed function with a DECIMAL, DATE or BYTES in the place of each of its arguments."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Context, Decimal

import pyarrow as pa

from presage.errors import PresageError
from presage.functions.resolve import ResolvedFunction, constants_of, resolve_function
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import ArrayOf, DataType, DecimalOf
from presage.plan.expr import CastTo, ColumnRef, Expr, FunctionCall
from reference.function_calls import ROWS, all_calls, table_of_edge_values

SMALL, GREAT = DecimalOf(10, 2), DecimalOf(38, 10)
DAYS = [
    None,
    datetime.date(1970, 1, 1),
    datetime.date(2024, 2, 29),
    datetime.date(1, 1, 1),
    datetime.date(9999, 12, 31),
]
EXACT: dict[DataType, list[object]] = {
    SMALL: [None, *(Decimal(text) for text in ("0.00", "1.50", "-2.25", "99999999.99", "-99999999.99", "12.00"))],
    GREAT: [None, *(Decimal(n).scaleb(-10, Context(prec=40)) for n in (0, 5, 10**38 - 1, 1 - 10**38, 25 * 10**9))],
    t.DATE: DAYS,
    t.BYTES: [None, b"", b"\x00", b"\xff\xfe", b"abc", b"\xc3\xa4"],
}
EXACT |= {ArrayOf(kind): [None, [], values, values[::-1]] for kind, values in list(EXACT.items())}


def name_of(kind: DataType) -> str:
    return f"exact {kind}"


def table_of_exact_values() -> pa.Table:
    table = table_of_edge_values()
    for kind, values in EXACT.items():
        column = pa.array([values[row % len(values)] for row in range(ROWS)], to_arrow(kind))
        table = table.append_column(name_of(kind), column)
    return table


def calls_with_exact_types() -> Iterator[tuple[str, Expr | PresageError]]:
    """The bound call, or the error that refuses it, with its title."""
    seen: set[str] = set()
    for sample in all_calls():
        given = [arg.operand if isinstance(arg, CastTo) else arg for arg in sample.call.args]
        for place, arg in enumerate(given):
            if not isinstance(arg, ColumnRef):
                continue
            for kind in EXACT:
                if isinstance(kind, ArrayOf) != isinstance(arg.type, ArrayOf):
                    continue
                args: list[Expr] = [*given[:place], ColumnRef(kind, name_of(kind)), *given[place + 1 :]]
                title = f"{sample.call.name}({', '.join(str(each.type) for each in args)})#{constants_of(args)}"
                if title not in seen:
                    seen.add(title)
                    yield title, _bound(sample.call.name, args)


def _bound(name: str, args: list[Expr]) -> Expr | PresageError:
    try:
        resolved: ResolvedFunction = resolve_function(name, tuple(a.type for a in args), None, constants_of(args))
    except PresageError as refused:
        return refused
    cast = tuple(a if a.type == c else CastTo(c, a) for a, c in zip(args, resolved.coerced, strict=True))
    call = FunctionCall(resolved.result, resolved.name, cast)
    return CastTo(t.DATE, call) if resolved.of_days else call
