"""`#name(args)` -> a WindowDef: names, arguments and the few chains that have a meaning."""

from __future__ import annotations

from presage.analyze.epl_names import refuse_window
from presage.analyze.expressions import ExpressionBinder
from presage.errors import did_you_mean, error, unsupported
from presage.lang import syntax as s
from presage.model.types import is_integral, is_orderable
from presage.operators.windows.nodes import WindowDef
from presage.operators.windows.window_types import (
    DURATION,
    EVENTS,
    KEYS,
    SPELLINGS,
    WindowType,
    window_types,
)
from presage.plan.expr import Constant, Duration, Expr

GROUPWIN = "groupwin"  # before another window: one such window for each value


def bind_window(clauses: tuple[s.WindowClause, ...], binder: ExpressionBinder) -> WindowDef | None:
    """The window of an item, or None; `groupwin` may stand before another window."""
    if not clauses:
        return None
    for clause in clauses:
        refuse_window(clause.name, clause.span)
    first, *rest = clauses
    window = _bind_one(first, binder)
    if not rest:
        return WindowDef("keepall", group=window.by) if window.kind == GROUPWIN else window
    if window.kind != GROUPWIN or len(rest) > 1:
        before, extra = (rest[0], rest[1]) if window.kind == GROUPWIN else (first, rest[0])
        raise unsupported(
            extra.span,
            f"#{extra.name} after #{before.name}",
            "as a chain",
            "only #groupwin(…) may stand before another window",
        )
    inner = _bind_one(rest[0], binder)
    if inner.kind == GROUPWIN:
        raise unsupported(rest[0].span, "#groupwin after #groupwin", "as a chain", "write #groupwin(a, b)")
    return WindowDef(inner.kind, inner.size, inner.by, group=window.by)


def _bind_one(clause: s.WindowClause, binder: ExpressionBinder) -> WindowDef:
    name = clause.name.lower()
    name = SPELLINGS.get(name, name)
    if name == GROUPWIN:
        return WindowDef(name, by=_keys(clause, name, binder))
    kind = next((each for each in window_types() if each.name == name), None)
    if kind is None:
        known = [*(each.name for each in window_types()), GROUPWIN]
        raise error("UNKNOWN_WINDOW", clause.span, name=clause.name, fix=did_you_mean(clause.name, known))
    if kind.takes == DURATION:
        return WindowDef(kind.name, _duration(clause, kind, binder))
    if kind.takes == EVENTS:
        return WindowDef(kind.name, _length(clause, kind, binder))
    if kind.takes == KEYS:
        return WindowDef(kind.name, by=_keys(clause, name, binder))
    if clause.args:
        raise error("WRONG_ARGUMENTS", clause.span, name=f"#{name}", expected=kind.takes, found=len(clause.args))
    return WindowDef(kind.name)


def _keys(clause: s.WindowClause, name: str, binder: ExpressionBinder) -> tuple[Expr, ...]:
    if not clause.args:
        raise error("WINDOW_WITHOUT_BOUND", clause.span, name=name, expected=KEYS, example="sym")
    return tuple(_key(binder, a, name) for a in clause.args)


def _only_argument(clause: s.WindowClause, kind: WindowType) -> s.Expr:
    if not clause.args:
        raise error("WINDOW_WITHOUT_BOUND", clause.span, name=kind.name, expected=kind.takes, example=kind.example)
    if len(clause.args) > 1:
        raise error(
            "WRONG_ARGUMENTS",
            clause.span,
            name=f"#{kind.name}",
            expected=kind.takes,
            found=f"{len(clause.args)} arguments",
        )
    return clause.args[0]


def _duration(clause: s.WindowClause, kind: WindowType, binder: ExpressionBinder) -> int:
    written = _only_argument(clause, kind)
    bound = binder.bind_term(written)
    if not isinstance(bound, Duration):
        raise error(
            "TYPE_MISMATCH",
            written.span,
            what=f"#{kind.name}",
            expected=DURATION,
            found=_seen(bound),
            fix=f"write #{kind.name}({kind.example})",
        )
    if bound.micros <= 0:
        raise error(
            "BAD_VALUE", written.span, what=f"the duration of #{kind.name}", found="zero", expected="more than zero"
        )
    return bound.micros


def _length(clause: s.WindowClause, kind: WindowType, binder: ExpressionBinder) -> int:
    written = _only_argument(clause, kind)
    bound = binder.bind_term(written)
    if not isinstance(bound, Constant) or not is_integral(bound.type):
        raise error(
            "TYPE_MISMATCH",
            written.span,
            what=f"#{kind.name}",
            expected=EVENTS,
            found=_seen(bound),
            fix=f"write #{kind.name}({kind.example})",
        )
    size = bound.value
    assert isinstance(size, int)
    if size < 1:
        raise error("BAD_VALUE", written.span, what=f"the length of #{kind.name}", found=size, expected="at least 1")
    return size


def _key(binder: ExpressionBinder, written: s.Expr, name: str) -> Expr:
    bound = binder.bind(written)
    if not is_orderable(bound.type):
        raise error(
            "TYPE_MISMATCH", written.span, what=f"#{name}", expected="values that can be compared", found=bound.type
        )
    return bound


def _seen(bound: Expr) -> str:
    if isinstance(bound, Duration):
        return "a duration"
    return str(bound.type) if isinstance(bound, Constant) else "an expression that changes from event to event"
