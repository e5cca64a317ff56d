"""Why-not for single events: the newest events of a statement's streams, and which of its conditions they fulfil.

Answers why an event made no row, as far as that can be said of one event: it came before the statement stood, lies
outside of its time, waits for the watermark, names something that nobody knows, or fails a condition. What patterns and
sequences ask of several events together is in `why_not_patterns`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.reasons import ScanConditions
from presage.live.input_range import InputPosition
from presage.live.program import Program
from presage.operators.registry import parts
from presage.plan.display import show
from presage.plan.expr import Expr, InRelation, conjuncts
from presage.plan.nodes import SEQ, TIME, Filter, Node, Scan
from presage.plan.query import Watched
from presage.storage import Log
from presage.storage.event_reader import newest_events

BEFORE, OUTSIDE = "came before the statement stood", "is outside of its time"
WAITS, UNKNOWN, FAILS = "waits for the watermark", "names nothing that is known", "fails a condition"
PASSES, NOT_ASKED = "passes", "nothing is asked of it alone"


@dataclass(frozen=True)
class ConditionReport:
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


def why_not_conditions(
    program: Program,
    place: InputPosition,
    log: Log,
    tables: Mapping[str, Any],
    limit: int,
    worded: Callable[[str], str | None],
) -> list[ConditionReport]:
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


def _asked(plan: Node) -> Iterator[ScanConditions]:
    told = set()
    conditions = {kind: of for part in parts("why_not").values() for kind, of in part.CONDITIONS.items()}
    for node in plan.walk():
        several = conditions.get(type(node))
        if several is not None:
            for asked in several(node):
                told.add(id(asked.scan))
                yield asked
        elif isinstance(node, Filter) and isinstance(node.input, Scan) and id(node.input) not in told:
            told.add(id(node.input))
            yield ScanConditions(node.input, tuple(conjuncts(node.condition)))
        elif isinstance(node, Scan) and id(node) not in told:
            told.add(id(node))
            yield ScanConditions(node, ())


def _passing(
    asked: ScanConditions,
    watched: list[Watched],
    place: InputPosition,
    log: Log,
    tables: Mapping[str, Any],
    evaluator: Evaluator,
    limit: int,
    worded: Callable[[str], str | None],
) -> ConditionReport:
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
    return ConditionReport(scan.stream, asked.of, words, table.drop_columns([SEQ]), numbers, holds, unknown, verdicts)


def _plan_name(scan: Scan, attribute: str) -> str:
    names = dict(zip(scan.attributes, (field.name for field in scan.fields), strict=True))
    return names.get(attribute, attribute)


def _verdict(scan: Scan, place: InputPosition, time: int, number: int, unknown: bool, holds: list[bool | None]) -> str:
    if (scan.after is not None and number <= scan.after) or (scan.until is not None and number > scan.until):
        return BEFORE
    low, high = scan.time.low, scan.time.high
    if (low is not None and time < low) or (high is not None and time >= high):
        return OUTSIDE
    if time > place.watermark or number > place.offset:
        return WAITS
    if False in holds:
        return UNKNOWN if unknown else FAILS
    return PASSES if holds else NOT_ASKED


def _in_words(condition: Expr, worded: Callable[[str], str | None]) -> str:
    if isinstance(condition, InRelation):
        return worded(condition.relation) or show(condition)
    # Attributes that only a term leads to have a mark before their name.
    return show(condition).replace("~", "")
