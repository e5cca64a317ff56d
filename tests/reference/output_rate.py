"""The slow, obvious twin of the output-rate kernel: rows sorted into intervals, each interval spoken for by its end."""

from __future__ import annotations

from typing import Any

from presage.operators.windows.kernel.spec import ENDED, SEQ, TIME, TIMER
from reference.window_joins import cell

Row = dict[str, Any]


def output_rows(
    mode: str,
    every: int,
    group_by: tuple[str, ...],
    columns: tuple[str, ...],
    order: tuple[str, ...],
    ordinal: str,
    rows: list[Row],
    clock: int,
    end: bool,
) -> list[Row]:
    if not every:  # once, at the end of input
        last = [r for i, r in enumerate(rows) if cell(r, group_by) not in [cell(e, group_by) for e in rows[i + 1 :]]]
        place = {TIME: clock, SEQ: ENDED, **dict.fromkeys(order, 0)}
        return [{**place, ordinal: n, **{c: r[c] for c in columns}} for n, r in enumerate(last)] if end else []
    intervals: dict[int, list[Row]] = {}
    for row in rows:
        intervals.setdefault(row[TIME] // every, []).append(row)
    out: list[Row] = []
    for k in sorted(intervals):
        inside = intervals[k]
        over = any(row[SEQ] == ENDED for row in inside) and (k + 1) * every > clock
        place = {TIME: (k + 1) * every, SEQ: TIMER, **dict.fromkeys(order, 0)}
        if over:
            place |= {TIME: max(row[TIME] for row in inside), SEQ: ENDED}
        if mode == "first":
            firsts = [
                r for i, r in enumerate(inside) if cell(r, group_by) not in [cell(e, group_by) for e in inside[:i]]
            ]
            for row in firsts:
                own = {name: row[name] for name in (TIME, SEQ, *order)}
                number = sum(all(o[n] == v for n, v in own.items()) for o in out)
                out.append({**own, ordinal: number, **{c: row[c] for c in columns}})
            continue
        if mode == "last":
            inside = [
                r for i, r in enumerate(inside) if cell(r, group_by) not in [cell(e, group_by) for e in inside[i + 1 :]]
            ]
        if (k + 1) * every <= clock or end:
            out += [{**place, ordinal: n, **{c: r[c] for c in columns}} for n, r in enumerate(inside)]
    return out
