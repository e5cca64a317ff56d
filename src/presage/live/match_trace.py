"""The trace of a deployed statement: the events of its matches, from a second run of its plan.

The second run has the times of the events as further columns, and reads up to the position of the statement. A row is
traced only if both runs made the same.
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
from presage.operators.trace_columns import bound_in
from presage.plan.expr import ColumnRef
from presage.plan.nodes import SEQ, TIME, Field, Filter, Named, Node, Project, Scan, Stamp
from presage.storage import Log

Events = list[tuple[str, int]]  # names and times of the events of a match
# Rows whose events are kept.
MOST_ROWS = 1_000


class MatchTrace:
    """The last rows of a statement with their events. `advance` brings it to the position of the statement."""

    def __init__(self, program: Program, log: Log, tables: Mapping[str, Any]) -> None:
        traced_plan = _traced(program.plan)
        self.possible = traced_plan is not None and not program.catalyst and not program.reads_others
        self.rows = 0
        self._last: deque[tuple[tuple[Any, ...], Events]] = deque(maxlen=MOST_ROWS)
        if traced_plan is None:
            return
        self._plan, self._fields = traced_plan
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
        """`repeats`: whether a replay gives the rows of the statement. If not, or if more than MOST_EVENTS would have
        to be read at once, the trace ends."""
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
        """The events of the statement's rows from number `first` on; None for a row that is not traced."""
        begin = self.rows - len(self._last)
        result: list[Events | None] = []
        for number, values in enumerate(_rows(rows), first):
            is_traced = self.possible and begin <= number < self.rows
            traced_values, events = self._last[number - begin] if is_traced else ((), None)
            result.append(events if traced_values == values else None)
        return result


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    # As texts: NaN equals itself here.
    return [tuple(map(repr, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def _traced(plan: Node) -> tuple[Node, tuple[Field, ...]] | None:
    """The plan with the events of its only pattern as further columns; None where they do not reach its rows."""
    pattern = traced(plan)
    if pattern is not None:
        return pattern
    below = _traced(plan.input) if isinstance(plan, Stamp | Filter | Project) else None
    if below is None:
        return None
    assert isinstance(plan, Stamp | Filter | Project)
    node, fields = below
    if isinstance(plan, Project):
        passed = tuple(Named(f.name, ColumnRef(f.type, f.name)) for f in fields)
        return replace(plan, input=node, outputs=(*plan.outputs, *passed)), fields
    return replace(plan, input=node), fields
