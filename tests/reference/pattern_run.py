"""One pattern (of one key) while it runs: events and timers in, the matches of each moment out."""

from __future__ import annotations

import heapq
from itertools import count, permutations
from typing import Any

from presage.operators.epl.kernel.spec import Argument, Node, PatternSpec, Period
from reference.pattern_programs import Row, add_months, evaluate
from reference.pattern_states import KINDS, MOST_TERMS, Filter, Match, TooMuchError, event_of


class BadBoundError(Exception):
    pass


def ranks(nodes: Any) -> list[int]:
    """Of each term: filters of higher rank see an event first. What a NOT forbids is seen before the other sides of its
    AND, and what ends a repeat not after what is repeated."""

    def below(number: int) -> set[int]:
        return {number}.union(*(below(child) for child in nodes[number].children))

    def denies(number: int) -> bool:
        guarded = nodes[number].kind in ("within", "while") and denies(nodes[number].children[0])
        return guarded or nodes[number].kind == "not"

    rules = []  # a term, another, and by how much the rank of the one is above that of the other
    for node in nodes:
        for one, other in permutations(node.children, 2):
            if node.kind == "and" and denies(one) and not denies(other):
                rules += [(a, b, 1) for a in below(one) for b in below(other)]
            elif node.kind == "until" and one == node.children[1]:
                rules += [(a, b, 0) for a in below(one) for b in below(other)]
    known = [0] * len(nodes)
    while wrong := [(a, b, more) for a, b, more in rules if known[a] < known[b] + more]:
        for a, b, more in wrong:
            known[a] = max(known[a], known[b] + more)
    return known


class Run:
    """One pattern (of one key) over its events."""

    def __init__(self, spec: PatternSpec, oracle: Any = None) -> None:
        self.spec, self.oracle, self.births = spec, oracle, count()
        self.listening: list[Filter] = []
        self.timers: list[tuple[int, int, int, Any]] = []
        self.found: list[Match] = []
        self.now, self.cause = 0, 0
        self.ranks = ranks(spec.nodes)

    # -- time ---------------------------------------------------------------------------------------

    def after(self, period: Period | None, match: Match) -> int | None:
        assert period is not None
        span = period.micros
        if period.program >= 0:
            seconds = self.value(period.program, [self.row(a, match, None) for a in period.arguments])
            if seconds is None or seconds != seconds:
                return None
            span += round(seconds * 1_000_000)
        return add_months(self.now, period.months) + span

    def set_timer(self, term: Any, due: int) -> None:
        heapq.heappush(self.timers, (due, term.born, self.cause, term))

    # -- values -------------------------------------------------------------------------------------

    def row(self, argument: Argument, match: Match, current: Row | None) -> Row | None:
        if argument.tag is None:
            return current
        rows = [row for tag, row in match if tag == argument.tag]
        index = -1 if argument.index is None else argument.index
        return rows[index] if -len(rows) <= index < len(rows) else None

    def value(self, program: int, rows: list[Row | None]) -> Any:
        return evaluate(self.spec.code, program, rows)

    def answer(self, number: int, arguments: list[Any]) -> bool:
        return bool(self.oracle(number, arguments))

    def bounds(self, node: Node, begin: Match) -> tuple[int, int]:
        rows = [self.row(a, begin, None) for a in node.arguments]
        low = node.low if node.low_program < 0 else self.value(node.low_program, rows)
        high = node.high if node.high_program < 0 else self.value(node.high_program, rows)
        if low is None or high is None:
            raise BadBoundError(node.text)
        if (node.high_program >= 0 and high < 1) or (node.low_program >= 0 and low < 1) or -1 < high < low:
            raise BadBoundError(node.text)
        return max(low, 0), high

    # -- running ------------------------------------------------------------------------------------

    def start(self, at: int) -> None:
        self.now = at
        self.root = KINDS[self.spec.nodes[0].kind](self, 0, None, ())
        self.root.start()

    def matched(self, match: Match) -> None:
        self.found.append(match)
        if len(self.found) > MOST_TERMS:
            raise TooMuchError

    def moment(self) -> list[Match]:
        """The matches of this moment, and what they end."""
        found, self.found = self.found, []
        if self.spec.discard and found:
            events = {event_of(row) for match in found for _, row in match}
            if events and self.root.alive:
                self.root.discard(events)
        if not self.spec.suppress:
            return found
        shown, taken = [], set()
        for match in found:
            events = {event_of(row) for _, row in match}
            if not events & taken:
                shown.append(match)
                taken |= events
        return shown

    def offer(self, rows: list[Row]) -> list[Match]:
        """Rows of one event."""
        passing = []
        for term in sorted(self.listening, key=lambda term: (-self.ranks[term.number], term.born)):
            for row in rows:
                if term.accepts(row):
                    passing.append((term, row))
                    break
        level = max((term.node.consume for term, _ in passing), default=0)
        for term, row in passing:
            if term.alive and term.node.consume == level:
                term.react(row)
        return self.moment()

    def ring(self, due: int) -> list[tuple[Match, int]]:
        """All timers of one time; each match with the arrival that caused its timer."""
        self.now = due
        causes = []
        while self.timers and self.timers[0][0] == due:
            _, _, self.cause, term = heapq.heappop(self.timers)
            if term.alive:
                term.fire()
            causes += [self.cause] * (len(self.found) - len(causes))
        made = list(zip(self.found, causes, strict=True))
        shown = self.moment()
        result = []
        for match, cause in made:
            if any(match is other for other in shown):
                result.append((match, cause))
        return result

    def next_due(self) -> int | None:
        while self.timers and not self.timers[0][3].alive:
            heapq.heappop(self.timers)
        return self.timers[0][0] if self.timers else None
