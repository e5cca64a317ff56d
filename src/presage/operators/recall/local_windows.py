"""Window functions of a select in this process: f(x, …) OVER (PARTITION BY … ORDER BY …), with the values of Spark.

An aggregate is over the rows up to the last one that is equal in order, or over all without an order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Values, all_valid
from presage.arrays.equality import equality_codes
from presage.arrays.fold_engine import FoldEngine
from presage.arrays.folds import running_spread
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import changes, lexical_order
from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import one_array
from presage.functions.aggregates import aggregate_named
from presage.model.arrow import to_arrow
from presage.operators.recall.answers import ARRIVED, WHEN, aggregate_of, ranks_of
from presage.operators.recall.local_groups import Called, ValuesEngine
from presage.operators.recall.nodes import Select, Windowed
from presage.operators.recall.questions import EVENT, EVER
from presage.plan.expr import AggregateCall, Constant, Expr


def with_windows(select: Select, rows: pa.Table, evaluator: Evaluator) -> pa.Table:
    """The rows, with a column for each window function."""
    made = {window.name: _values(window, rows, evaluator) for window in select.windows}
    for name, values in made.items():
        rows = rows.append_column(name, values)
    return rows


@dataclass(frozen=True)
class Partitions:
    """Rows in the order of their partitions. Of each row: the places of the first and the last row of its partition,
    and of those that are equal to it in order."""

    codes: Ints
    first: Ints
    last: Ints
    first_peer: Ints
    last_peer: Ints

    @property
    def place(self) -> Ints:
        return np.arange(len(self.codes)) - self.first

    @property
    def size(self) -> Ints:
        return self.last - self.first + 1

    @property
    def rank(self) -> Ints:
        return self.first_peer - self.first + 1


def _values(window: Windowed, rows: pa.Table, evaluator: Evaluator) -> pa.Array:
    keys = evaluator.columns(list(window.partition), rows)
    codes, groups = equality_codes([rows[EVENT], *(pa.chunked_array([key]) for key in keys)], rows.num_rows)
    terms = evaluator.columns([term.expr for term in window.sort], rows)
    ranks = [rank for term, how in zip(terms, window.order, strict=True) for rank in ranks_of(term, how)]
    # Equal rows have one order, independent of the chunks.
    ties = [one_array(rows[name]).fill_null(-EVER).to_numpy() for name in (WHEN, ARRIVED) if name in rows.column_names]
    order = lexical_order([codes, *ranks, *ties])
    codes, ranks = codes[order], [rank[order] for rank in ranks]
    partitions = Partitions(codes, *_runs(changes([codes], len(codes))), *_runs(changes([codes, *ranks], len(codes))))
    first = window.args[0] if window.args else None
    if isinstance(first, AggregateCall):
        found = _aggregate(first, rows, order, partitions, groups, evaluator)
    elif window.function in ("lag", "lead"):
        found = _shifted(window, rows, order, partitions, evaluator)
    elif window.function == "ntile":
        assert first is not None
        found = pa.array(_ntile(_count_of(first), partitions))
    else:
        found = pa.array(_RANKINGS[window.function](partitions))
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return found.take(pa.array(back)).cast(to_arrow(window.type))


def _runs(starts: Bools) -> tuple[Ints, Ints]:
    """The first and the last place of the run of each row."""
    firsts = np.flatnonzero(starts)
    run = np.cumsum(starts) - 1
    lasts = np.append(firsts[1:], len(starts)) - 1
    return (firsts[run], lasts[run]) if len(starts) else (firsts, firsts)


def _dense_rank(partitions: Partitions) -> Ints:
    numbered = np.cumsum(partitions.first_peer == np.arange(len(partitions.codes)))
    ranks: Ints = numbered - numbered[partitions.first] + 1
    return ranks


def _percent_rank(partitions: Partitions) -> Floats:
    return np.asarray((partitions.rank - 1) / np.maximum(partitions.size - 1, 1), np.float64)


def _cume_dist(partitions: Partitions) -> Floats:
    return np.asarray((partitions.last_peer - partitions.first + 1) / partitions.size, np.float64)


_RANKINGS: dict[str, Callable[[Partitions], Ints | Floats]] = {
    "row_number": lambda partitions: partitions.place + 1,
    "rank": lambda partitions: partitions.rank,
    "dense_rank": _dense_rank,
    "percent_rank": _percent_rank,
    "cume_dist": _cume_dist,
}


def _ntile(count: int, partitions: Partitions) -> Ints:
    """The rows that are too many for equal parts go to the first ones."""
    least, more = np.divmod(partitions.size, count)
    large = more * (least + 1)
    place = partitions.place
    number: Ints = 1 + np.where(place < large, place // (least + 1), more + (place - large) // np.maximum(least, 1))
    return number


def _shifted(window: Windowed, rows: pa.Table, order: Ints, partitions: Partitions, evaluator: Evaluator) -> pa.Array:
    count = _count_of(window.args[1]) if len(window.args) > 1 else 1
    at = np.arange(len(order)) + (-count if window.function == "lag" else count)
    there = (at >= partitions.first) & (at <= partitions.last)
    values = evaluator.column(window.args[0], rows)
    if len(window.args) < 3:
        return values.take(pa.array(order[np.where(there, at, 0)] if len(order) else order, mask=~there))
    # A null in a row is not a missing row.
    both = pa.concat_arrays([values, evaluator.column(window.args[2], rows).cast(values.type)])
    return both.take(pa.array(np.where(there, order[np.where(there, at, 0)], len(order) + order)))


def _aggregate(
    call: AggregateCall, rows: pa.Table, order: Ints, partitions: Partitions, groups: int, evaluator: Evaluator
) -> pa.Array:
    engine = _Running(
        partitions.codes, groups, {}, running=True, slots=ValuesEngine(partitions.codes, groups, order), is_first=_new
    )
    if call.arg is None:
        found = pa.array(engine.count("", None))
    else:
        column = evaluator.column(call.arg, rows).take(pa.array(order))
        column = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
        called = Called("x", aggregate_of(call).shown, call.constants)
        found = aggregate_named(call.function).evaluate(called, "", Values(column), engine)
    return found.take(pa.array(partitions.last_peer))


def _new(name: str, values: Values) -> Bools:
    raise AssertionError("DISTINCT is refused before OVER")


class _Running(FoldEngine):
    """With the additions of Spark's own window functions."""

    def spread(self, name: str, values: Values) -> tuple[Ints, Floats]:
        valid = all_valid(values)
        return self.count(name, values.valid), running_spread(self.codes, values.floats, valid, self.groups)


def _count_of(expr: Expr) -> int:
    assert isinstance(expr, Constant)
    assert isinstance(expr.value, int)
    return expr.value
