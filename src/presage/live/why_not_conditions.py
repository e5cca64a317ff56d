"""Why-not for single events: the newest events of a statement's streams, and which of its conditions they fulfil.

An event made no row because it arrived before the statement was deployed, is outside of the statement's time range,
waits for the watermark, names an unknown entity, or fails a condition. `why_not_patterns` is for conditions on several
events.
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

BEFORE, OUTSIDE = "came before the statement was deployed", "is outside of the statement's time range"
WAITS, UNKNOWN, FAILS = "waits for the watermark", "refers to an unknown entity", "fails a condition"
PASSES, NO_CONDITION = "passes", "no condition on single events"


@dataclass(frozen=True)
class ConditionReport:
    """The newest events of a scan's stream, newest first. `holds`: by condition and event, None where only Spark can
    evaluate it. `verdicts` and `unknown` (values that name no entity) are by event."""

    stream: str
    of: str
    conditions: list[str]
    events: pa.Table
    numbers: list[int]  # sequence numbers
    holds: list[list[bool | None]]
    unknown: list[dict[str, str]]
    verdicts: list[str]


def why_not_conditions(
    program: Program,
    position: InputPosition,
    log: Log,
    tables: Mapping[str, Any],
    limit: int,
    worded: Callable[[str], str | None],
) -> list[ConditionReport]:
    """For every scan of the statement, in the order of its plan. `worded`: the text of a relation for users."""
    evaluator = Evaluator({name: tables[name] for name in program.relations})
    reports = []
    for of_scan in _conditions(program.plan):
        scan, conditions = of_scan.scan, of_scan.conditions
        if scan.made:
            continue  # a derived stream, which is not a stream of the log
        table = newest_events(log, scan.stream, scan.attributes, limit)
        names = dict(zip(scan.attributes, (field.name for field in scan.fields), strict=True))
        named = table.rename_columns([names.get(name, name) for name in table.column_names])
        none: list[bool | None] = [None] * table.num_rows
        holds = [evaluator.mask(c, named).tolist() if evaluator.computes(c) else none for c in conditions]
        unknown = _unknown_values([w for w in program.watched if w.stream == scan.stream], table, tables)
        times, numbers = table[TIME].to_pylist(), table[SEQ].to_pylist()
        verdicts = [
            _verdict(scan, position, times[i], numbers[i], bool(unknown[i]), [column[i] for column in holds])
            for i in range(table.num_rows)
        ]
        words = [_in_words(condition, worded) for condition in conditions]
        results = numbers, holds, unknown, verdicts
        reports.append(ConditionReport(scan.stream, of_scan.of, words, table.drop_columns([SEQ]), *results))
    return reports


def _conditions(plan: Node) -> Iterator[ScanConditions]:
    """The conditions on single events, by scan."""
    seen = set()
    of_operators = {kind: of for part in parts("why_not").values() for kind, of in part.CONDITIONS.items()}
    for node in plan.walk():
        if type(node) in of_operators:
            for of_scan in of_operators[type(node)](node):
                seen.add(id(of_scan.scan))
                yield of_scan
        elif isinstance(node, Filter) and isinstance(node.input, Scan) and id(node.input) not in seen:
            seen.add(id(node.input))
            yield ScanConditions(node.input, tuple(conjuncts(node.condition)))
        elif isinstance(node, Scan) and id(node) not in seen:
            seen.add(id(node))
            yield ScanConditions(node, ())


def _unknown_values(watched: list[Watched], table: pa.Table, tables: Mapping[str, Any]) -> list[dict[str, str]]:
    """By event and attribute: the values that name no entity."""
    unknown: list[dict[str, str]] = [{} for _ in range(table.num_rows)]
    for each in watched:
        if each.attribute in table.column_names:
            for i, value in enumerate(table[each.attribute].to_pylist()):
                if value is not None and not tables[each.known].is_known(value):
                    unknown[i][each.attribute] = value
    return unknown


def _verdict(scan: Scan, at: InputPosition, time: int, number: int, unknown: bool, holds: list[bool | None]) -> str:
    if (scan.after is not None and number <= scan.after) or (scan.until is not None and number > scan.until):
        return BEFORE
    low, high = scan.time.low, scan.time.high
    if (low is not None and time < low) or (high is not None and time >= high):
        return OUTSIDE
    if time > at.watermark or number > at.offset:
        return WAITS
    if False in holds:
        return UNKNOWN if unknown else FAILS
    return PASSES if holds else NO_CONDITION


def _in_words(condition: Expr, worded: Callable[[str], str | None]) -> str:
    if isinstance(condition, InRelation):
        return worded(condition.relation) or show(condition)
    # Attributes that are reached by a term only have a mark before their name.
    return show(condition).replace("~", "")
