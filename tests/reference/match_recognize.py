"""A slow, obvious twin of the MATCH_RECOGNIZE kernel: finished input and the pattern's tree in, rows in order out.

Plain backtracking: the tree yields every way to match, the preferred one first, and the first way that comes to its end
is the match. A row is due at the last moment that the search so far in its partition had to wait for: a row that it
looked at, a bound that it ran into, or the end of input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from presage.operators.match.kernel.spec import ENDED, SEQ, TIME, TIMER
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
from reference.pattern_programs import add_months

Row = dict[str, Any]
END = 1 << 62


class SkipError(Exception):
    """The skip clause names a variable that the match does not have, or its first row."""


@dataclass(frozen=True)
class Condition:
    """All parts must be true. `nearby(at)` may call at(moved), up to `ahead` rows on; `bound(view)` sees the match."""

    flag: str | None = None
    nearby: Callable[[Callable[[int], Row | None]], bool | None] | None = None
    ahead: int = 0
    bound: Callable[[View], bool | None] | None = None


@dataclass(frozen=True)
class Query:
    pattern: Regex
    conditions: dict[str, Condition]
    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    rows: str = "one"
    skip: str = "past_last"
    skip_to: tuple[str, ...] = ()
    within: int | None = None
    within_months: int = 0
    gap: int | None = None
    gap_months: int = 0
    held: bool = False
    timeouts: bool = False
    wait: int = 0  # rows after the last one of a match that measures look at
    ahead: int = 0  # the most that any condition looks ahead
    measures: dict[str, Callable[[View], Any]] = field(default_factory=dict)


@dataclass
class View:
    """A match, or the path so far, seen from its row number `at` (counted from 1; 0: an empty match)."""

    search: Search
    path: list[tuple[int, str, bool]]
    at: int
    number: int | None = None

    def rows_of(self, *labels: str) -> list[Row]:
        return [self.search.rows[i] for i, label, _ in self.path[: self.at] if not labels or label in labels]

    def numbers_of(self, *labels: str) -> list[int]:
        return [i for i, label, _ in self.path[: self.at] if not labels or label in labels]

    def row(self, number: int) -> Row | None:
        """A row of the partition, which the search must wait for."""
        if number >= 0:
            self.search.look(number)
        return self.search.rows[number] if 0 <= number < len(self.search.rows) else None


class Search:
    """One partition, whose rows are all there."""

    def __init__(self, query: Query, rows: list[Row], clock: int) -> None:
        self.query = query
        self.rows = rows
        self.clock = clock
        self.path: list[tuple[int, str, bool]] = []
        self.start = 0
        self.number = 0
        self.moment: tuple[int, int] = (-END, -1)  # time and row (-1: a timer)
        self.cut: list[tuple[int, str, bool]] | None = None

    def look(self, number: int) -> None:
        if number < len(self.rows):
            self.moment = max(self.moment, (self.rows[number][TIME], number))
        else:
            self.moment = max(self.moment, (END, -1))

    def ways(self, node: Regex, at: int, hidden: bool = False) -> Iterator[int]:
        """Where the next row would be after each way to match `node` from row `at` on."""
        if isinstance(node, Variable):
            yield from self.take(node.name, at, hidden)
        elif isinstance(node, Concat):
            yield from self.in_turn(node.items, at, hidden)
        elif isinstance(node, Alternation):
            for item in node.items:
                yield from self.ways(item, at, hidden)
        elif isinstance(node, Repeat):
            yield from self.rounds(node, 0, at, hidden)
        elif isinstance(node, Permute):
            yield from self.orders([], list(node.items), at, hidden)
        elif isinstance(node, Exclude):
            yield from self.ways(node.item, at, True)
        elif isinstance(node, StartAnchor):
            if at == 0:
                yield at
        elif isinstance(node, EndAnchor):
            self.look(at)
            if at == len(self.rows):
                yield at
        elif isinstance(node, Empty):
            yield at

    def in_turn(self, items: tuple[Regex, ...], at: int, hidden: bool) -> Iterator[int]:
        if not items:
            yield at
            return
        for after in self.ways(items[0], at, hidden):
            yield from self.in_turn(items[1:], after, hidden)

    def orders(self, chosen: list[Regex], left: list[Regex], at: int, hidden: bool) -> Iterator[int]:
        if not left:
            yield from self.in_turn(tuple(chosen), at, hidden)
        for i, item in enumerate(left):
            yield from self.orders([*chosen, item], left[:i] + left[i + 1 :], at, hidden)

    def rounds(self, node: Repeat, done: int, at: int, hidden: bool) -> Iterator[int]:
        if node.high is not None and done >= node.high:
            yield at
            return
        if done < node.low:
            for after in self.ways(node.item, at, hidden):
                yield from self.rounds(node, done + 1, after, hidden)
            return
        if not node.greedy:
            yield at
        for after in self.ways(node.item, at, hidden):
            if after == at:
                yield at  # a round that took no row ends the loop
            else:
                yield from self.rounds(node, done + 1, after, hidden)
        if node.greedy:
            yield at

    def take(self, name: str, at: int, hidden: bool) -> Iterator[int]:
        if self.path:
            due = END
            if self.query.within is not None:
                due = add_months(self.rows[self.start][TIME], self.query.within_months) + self.query.within
            if self.query.gap is not None:
                due = min(due, add_months(self.rows[at - 1][TIME], self.query.gap_months) + self.query.gap)
            if (self.rows[at][TIME] if at < len(self.rows) else self.clock) >= due:
                self.moment = max(self.moment, (due, -1))
                if self.cut is None:
                    self.cut = list(self.path)
                return
        self.look(at)
        if at < len(self.rows):
            self.path.append((at, name, hidden))
            if self.holds(self.query.conditions.get(name, Condition()), at):
                yield at + 1
            self.path.pop()

    def holds(self, condition: Condition, at: int) -> bool:
        if condition.flag is not None and self.rows[at][condition.flag] is not True:
            return False
        view = View(self, self.path, len(self.path), self.number + 1)
        if condition.nearby is not None:
            if condition.ahead:
                self.look(at + condition.ahead)
            if condition.nearby(lambda moved: view.row(at + moved)) is not True:
                return False
        return condition.bound is None or condition.bound(view) is True


@dataclass
class Found:
    kind: str  # match, timeout, unmatched
    start: int
    path: list[tuple[int, str, bool]]
    moment: tuple[int, int]
    number: int | None = None


def in_partition(query: Query, rows: list[Row], clock: int) -> list[Found]:
    """Matches of one partition, in the order in which they are found."""
    search = Search(query, rows, clock)
    found: list[Found] = []
    covered = 0
    while search.start < len(rows):
        start = search.start
        search.look(start)
        search.cut = None
        path = None
        for _ in search.ways(query.pattern, start):
            path = list(search.path)
            break
        search.path.clear()
        if path is None:
            if query.timeouts and search.cut:
                search.look(search.cut[-1][0] + query.wait)
                found.append(Found("timeout", start, search.cut, search.moment))
            if start >= covered:
                found.append(Found("unmatched", start, [], search.moment))
            search.start += 1
            continue
        if path:
            search.look(path[-1][0] + query.wait)
        search.number += 1
        found.append(Found("match", start, path, search.moment, search.number))
        covered = max(covered, start + max(len(path), 1))
        search.start = following(query, start, path)
    return found


def following(query: Query, start: int, path: list[tuple[int, str, bool]]) -> int:
    if not path or query.skip == "to_next":
        return start + 1
    if query.skip == "past_last":
        return start + len(path)
    targets = [i for i, label, _ in path if label in query.skip_to]
    if not targets:
        raise SkipError("none")
    target = targets[0] if query.skip == "to_first" else targets[-1]
    if target == start:
        raise SkipError("first")
    return target


def every_match(query: Query, rows: list[Row], clock: int) -> list[Found]:
    """TO CURRENT ROW: the matches of each start row, one for each length."""
    search = Search(query, rows, clock)
    found: list[Found] = []
    covered: set[int] = set()
    for start in range(len(rows)):
        search.start = start
        search.look(start)
        search.cut = None
        lengths: dict[int, list[tuple[int, str, bool]]] = {}
        over: set[int] = set()
        for _ in search.ways(query.pattern, start):
            if search.path and len(search.path) not in lengths:
                lengths[len(search.path)] = list(search.path)
                if ends_with_anchor(query.pattern):
                    over.add(len(search.path))
        search.path.clear()
        for length, path in lengths.items():
            covered.update(i for i, _, _ in path)
            last = start + length - 1 + max(query.ahead, query.wait)
            moment = (END, -1) if last >= len(rows) or length in over else (rows[last][TIME], last)
            found.append(Found("match", start, path, moment))
            search.moment = max(search.moment, moment)
        if not lengths and query.timeouts and search.cut:
            search.look(search.cut[-1][0] + query.wait)
            found.append(Found("timeout", start, search.cut, search.moment))
        if start not in covered:
            found.append(Found("unmatched", start, [], search.moment))
    matches = sorted((f for f in found if f.kind == "match"), key=lambda f: (f.moment, f.start, len(f.path)))
    for number, match in enumerate(matches, 1):
        match.number = number
    return found


def ends_with_anchor(pattern: Regex) -> bool:
    return isinstance(pattern, Concat) and bool(pattern.items) and isinstance(pattern.items[-1], EndAnchor)


def match_rows(query: Query, events: list[Row], clock: int) -> list[Row]:
    """Output rows in order. `events` are in the order of the query, the input is over, the clock stands at `clock`."""
    parts: dict[Any, list[Row]] = {}
    for event in events:
        parts.setdefault(tuple(event[k] for k in query.keys), []).append(event)
    out: list[tuple[Any, Row]] = []
    for rows in parts.values():
        finder = every_match if query.skip == "to_current" else in_partition
        numbers: dict[int, int] = {}
        for found in finder(query, rows, clock):
            if found.kind == "unmatched" and query.rows != "all_unmatched":
                continue
            first = rows[found.start]
            time, row = found.moment
            if query.held and found.kind == "match" and query.within is not None:
                due = add_months(first[TIME], query.within_months) + query.within
                time, row = max((time, row), (due, -1))
            moment = {TIME: time, SEQ: rows[row][SEQ] if row >= 0 else TIMER}
            moment |= {name: rows[row][name] if row >= 0 else 0 for name in query.order}
            if time > clock:
                moment |= {TIME: clock, SEQ: ENDED}
            # What only the end of input settles stands in the order in which its last rows came.
            ending = rows[found.path[-1][0]] if found.path and found.kind != "unmatched" else first
            last = ending[SEQ] if moment[SEQ] == ENDED else 0
            search = Search(query, rows, clock)
            length = len(found.path)
            base = length * (length - 1) // 2 if query.skip == "to_current" and found.kind == "match" else 0
            base += numbers.get(found.start, 0)
            shown = list(shown_rows(query, found))
            if found.kind == "timeout":
                numbers[found.start] = max(length, 1)
            for i, (number, at) in enumerate(shown):
                view = View(search, found.path, at, found.number)
                values = {name: None if found.kind == "unmatched" else f(view) for name, f in query.measures.items()}
                line = moment | {"_last": last, "_first": first[SEQ], "_ord": base + i}
                line |= {k: rows[number][k] for k in query.keys} | {"id": rows[number]["id"]} | values
                if query.timeouts:
                    line["_timed_out"] = found.kind == "timeout"
                key = (moment[TIME], *[v for n, v in moment.items() if n != TIME], last, first[SEQ])
                out.append(((*key, *(first[n] for n in query.order), base + i), line))
    return [line for _, line in sorted(out, key=lambda pair: pair[0])]


def shown_rows(query: Query, found: Found) -> Iterator[tuple[int, int]]:
    """Row and place in the match of each row that is shown."""
    if not found.path:
        if query.rows != "all_omit" or found.kind == "unmatched":
            yield found.start, 0
    elif query.rows == "one":
        yield found.path[-1][0], len(found.path)
    else:
        for at, (row, _, hidden) in enumerate(found.path, 1):
            if not hidden:
                yield row, at
