"""Why-not for patterns and sequences: why an event made no row in a deployed statement.

The archive is replayed through the statement's own kernels. Conditions on single events are in `why_not_conditions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _nodes(name: str) -> tuple[type[Node], ...]:
    return tuple(kind for part in parts("why_not").values() for kind in getattr(part, name, ()))


# Events that are read again for an answer.
MOST_EVENTS = 500_000
# How operators tell of one event, by type of node.
_WHY_NOT = {kind: why for part in parts("why_not").values() for kind, why in part.WHY_NOT.items()}
ASKED = tuple(_WHY_NOT)
# What may lie below: it makes rows of single events.
PLAIN = (Scan, Filter, Project, Merge, *_nodes("PLAIN"))
_TELL_FILTER = _nodes("TELLS_FILTER")
# What may lie above without a say in whether there is a row.
PASSING = (Stamp, Project)


def why_not_patterns(
    program: Program, text: str, place: InputPosition, log: Log, tables: Mapping[str, Any], number: int, repeats: bool
) -> list[Reasons]:
    """One for each pattern or sequence of the statement. `text` is what the places of its expressions refer to,
    `number` that of the event's arrival, `place` how far the statement is; `repeats`: whether it would make its rows
    again."""
    found = []
    for node in program.plan.walk():
        if isinstance(node, ASKED):
            why = _cannot(node, program, place, log, repeats)
            reasons = Reasons(node.label(), notes=(why,))
            found.append(reasons if why else _asked(node, program, text, place, log, tables, number))
    return found


def _asked(
    node: Node, program: Program, text: str, place: InputPosition, log: Log, tables: Mapping[str, Any], number: int
) -> Reasons:
    relations = {name: tables[name] for name in program.relations}
    examiner = Examiner(Evaluator(relations), text)
    context = StepContext(
        read=range_reader(InputRange(InputPosition(), place), log),
        evaluator=examiner.evaluator,
        relations=relations,
        operators=STEPS,
        places=program.places,
        states=OperatorStates(),
        upper=program.upper,
        **watermarks_of(program, place),
    )
    told: Reasons = _WHY_NOT[type(node)](node, program.plan, context, number, examiner)
    above = _above(program.plan, node)
    if above:
        told = Reasons(told.what, told.chances, (*told.notes, f"What comes after it is not looked at here: {above}."))
    return told


def watermarks_of(program: Program, place: InputPosition) -> dict[str, Any]:
    """How far time is known to a statement at a place, and whether it has ended."""
    watermark, end = place.watermark, False
    if program.upper is not None and program.ends is not None:
        watermark, end = min(watermark, program.upper), watermark >= program.ends
    return {"watermark": watermark, "inner_watermark": place.watermark, "end": end}


def range_reader(input_range: InputRange, log: Log) -> Callable[[Scan], pa.Table]:
    """Reads the events that a scan takes in between two places of a statement."""

    def read(scan: Scan) -> pa.Table:
        parts = [read_events(files, scan.attributes) for files in input_range.files(scan, log.archive)]
        if not parts:
            return schema_of(scan.columns).empty_table()
        table = pa.concat_tables(parts)
        columns = [table[TIME], table[SEQ], *(table[a] for a in scan.attributes)]
        return pa.table(columns, [TIME, SEQ, *(f.name for f in scan.fields)]).combine_chunks()

    return read


def _cannot(node: Node, program: Program, place: InputPosition, log: Log, repeats: bool) -> str:
    """Why it cannot be told; empty if it can."""
    below = [x for child in node.inputs for x in child.walk()]
    scans = [x for x in below if isinstance(x, Scan)]
    if any(scan.made for scan in scans):
        return "It reads rows of other statements, which are not read again here: ask about those."
    strange = [x for x in below if not isinstance(x, PLAIN)]
    if strange:
        return f"It reads the result of {type(strange[0]).__name__.lower()}; why-not cannot replay it."
    if program.foreign:
        return "It has expressions that only Spark computes: what came of them cannot be told here."
    if not repeats:
        return "The archive does not hold all that it read, or other things are known by now: it cannot be seen again."
    input_range = InputRange(InputPosition(), place)
    count = sum(files.rows for scan in scans for files in input_range.files(scan, log.archive))
    if count > MOST_EVENTS:
        return f"Its streams have brought {count:,} events; more than {MOST_EVENTS:,} are not read again for an answer."
    return ""


def _above(plan: Node, node: Node) -> str:
    """Nodes between the statement's rows and a node that may leave out a row."""
    found = []
    while plan is not node:
        if not isinstance(plan, PASSING):
            found.append(plan.label())
        (plan,) = [child for child in plan.inputs if any(x is node for x in child.walk())][:1]
    return "; ".join(found[:-1] if isinstance(node, _TELL_FILTER) else found)
