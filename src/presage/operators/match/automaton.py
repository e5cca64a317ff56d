"""The position automaton of a pattern: no empty transitions, edges in order of preference.

First the tree becomes a graph of small steps (take a row, choose, pass an anchor, repeat a loop). Then, from each step
that takes a row, a depth-first walk collects the next ones, preferred edges first. A loop ends after a round that took
no row. Cost: positions times the steps between two of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import permutations
from math import factorial

from presage.errors import error
from presage.operators.match.kernel.spec import ACCEPT, Automaton, Edge
from presage.operators.match.regex import (
    Alternation,
    Concat,
    Empty,
    EndAnchor,
    Exclude,
    Permute,
    Regex,
    Repeat,
    StartAnchor,
    Variable,
)

MOST_POSITIONS = 10_000
MOST_EDGES = 100_000

# Kinds of steps, and the meaning of their `ways`.
TAKE = "take"  # the step after the row
CHOOSE = "choose"  # the alternatives, preferred first
ENTER = "enter"  # the first step of the round
ROUND = "round"  # after a round: repeat the loop; leave it, as a round without rows must
START, END = "start", "end"  # the step after the anchor
DONE = "done"


@dataclass
class _Step:
    kind: str
    ways: list[int] = field(default_factory=list)
    number: int = -1  # TAKE: the position; ENTER and ROUND: the loop


def build_automaton(pattern: Regex, variables: tuple[str, ...] | None = None) -> Automaton:
    """`variables` sets the order of the labels, and may have names that do not occur in the pattern."""
    size = count_positions(pattern)
    if size > MOST_POSITIONS:
        raise _too_large("variables with repetitions expanded", MOST_POSITIONS)
    return _Builder(variables if variables is not None else variables_of(pattern)).build(pattern)


def variables_of(pattern: Regex) -> tuple[str, ...]:
    """In the order of their first appearance."""
    if isinstance(pattern, Variable):
        return (pattern.name,)
    if isinstance(pattern, Concat | Alternation | Permute):
        return tuple(dict.fromkeys(name for item in pattern.items for name in variables_of(item)))
    if isinstance(pattern, Repeat | Exclude):
        return variables_of(pattern.item)
    return ()


def count_positions(pattern: Regex) -> int:
    if isinstance(pattern, Variable):
        return 1
    if isinstance(pattern, Concat | Alternation):
        return sum(map(count_positions, pattern.items))
    if isinstance(pattern, Permute):
        return factorial(len(pattern.items)) * sum(map(count_positions, pattern.items))
    if isinstance(pattern, Repeat):
        rounds = max(pattern.low, 1) if pattern.high is None else pattern.high
        return rounds * count_positions(pattern.item)
    return count_positions(pattern.item) if isinstance(pattern, Exclude) else 0


class _Builder:
    def __init__(self, variables: tuple[str, ...]) -> None:
        self._variables = variables
        self._steps: list[_Step] = []
        self._labels: list[int] = []
        self._excluded: list[bool] = []
        self._takes: list[int] = []  # the step of each position
        self._loops = 0
        self._edges = 0

    def build(self, pattern: Regex) -> Automaton:
        first = self._lay(pattern, self._add(DONE), False)
        ways = self._ways_from(first, True)
        follow = tuple(self._ways_from(self._steps[take].ways[0], False) for take in self._takes)
        return self._numbered(ways, follow)

    def _numbered(self, first: tuple[Edge, ...], follow: tuple[tuple[Edge, ...], ...]) -> Automaton:
        """Renumbers the positions in the order of the walk; unreachable ones are dropped."""
        number: dict[int, int] = {}
        lists = [first]
        for ways in lists:  # grows while it is walked
            for edge in ways:
                if edge.target != ACCEPT and edge.target not in number:
                    number[edge.target] = len(number)
                    lists.append(follow[edge.target])
        number[ACCEPT] = ACCEPT
        renumbered = [tuple(replace(edge, target=number[edge.target]) for edge in ways) for ways in lists]
        reached = [position for position in number if position != ACCEPT]
        return Automaton(
            self._variables,
            tuple(self._labels[position] for position in reached),
            tuple(self._excluded[position] for position in reached),
            renumbered[0],
            tuple(renumbered[1:]),
        )

    def _add(self, kind: str, *ways: int, number: int = -1) -> int:
        self._steps.append(_Step(kind, list(ways), number))
        if len(self._steps) > MOST_EDGES:
            raise _too_large("steps", MOST_EDGES)
        return len(self._steps) - 1

    # -- the graph, built from its end ---------------------------------------------------------

    def _lay(self, pattern: Regex, then: int, hidden: bool) -> int:
        """The first step of the pattern, after which `then` follows."""
        if isinstance(pattern, Variable):
            self._labels.append(self._variables.index(pattern.name))
            self._excluded.append(hidden)
            self._takes.append(self._add(TAKE, then, number=len(self._takes)))
            return self._takes[-1]
        if isinstance(pattern, Concat):
            for item in reversed(pattern.items):
                then = self._lay(item, then, hidden)
            return then
        if isinstance(pattern, Alternation):
            return self._add(CHOOSE, *[self._lay(item, then, hidden) for item in pattern.items])
        if isinstance(pattern, Permute):
            orders = [Concat(order) for order in permutations(pattern.items)]
            return self._add(CHOOSE, *[self._lay(order, then, hidden) for order in orders])
        if isinstance(pattern, Repeat):
            return self._lay_rounds(pattern, then, hidden)
        if isinstance(pattern, Exclude):
            return self._lay(pattern.item, then, True)
        if isinstance(pattern, StartAnchor):
            return self._add(START, then)
        if isinstance(pattern, EndAnchor):
            return self._add(END, then)
        if isinstance(pattern, Empty):
            return then
        raise error("INTERNAL", what=f"a pattern cannot hold {pattern!r}")

    def _lay_rounds(self, pattern: Repeat, then: int, hidden: bool) -> int:
        out = then
        if pattern.high is None:
            # The last required round is also the one that repeats.
            self._loops += 1
            loop = self._add(CHOOSE)
            again = self._add(ROUND, loop, out, number=self._loops)
            body = self._lay(pattern.item, again, hidden)
            entry = self._add(ENTER, body, number=self._loops)
            self._steps[loop].ways = [entry, out] if pattern.greedy else [out, entry]
            then = entry if pattern.low else loop
            rest = pattern.low - 1
        else:
            for _ in range(pattern.high - pattern.low):
                self._loops += 1
                again = self._add(ROUND, then, out, number=self._loops)
                body = self._lay(pattern.item, again, hidden)
                entry = self._add(ENTER, body, number=self._loops)
                then = self._add(CHOOSE, *((entry, out) if pattern.greedy else (out, entry)))
            rest = pattern.low
        for _ in range(rest):
            then = self._lay(pattern.item, then, hidden)
        return then

    # -- edges from one row to the next --------------------------------------------------------------------

    def _ways_from(self, step: int, before_any: bool) -> tuple[Edge, ...]:
        edges: dict[Edge, None] = {}
        seen: set[tuple[int, bool, bool, frozenset[int]]] = set()
        # The stack of the walk, preferred on top: step, anchors passed, loops whose round took no row so far.
        left: list[tuple[int, bool, bool, frozenset[int]]] = [(step, False, False, frozenset())]
        while left:
            here = left.pop()
            if here in seen:
                continue
            seen.add(here)
            number, at_start, at_end, entered = here
            now = self._steps[number]
            if now.kind in (TAKE, DONE):
                # No row follows the last one; an anchored edge is redundant beside the same edge without anchors.
                target = ACCEPT if now.kind == DONE else now.number
                if not (at_end and target != ACCEPT) and Edge(target) not in edges:
                    edges.setdefault(Edge(target, at_start, at_end))
                continue
            ways = now.ways
            if now.kind == START:
                if not before_any:
                    continue
                at_start = True
            elif now.kind == END:
                if before_any:
                    continue  # a match is at a row, so the partition has not ended before it
                at_end = True
            elif now.kind == ENTER:
                entered |= {now.number}
            elif now.kind == ROUND:
                ways = now.ways[1:] if now.number in entered else now.ways[:1]
            left.extend((way, at_start, at_end, entered) for way in reversed(ways))
        self._edges += len(edges)
        if self._edges > MOST_EDGES:
            raise _too_large("edges from one variable to the next", MOST_EDGES)
        return tuple(edges)


def _too_large(what: str, limit: int) -> Exception:
    return error(
        "LIMIT",
        what="the pattern",
        limit_name=what,
        limit=limit,
        fix="use smaller repetition counts, or fewer items in PERMUTE",
    )
