"""A pattern and all events come in, the rows that it gives go out: slow and plain, the twin of the compiled kernel."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from presage.operators.epl.kernel.spec import SEQ, SOURCE, TIME, TIMER, PatternSpec
from reference.pattern_programs import Row, plain
from reference.pattern_run import Run
from reference.pattern_states import EVENT, Match, TooMuchError, event_of

__all__ = ["TooMuchError", "run_pattern"]
# Ordinals of a pattern with keys: see PatternKernel.
SOURCE_STEP, CAUSE_STEP = 1 << 40, 1 << 20


def run_pattern(spec: PatternSpec, events: list[Row], clock: int, oracle: Any = None) -> list[Row]:
    """Rows in the order of (TIME, SEQ, order columns, ordinal). Events are sorted; `clock` is where time ends."""
    events = [row | {EVENT: tuple(row[name] for name in (TIME, SEQ, *spec.order))} for row in events]
    if not spec.keys:
        return _one(spec, events, clock, oracle, spec.begin)
    rows: list[Row] = []
    keys: list[Any] = []
    for event in events:
        key = [plain(event[name]) for name in spec.keys]
        if key not in keys:
            keys.append(key)
    for key in keys:
        own = [event for event in events if [plain(event[name]) for name in spec.keys] == key]
        rows += _one(spec, own, clock, oracle, None)
    return sorted(rows, key=lambda row: tuple(row[name] for name in (TIME, SEQ, *spec.order, spec.ordinal)))


def _one(spec: PatternSpec, events: list[Row], clock: int, oracle: Any, begin: int | None) -> list[Row]:
    run, rows = Run(spec, oracle), []
    groups = [list(g) for _, g in groupby(events, event_of)]

    def ring(until: int) -> None:
        while (due := run.next_due()) is not None and due <= until:
            first, highest = _timer_moment(spec, due), 0
            for n, (match, cause) in enumerate(run.ring(due)):
                highest = max(highest, cause)
                rows.append(_shown(spec, first, n + (CAUSE_STEP * highest if spec.keys else 0), match))

    started = False
    if begin is not None and (groups or clock >= begin):
        run.start(begin)
        rows += [_shown(spec, _timer_moment(spec, begin), n, m) for n, m in enumerate(run.moment())]
        started = True
    for group in groups:
        if started:
            ring(group[0][TIME])
        run.now, run.cause = group[0][TIME], max(group[0][SEQ], 0)
        if not started:
            run.start(run.now)
            started = True
        base = SOURCE_STEP * group[0][SOURCE] if spec.keys else 0
        rows += [_shown(spec, group[0], base + n, match) for n, match in enumerate(run.offer(group))]
    if started:
        ring(clock)
    return rows


def _timer_moment(spec: PatternSpec, due: int) -> Row:
    return {TIME: due, SEQ: TIMER, **dict.fromkeys(spec.order, 0)}


def _shown(spec: PatternSpec, moment: Row, ordinal: int, match: Match) -> Row:
    row = {name: moment[name] for name in (TIME, SEQ, *spec.order)} | {spec.ordinal: ordinal}
    for shown in spec.shown:
        found = [r[shown.column] for tag, r in match if tag == shown.tag]
        repeated = spec.tags[shown.tag].repeated
        if repeated and shown.index is None:
            row[shown.output] = found
            continue
        index = -1 if shown.index is None else shown.index
        row[shown.output] = found[index] if -len(found) <= index < len(found) else None
    return row
