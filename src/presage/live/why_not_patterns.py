"""Why-not for patterns and sequences: why an event made no row in a deployed statement.

The archive is replayed through the statement's own kernels. Conditions on single events are in `why_not_conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.reasons import Examiner, Reasons
from presage.execution.steps import OperatorStates, StepContext, schema_of
from presage.live.input_range import InputPosition, InputRange
from presage.live.program import Program
from presage.operators.registry import parts
from presage.operators.running import STEPS
from presage.plan.nodes import SEQ, TIME, Filter, Merge, Node, Project, Scan, Stamp
from presage.storage import Log
from presage.storage.event_reader import read_events

# The most events of a replay.
MOST_EVENTS = 500_000
# Nodes above it that drop no row.
PASSING = (Stamp, Project)


# These are collected at the first why-not: the modules of operators import their kernels.
@cache
def _nodes(name: str) -> tuple[type[Node], ...]:
    return tuple(kind for part in parts("why_not").values() for kind in getattr(part, name, ()))


@cache
def _why_not() -> dict[type[Node], Callable[..., Reasons]]:
    """By type of node: why-not of operators."""
    return {kind: why for part in parts("why_not").values() for kind, why in part.WHY_NOT.items()}


def why_not_patterns(
    program: Program, text: str, end: InputPosition, log: Log, tables: Mapping[str, Any], number: int, repeats: bool
) -> list[Reasons]:
    """One for each pattern or sequence of the statement. `text` is what the spans of its expressions refer to, `number`
    the event's sequence number, `end` the position of the statement; `repeats`: whether a replay gives its rows."""
    reasons = []
    for node in program.plan.walk():
        if type(node) in _why_not():
            why = _cannot(node, program, end, log, repeats)
            cannot = Reasons(node.label(), notes=(why,))
            reasons.append(cannot if why else _replay(node, program, text, end, log, tables, number))
    return reasons


def _replay(
    node: Node, program: Program, text: str, end: InputPosition, log: Log, tables: Mapping[str, Any], number: int
) -> Reasons:
    relations = {name: tables[name] for name in program.relations}
    examiner = Examiner(Evaluator(relations), text)
    context = StepContext(
        read=range_reader(InputRange(InputPosition(), end), log),
        evaluator=examiner.evaluator,
        relations=relations,
        operators=STEPS,
        places=program.places,
        states=OperatorStates(),
        upper=program.upper,
        **watermarks_of(program, end),
    )
    reasons = _why_not()[type(node)](node, program.plan, context, number, examiner)
    above = _above(program.plan, node)
    note = f"The operators above it are not checked here: {above}."
    return Reasons(reasons.what, reasons.chances, (*reasons.notes, note)) if above else reasons


def watermarks_of(program: Program, position: InputPosition) -> dict[str, Any]:
    """The watermarks of a statement at a position, and whether it has ended."""
    watermark, end = position.watermark, False
    if program.upper is not None and program.ends is not None:
        watermark, end = min(watermark, program.upper), watermark >= program.ends
    return {"watermark": watermark, "inner_watermark": position.watermark, "end": end}


def range_reader(input_range: InputRange, log: Log) -> Callable[[Scan], pa.Table]:
    """Reads the events of a scan in a range."""

    def read(scan: Scan) -> pa.Table:
        parts = [read_events(files, scan.attributes) for files in input_range.files(scan, log.archive)]
        if not parts:
            return schema_of(scan.columns).empty_table()
        table = pa.concat_tables(parts)
        columns = [table[TIME], table[SEQ], *(table[a] for a in scan.attributes)]
        return pa.table(columns, [TIME, SEQ, *(f.name for f in scan.fields)]).combine_chunks()

    return read


def _cannot(node: Node, program: Program, end: InputPosition, log: Log, repeats: bool) -> str:
    """Why a node cannot be replayed; empty if it can."""
    below = [x for child in node.inputs for x in child.walk()]
    scans = [x for x in below if isinstance(x, Scan)]
    if any(scan.made for scan in scans):
        return "It reads rows of other statements; why-not cannot replay them: ask about those statements."
    # Their rows depend on single events.
    plain = (Scan, Filter, Project, Merge, *_nodes("PLAIN"))
    others = [x for x in below if not isinstance(x, plain)]
    if others:
        return f"It reads the result of {type(others[0]).__name__.lower()}; why-not cannot replay it."
    if program.catalyst:
        return "It has expressions that only Spark computes; why-not cannot replay them."
    if not repeats:
        return "The archive no longer holds all of its input, or knowledge has changed: why-not cannot replay it."
    input_range = InputRange(InputPosition(), end)
    count = sum(files.rows for scan in scans for files in input_range.files(scan, log.archive))
    if count > MOST_EVENTS:
        return f"Its streams have {count:,} events; why-not replays at most {MOST_EVENTS:,}."
    return ""


def _above(plan: Node, node: Node) -> str:
    """The nodes above a node that may drop a row."""
    above = []
    while plan is not node:
        if not isinstance(plan, PASSING):
            above.append(plan.label())
        (plan,) = [child for child in plan.inputs if any(x is node for x in child.walk())][:1]
    return "; ".join(above[:-1] if isinstance(node, _nodes("TELLS_FILTER")) else above)
