"""The events behind the matches of a deployed statement, traced by a second run of its plan.

The second run has the times of the events as further columns, and reads as far as the statement has. A row is traced
only where both runs made the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.execution.steps import OperatorStates, StepContext, run_root
from presage.live.input_range import InputPosition, InputRange
from presage.live.program import Program
from presage.live.why_not_patterns import MOST_EVENTS, range_reader, watermarks_of
from presage.operators.running import STEPS, traced
from presage.plan.expr import ColumnRef
from presage.plan.match_trace import bound_in
from presage.plan.nodes import SEQ, TIME, Field, Filter, Named, Node, Project, Scan, Stamp
from presage.storage import Log

Events = list[tuple[str, int]]  # names and times of the events of a match
# Rows whose events are kept.
MOST_ROWS = 1_000


class MatchTrace:
    """The last rows of a statement with their events. `advance` takes it on to where the statement is."""

    def __init__(self, program: Program, log: Log, tables: Mapping[str, Any]) -> None:
        found = _traced(program.plan)
        scans = [node for node in program.plan.walk() if isinstance(node, Scan)]
        self.possible = found is not None and not program.foreign and not any(scan.made for scan in scans)
        self.rows = 0
        self._last: deque[tuple[tuple[Any, ...], Events]] = deque(maxlen=MOST_ROWS)
        if found is None:
            return
        self._plan, self._fields = found
        self._program, self._log, self._position = program, log, InputPosition()
        relations = {name: tables[name] for name in program.relations}
        self._kept: dict[str, Any] = {
            "evaluator": Evaluator(relations),
            "relations": relations,
            "operators": STEPS,
            "places": {id(node): number for number, node in enumerate(self._plan.walk())},
            "states": OperatorStates(),
            "compiled": {},
            "upper": program.upper,
        }

    def advance(self, position: InputPosition, repeats: bool) -> None:
        """`repeats`: whether the statement would make its rows again. Else nothing is told any more, nor where more
        than MOST_EVENTS at once would have to be read."""
        self.possible &= repeats
        if not self.possible or position == self._position:
            return
        input_range = InputRange(self._position, position)
        scans = [node for node in self._plan.walk() if isinstance(node, Scan)]
        files = sum(files.rows for scan in scans for files in input_range.files(scan, self._log.archive))
        if files > MOST_EVENTS:
            self.possible = False
            return
        context = StepContext(
            read=range_reader(input_range, self._log), **watermarks_of(self._program, position), **self._kept
        )
        made = run_root(self._plan, context).table
        self._position = position
        made = sorted_table(made, (TIME, SEQ, *self._plan.order))
        shown = made.select([column.name for column in self._program.columns])
        bound = made.select([f.name for f in self._fields]).to_pylist()
        for values, row in zip(_rows(shown), bound, strict=True):
            self._last.append((values, bound_in(row)))
        self.rows += made.num_rows

    def of(self, first: int, rows: pa.Table) -> list[Events | None]:
        """The events of the statement's rows from number `first` on; None for one of which nothing is known."""
        begin = self.rows - len(self._last)
        found: list[Events | None] = []
        for number, values in enumerate(_rows(rows), first):
            there = self.possible and begin <= number < self.rows
            known, events = self._last[number - begin] if there else ((), None)
            found.append(events if known == values else None)
        return found


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    # As texts: NaN is not equal to itself, and here it is the same value.
    return [tuple(map(repr, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _traced(plan: Node) -> tuple[Node, tuple[Field, ...]] | None:
    """The plan with the columns of its only pattern passed on to its rows; None where they do not come through."""
    found = traced(plan)
    if found is not None:
        return found
    if not isinstance(plan, Stamp | Filter | Project):
        return None
    below = _traced(plan.input)
    if below is None:
        return None
    node, fields = below
    if isinstance(plan, Project):
        passed = tuple(Named(f.name, ColumnRef(f.type, f.name)) for f in fields)
        return replace(plan, input=node, outputs=(*plan.outputs, *passed)), fields
    return replace(plan, input=node), fields
