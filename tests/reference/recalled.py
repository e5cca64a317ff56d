"""The obvious twin of RECALL: a bound select, one event and all of history in, the rows of the select out, by loops.

Rows are dicts by plan names. Those of streams have WHEN and ARRIVED beside their columns, those of relations have not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cmp_to_key
from typing import Any

from presage.model.types import LONG
from presage.operators.recall.nodes import Order, Recall, Recalled, Select, Source, Subquery, Windowed
from presage.plan.expr import AggregateCall, Expr
from presage.plan.nodes import Named
from reference.aggregates_in_parts import of_values
from reference.expressions import evaluate, order

Row = dict[str, Any]
WHEN, ARRIVED = "when", "arrived"


@dataclass(frozen=True)
class Past:
    """The history of an event: low <= time < high, and arrived before it. `scale` is that of extrapolation."""

    histories: Mapping[int, list[Row]]
    columns: Mapping[int, Sequence[str]]
    low: int
    high: int
    before: int
    scale: float = 1.0

    def rows(self, source: Source) -> list[Row]:
        assert source.number is not None
        rows = self.histories[source.number]
        if source.relation:
            return rows
        low = self.low if source.window is None else self.high - source.window
        return [r for r in rows if low <= r[WHEN] < self.high and r[ARRIVED] < self.before]


def recalled(node: Recall, event: Row, past: Mapping[str, Past], present: Sequence[list[Row]] = ()) -> list[Row]:
    """The rows that an event has, with the history of each RECALL by its alias. `present`: what a revision meets."""
    rows = beside(node.recalls, event, past)
    for on, others in zip(node.on, present, strict=True):
        rows = [row | other for row in rows for other in others if evaluate(on, row | other) is True]
    kept = [row for row in rows if node.condition is None or evaluate(node.condition, row) is True]
    return [{o.name: evaluate(o.expr, row) for o in node.outputs} for row in kept]


def beside(recalls: Sequence[Recalled], event: Row, past: Mapping[str, Past]) -> list[Row]:
    """The event beside all that it recalls, one RECALL after the other."""
    rows = [event]
    for recall in recalls:
        wider = []
        for row in rows:
            found = answers(recall.select, row, past[recall.alias])
            nothing = dict.fromkeys(o.name for o in recall.select.outputs)
            wider += [row | {f"{recall.alias}.{name}": v for name, v in one.items()} for one in found or [nothing]]
        rows = wider
    return rows


def context(select: Select, event: Row, past: Mapping[str, Past], present: Past) -> list[tuple[str, Any]]:
    """Attributes and values of a CONTEXT, which is asked for every row of what the event recalls. `present`: all that
    its windows may see."""
    found = [one for row in beside(select.recalled, event, past) for one in answers(select, row, present)]
    return [(name, value) for one in found for name, value in one.items()]


def answers(select: Select, event: Row, past: Past) -> list[Row]:
    """The rows of a select in their order, by the names of its outputs."""
    found = joined(select, event, past)
    if select.grouped:
        found = [
            row
            for row in groups_of(select, found, event, past)
            if select.having is None or evaluate(select.having, row) is True
        ]
    found = with_windows(select, found)
    made = [(row, {o.name: evaluate(o.expr, row) for o in (*select.outputs, *select.sort)}) for row in found]
    if select.distinct:
        made = _without_repetitions(select, made)
    made.sort(key=cmp_to_key(lambda a, b: _compared(select, a, b)))
    names = [o.name for o in select.outputs]
    return [{name: shown[name] for name in names} for _, shown in made[: select.limit]]


def joined(select: Select, event: Row, past: Past) -> list[Row]:
    """The rows of FROM and WHERE beside the event."""
    rows = [event | {WHEN: None, ARRIVED: None}]
    timed = False
    for source in select.sources:
        taken = WHEN if source.is_stream and not timed else None
        rows = [made for row in rows for made in _with_source(row, source, event, past, keep_place=taken is not None)]
        timed = timed or source.is_stream
    rows = [row | {a.name: answer(a, row, event, past) for a in select.subqueries if not a.late} for row in rows]
    return [row for row in rows if select.where is None or evaluate(select.where, row) is True]


def _with_source(row: Row, source: Source, event: Row, past: Past, keep_place: bool) -> list[Row]:
    if source.select is not None:
        inner = answers(source.select, event, replace(past, scale=1.0))
        found = [{f"{source.alias}.{name}": v for name, v in one.items()} for one in inner]
        names = [f"{source.alias}.{o.name}" for o in source.select.outputs]
    else:
        assert source.number is not None
        found = past.rows(source)
        names = list(past.columns[source.number])
    place = {} if keep_place else {WHEN: row[WHEN], ARRIVED: row[ARRIVED]}
    both = [row | one | place for one in found]
    both = [one for one in both if source.on is None or evaluate(source.on, one) is True]
    return both or ([row | dict.fromkeys(names) | place] if source.outer else [])


def answer(asked: Subquery, row: Row, event: Row, past: Past) -> Any:
    """Of a select in a term."""
    found = answers(asked.select, event, replace(past, scale=1.0))
    if asked.kind == "exists":
        return bool(found)
    values = [next(iter(one.values())) for one in found]
    if asked.kind == "value":
        assert len(values) <= 1
        return values[0] if values else None
    assert asked.operand is not None
    wanted = evaluate(asked.operand, row)
    if not values:
        return False
    if wanted is not None and any(v is not None and order(v) == order(wanted) for v in values):
        return True
    return None if wanted is None or None in values else False


def with_windows(select: Select, rows: list[Row]) -> list[Row]:
    """The rows of one event, with the values of window functions."""
    for window in select.windows:
        values = [_windowed(window, row, _partition(window, row, rows)) for row in rows]
        rows = [row | {window.name: value} for row, value in zip(rows, values, strict=True)]
    return rows


def _partition(window: Windowed, row: Row, rows: list[Row]) -> list[Row]:
    """The rows of the partition of a row, in order."""

    def keys(one: Row) -> list[Any]:
        return [_key(evaluate(part, one)) for part in window.partition]

    def compared(a: Row, b: Row) -> int:
        return _in_order(window, a, b) or (-1 if _place(a) < _place(b) else int(_place(a) > _place(b)))

    return sorted((one for one in rows if keys(one) == keys(row)), key=cmp_to_key(compared))


def _place(row: Row) -> tuple[Any, ...]:
    return tuple((value is not None, value or 0) for value in (row[WHEN], row[ARRIVED]))


def _in_order(window: Windowed, a: Row, b: Row) -> int:
    """Less than 0 if a comes before b, 0 if they are equal."""
    for term, how in zip(window.sort, window.order, strict=True):
        found = _by_term(evaluate(term.expr, a), evaluate(term.expr, b), how)
        if found:
            return found
    return 0


def _by_term(x: Any, y: Any, how: Order) -> int:
    if (x is None) != (y is None):
        return (-1 if x is None else 1) * (1 if how.nulls_first else -1)
    if x is None or order(x) == order(y):
        return 0
    return (-1 if order(x) < order(y) else 1) * (-1 if how.descending else 1)


def _windowed(window: Windowed, row: Row, partition: list[Row]) -> Any:
    place = next(i for i, one in enumerate(partition) if one is row)
    before = [one for one in partition if _in_order(window, one, row) < 0]
    upto = [one for one in partition if _in_order(window, one, row) <= 0]
    first = window.args[0] if window.args else None
    size = len(partition)
    match window.function:
        case "row_number":
            return place + 1
        case "rank":
            return len(before) + 1
        case "dense_rank":
            return len({tuple(_key(evaluate(t.expr, one)) for t in window.sort) for one in before}) + 1
        case "percent_rank":
            return len(before) / (size - 1) if size > 1 else 0.0
        case "cume_dist":
            return len(upto) / size
        case "ntile":
            parts = evaluate(first, row)
            sizes = [size // parts + (i < size % parts) for i in range(parts)]
            return next(i + 1 for i in range(parts) if place < sum(sizes[: i + 1]))
        case "lag" | "lead":
            count = evaluate(window.args[1], row) if len(window.args) > 1 else 1
            at = place + (count if window.function == "lead" else -count)
            if 0 <= at < size:
                return evaluate(first, partition[at])
            return evaluate(window.args[2], row) if len(window.args) > 2 else None
    return aggregate(first, upto)


def groups_of(select: Select, rows: list[Row], event: Row, past: Past) -> list[Row]:
    """A row for each group: what it is grouped by, its aggregates, and selects that are asked beside them."""
    groups: dict[tuple[Any, ...], list[Row]] = {} if select.groups else {(): []}
    for row in rows:
        key = tuple(_key(evaluate(g.expr, row)) for g in select.groups)
        groups.setdefault(key, []).append(row)
    made = []
    for members in groups.values():
        one = event | {g.name: evaluate(g.expr, members[0]) for g in select.groups}
        one |= {call.name: _extrapolated(call, members, past.scale) for call in select.calls}
        made.append(one | {a.name: answer(a, one, event, past) for a in select.subqueries if a.late})
    return made


def _extrapolated(call: Named, rows: list[Row], scale: float) -> Any:
    value = aggregate(call.expr, rows)
    assert isinstance(call.expr, AggregateCall)
    if scale == 1.0 or value is None or call.expr.function not in ("count", "count_if", "sum"):
        return value
    return round(value * scale) if call.expr.type == LONG else value * scale


def aggregate(call: Expr, rows: list[Row]) -> Any:
    assert isinstance(call, AggregateCall)
    if call.arg is None:
        return len(rows)
    if call.function == "window":
        placed = sorted(rows, key=lambda row: (_place(row), _least_first(evaluate(call.arg, row))))
        return [evaluate(call.arg, row) for row in placed] if rows else None
    if call.function in ("first", "last"):
        placed = sorted(rows, key=_place)
        return evaluate(call.arg, placed[0 if call.function == "first" else -1]) if rows else None
    values = [v for row in rows if (v := evaluate(call.arg, row)) is not None]
    if call.distinct:
        values = list({_key(v): v for v in values}.values())
    if call.function in ("count", "count_if"):
        return len(values) if call.function == "count" else values.count(True)
    return _of_values(call.function, values) if values else None


def _of_values(function: str, values: list[Any]) -> Any:
    ranked = sorted(values, key=order)
    if function in ("min", "max"):
        return ranked[0 if function == "min" else -1]
    if function == "median":
        half = len(ranked) // 2
        low = float(ranked[half - 1])
        return float(ranked[half]) if len(ranked) % 2 else low + 0.5 * (ranked[half] - low)
    return of_values(function, values)


def _key(value: Any) -> Any:
    return value if value is None else order(value)


def _least_first(value: Any) -> tuple[Any, ...]:
    return (value is not None, order(value) if value is not None else 0)


def _without_repetitions(select: Select, made: list[tuple[Row, Row]]) -> list[tuple[Row, Row]]:
    names = [o.name for o in select.outputs]
    return list({tuple(_key(shown[name]) for name in names): (row, shown) for row, shown in made}.values())


def _compared(select: Select, a: tuple[Row, Row], b: tuple[Row, Row]) -> int:
    """ORDER BY; then by time and arrival, or by what is grouped by; then by what is shown."""
    for term in select.order:
        found = _by_term(a[1][term.column], b[1][term.column], term)
        if found:
            return found
    ties = [g.name for g in select.groups] if select.grouped else [WHEN, ARRIVED]
    pairs = [] if select.distinct else [(a[0][name], b[0][name]) for name in ties]
    pairs += [(a[1][o.name], b[1][o.name]) for o in select.outputs]
    for x, y in pairs:
        if _key(x) != _key(y):
            return -1 if x is None or (y is not None and order(x) < order(y)) else 1
    return 0
