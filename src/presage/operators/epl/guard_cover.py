"""The warning about guards that cover less than they seem to: `a -> b -> c WHERE timer:within(1 min)` bounds `c` alone.

A guard binds to the term right before it. Where that is the last part of a longer term without brackets, the warning
suggests brackets around all of it. No warning for one event before the guarded part (in `a -> b WHERE
timer:within(1 min)` the timer starts with `a`), nor for steps in brackets, as in `a -> b -> (c -> d) WHERE …`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from presage.errors import QueryWarning, warning
from presage.lang import syntax as s
from presage.lang.pattern_syntax import (
    AndTerm,
    EventTerm,
    EveryDistinctTerm,
    EveryTerm,
    FollowedBy,
    NotTerm,
    OrTerm,
    PatternSource,
    PatternTerm,
    RepeatTerm,
    TimerGuard,
    TimerTerm,
    WhileGuard,
)
from presage.lang.print_patterns import print_term
from presage.lang.tree_walk import nodes_of

Guard = TimerGuard | WhileGuard
PLACEHOLDER = "_presage_guarded_term"


class _Edge(NamedTuple):
    """A guard at the end of a term: the term without it, and the part of it that the guard does not cover."""

    bare: PatternTerm
    guard: Guard
    left_out: PatternTerm | None


def check_guards(statement: s.Statement, text: str) -> Iterator[QueryWarning]:
    """A warning for each guard that covers only the last part of a term. `text`: the source of the statement."""
    for source in nodes_of(statement):
        if isinstance(source, PatternSource):
            for term in _longest(source.term):
                edge = _edge(term)
                if edge is not None and edge.left_out is not None:
                    yield _warned(source.term, term, edge, _covered(edge))
            for steps in nodes_of(source.term):
                if isinstance(steps, FollowedBy):
                    yield from _amid(source.term, steps, text)


def _amid(whole: PatternTerm, steps: FollowedBy, text: str) -> Iterator[QueryWarning]:
    """Guards in the middle of several steps. Where the step before has a guard too, each is meant for its own step."""
    for end in range(2, len(steps.operands)):
        before, last = steps.operands[:end], steps.operands[end - 1]
        first = FollowedBy(before, steps.limits[: end - 1], span=steps.span._replace(end=last.span.end))
        edge = _edge(first)
        bracketed = text[last.span.end :].lstrip().startswith(")")
        if edge is None or edge.left_out is not first or bracketed or _edge(before[-2]) is not None:
            continue
        covered = _covered(edge)
        parts, limits = (covered.operands, covered.limits) if isinstance(covered, FollowedBy) else ((covered,), ())
        rest, further = steps.operands[end:], steps.limits[end - 1 :]
        yield _warned(whole, steps, edge, replace(steps, operands=(*parts, *rest), limits=(*limits, *further)))


def _warned(whole: PatternTerm, term: PatternTerm, edge: _Edge, covered: PatternTerm) -> QueryWarning:
    guard, outside = edge.guard, edge.left_out
    assert outside is not None
    parts = {
        "guard": print_term(replace(guard, operand=EventTerm("x"))).removeprefix("x "),
        "covered": print_term(guard.operand),
        "rest": _consequence(outside, isinstance(guard, TimerGuard)),
        "all": _suggested(whole, term, covered),
        "alone": print_term(guard),
    }
    return warning("GUARD_COVERS_LAST", guard.span, **parts)


def _suggested(whole: PatternTerm, old: PatternTerm, new: PatternTerm) -> str:
    """The whole pattern with a term replaced. The new term keeps its brackets: without them its guard would again seem
    to cover more."""
    if whole is old:
        return print_term(new)
    return print_term(_replaced(whole, old, EventTerm(PLACEHOLDER))).replace(PLACEHOLDER, f"({print_term(new)})", 1)


def _consequence(term: PatternTerm, timed: bool) -> str:
    """What the guard does not bound, in words."""
    last = _parts(term)[-1]
    if isinstance(term, RepeatTerm) and term.until is None:
        return "it begins anew with each repetition"
    if isinstance(term, RepeatTerm):
        return f"{_short(term.operand)} before it " + ("may take any time" if timed else "is not held to it")
    word = {FollowedBy: " -> ", AndTerm: " AND ", OrTerm: " OR "}[type(term)]
    rest = word.join(map(_short, _parts(term)[:-1]))
    if isinstance(last, NotTerm):
        return f"the NOT ends with it, and {rest} may still come"
    return f"{rest} may take any time" if timed else f"{rest} is not held to it"


def _longest(term: PatternTerm) -> Iterator[PatternTerm]:
    """The longest terms without brackets: in each, a guard at the end may be meant for all of it."""
    yield term
    while True:
        parts = _parts(term)
        for part in parts[:-1]:
            yield from _longest(part)
        if not parts:
            return
        if parts[-1].span.end != term.span.end or isinstance(term, Guard):
            yield from _longest(parts[-1])
            return
        term = parts[-1]


def _parts(term: PatternTerm) -> tuple[PatternTerm, ...]:
    """The terms below, in the order of the text."""
    match term:
        case FollowedBy(operands=operands) | AndTerm(operands=operands) | OrTerm(operands=operands):
            return operands
        case RepeatTerm(operand=operand, until=until):
            return (operand,) if until is None else (operand, until)
        case EventTerm() | TimerTerm():
            return ()
    return (term.operand,)  # type: ignore[attr-defined]


def _with_last(term: PatternTerm, last: PatternTerm) -> PatternTerm:
    match term:
        case FollowedBy() | AndTerm() | OrTerm():
            return replace(term, operands=(*term.operands[:-1], last))
        case RepeatTerm(until=until) if until is not None:
            return replace(term, until=last)
    return replace(term, operand=last)  # type: ignore[call-arg]


def _edge(term: PatternTerm) -> _Edge | None:
    """The guard at the end of a term, with no bracket behind it."""
    if isinstance(term, Guard):
        inner = term
        while _is_in_a_row(inner):
            inner = inner.operand  # type: ignore[assignment]
        return _Edge(inner.operand, term, None)
    parts = _parts(term)
    below = _edge(parts[-1]) if parts and parts[-1].span.end == term.span.end else None
    if below is None:
        return None
    left_out = term if _leaves_out(term, below.guard) else below.left_out
    return _Edge(_with_last(term, below.bare), below.guard, left_out)


def _leaves_out(term: PatternTerm, guard: Guard) -> bool:
    """Whether a guard of the last part leaves another part of the term unbounded."""
    if isinstance(term, FollowedBy):
        while _is_in_a_row(guard):
            guard = guard.operand  # type: ignore[assignment]
        meant = isinstance(guard.operand, FollowedBy)
        return not meant and (len(term.operands) > 2 or not _is_instant(term.operands[0]))
    return isinstance(term, AndTerm | OrTerm | RepeatTerm)


def _is_in_a_row(guard: Guard) -> bool:
    """Whether another guard comes right before it, with no bracket between them."""
    return isinstance(guard.operand, Guard) and guard.operand.span.start == guard.span.start


def _around(guard: Guard, operand: PatternTerm) -> PatternTerm:
    """A guard, with the guards right before it, around another term."""
    inner = guard.operand
    return replace(guard, operand=_around(inner, operand) if _is_in_a_row(guard) else operand)  # type: ignore[arg-type]


def _is_instant(term: PatternTerm) -> bool:
    """Whether a term takes no time: its first event completes it."""
    match term:
        case EventTerm() | TimerTerm():
            return True
        case EveryTerm(operand=operand) | EveryDistinctTerm(operand=operand):
            return _is_instant(operand)
        case OrTerm(operands=operands):
            return all(map(_is_instant, operands))
    return False


def _covered(edge: _Edge) -> PatternTerm:
    """The guard around all of a term. Its timer starts with the first event where possible: `a -> (b -> c) WHERE …`. A
    leading EVERY stays outside of the brackets, else the guard would end it for good."""
    bare = edge.bare
    match bare:
        case FollowedBy(operands=(first, *rest), limits=(limit, *limits)) if _is_instant(first):
            later = FollowedBy(tuple(rest), tuple(limits), span=bare.span) if len(rest) > 1 else rest[0]
            return replace(bare, operands=(first, _around(edge.guard, later)), limits=(limit,))
        case FollowedBy(operands=(first, *rest)) | AndTerm(operands=(first, *rest)) | OrTerm(operands=(first, *rest)):
            if isinstance(first, EveryTerm | EveryDistinctTerm):
                inner = replace(bare, operands=(first.operand, *rest))
                return replace(first, operand=_around(edge.guard, inner))
        case EveryTerm(operand=operand) | EveryDistinctTerm(operand=operand) | NotTerm(operand=operand):
            return replace(bare, operand=_covered(edge._replace(bare=operand)))
    return _around(edge.guard, bare)


def _replaced(whole: PatternTerm, old: PatternTerm, new: PatternTerm) -> PatternTerm:
    if whole is old:
        return new
    match whole:
        case FollowedBy(operands=operands) | AndTerm(operands=operands) | OrTerm(operands=operands):
            return replace(whole, operands=tuple(_replaced(o, old, new) for o in operands))
        case RepeatTerm(operand=operand, until=until):
            until = None if until is None else _replaced(until, old, new)
            return replace(whole, operand=_replaced(operand, old, new), until=until)
        case EventTerm() | TimerTerm():
            return whole
    return replace(whole, operand=_replaced(whole.operand, old, new))  # type: ignore[attr-defined,call-arg]


def _short(term: PatternTerm) -> str:
    """A term as a person would name it: by its tag or type."""
    match term:
        case EventTerm(tag=tag, name=name):
            return tag or name
        case EveryTerm(operand=operand) | EveryDistinctTerm(operand=operand):
            return _short(operand)
        case NotTerm(operand=operand):
            return f"NOT {_short(operand)}"
    return print_term(term)
