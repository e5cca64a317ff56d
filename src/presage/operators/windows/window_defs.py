"""The binder of window clauses `#name(args)`: names, arguments, and the chains that are supported."""

from __future__ import annotations

from dataclasses import replace

from presage.analyze.expressions import ExpressionBinder
from presage.errors import did_you_mean, error, unsupported
from presage.functions.epl_functions import YET
from presage.lang import syntax as s
from presage.model.text import Span
from presage.model.types import is_integral, is_orderable
from presage.operators.windows.nodes import WindowDef
from presage.operators.windows.window_types import (
    DURATION,
    EVENTS,
    KEYS,
    OFFSET,
    SLIDE,
    SPELLINGS,
    KeepAll,
    WindowType,
    window_types,
)
from presage.plan.expr import Constant, Duration, Expr

GROUPWIN = "groupwin"  # before another window: one of that window for each value
# Windows of EPL that the language does not have, each with what to write instead. They are refused by name: the nearest
# known name would have another meaning.
_BATCH = "#time_batch(…) closes by time alone, and #length_batch(…) by the number of events"
_STATISTICS = "use aggregates over the window: count, avg, stddev"
EPL_WINDOWS = {
    **dict.fromkeys(["time_to_live", "timetolive", "sort", "rank", "expr", "expr_batch", "linest", "correl"], ""),
    "ext_timed": "all time is event time: where the expression is that, #time(…) is the same",
    "ext_timed_batch": "all time is event time: where the expression is that, #time_batch(…) is nearly the same, but "
    "it starts at the first event",
    "time_length_batch": _BATCH,
    "time_accum": "#session(…) closes after a pause",
    "time_order": "events are put in order within max_delay before a statement sees them: #time(…) holds them",
    "firstlength": "#length(…) holds the last events, not the first",
    "firsttime": "#time(…) holds the last events, not the first",
    "firstevent": "#lastevent holds the last event, not the first",
    "uni": _STATISTICS,
    "size": "write count(*) over the window",
    "weighted_avg": "write sum(x * w) / sum(w) over the window",
}


def bind_window(clauses: tuple[s.WindowClause, ...], binder: ExpressionBinder) -> WindowDef | None:
    """The window of an item, or None; `groupwin` may precede another window."""
    if not clauses:
        return None
    for clause in clauses:
        _refuse_epl_window(clause.name, clause.span)
    first, *rest = clauses
    window = _bind_one(first, binder)
    if not rest:
        return WindowDef(KeepAll.name, group=window.by) if window.kind == GROUPWIN else window
    if window.kind != GROUPWIN or len(rest) > 1:
        before, extra = (rest[0], rest[1]) if window.kind == GROUPWIN else (first, rest[0])
        fix = "only #groupwin(…) may precede another window"
        raise unsupported(extra.span, f"#{extra.name} after #{before.name}", "as a chain", fix)
    inner = _bind_one(rest[0], binder)
    if inner.kind == GROUPWIN:
        raise unsupported(rest[0].span, "#groupwin after #groupwin", "as a chain", "write #groupwin(a, b)")
    if inner.type.has_bounds:
        divides = (
            "#session(…, key) has sessions for each key" if inner.type.then == KEYS else "GROUP BY divides its events"
        )
        fix = f"leave #groupwin out: {divides}"
        raise unsupported(rest[0].span, f"#groupwin before #{inner.kind}", "as a chain", fix)
    return WindowDef(inner.kind, inner.size, inner.by, group=window.by)


def _refuse_epl_window(name: str, span: Span) -> None:
    if name.lower() in EPL_WINDOWS:
        raise error("UNSUPPORTED", span, what=f"#{name}", where=YET, fix=EPL_WINDOWS[name.lower()])


def _bind_one(clause: s.WindowClause, binder: ExpressionBinder) -> WindowDef:
    name = clause.name.lower()
    name = SPELLINGS.get(name, name)
    if name == GROUPWIN:
        return WindowDef(name, by=_keys(clause, name, binder))
    kind = next((each for each in window_types() if each.name == name), None)
    if kind is None:
        names = [*(each.name for each in window_types()), GROUPWIN]
        raise error("UNKNOWN_WINDOW", clause.span, name=clause.name, fix=did_you_mean(clause.name, names))
    if kind.then:
        return _with_more(clause, kind, binder)
    if kind.is_sized:
        return WindowDef(kind.name, _size(clause, kind, binder))
    if kind.takes == KEYS:
        return WindowDef(kind.name, by=_keys(clause, name, binder))
    if clause.args:
        raise error("WRONG_ARGUMENTS", clause.span, name=f"#{name}", expected=kind.takes, found=len(clause.args))
    return WindowDef(kind.name)


def _keys(clause: s.WindowClause, name: str, binder: ExpressionBinder) -> tuple[Expr, ...]:
    if not clause.args:
        raise error("WINDOW_WITHOUT_BOUND", clause.span, name=name, expected=KEYS, example="sym")
    return tuple(_key(binder, a, name) for a in clause.args)


def _size(clause: s.WindowClause, kind: WindowType, binder: ExpressionBinder) -> int:
    """The only argument: microseconds, or a number of events."""
    if not clause.args:
        raise error("WINDOW_WITHOUT_BOUND", clause.span, name=kind.name, expected=kind.takes, example=kind.example)
    name, found = f"#{kind.name}", f"{len(clause.args)} arguments"
    if len(clause.args) > 1:
        raise error("WRONG_ARGUMENTS", clause.span, name=name, expected=kind.takes, found=found, fix=_example(kind))
    (written,) = clause.args
    bound = binder.bind_term(written)
    if kind.takes == DURATION and isinstance(bound, Duration):
        if bound.micros <= 0:
            what = f"the duration of {name}"
            raise error("BAD_VALUE", written.span, what=what, found="zero", expected="more than zero")
        return bound.micros
    if kind.takes == EVENTS and isinstance(bound, Constant) and is_integral(bound.type):
        assert isinstance(bound.value, int)
        if bound.value < 1:
            what = f"the length of {name}"
            raise error("BAD_VALUE", written.span, what=what, found=bound.value, expected="at least 1")
        return bound.value
    found = _described(bound)
    raise error("TYPE_MISMATCH", written.span, what=name, expected=kind.takes, found=found, fix=_example(kind))


def _example(kind: WindowType) -> str:
    return f"write #{kind.name}({kind.example})"


def _with_more(clause: s.WindowClause, kind: WindowType, binder: ExpressionBinder) -> WindowDef:
    """A window with further arguments after its size."""
    size, further = _size(replace(clause, args=clause.args[:1]), kind, binder), clause.args[1:]
    name = f"#{kind.name}"
    if kind.then == KEYS:
        return WindowDef(kind.name, size, by=tuple(_key(binder, each, kind.name) for each in further))
    expected = "a duration and a slide" if kind.then == SLIDE else "a duration, and an offset if need be"
    if len(further) > 1 or (kind.then == SLIDE and not further):
        found = f"{len(clause.args)} argument{'s' if len(clause.args) > 1 else ''}"
        raise error("WRONG_ARGUMENTS", clause.span, name=name, expected=expected, found=found, fix=_example(kind))
    if not further:
        return WindowDef(kind.name, size)
    what = f"{kind.then.removeprefix('a ').removeprefix('an ')} of {name}"
    bound = binder.bind_term(further[0])
    if not isinstance(bound, Duration):
        found, fix = _described(bound), _example(kind) if kind.then == SLIDE else f"write {name}({kind.example}, 1 min)"
        raise error("TYPE_MISMATCH", further[0].span, what=f"the {what}", expected=DURATION, found=found, fix=fix)
    if kind.then == OFFSET:
        return WindowDef(kind.name, size, offset=bound.micros % size)
    if bound.micros <= 0:
        raise error("BAD_VALUE", further[0].span, what=f"the {what}", found="zero", expected="more than zero")
    return WindowDef(kind.name, size, slide=bound.micros)


def _key(binder: ExpressionBinder, written: s.Expr, name: str) -> Expr:
    if isinstance(binder.bind_term(written), Duration):
        what = f"a key of #{name}"
        raise error("TYPE_MISMATCH", written.span, what=what, expected="an attribute", found="a duration")
    bound = binder.bind(written)
    if not is_orderable(bound.type):
        expected = "values that can be compared"
        raise error("TYPE_MISMATCH", written.span, what=f"#{name}", expected=expected, found=bound.type)
    return bound


def _described(bound: Expr) -> str:
    if isinstance(bound, Duration):
        return "a duration"
    return str(bound.type) if isinstance(bound, Constant) else "an expression that changes from event to event"
