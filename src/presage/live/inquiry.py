"""A standing statement and an event in, why that event made no row out: what it met in its patterns and sequences.

The archive is read again and the statement's own kernels take it in: what happened is seen, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.reasons import Examiner, Reasons
from presage.columnar.steps import Book, StepContext, schema_of
from presage.live.program import Program
from presage.live.rooms import OPERATORS
from presage.live.spans import Place, Span
from presage.log import Log
from presage.log.reading import read_events
from presage.patterns.nodes import Match, PatternMatch
from presage.patterns.why_match import why_match
from presage.patterns.why_pattern import why_pattern
from presage.plan.nodes import SEQ, TIME, Filter, Merge, Node, Project, Scan, Stamp
from presage.probability.nodes import Infer, SequenceMatch
from presage.probability.why_sequence import why_sequence

# Events that are read again for an answer.
MOST_EVENTS = 500_000
ASKED = (Match, PatternMatch, SequenceMatch)
# What may lie below: it makes rows of single events.
PLAIN = (Scan, Filter, Project, Merge, Infer)
# What may lie above without a say in whether there is a row.
PASSING = (Stamp, Project)


def inquire(
    program: Program, text: str, place: Place, log: Log, tables: Mapping[str, Any], number: int, repeats: bool
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
    node: Node, program: Program, text: str, place: Place, log: Log, tables: Mapping[str, Any], number: int
) -> Reasons:
    relations = {name: tables[name] for name in program.relations}
    examiner = Examiner(Evaluator(relations), text)
    context = StepContext(
        read=read_span(Span(Place(), place), log),
        evaluator=examiner.evaluator,
        relations=relations,
        operators=OPERATORS,
        places=program.places,
        book=Book(),
        upper=program.upper,
        **clocks_of(program, place),
    )
    if isinstance(node, PatternMatch):
        told = why_pattern(node, context, number, examiner)
    elif isinstance(node, Match):
        told = why_match(node, context, number, examiner)
    else:
        assert isinstance(node, SequenceMatch)
        told = why_sequence(node, program.plan, context, number, examiner)
    above = _above(program.plan, node)
    if above:
        told = Reasons(told.what, told.chances, (*told.notes, f"What comes after it is not looked at here: {above}."))
    return told


def clocks_of(program: Program, place: Place) -> dict[str, Any]:
    """How far time is known to a statement at a place, and whether it has ended."""
    clock, end = place.clock, False
    if program.upper is not None and program.ends is not None:
        clock, end = min(clock, program.upper), clock >= program.ends
    return {"clock": clock, "inner_clock": place.clock, "end": end}


def read_span(span: Span, log: Log) -> Callable[[Scan], pa.Table]:
    """Reads the events that a scan takes in between two places of a statement."""

    def read(scan: Scan) -> pa.Table:
        parts = [read_events(files, scan.attributes) for files in span.files(scan, log.archive)]
        if not parts:
            return schema_of(scan.columns).empty_table()
        table = pa.concat_tables(parts)
        columns = [table[TIME], table[SEQ], *(table[a] for a in scan.attributes)]
        return pa.table(columns, [TIME, SEQ, *(f.name for f in scan.fields)]).combine_chunks()

    return read


def _cannot(node: Node, program: Program, place: Place, log: Log, repeats: bool) -> str:
    """Why it cannot be told; empty if it can."""
    below = [x for child in node.inputs for x in child.walk()]
    scans = [x for x in below if isinstance(x, Scan)]
    if any(scan.made for scan in scans):
        return "It reads rows of other statements, which are not read again here: ask about those."
    strange = [x for x in below if not isinstance(x, PLAIN)]
    if strange:
        return f"It stands on {type(strange[0]).__name__.lower()} rows, which are not made again here."
    if program.foreign:
        return "It has expressions that only Spark computes: what came of them cannot be told here."
    if not repeats:
        return "The archive does not hold all that it read, or other things are known by now: it cannot be seen again."
    span = Span(Place(), place)
    count = sum(files.rows for scan in scans for files in span.files(scan, log.archive))
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
    # A threshold on the answer is told with it.
    return "; ".join(found if not isinstance(node, SequenceMatch) else found[:-1])
