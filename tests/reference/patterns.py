"""A pattern and all events come in, the rows that it gives go out: objects that tell their parents what became of them.

Slow and plain, the twin of the compiled kernel. A match is a tuple of (tag, row). A term is started with the match so
far; it tells its parent `true` with a match (`last`: it has ended with it) or `false` (it has ended without one).
"""

from __future__ import annotations

import datetime as dt
import heapq
from collections.abc import Iterator
from itertools import count, groupby, product
from typing import Any

from presage.patterns.kernel import code as op
from presage.patterns.kernel.pattern_spec import SEQ, SOURCE, TIME, TIMER, Argument, Node, PatternSpec, Period

Row = dict[str, Any]
Match = tuple[tuple[int, Row], ...]
EVENT = "_event"  # which event a row is a view of
MOST_TERMS = 3_000
EPOCH = dt.datetime(1970, 1, 1)
# Ordinals of a pattern with keys: see PatternKernel.
SOURCE_STEP, CAUSE_STEP = 1 << 40, 1 << 20


class Term:
    """The running state of one term."""

    def __init__(self, run: Run, number: int, parent: Term | None, begin: Match) -> None:
        self.run, self.node, self.parent, self.begin = run, run.spec.nodes[number], parent, begin
        self.number, self.alive, self.born = number, True, next(run.births)
        if self.born > MOST_TERMS:
            raise TooMuchError
        self.children: list[Term] = []
        self.catching = self.caught = False
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
        if self.low == self.high == self.times:
            self.up(found, True)
        elif self.high < 0 or self.times < self.high:
            if last:
                self.child(0, self.begin).start()
        elif child.alive:
            child.quit()

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


class BadBoundError(Exception):
    pass


class TooMuchError(Exception):
    """The pattern grows beyond what this twin can do in a test."""


class Run:
    """One pattern (of one key) over its events."""

    def __init__(self, spec: PatternSpec, oracle: Any = None) -> None:
        self.spec, self.oracle, self.births = spec, oracle, count()
        self.listening: list[Filter] = []
        self.timers: list[tuple[int, int, int, Any]] = []
        self.found: list[Match] = []
        self.now, self.cause = 0, 0

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
        for term in sorted(self.listening, key=lambda term: term.born):
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


def event_of(row: Row) -> Any:
    return row[EVENT]


def plain(value: Any) -> Any:
    """NaN equals NaN, -0.0 equals 0.0, and null is a value of its own."""
    if isinstance(value, float):
        return "nan" if value != value else value + 0.0
    return value


def add_months(time: int, months: int) -> int:
    if not months:
        return time
    moment = EPOCH + dt.timedelta(microseconds=time)
    total = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(total, 12)
    first = dt.datetime(year, month + 1, 1)
    after = dt.datetime(year + (month == 11), (month + 1) % 12 + 1, 1)
    moved = moment.replace(year=year, month=month + 1, day=min(moment.day, (after - first).days))
    return (moved - EPOCH) // dt.timedelta(microseconds=1)


def evaluate(code: op.Code, program: int, rows: list[Row | None]) -> Any:
    """A program by a stack of Python's own values; only the operations that the tests of patterns write."""
    whole = [name for name, bank in code.columns if bank != op.FLOAT]
    doubles = [name for name, bank in code.columns if bank == op.FLOAT]
    words = list(code.ops[code.starts[program] : code.starts[program + 1]])
    stack: list[Any] = []
    while words:
        word = words.pop(0)
        if word == op.CONST_I:
            stack.append(int(code.ints[words.pop(0)]))
        elif word == op.CONST_F:
            stack.append(float(code.floats[words.pop(0)]))
        elif word == op.CONST_TEXT:
            stack.append(code.texts[words.pop(0)])
        elif word in (op.LOAD_I, op.LOAD_F):
            row, column = rows[words.pop(0)], words.pop(0)
            stack.append(None if row is None else row[(whole if word == op.LOAD_I else doubles)[column]])
        elif word == op.TO_F:
            stack.append(None if stack[-1] is None else float(stack.pop()))
        else:
            right, left = stack.pop(), stack.pop()
            if word in (op.ADD_I,):
                words.pop(0)
            stack.append(None if left is None or right is None else TWO[word](left, right))
    return stack[0]


TWO = {
    op.EQ_I: lambda a, b: a == b,
    op.NE_I: lambda a, b: a != b,
    op.LT_I: lambda a, b: a < b,
    op.GT_I: lambda a, b: a > b,
    op.GE_I: lambda a, b: a >= b,
    op.EQ_F: lambda a, b: plain(a) == plain(b),
    op.ADD_I: lambda a, b: a + b,
    op.ADD_F: lambda a, b: a + b,
}
