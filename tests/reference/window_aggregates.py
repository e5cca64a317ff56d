"""Slow, obvious twins of the aggregate kernels: events as a list of dicts in processing order in, rows as tuples out.

Written from the definitions: for each event the window is built anew from all events so far, and each aggregate from
the list of what is in the window.
"""

from __future__ import annotations

import math
import statistics
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import reduce
from typing import Any

from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, TIME, TIMER, Aggregate, Window
from presage.operators.windows.window_types import START

Event = dict[str, Any]
Row = tuple[Any, ...]


def same(value: Any) -> Any:
    """What two values have in common when they count as one: NaN is NaN, -0.0 is 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, dict):
        return tuple((name, same(field)) for name, field in value.items())
    if isinstance(value, list):
        return ("list", *map(same, value))
    return (type(value).__name__, value)


def key_of(event: Event, columns: tuple[str, ...]) -> Any:
    return tuple(same(event[c]) for c in columns)


def by_key(events: list[Event], columns: tuple[str, ...]) -> list[list[Event]]:
    parts: dict[Any, list[Event]] = {}
    for event in events:
        parts.setdefault(key_of(event, columns), []).append(event)
    return list(parts.values())


def passes(event: Event) -> bool:
    return event.get(PASS, True) is True


# -- aggregates ---------------------------------------------------------------------------------------


def rank(value: Any) -> Any:
    """Sort key: NaN after everything, text by its bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def total(values: list[Any]) -> Any:
    if all(isinstance(v, int) for v in values):
        return sum(values)
    if any(not math.isfinite(v) for v in values):
        return sum(values)
    return math.fsum(values)


def apply(aggregate: Aggregate, events: list[Event]) -> Any:
    if aggregate.column is None:
        return len(events)
    values = [e[aggregate.column] for e in events]
    if aggregate.function == "window":
        return values
    if aggregate.function == "corr":
        return correlation([(v["x1"], v["x2"]) for v in values if v and v["x1"] is not None and v["x2"] is not None])
    if aggregate.function == "count_if":
        return sum(v is True for v in values)
    if aggregate.function in ("first", "last"):
        return values[0 if aggregate.function == "first" else -1]
    values = [v for v in values if v is not None]
    if aggregate.distinct:
        values = list({same(v): v for v in values}.values())
    if aggregate.function == "count":
        return len(values)
    if not values:
        return None
    if isinstance(values[0], Decimal) and aggregate.function in ("sum", "avg"):
        return of_decimals(aggregate, values)
    if aggregate.function == "sum":
        return total(values)
    if aggregate.function == "avg":
        return total(values) / len(values)
    if aggregate.function == "min":
        return min(values, key=rank)
    if aggregate.function == "max":
        return max(values, key=rank)
    if aggregate.function == "median":
        return percentile([float(v) for v in values], 0.5)
    if aggregate.function == "percentile":
        return percentile([float(v) for v in values], aggregate.constants[0])
    if aggregate.function == "stddev":
        if len(values) < 2:
            return None
        return statistics.stdev(map(float, values)) if all(map(math.isfinite, values)) else math.nan
    raise ValueError(aggregate.function)


DIGITS = {"d": (10, 2), "w": (38, 4)}  # of the columns of decimals
EXACT = Context(prec=200, rounding=ROUND_HALF_UP)


def of_decimals(aggregate: Aggregate, values: list[Decimal]) -> Decimal | None:
    """A sum has ten digits more, a mean four more, behind the point, too; what has more than 38 is null."""
    assert aggregate.column is not None
    precision, scale = DIGITS[aggregate.column]
    whole = reduce(EXACT.add, values)
    if whole.copy_abs() >= EXACT.power(10, min(38, precision + 10) - scale):
        return None
    if aggregate.function == "sum":
        return whole.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    mean = EXACT.divide(whole, Decimal(len(values))).quantize(Decimal(1).scaleb(-scale - 4), context=EXACT)
    return mean if mean.copy_abs() < EXACT.power(10, min(38, precision + 4) - scale - 4) else None


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values, key=rank)
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high or place % 1 == 0 else low + (place - math.floor(place)) * (high - low)


def correlation(pairs: list[tuple[float, float]]) -> float | None:
    """With whole numbers as ratios: nothing is rounded before the end."""
    if len(pairs) < 2:
        return None
    if not all(math.isfinite(v) for pair in pairs for v in pair):
        return math.nan
    xs, ys = ([Fraction(v) for v in each] for each in zip(*pairs, strict=True))
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    xx, yy = sum((v - x) ** 2 for v in xs), sum((v - y) ** 2 for v in ys)
    xy = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return float(xy) / math.sqrt(xx) / math.sqrt(yy) if xx and yy else None


# -- sliding windows -------------------------------------------------------------------------------------


def contents(window: Window, seen: list[Event]) -> list[Event]:
    """What is in the window after the last of `seen` arrived, in order of arrival."""
    now = seen[-1][TIME]
    inside: list[Event] = []
    for part in by_key(seen, window.group):
        if window.kind in ("none", "keepall"):
            inside += part
        elif window.kind == "time":
            inside += [e for e in part if now - window.size < e[TIME] <= now]
        elif window.kind == "length":
            inside += part[-window.size :]
        elif window.kind == "lastevent":
            inside.append(part[-1])
        elif window.kind == "unique":
            inside += [same_key[-1] for same_key in by_key(part, window.by)]
        elif window.kind == "firstunique":
            inside += [same_key[0] for same_key in by_key(part, window.by)]
        else:
            raise ValueError(window.kind)
    return [e for e in seen if any(e is other for other in inside)]


def sliding_rows(
    window: Window,
    group_by: tuple[str, ...],
    aggregates: tuple[Aggregate, ...],
    carry: tuple[str, ...],
    order: tuple[str, ...],
    events: list[Event],
) -> list[Row]:
    rows = []
    for i, event in enumerate(events):
        inside = contents(window, events[: i + 1])
        if not passes(event) or not any(event is e for e in inside):
            continue
        mine = [e for e in inside if passes(e) and key_of(e, group_by) == key_of(event, group_by)]
        rows.append(
            (
                *(event[c] for c in (TIME, SEQ, *order, *carry)),
                *(apply(a, mine) for a in aggregates),
            )
        )
    return rows


# -- batch windows -----------------------------------------------------------------------------------------


def batch_rows(
    window: Window,
    group_by: tuple[str, ...],
    grouped: bool,
    aggregates: tuple[Aggregate, ...],
    carry: tuple[str, ...],
    order: tuple[str, ...],
    events: list[Event],
    clock: int,
) -> list[Row]:
    """When a batch closes it takes the place of the one before it, in each group of the window; aggregates run over all
    that is held then."""
    closings: list[tuple[Any, int, list[Event]]] = []  # place of the rows, group of the window, events
    for group, part in enumerate(by_key(events, window.group)):
        for place, batch in batches_of(window, part, order, clock):
            closings.append((place, group, [e for e in batch if passes(e)]))
    closings.sort(key=lambda c: c[:2])
    rows: list[Row] = []
    ordinals: dict[Any, int] = {}
    held: dict[int, list[Event]] = {}  # by group, in the order of their closing
    for place, group, batch in closings:
        lost = held.pop(group, [])
        held[group] = batch
        live = [e for members in held.values() for e in members]
        if grouped:
            members = [
                [e for e in live if key_of(e, group_by) == key_of(g[0], group_by)]
                for g in by_key(batch + lost, group_by)
            ]
            made = [(m[-1], m) for m in members if m]
        elif carry:
            made = [(e, live) for e in batch]
        else:
            made = [(live[-1], live)] if live and (batch or lost) else []
        for event, members in made:
            ordinal = ordinals[place] = ordinals.get(place, -1) + 1
            rows.append((*place, ordinal, *(event[c] for c in carry), *(apply(a, members) for a in aggregates)))
    return rows


def batches_of(window: Window, part: list[Event], order: tuple[str, ...], clock: int) -> list[tuple[Any, list[Event]]]:
    if window.kind == "length_batch":
        chunks = [part[i : i + window.size] for i in range(0, len(part), window.size)]
        return [(tuple(c[-1][n] for n in (TIME, SEQ, *order)), c) for c in chunks if len(c) == window.size]
    if window.kind == "tumble":
        spans: dict[int, list[Event]] = {}
        for e in part:
            spans.setdefault(e[TIME] + window.size - (e[TIME] - window.offset) % window.size, []).append(e)
        return [((end, TIMER, *(0 for _ in order)), inside) for end, inside in spans.items()]
    if window.kind == "hop":
        size, slide = window.size, window.slide
        starts = {k * slide for e in part for k in range((e[TIME] - size) // slide + 1, e[TIME] // slide + 1)}
        held = [(start + size, [e for e in part if start <= e[TIME] < start + size]) for start in sorted(starts)]
        return [((end, TIMER, *(0 for _ in order)), inside) for end, inside in held]
    if window.kind == "session":
        open_: dict[Any, list[Event]] = {}
        sessions: list[list[Event]] = []
        for e in part:
            mine = open_.get(key_of(e, window.by))
            if mine is None or e[TIME] - mine[-1][TIME] >= window.size:
                mine = open_[key_of(e, window.by)] = []
                sessions.append(mine)
            mine.append(e)
        return [
            ((s[-1][TIME] + window.size, TIMER, *(0 for _ in order)), [{**e, START: s[0][TIME]} for e in s])
            for s in sessions
        ]
    batches = []
    boundary = part[0][TIME] + window.size
    while boundary <= clock:
        batch = [e for e in part if boundary - window.size <= e[TIME] < boundary]
        batches.append(((boundary, TIMER, *(0 for _ in order)), batch))
        boundary += window.size
    return batches


# -- changelogs ------------------------------------------------------------------------------------------


def changelog_rows(
    group_by: tuple[str, ...],
    grouped: bool,
    aggregates: tuple[Aggregate, ...],
    carry: tuple[str, ...],
    order: tuple[str, ...],
    identity: tuple[str, ...],
    changes: list[Event],
) -> list[Row]:
    rows = []
    live: list[Event] = []
    place_columns = (TIME, SEQ, *order)
    for place in dict.fromkeys(tuple(c[n] for n in place_columns) for c in changes):
        step = [c for c in changes if tuple(c[n] for n in place_columns) == place]
        entered = [c for c in step if c[CHANGE] > 0]
        for c in step:
            if c[CHANGE] < 0:
                live = [e for e in live if key_of(e, identity) != key_of(c, identity)]
            else:
                live.append(c)
        emitting = [(g[0], g[-1]) for g in by_key(entered, group_by)] if grouped else [(e, e) for e in entered]
        for first, event in emitting:
            mine = [e for e in live if key_of(e, group_by) == key_of(event, group_by)]
            rows.append((*place, first[ORDINAL], *(event[c] for c in carry), *(apply(a, mine) for a in aggregates)))
    return rows
