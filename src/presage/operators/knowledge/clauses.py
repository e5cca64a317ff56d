"""The clause form (FILTER, JOIN, SEQ, WINDOW, PATH) of a query, rewritten to the general form.

The clauses are constraints. Each moves to the first place where all its events are known: the filter of a stream,
before its window; the filter of a later event of the sequence; else WHERE. A sequence matches every combination of
events that fulfils the constraints, in order and within the window.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from presage.errors import did_you_mean, error
from presage.functions.aggregates import is_aggregate
from presage.lang import pattern_syntax as pattern
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import EventVariable, FilterPart, JoinPart, Path, PathPart, SequencePart, WindowPart
from presage.lang.tree_walk import nodes_of
from presage.model.text import Span
from presage.operators.knowledge.filters import TRUE, all_of
from presage.operators.knowledge.path_text import unsupported

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
# The positions of a window's first and last event, and the window.
Guard = tuple[int, int, WindowPart]
# The parts of a PATH by event.
Split = Callable[[Path], Sequence[tuple[str | None, Path]]]


def is_clause_form(query: s.Query) -> bool:
    return bool(query.parts) or any(isinstance(node, EventVariable) for node in nodes_of(query))


def general_form(query: s.Query, split: Split) -> s.Query:
    """The query without clauses; `split` divides a PATH by event."""
    names = [item.alias or item.name for item in query.items]
    sequences = [part for part in query.parts if isinstance(part, SequencePart)]
    windows = [part for part in query.parts if isinstance(part, WindowPart)]
    parts: list[SequencePart | WindowPart] = [*sequences, *windows]
    for part in parts:
        for name in part.events:
            if name not in names:
                fix = did_you_mean(name, names, f"add (?{name}, …) to FROM")
                raise error("UNKNOWN_ALIAS", part.span, name=f"?{name}", fix=fix)
    if len(sequences) > 1:
        raise error("SYNTAX", sequences[1].span, found="a second SEQ", expected="at most one", fix="write one of them")
    query, having = _with_having(query)
    conditions = _conditions(query, split)
    plain = replace(query, parts=(), where=None, having=having)
    if sequences:
        return _sequence(plain, sequences[0], windows, conditions, names)
    return _items(plain, windows, conditions, names)


def _with_having(query: s.Query) -> tuple[s.Query, s.Expr | None]:
    """Move comparisons of aggregates to HAVING: `SELECT AVG(x) > 500 AS a` reports averages above 500."""
    select, having = [], [query.having] if query.having is not None else []
    for item in query.select:
        expr = item.expr
        if isinstance(expr, s.Binary) and expr.op in COMPARISONS:
            sides = [side for side in (expr.left, expr.right) if isinstance(side, s.Call) and is_aggregate(side.name)]
            if len(sides) == 1:
                having.append(expr)
                item = replace(item, expr=sides[0])
        select.append(item)
    return replace(query, select=tuple(select)), all_of(having) if having else None


def _conditions(query: s.Query, split: Split) -> list[s.Expr]:
    found: list[s.Expr] = []
    written = [query.where] if query.where is not None else []
    for part in query.parts:
        if isinstance(part, FilterPart | JoinPart | PathPart):
            written.append(part.condition)
    for condition in written:
        for each in condition.operands if isinstance(condition, s.AllOf) else (condition,):
            found += [path for _, path in split(each)] if isinstance(each, Path) else [each]
    return found


def _mentioned(condition: s.Expr, names: Sequence[str]) -> list[str]:
    """The events of a condition."""
    found: set[str] = set()
    for node in nodes_of(condition):
        if isinstance(node, s.Name | EventVariable):
            found.add(node.name)
        elif isinstance(node, Path):
            found.update(name for name in names if re.search(rf"[?$]{name}\b", node.text))
    return [name for name in names if name in found]


def _items(
    query: s.Query, windows: Sequence[WindowPart], conditions: Sequence[s.Expr], names: Sequence[str]
) -> s.Query:
    filters: dict[str, list[s.Expr]] = {name: [] for name in names}
    rest: list[s.Expr] = []
    for condition in conditions:
        mentioned = _mentioned(condition, names)
        (filters[mentioned[0]] if len(mentioned) == 1 else rest).append(condition)
    items = []
    for item, name in zip(query.items, names, strict=True):
        own = ([item.condition] if item.condition is not None else []) + filters[name]
        clauses = tuple(_window(part) for part in windows if name in part.events)
        if len(item.windows) + len(clauses) > 1:
            raise error("SYNTAX", windows[-1].span, found=f"a second window of ?{name}", expected="at most one")
        items.append(replace(item, condition=all_of(own) if own else None, windows=(*item.windows, *clauses)))
    return replace(query, items=tuple(items), where=all_of(rest) if rest else None)


def _window(part: WindowPart) -> s.WindowClause:
    timed = isinstance(part.size, s.DurationLiteral)
    name = {"sliding": "time" if timed else "length", "batch": "time_batch" if timed else "length_batch"}[part.form]
    return s.WindowClause(name, (part.size,), span=part.span)


def _sequence(
    query: s.Query,
    part: SequencePart,
    windows: Sequence[WindowPart],
    conditions: Sequence[s.Expr],
    names: Sequence[str],
) -> s.Query:
    if sorted(part.events) != sorted(names):
        missing = next((n for n in names if n not in part.events), None)
        why = f"?{missing} is in FROM and not in SEQ" if missing else "SEQ names an event twice"
        raise unsupported(part.span, "this SEQ", f"because {why}", "name every event of FROM once")
    by_name = dict(zip(names, query.items, strict=True))
    filters: dict[str, list[s.Expr]] = {name: [] for name in names}
    for condition in conditions:
        mentioned = _mentioned(condition, part.events) or [part.events[0]]
        filters[mentioned[-1]].append(condition)
    terms: list[pattern.PatternTerm] = []
    for name in part.events:
        item = by_name[name]
        own = ([item.condition] if item.condition is not None else []) + filters[name]
        whole = all_of(own)
        event = pattern.EventTerm(item.name, name, None if whole == TRUE else whole, span=item.span)
        terms.append(pattern.EveryTerm(event, span=item.span))
    for window in windows:
        if window.form != "sliding" or not isinstance(window.size, s.DurationLiteral) or len(window.events) < 2:
            fix = "write WINDOW (?a, ?b, 5 min): the time between the first event and the last"
            raise unsupported(window.span, "this WINDOW", "together with SEQ", fix)
    chain = _chain(terms, _guards(part, windows), part.span)
    source = pattern.PatternSource(chain, span=part.span)
    return replace(query, items=(s.FromItem("", pattern=source, name_span=part.span, span=part.span),))


def _guards(part: SequencePart, windows: Sequence[WindowPart]) -> list[Guard]:
    """The positions of the first and the last event of each window, the widest first."""
    found = []
    for window in windows:
        places = sorted(part.events.index(name) for name in window.events)
        found.append((places[0], places[-1], window))
    found.sort(key=lambda guard: guard[0] - guard[1])
    for i, (low, high, window) in enumerate(found):
        for other_low, other_high, _ in found[:i]:
            apart = low >= other_high or high <= other_low
            if not apart and not (other_low <= low and high <= other_high):
                what, fix = "a WINDOW that overlaps another", "let one of them hold the other"
                raise unsupported(window.span, what, "together with SEQ", fix)
    return found


def _chain(terms: Sequence[pattern.PatternTerm], guards: Sequence[Guard], span: Span) -> pattern.PatternTerm:
    """The chain of the terms. Those after the first event of a window are under its guard."""
    operands: list[pattern.PatternTerm] = []
    at = 0
    while at < len(terms):
        outer = next((g for g in guards if g[0] + 1 == at), None)
        if outer is None:
            operands.append(terms[at])
            at += 1
            continue
        low, high, window = outer
        inner = [(a - at, b - at, w) for a, b, w in guards if a >= at and b <= high and w is not window]
        same = [w for a, b, w in guards if (a, b) == (low, high) and w is not window]
        guarded = _chain(terms[at : high + 1], inner, span)
        for each in (window, *same):
            guarded = pattern.TimerGuard(guarded, "timer:within", ((pattern.PeriodPart(each.size),),), span=each.span)
        operands.append(guarded)
        at = high + 1
    return (
        operands[0]
        if len(operands) == 1
        else pattern.FollowedBy(tuple(operands), (None,) * (len(operands) - 1), span=span)
    )
