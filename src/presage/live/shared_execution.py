"""Shared execution: statements of one plan template step as one, with the statement as a key.

A shared step of a thousand statements costs about as much as one step of a single statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import Ints, constant, to_array
from presage.execution.stage import STATEMENT
from presage.execution.steps import OperatorStates, Rows, StepContext, run, run_root
from presage.live import plan_template
from presage.live.plan_template import BindConstants, PlanTemplate, TemplateInput, keeps_state, parameter, sharing
from presage.live.result_slices import SharedRows
from presage.model.operator_state import State
from presage.operators.running import Steps
from presage.plan.nodes import SEQ, TIME, Field, Node

# Fewer statements of one template step as fast one by one.
LEAST_MEMBERS = 4


@dataclass
class SharedStates:
    """The shared states of several statements after a batch. `name`: that of the shared state which they continue,
    empty if it is new."""

    name: str
    numbers: tuple[str, ...]
    shard: int
    keepers: Mapping[str, Node]  # by place
    states: dict[str, State] = field(default_factory=dict)  # by place

    def leave_to(self, numbers: Sequence[str]) -> None:
        """Keep only the parts of these statements, as a new shared state."""
        self.name, self.numbers = "", tuple(numbers)
        kept = [int(number) for number in numbers]
        for place, state in self.states.items():
            node = self.keepers[place]
            self.states[place] = sharing(node).part(node, state, kept)


@dataclass
class SharedStep:
    """The result of a shared step: rows, states by place, and open matches by place and statement."""

    rows: SharedRows
    states: dict[str, State]
    partial: dict[str, dict[int, int]]


class SharedExecution:
    """Statements of one template. `places`: those of the stateful nodes in the plan of each."""

    def __init__(self, templates: Sequence[PlanTemplate], numbers: Sequence[str], places: Sequence[int]) -> None:
        self._numbers = np.array([int(number) for number in numbers], np.int64)
        self._order = np.argsort(self._numbers)
        first = templates[0].constants
        texts = [[repr(constant) for constant in template.constants] for template in templates]
        equal = [i for i in range(len(first)) if len({line[i] for line in texts}) == 1]
        different = [i for i in range(len(first)) if i not in equal]
        self._parameters = {parameter(i): _column([each.constants[i] for each in templates]) for i in different}
        self.plan = plan_template.restore_constants(templates[0].plan, {i: first[i] for i in equal})
        self.keepers = {str(place): node for place, node in zip(places, templates[0].keepers, strict=True)}
        nodes = list(self.plan.walk())
        source = next(node for node in nodes if isinstance(node, TemplateInput))
        self.takes = [TIME, SEQ, *(f.name for f in source.columns if f.name != STATEMENT)]  # columns of the events
        self._places = {id(node): -1 - number for number, node in enumerate(nodes)}
        stateful = [node for node in nodes if keeps_state(node)]
        self._places |= {id(node): place for node, place in zip(stateful, places, strict=True)}
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
        **bounds: Any,
    ) -> SharedStep:
        """`events`: those of the stream, with the columns `takes`; `counts` and `matched`: how many rows pass the
        filter of each statement, and which; `columns`: those of the result; `bounds`: see `StepContext`."""
        context = StepContext(
            read=lambda scan: events,
            evaluator=evaluator,
            relations=relations,
            operators=Steps(
                {
                    TemplateInput: lambda node, context: self._input(events, counts, matched, context),
                    BindConstants: self._with_constants,
                }
            ),
            places=self._places,
            states=OperatorStates(dict(states)),
            compiled=self._compiled,
            **bounds,
        )
        made = run_root(self.plan, context).table
        changed, partial = context.states.written(), dict[str, dict[int, int]]()
        for place, state in changed.items():
            counts_by_statement = sharing(self.keepers[place]).open_by_statement(self.keepers[place], state)
            if counts_by_statement is not None:
                partial[place] = counts_by_statement
        return SharedStep(SharedRows(made, (TIME, SEQ, *self.plan.order), columns), changed, partial)

    def _input(self, events: pa.Table, counts: Ints, matched: Ints, context: StepContext) -> Rows:
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
