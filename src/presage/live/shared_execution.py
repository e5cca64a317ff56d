"""Shared execution: statements of one plan template step as one, with the statement as a key.

A shared step of a thousand statements costs about as much as the step of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import Ints, constant, to_array
from presage.execution.steps import OperatorStates, Rows, StepContext, run, run_root
from presage.live.plan_template import BindConstants, PlanTemplate, TemplateInput, parameter, restore_constants
from presage.live.result_slices import SharedRows
from presage.live.shared_state import KEEPERS, STATEMENT, open_by_statement, part
from presage.model.operator_state import State
from presage.operators.running import STEPS
from presage.plan.nodes import SEQ, TIME, Field, Node

# Fewer of one form step as quickly one by one.
LEAST_MEMBERS = 4


@dataclass
class SharedStates:
    """The states that several statements have in common after a batch. `name`: that of the family whose states they
    continue, empty if these statements were not one family before."""

    name: str
    numbers: tuple[str, ...]
    shard: int
    keepers: Mapping[str, Node]  # by place
    states: dict[str, State] = field(default_factory=dict)  # by place

    def leave_to(self, numbers: Sequence[str]) -> None:
        """Only these statements go on as this family, under a new name."""
        self.name, self.numbers = "", tuple(numbers)
        wanted = [int(number) for number in numbers]
        self.states = {place: part(self.keepers[place], state, wanted) for place, state in self.states.items()}


@dataclass
class SharedStep:
    """What a step of a family made: rows by statement, states and, where there are such, open matches by place."""

    rows: SharedRows
    states: dict[str, State]
    partial: dict[str, dict[int, int]]


class SharedExecution:
    """Statements of one form. `places`: those of the nodes in the plan of each that keep something."""

    def __init__(self, shapes: Sequence[PlanTemplate], numbers: Sequence[str], places: Sequence[int]) -> None:
        self._numbers = np.array([int(number) for number in numbers], np.int64)
        self._order = np.argsort(self._numbers)
        first = shapes[0].constants
        texts = [[repr(constant) for constant in shape.constants] for shape in shapes]
        alike = [i for i in range(len(first)) if len({line[i] for line in texts}) == 1]
        self._parameters = {
            parameter(i): _column([shape.constants[i] for shape in shapes]) for i in range(len(first)) if i not in alike
        }
        self.plan = restore_constants(shapes[0].plan, {i: first[i] for i in alike})
        self.keepers = {str(place): node for place, node in zip(places, shapes[0].keepers, strict=True)}
        nodes = list(self.plan.walk())
        given = next(node for node in nodes if isinstance(node, TemplateInput))
        self.takes = [TIME, SEQ, *(f.name for f in given.columns if f.name != STATEMENT)]  # columns of the events
        self._places = {id(node): -1 - number for number, node in enumerate(nodes)}
        keeping = [node for node in nodes if isinstance(node, KEEPERS)]
        self._places |= {id(node): place for node, place in zip(keeping, places, strict=True)}
        self._compiled: dict[Any, Any] = {}

    def step(
        self,
        events: pa.Table,
        counts: Ints,
        matched: Ints,
        states: Mapping[str, State],
        evaluator: Evaluator,
        relations: Mapping[str, pa.Table],
        columns: Sequence[Field],
        **clocks: Any,
    ) -> SharedStep:
        """`events`: those of the stream, with the columns that it takes; `counts` and `matched`: how many rows of them
        each statement takes, and which; `columns`: those of the result."""
        context = StepContext(
            read=lambda scan: events,
            evaluator=evaluator,
            relations=relations,
            operators={
                **STEPS,
                TemplateInput: lambda node, context: self._given(events, counts, matched, context),
                BindConstants: self._with_constants,
            },
            places=self._places,
            states=OperatorStates(dict(states)),
            compiled=self._compiled,
            **clocks,
        )
        made = run_root(self.plan, context).table
        changed = {place: context.states.by_place[place] for place in context.states.changed}
        found = {place: open_by_statement(self.keepers[place], state) for place, state in changed.items()}
        partial = {place: count for place, count in found.items() if count is not None}
        return SharedStep(SharedRows(made, (TIME, SEQ, *self.plan.order), columns), changed, partial)

    def _given(self, events: pa.Table, counts: Ints, matched: Ints, context: StepContext) -> Rows:
        members = np.repeat(np.arange(len(counts)), counts)
        table = events.take(pa.array(matched))
        table = table.append_column(STATEMENT, pa.array(self._numbers[members]))
        return Rows(self._parameterised(table, members), context.watermark)

    def _with_constants(self, node: BindConstants, context: StepContext) -> Rows:
        rows = run(node.input, context)
        if not self._parameters:
            return rows
        numbers = rows.table[STATEMENT].to_numpy()
        members = self._order[np.searchsorted(self._numbers, numbers, sorter=self._order)]
        return Rows(self._parameterised(rows.table, members), rows.watermark)

    def _parameterised(self, table: pa.Table, members: Ints) -> pa.Table:
        for name, values in self._parameters.items():
            table = table.append_column(name, values.take(pa.array(members)))
        return table


def _column(constants: Sequence[Any]) -> pa.Array:
    """One value for each statement."""
    return pa.concat_arrays([to_array(constant(c.value, c.type), c.type, 1) for c in constants])
