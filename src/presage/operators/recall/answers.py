"""The rows of RECALL: groups finished, ordered and limited, event by event."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.equality import equality_codes, first_occurrences
from presage.arrays.jit import Floats, Ints
from presage.arrays.rows import changes, ordinals
from presage.columnar.evaluate import Evaluator
from presage.columnar.order import order_ranks
from presage.columnar.vectors import one_array
from presage.functions.aggregates import aggregate_named
from presage.model.arrow import to_arrow
from presage.model.types import LONG
from presage.operators.recall.finish import scaled
from presage.operators.recall.nodes import Order, Recalled, Select
from presage.operators.recall.partial import Aggregate
from presage.operators.recall.questions import EVENT
from presage.plan.display import show_arguments
from presage.plan.expr import AggregateCall
from presage.plan.nodes import Named

# Of rows without groups: the time and the arrival of the event.
WHEN, ARRIVED = "_when", "_arrived"


def finished(
    recall: Recalled, found: pa.Table, events: pa.Table, asked: Ints, scale: Floats, evaluator: Evaluator
) -> pa.Table:
    """EVENT and the columns of a RECALL, in order within each event. `found` has EVENT, a row of `events`, and either
    groups and aggregates, or outputs and terms of the order. `asked`: the events that have a row even without history;
    `scale`: the requested history of each event as a multiple of what has been read."""
    select = recall.select
    if select.grouped:
        if not select.groups:
            found = with_empty(select, found, asked)
        found = _scaled(select, found, scale)
        found = _with_parameters(found, events, select)
        if select.having is not None:
            found = found.filter(pa.array(evaluator.mask(select.having, found)))
        found = _terms(select, found, evaluator)
    event = found[EVENT].to_numpy()
    names = [o.name for o in select.outputs]
    if select.distinct:
        codes, _ = equality_codes([found[EVENT], *(found[n] for n in names)], found.num_rows)
        found = found.filter(pa.array(first_occurrences(codes)))
        event = found[EVENT].to_numpy()
    order = _order(select, found)
    found, event = found.take(pa.array(order)), event[order]
    if select.limit is not None:
        found = found.filter(pa.array(ordinals(changes([event], len(event))) < select.limit))
    columns = {EVENT: found[EVENT]} | {f"{recall.alias}.{name}": found[name] for name in names}
    return pa.table(columns)


def aggregates_of(select: Select) -> list[Aggregate]:
    """The aggregates of a select, for the merge of parts."""
    return [aggregate_of(call.expr, call.name) for call in select.calls if isinstance(call.expr, AggregateCall)]


def aggregate_of(call: AggregateCall, output: str = "") -> Aggregate:
    kind, shown = (None, "*") if call.arg is None else (call.arg.type, show_arguments(call.arg, call.constants))
    return Aggregate(call.function, output, kind, shown)


def with_empty(select: Select, found: pa.Table, asked: Ints) -> pa.Table:
    """Add the rows of aggregates over nothing."""
    missing = np.setdiff1d(asked, found[EVENT].to_numpy())
    if not len(missing):
        return found
    columns = {EVENT: pa.array(missing, pa.int64())}
    for call in select.calls:
        kind = to_arrow(call.expr.type)
        assert isinstance(call.expr, AggregateCall)
        value = pa.scalar(aggregate_named(call.expr.function).of_nothing, kind)
        columns[call.name] = pa.repeat(value, len(missing))
    return pa.concat_tables([found, pa.table(columns).select(found.column_names).cast(found.schema)])


def _scaled(select: Select, found: pa.Table, scale: Floats) -> pa.Table:
    """Counts and sums, extrapolated to the requested history."""
    factor = scale[found[EVENT].to_numpy()]
    if not np.any(factor != 1.0):
        return found
    for call, aggregate in zip(select.calls, aggregates_of(select), strict=True):
        if aggregate.definition.grows:
            column = one_array(found[call.name])
            values = column.fill_null(0).to_numpy()
            values = scaled(aggregate, values, factor) if call.expr.type == LONG else values * factor
            made = pa.array(values, column.type, mask=column.is_null().to_numpy(zero_copy_only=False))
            found = found.set_column(found.column_names.index(call.name), call.name, made)
    return found


def _with_parameters(found: pa.Table, events: pa.Table, select: Select) -> pa.Table:
    """Groups with the columns of their events that terms may name."""
    rows = pa.array(found[EVENT].to_numpy())
    for name in sorted(select.parameters):
        found = found.append_column(name, one_array(events[name]).take(rows))
    return found


def _terms(select: Select, found: pa.Table, evaluator: Evaluator) -> pa.Table:
    named: tuple[Named, ...] = (*select.outputs, *select.sort)
    made = evaluator.columns([o.expr for o in named], found)
    columns = {EVENT: found[EVENT]} | {o.name: column for o, column in zip(named, made, strict=True)}
    # Ties of the order are broken by the grouping terms.
    return pa.table(columns | {f"_tie{i}": found[g.name] for i, g in enumerate(select.groups)})


def _order(select: Select, found: pa.Table) -> Ints:
    keys: list[Ints] = [found[EVENT].to_numpy()]
    for term in select.order:
        keys += ranks_of(one_array(found[term.column]), term)
    # With DISTINCT, the order must not depend on which of several equal rows remains.
    if select.grouped and not select.distinct:
        keys += [order_ranks(one_array(found[name])) for name in found.column_names if name.startswith("_tie")]
    elif WHEN in found.column_names and not select.distinct:
        keys += [found[WHEN].to_numpy(), found[ARRIVED].to_numpy()]
    keys += [order_ranks(one_array(found[o.name])) for o in select.outputs if _rankable(found[o.name].type)]
    return np.lexsort(keys[::-1])


def ranks_of(array: pa.Array, term: Order) -> tuple[Ints, Ints]:
    """Two keys for the order of a term of ORDER BY: where nulls stand, and the values."""
    ranks = order_ranks(array)
    absent = array.is_null().to_numpy(zero_copy_only=False)
    first = 0 if term.nulls_first else 1
    return np.where(absent, first, 1 - first), np.where(absent, 0, -ranks if term.descending else ranks)


def _rankable(kind: pa.DataType) -> bool:
    return not pa.types.is_map(kind)


def as_texts(column: pa.Array) -> pa.Array:
    """Values as texts; times in the form of literals, bytes in hexadecimal digits."""
    if pa.types.is_timestamp(column.type):
        whole = pc.equal(pc.microsecond(column), 0)
        seconds = pc.strftime(column.cast(pa.timestamp("s", "UTC"), safe=False), "%Y-%m-%dT%H:%M:%SZ")
        exact = pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ")
        millis = pc.equal(pc.millisecond(column), 0)
        return pc.if_else(pc.and_(whole, millis), seconds, exact)
    if pa.types.is_binary(column.type) or pa.types.is_decimal(column.type):
        texts = [
            each if each is None else each.hex() if isinstance(each, bytes) else f"{each:f}"
            for each in column.to_pylist()
        ]
        return pa.array(texts, pa.string())
    return column.cast(pa.string())
