"""The slow, obvious twin of the join kernel: at each step the live set of each item by definition, and what changed.

Rows are dicts, steps are tuples (time, seq, *order). Nothing is shared with the kernel but the names of columns.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from presage.operators.windows.kernel.join import JoinSource, Link
from presage.operators.windows.kernel.spec import CHANGE, ORDINAL, PASS, SEQ, SOURCE, TIME, TIMER, Window

Row = dict[str, Any]
Step = tuple[int, ...]


def canonical(value: Any) -> Any:
    """A value such that equal values, and only they, are equal in Python."""
    if isinstance(value, float):
        return ("nan",) if math.isnan(value) else ("float", value + 0.0)
    return (type(value).__name__, value)


def cell(row: Row, columns: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(canonical(row[c]) for c in columns)


def step_of(row: Row, order: tuple[str, ...]) -> Step:
    return (row[TIME], row[SEQ], *(row[o] for o in order))


def timer(time: int, order: tuple[str, ...]) -> Step:
    return (time, TIMER, *(0 for _ in order))


def by_cell(rows: list[Row], columns: tuple[str, ...]) -> list[list[Row]]:
    cells: dict[Any, list[Row]] = {}
    for row in rows:
        cells.setdefault(cell(row, columns), []).append(row)
    return list(cells.values())


def timer_times(window: Window, rows: list[Row], clock: int) -> set[int]:
    if window.kind == "time":
        return {r[TIME] + window.size for r in rows}
    if window.kind == "time_batch":
        starts = [group[0][TIME] for group in by_cell(rows, window.group)]
        return {t for start in starts for t in range(start + window.size, clock + 1, window.size)}
    return set()


def live_rows(window: Window, rows: list[Row], now: int) -> list[Row]:
    """Which of the rows that have arrived are in the window, when all timers due by `now` have fired."""
    if window.kind in ("none", "keepall"):
        return rows
    if window.kind == "time":
        return [r for r in rows if r[TIME] + window.size > now]
    live = []
    if window.kind in ("unique", "firstunique"):
        for group in by_cell(rows, window.group + window.by):
            live.append(group[-1] if window.kind == "unique" else group[0])
        return live
    for group in by_cell(rows, window.group):
        if window.kind == "length":
            live += group[-window.size :]
        elif window.kind == "lastevent":
            live += group[-1:]
        elif window.kind == "length_batch":
            closed = len(group) // window.size
            live += group[max(closed - 1, 0) * window.size : closed * window.size]
        elif window.kind == "time_batch":
            start = group[0][TIME]
            boundary = start + (now - start) // window.size * window.size
            live += [r for r in group if boundary - window.size <= r[TIME] < boundary]
    return live


def linked(links: tuple[Link, ...], members: tuple[Row, ...]) -> bool:
    for link in links:
        for a, b in zip(link.left_columns, link.right_columns, strict=True):
            left, right = members[link.left][a], members[link.right][b]
            if left is None or right is None or canonical(left) != canonical(right):
                return False
    return True


def join_windows(
    sources: tuple[JoinSource, ...],
    links: tuple[Link, ...],
    changelog: bool,
    order: tuple[str, ...],
    events: list[Row],
    clock: int,
) -> list[Row]:
    """All rows that the join emits for `events` when its clock has come to `clock`."""
    of_source: list[list[Row]] = []
    for i, source in enumerate(sources):
        rows = source.static.to_pylist() if source.static is not None else [e for e in events if e[SOURCE] == i]
        of_source.append([{**row, "place": place} for place, row in enumerate(rows)])
    steps = {step_of(e, order) for e in events}
    for source, rows in zip(sources, of_source, strict=True):
        if source.static is None:
            steps |= {timer(t, order) for t in timer_times(source.window, rows, clock) if t <= clock}
    out: list[Row] = []
    before: dict[tuple[int, ...], tuple[Row, ...]] = {}
    if all(source.static is not None for source in sources):
        return out
    for step in sorted(steps):
        live = []
        for source, rows in zip(sources, of_source, strict=True):
            if source.static is not None:
                live.append(rows)
            else:
                arrived = [r for r in rows if step_of(r, order) <= step]
                live.append([r for r in live_rows(source.window, arrived, step[0]) if r.get(PASS, True)])
        tuples = [t for t in itertools.product(*live) if linked(links, t)]
        now = {tuple(m["place"] for m in members): members for members in tuples}
        changed = [(-1, key, before[key]) for key in sorted(before.keys() - now.keys())] if changelog else []
        changed += [(1, key, now[key]) for key in sorted(now.keys() - before.keys())]
        for ordinal, (change, _, members) in enumerate(changed):
            out.append(result_row(sources, order, step, ordinal, change if changelog else None, members))
        before = now
    return out


def result_row(
    sources: tuple[JoinSource, ...],
    order: tuple[str, ...],
    step: Step,
    ordinal: int,
    change: int | None,
    members: tuple[Row, ...],
) -> Row:
    row = {**dict(zip((TIME, SEQ, *order), step, strict=True)), ORDINAL: ordinal}
    if change is not None:
        row[CHANGE] = change
    for source, member in zip(sources, members, strict=True):
        row.update({c: member[c] for c in source.columns})
    for i, (source, member) in enumerate(zip(sources, members, strict=True)):
        if source.static is not None:
            row[f"_row{i}"] = member["place"]
        else:
            row[f"_t{i}"] = member[TIME]
            row[f"_seq{i}"] = member[SEQ]
            row.update({f"_o{i}_{o}": member[o] for o in order})
    return row
