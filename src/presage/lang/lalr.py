"""The LALR(1) parser: runs the tables of a grammar over a text and calls the builders of its rules.

Lark turns the grammar files into tables (`tables.py`); this machine runs them, so that parsing does not need Lark and
its start-up time. Its stack is a list: no nesting of the text can exhaust Python's own stack.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from presage.errors import PresageError, error
from presage.lang.lexer import END, Lexer, Token
from presage.lang.scanner import MAX_DEPTH
from presage.model.text import Span

# Above the need of any text within the depth limit: a level of nesting takes a dozen states at most.
MAX_STACK = 20 * MAX_DEPTH
# Called with the span of the rule and the values of its parts; keywords and marks are left out.
Builder = Callable[..., Any]


class Rule(NamedTuple):
    """One production. `shape` lists the indices of the parts for the builder, -1 for an absent optional part.

    Parts in `spliced` are repetitions: the items of their lists become parts. Without a builder the value is the list
    of the parts, or, if the rule `passes`, its only part.
    """

    origin: str
    size: int
    builder: Builder | None
    passes: bool
    shape: tuple[int, ...]
    spliced: frozenset[int]


class Trace(NamedTuple):
    """The tokens of a run, and the stacks of states before each of the last two."""

    tokens: list[Token]
    stacks: deque[tuple[int, ...]]


class StuckError(Exception):
    """The tables have no action for a token. A trace shows which tokens were possible."""


class Machine:
    """The tables of one grammar with the builders of its nodes. It has no state of a run: threads may share it."""

    def __init__(self, tables: dict[str, Any], builders: dict[str, Builder]) -> None:
        self.states: list[dict[str, int]] = tables["states"]
        self.goals: dict[str, tuple[int, int]] = {goal: (at, end) for goal, (at, end) in tables["goals"].items()}
        self.rules = [
            Rule(origin, size, builders[name] if name else None, passes, tuple(shape), frozenset(spliced))
            for origin, size, name, passes, shape, spliced in tables["rules"]
        ]
        self.lexer = Lexer(tables["lexer"])
        self.terminals = self.lexer.kinds | {END}

    def run(self, text: str, span: Span, goal: str, trace: Trace | None = None) -> Any:
        """The value of the goal for the text in `span`."""
        table, rules, next_token = self.states, self.rules, self.lexer.next_token
        start, accepting = self.goals[goal]
        states, values, starts, ends = [start], [], [], []
        position = span.start
        while True:
            token = next_token(text, position, span.end, table[states[-1]])
            if trace is not None:
                trace.tokens.append(token)
                trace.stacks.append(tuple(states))
            if len(states) > MAX_STACK:
                raise error("QUERY_TOO_DEEP", token.span, limit=MAX_DEPTH)
            kind, position = token.kind, token.end
            while True:
                action = table[states[-1]].get(kind)
                if action is None:
                    raise StuckError(token)
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    starts.append(token.start)
                    ends.append(token.end)
                    break
                rule = rules[-action - 1]
                size = rule.size
                if rule.passes and size == 1:
                    # Fast path: most reductions only move up a level of precedence, with the same value and span.
                    states[-1] = table[states[-2]][rule.origin]
                    if kind == END and states[-1] == accepting:
                        return values[-1]
                    continue
                # An empty rule is placed at the end of the text before it.
                place = Span(starts[-size], ends[-1]) if size else Span(*[ends[-1] if ends else span.start] * 2)
                value = _reduce(rule, values, place)
                if size:
                    del states[-size:], values[-size:], starts[-size:], ends[-size:]
                states.append(table[states[-1]][rule.origin])
                values.append(value)
                starts.append(place.start)
                ends.append(place.end)
                if kind == END and states[-1] == accepting:
                    return value

    def trace(self, text: str, span: Span, goal: str) -> Trace:
        """The trace of a text that fails, up to the failing token."""
        trace = Trace([], deque(maxlen=2))
        with suppress(StuckError, PresageError):
            self.run(text, span, goal, trace)
        return trace

    def acceptable(self, stack: tuple[int, ...]) -> set[str]:
        """The terminals that could follow. The row of the state alone has too many: LALR merges lookaheads."""
        return {kind for kind in self.states[stack[-1]] if kind in self.terminals and self._can_take(stack, kind)}

    def _can_take(self, stack: tuple[int, ...], kind: str) -> bool:
        states = list(stack)
        while True:
            action = self.states[states[-1]].get(kind)
            if action is None or action >= 0:
                return action is not None
            rule = self.rules[-action - 1]
            if rule.size:
                del states[-rule.size :]
            states.append(self.states[states[-1]][rule.origin])
            if any(states[-1] == end for _, end in self.goals.values()):
                return kind == END


def _reduce(rule: Rule, values: list[Any], place: Span) -> Any:
    parts = values[-rule.size :] if rule.size else []
    if rule.passes:
        return parts[rule.shape[0]]
    chosen: list[Any] = []
    for index in rule.shape:
        if index < 0:
            chosen.append(None)
        elif index in rule.spliced:
            # The list of a repetition grows in place, so that n parts take linear time.
            if chosen:
                chosen += parts[index]
            else:
                chosen = parts[index]
        else:
            chosen.append(parts[index])
    return chosen if rule.builder is None else rule.builder(place, *chosen)
