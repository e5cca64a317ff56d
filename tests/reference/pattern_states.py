"""Running terms of a pattern: objects that tell their parents what became of them.

A match is a tuple of (tag, row). A term is started with the match so far; it tells its parent `true` with a match
(`last`: it has ended with it) or `false` (it has ended without one).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from presage.operators.epl.kernel.spec import SOURCE
from reference.pattern_programs import Row, plain

if TYPE_CHECKING:
    from reference.pattern_run import Run

Match = tuple[tuple[int, Row], ...]
EVENT = "_event"  # which event a row is a view of
MOST_TERMS = 3_000


class TooMuchError(Exception):
    """The pattern grows beyond what this twin can do in a test."""


def event_of(row: Row) -> Any:
    return row[EVENT]


class Term:
    """The running state of one term."""

    def __init__(self, run: Run, number: int, parent: Term | None, begin: Match) -> None:
        self.run, self.node, self.parent, self.begin = run, run.spec.nodes[number], parent, begin
        self.number, self.alive, self.born = number, True, next(run.births)
        if self.born > MOST_TERMS:
            raise TooMuchError
        self.children: list[Term] = []
        self.catching = self.caught = self.fresh = False
        self.seen: dict[Any, int | None] = {}

    def child(self, position: int, begin: Match) -> Term:
        number = self.node.children[position]
        term = KINDS[self.run.spec.nodes[number].kind](self.run, number, self, begin)
        term.position = position
        self.children.append(term)
        return term

    position = 0

    def quit(self) -> None:
        self.alive = False
        if self.parent and self in self.parent.children:
            self.parent.children.remove(self)
        for child in list(self.children):
            child.quit()

    def up(self, match: Match, last: bool) -> None:
        """Tell the parent that this turned true."""
        if last:
            self.quit()
        if self.parent is None:
            self.run.matched(match)
        elif self.catching:
            self.caught = True
        elif self.parent.alive:
            self.parent.true(self, match, last)

    def fail(self) -> None:
        """Tell the parent that this can no longer turn true."""
        self.quit()
        if self.parent is not None and self.parent.alive and not self.catching:
            self.parent.false(self)

    def start(self) -> None:
        raise NotImplementedError

    def true(self, child: Term, match: Match, last: bool) -> None:
        raise NotImplementedError

    def false(self, child: Term) -> None:
        self.fail()

    def held(self) -> Iterator[Match]:
        yield self.begin

    def discard(self, events: set[Any]) -> None:
        """End what holds one of these events."""
        if any(event_of(row) in events for match in self.held() for _, row in match):
            self.fail()
            return
        for child in list(self.children):
            if child.alive:
                child.discard(events)


class Filter(Term):
    def start(self) -> None:
        self.run.listening.append(self)

    def accepts(self, row: Row) -> bool:
        node = self.node
        if row[SOURCE] != node.source or (node.flag is not None and not row[node.flag]):
            return False
        rows = [self.run.row(argument, self.begin, row) for argument in node.arguments]
        if node.program >= 0 and not self.run.value(node.program, rows):
            return False
        if node.asked < 0:
            return True
        arguments = [rows[k][column] if rows[k] else None for k, column in node.asked_columns]
        return bool(self.run.answer(node.asked, arguments))

    def react(self, row: Row) -> None:
        match = self.begin if self.node.tag < 0 else (*self.begin, (self.node.tag, row))
        # Below what would start it again at once, a filter goes on listening.
        stays = self.parent is not None and self.parent.node.kind in ("every", "distinct", "until")
        self.up(match, not stays)

    def quit(self) -> None:
        super().quit()
        if self in self.run.listening:
            self.run.listening.remove(self)


class Interval(Term):
    def start(self) -> None:
        due = self.run.after(self.node.period, self.begin)
        if due is not None and due <= self.run.now:
            self.up(self.begin, True)
        elif due is not None:
            self.run.set_timer(self, due)

    def fire(self) -> None:
        self.up(self.begin, True)


class Followed(Term):
    def start(self) -> None:
        self.child(0, self.begin).start()

    def true(self, child: Term, match: Match, last: bool) -> None:
        after = child.position + 1
        if after == len(self.node.children):
            self.up(match, last and not self.children)
            return
        limit = self.node.limits[child.position] if self.node.limits else -1
        if limit < 0 or sum(c.position == after for c in self.children) < limit:
            self.child(after, match).start()

    def false(self, child: Term) -> None:
        if not self.children:
            self.fail()

    def held(self) -> Iterator[Match]:
        yield from ()


class Or(Term):
    def start(self) -> None:
        self.started = 0
        for position in range(len(self.node.children)):
            if self.alive:
                self.started += 1
                self.child(position, self.begin).start()

    def true(self, child: Term, match: Match, last: bool) -> None:
        self.up(match, last)

    def false(self, child: Term) -> None:
        if not self.children and self.started == len(self.node.children):
            self.fail()

    def held(self) -> Iterator[Match]:
        yield from ()


class And(Term):
    def start(self) -> None:
        self.matches: list[list[Match]] = [[] for _ in self.node.children]
        for position in range(len(self.node.children)):
            if self.alive:
                self.child(position, self.begin).start()

    def true(self, child: Term, match: Match, last: bool) -> None:
        here = child.position
        waiting = [c for c in self.children if not isinstance(c, Not) and (c is not child or not last)]
        if not last and child not in self.children:
            waiting.append(child)
        others = [self.matches[p] for p in range(len(self.matches)) if p != here]
        complete = all(others)
        # A match is kept only while another side may still turn true.
        if not complete or any(c is not child for c in waiting):
            self.matches[here].append(match)
        if not complete:
            return
        if not waiting:
            self.quit()
        grown = len(self.begin)
        found = [match + tuple(e for other in chosen for e in other[grown:]) for chosen in product(*others)]
        for k, each in enumerate(found):
            self.up(each, not waiting and k == len(found) - 1)

    def held(self) -> Iterator[Match]:
        for matches in self.matches:
            yield from matches


class Not(Term):
    def start(self) -> None:
        self.child(0, self.begin).start()
        if self.alive:
            self.up(self.begin, False)

    def true(self, child: Term, match: Match, last: bool) -> None:
        if last:
            self.fail()

    def false(self, child: Term) -> None:
        pass

    def discard(self, events: set[Any]) -> None:
        pass


class Every(Term):
    def start(self) -> None:
        self.spawn({})

    def spawn(self, seen: dict[Any, int | None]) -> None:
        child = self.child(0, self.begin)
        child.seen = seen
        child.catching = True
        child.start()
        child.catching = False
        # True from its very start: it would be started for ever.
        if child.caught and child.alive:
            child.quit()

    def true(self, child: Term, match: Match, last: bool) -> None:
        if not isinstance(child, Filter):
            self.spawn({})
        self.up(match, False)

    def false(self, child: Term) -> None:
        self.spawn({})


class Distinct(Every):
    def true(self, child: Term, match: Match, last: bool) -> None:
        rows = [self.run.row(argument, match, None) for argument in self.node.arguments]
        key = tuple(plain(self.run.value(program, rows)) for program, _ in self.node.keys)
        known = key in child.seen and (child.seen[key] is None or self.run.now < child.seen[key])
        if not known:
            child.seen[key] = None if self.node.period is None else self.run.after(self.node.period, self.begin)
        if not isinstance(child, Filter):
            self.spawn(dict(child.seen))
        if not known:
            self.up(match, False)


class Until(Term):
    def start(self) -> None:
        self.low, self.high = self.run.bounds(self.node, self.begin)
        self.times, self.gathered = 0, self.begin
        if len(self.node.children) > 1:
            self.child(1, self.begin).start()
        if self.alive:
            self.child(0, self.begin).start()

    def true(self, child: Term, match: Match, last: bool) -> None:
        found = self.gathered + match[len(self.begin) :]
        if child.position == 1:
            if self.times < self.low:
                self.fail()
            else:
                self.up(found, True)
            return
        if 0 <= self.high <= self.times:
            return
        self.gathered, self.times = found, self.times + 1
        # A round that took neither an event nor time would be followed by its like for ever.
        if child.fresh:
            self.times = max(self.times, self.low)
        if self.low == self.high == self.times:
            self.up(found, True)
        elif self.high < 0 or self.times < self.high:
            if last and not child.fresh:
                self.another()
        elif child.alive:
            child.quit()

    def another(self) -> None:
        child = self.child(0, self.begin)
        child.fresh = True
        child.start()
        child.fresh = False

    def held(self) -> Iterator[Match]:
        yield self.gathered


class Within(Term):
    def start(self) -> None:
        self.times = 0
        due = self.run.after(self.node.period, self.begin)
        if due is None or due <= self.run.now:
            self.fail()
            return
        self.run.set_timer(self, due)
        self.child(0, self.begin).start()

    def true(self, child: Term, match: Match, last: bool) -> None:
        self.times += 1
        if 0 <= self.node.most < self.times:
            self.fail()
        else:
            self.up(match, last)

    def fire(self) -> None:
        self.fail()


class While(Term):
    def start(self) -> None:
        self.child(0, self.begin).start()

    def true(self, child: Term, match: Match, last: bool) -> None:
        rows = [self.run.row(argument, match, None) for argument in self.node.arguments]
        if self.run.value(self.node.program, rows):
            self.up(match, last)
        else:
            self.fail()


KINDS: dict[str, type[Term]] = {
    "filter": Filter,
    "followed": Followed,
    "and": And,
    "or": Or,
    "not": Not,
    "every": Every,
    "distinct": Distinct,
    "until": Until,
    "within": Within,
    "while": While,
    "interval": Interval,
}
