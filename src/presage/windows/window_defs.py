"""`#name(args)` -> a WindowDef: names, arguments and the few chains that have a meaning."""

from __future__ import annotations

from presage.analyze.epl_names import refuse_window
from presage.analyze.expressions import ExpressionBinder
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.types import is_integral, is_orderable
from presage.plan.expr import Constant, Duration, Expr
from presage.windows.nodes import WindowDef

DURATION = ("time", "time_batch")
LENGTH = ("length", "length_batch")
BY = ("unique", "firstunique", "groupwin")
PLAIN = ("keepall", "lastevent")
# EPL's older spellings.
SPELLINGS = {
    "lengthbatch": "length_batch",
    "timebatch": "time_batch",
    "last_event": "lastevent",
    "first_unique": "firstunique",
}
EXAMPLES = {"time": "5 min", "time_batch": "5 min", "length": "10", "length_batch": "10"}


def bind_window(clauses: tuple[s.WindowClause, ...], binder: ExpressionBinder) -> WindowDef | None:
    """The window of an item, or None; `groupwin` may stand before another window."""
    if not clauses:
        return None
    for clause in clauses:
        refuse_window(clause.name, clause.span)
    first, *rest = clauses
    window = _bind_one(first, binder)
    if not rest:
        return WindowDef("keepall", group=window.by) if window.kind == "groupwin" else window
    if window.kind != "groupwin" or len(rest) > 1:
        before, extra = (rest[0], rest[1]) if window.kind == "groupwin" else (first, rest[0])
        raise error(
            "UNSUPPORTED", extra.span, what=f"#{extra.name} after #{before.name}", where="as a chain",
            fix="only #groupwin(…) may stand before another window",
        )  # fmt: skip
    inner = _bind_one(rest[0], binder)
    if inner.kind == "groupwin":
        raise error("UNSUPPORTED", rest[0].span, what="#groupwin after #groupwin", where="as a chain",
                    fix="write #groupwin(a, b)")  # fmt: skip
    return WindowDef(inner.kind, inner.size, inner.by, group=window.by)


def _bind_one(clause: s.WindowClause, binder: ExpressionBinder) -> WindowDef:
    name = clause.name.lower()
    name = SPELLINGS.get(name, name)
    if name in DURATION:
        return WindowDef(name, _duration(clause, name, binder))
    if name in LENGTH:
        return WindowDef(name, _length(clause, name, binder))
    if name in BY:
        if not clause.args:
            raise error("WINDOW_WITHOUT_BOUND", clause.span, name=name, expected="an expression", example="sym")
        return WindowDef(name, by=tuple(_key(binder, a, name) for a in clause.args))
    if name in PLAIN:
        if clause.args:
            raise error("WRONG_ARGUMENTS", clause.span, name=f"#{name}", expected="no argument", found=len(clause.args))
        return WindowDef(name)
    fix = did_you_mean(clause.name, (*DURATION, *LENGTH, *BY, *PLAIN))
    raise error("UNKNOWN_WINDOW", clause.span, name=clause.name, fix=fix)


def _only_argument(clause: s.WindowClause, name: str, expected: str) -> s.Expr:
    if not clause.args:
        raise error("WINDOW_WITHOUT_BOUND", clause.span, name=name, expected=expected, example=EXAMPLES[name])
    if len(clause.args) > 1:
        raise error(
            "WRONG_ARGUMENTS", clause.span, name=f"#{name}", expected=expected, found=f"{len(clause.args)} arguments"
        )
    return clause.args[0]


def _duration(clause: s.WindowClause, name: str, binder: ExpressionBinder) -> int:
    written = _only_argument(clause, name, "a duration")
    bound = binder.bind_term(written)
    if not isinstance(bound, Duration):
        raise error("TYPE_MISMATCH", written.span, what=f"#{name}", expected="a duration", found=_seen(bound),
                    fix=f"write #{name}({EXAMPLES[name]})")  # fmt: skip
    if bound.micros <= 0:
        raise error("BAD_VALUE", written.span, what=f"the duration of #{name}", found="zero", expected="more than zero")
    return bound.micros


def _length(clause: s.WindowClause, name: str, binder: ExpressionBinder) -> int:
    written = _only_argument(clause, name, "a number of events")
    bound = binder.bind_term(written)
    if not isinstance(bound, Constant) or not is_integral(bound.type):
        raise error("TYPE_MISMATCH", written.span, what=f"#{name}", expected="a number of events", found=_seen(bound),
                    fix=f"write #{name}({EXAMPLES[name]})")  # fmt: skip
    size = bound.value
    assert isinstance(size, int)
    if size < 1:
        raise error("BAD_VALUE", written.span, what=f"the length of #{name}", found=size, expected="at least 1")
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
