"""A standing statement in, the newest events of its streams out, each with the conditions that it fulfils and does not.

Answers why an event made no row, as far as that can be said of one event: it came before the statement stood, lies
outside of its time, waits for the watermark, names something that nobody knows, or fails a condition. What patterns and
sequences ask of several events together is in `inquiry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.live.program import Program
from presage.live.spans import Place
from presage.log import Log
from presage.log.newest import newest_events
from presage.patterns.nodes import Match, PatternMatch
from presage.plan.display import show
from presage.plan.expr import Expr, InRelation, conjuncts
from presage.plan.nodes import SEQ, TIME, Filter, Node, Scan
from presage.plan.query import Watched
from presage.probability.nodes import SequenceMatch

BEFORE, OUTSIDE = "came before the statement stood", "is outside of its time"
WAITS, UNKNOWN, FAILS = "waits for the watermark", "names nothing that is known", "fails a condition"
PASSES, NOT_ASKED = "passes", "nothing is asked of it alone"


@dataclass(frozen=True)
class Asked:
    """What a statement asks of the events of one scan alone; `of`: which of its events is meant, in a pattern."""

    scan: Scan
    conditions: tuple[Expr, ...]
    of: str = ""


@dataclass(frozen=True)
class Passing:
    """The newest events that a scan could have taken, newest first. `holds`: for each condition one answer for each
    event; None where only Spark can tell. `verdicts` and `unknown` (values that name no entity) are by event, too."""

    stream: str
    of: str
    conditions: list[str]
    events: pa.Table
    numbers: list[int]  # of their arrival
    holds: list[list[bool | None]]
    unknown: list[dict[str, str]]
    verdicts: list[str]


def newest_passing(
    program: Program,
    place: Place,
    log: Log,
    tables: Mapping[str, Any],
    limit: int,
    worded: Callable[[str], str | None],
) -> list[Passing]:
    """For every scan of the statement, in the order of its plan. `worded`: a relation's name as users would put it."""
    relations = {name: tables[name] for name in program.relations}
    evaluator = Evaluator(relations)
    found = []
    for asked in _asked(program.plan):
        if asked.scan.made:
            continue  # what other statements make is no stream of the log
        watched = [w for w in program.watched if w.stream == asked.scan.stream]
        found.append(_passing(asked, watched, place, log, tables, evaluator, limit, worded))
    return found


def _asked(plan: Node) -> Iterator[Asked]:
    told = set()
    for node in plan.walk():
        several = _OF_ROOMS.get(type(node))
        if several is not None:
            for asked in several(node):
                told.add(id(asked.scan))
                yield asked
        elif isinstance(node, Filter) and isinstance(node.input, Scan) and id(node.input) not in told:
            told.add(id(node.input))
            yield Asked(node.input, tuple(conjuncts(node.condition)))
        elif isinstance(node, Scan) and id(node) not in told:
            told.add(id(node))
            yield Asked(node, ())


def _of_pattern(node: PatternMatch) -> Iterator[Asked]:
    """The filters of a pattern, as far as they speak of one event."""
    for term in node.tables.nodes:
        if term.kind != "filter":
            continue
        source = node.sources[term.source]
        if isinstance(source, Filter):
            # It lets pass what any filter of the pattern takes, and asks nothing else.
            source = source.input
        if isinstance(source, Scan):
            flags = {named.name: named.expr for named in node.prepared[term.source]}
            own = conjuncts(flags.get(term.flag)) if term.flag else []
            yield Asked(source, tuple(own), term.text)


def _of_match(node: Match) -> Iterator[Asked]:
    """What DEFINE says of a row alone, for each variable of which it says something."""
    asked = node.input.condition if isinstance(node.input, Filter) else None
    scan = node.input.input if isinstance(node.input, Filter) else node.input
    flags = {named.name: named.expr for named in node.prepared}
    for condition in node.tables.conditions:
        if condition.flag is not None and isinstance(scan, Scan):
            own = (*conjuncts(asked), *conjuncts(flags[condition.flag]))
            yield Asked(scan, own, condition.text.removeprefix("DEFINE "))


def _of_sequence(node: SequenceMatch) -> Iterator[Asked]:
    """What the subgoals say of one row, and WHERE of what they chose."""
    for goal in node.tables.query.goals:
        source, columns = node.sources[goal.source], node.tables.goals[goal.number]
        if isinstance(source, Filter) and node.filtered:
            source = source.input
        if isinstance(source, Scan):
            flags = {named.name: named.expr for named in node.prepared[goal.source]}
            chosen = [flags[flag] for flag in (columns.candidate, columns.accepted) if flag is not None]
            yield Asked(source, tuple(part for flag in chosen for part in conjuncts(flag)), goal.text)


_OF_ROOMS: Mapping[type[Node], Callable[[Any], Iterator[Asked]]] = {
    PatternMatch: _of_pattern,
    Match: _of_match,
    SequenceMatch: _of_sequence,
}


def _passing(
    asked: Asked, watched: list[Watched], place: Place, log: Log, tables: Mapping[str, Any],
    evaluator: Evaluator, limit: int, worded: Callable[[str], str | None],
) -> Passing:  # fmt: skip
    scan = asked.scan
    table = newest_events(log, scan.stream, scan.attributes, limit)
    named = table.rename_columns([_plan_name(scan, name) for name in table.column_names])
    holds: list[list[bool | None]] = []
    for condition in asked.conditions:
        computed = evaluator.computes(condition)
        holds.append(evaluator.mask(condition, named).tolist() if computed else [None] * table.num_rows)
    unknown: list[dict[str, str]] = [{} for _ in range(table.num_rows)]
    for each in watched:
        if each.attribute in table.column_names:
            for i, value in enumerate(table[each.attribute].to_pylist()):
                if value is not None and not tables[each.known].is_known(value):
                    unknown[i][each.attribute] = value
    times, numbers = table[TIME].to_pylist(), table[SEQ].to_pylist()
    verdicts = [
        _verdict(scan, place, times[i], numbers[i], bool(unknown[i]), [column[i] for column in holds])
        for i in range(table.num_rows)
    ]
    words = [_in_words(condition, worded) for condition in asked.conditions]
    return Passing(scan.stream, asked.of, words, table.drop_columns([SEQ]), numbers, holds, unknown, verdicts)


def _plan_name(scan: Scan, attribute: str) -> str:
    names = dict(zip(scan.attributes, (field.name for field in scan.fields), strict=True))
    return names.get(attribute, attribute)


def _verdict(scan: Scan, place: Place, time: int, number: int, unknown: bool, holds: list[bool | None]) -> str:
    if (scan.after is not None and number <= scan.after) or (scan.until is not None and number > scan.until):
        return BEFORE
    low, high = scan.time.low, scan.time.high
    if (low is not None and time < low) or (high is not None and time >= high):
        return OUTSIDE
    if time > place.clock or number > place.position:
        return WAITS
    if False in holds:
        return UNKNOWN if unknown else FAILS
    return PASSES if holds else NOT_ASKED


def _in_words(condition: Expr, worded: Callable[[str], str | None]) -> str:
    if isinstance(condition, InRelation):
        return worded(condition.relation) or show(condition)
    # Attributes that only a term leads to have a mark before their name.
    return show(condition).replace("~", "")
