"""Runs a query over events in memory with the step driver, cut into batches at will: no Spark, no log."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.execution.steps import OperatorStates, StepContext, run_root, schema_of
from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.model.operator_state import State
from presage.model.time import to_micros
from presage.operators.running import STEPS as OPERATORS
from presage.operators.running import check_stream as check_order
from presage.plan.nodes import SEQ, TIME, Node, Scan
from presage.storage.relations import relation_table
from presage.workspace import Workspace


def run_in_steps(
    declarations: str, query: str, events: list[tuple[str, dict[str, Any]]], cuts: list[int], optimized: bool = True
) -> list[dict[str, Any]]:
    """Rows of a query over events in order of arrival (stream, attributes with the time `ts` in microseconds).

    `cuts` are the numbers of events after which a batch ends; the state goes through bytes between batches.
    """
    workspace = Workspace([], ".")
    workspace.check(declarations)
    statement = parse_statement(query)
    assert isinstance(statement, s.Query)
    bound = workspace.bind(statement)
    plan = workspace.optimize(bound).plan if optimized else bound.plan
    plan = _apart(plan)
    places_of = {id(node): number for number, node in enumerate(plan.walk())}
    scans = [node for node in plan.walk() if isinstance(node, Scan)]
    if cuts:
        check_order(plan)
    relations = {name: relation_table(relation) for name, relation in workspace.catalog.relations.items()}
    evaluator = Evaluator(relations)
    numbered = [(name, {**e, SEQ: i}) for i, (name, e) in enumerate(events)]
    states: dict[str, bytes] = {}
    compiled: dict[Any, Any] = {}
    rows: list[dict[str, Any]] = []
    spoken = {scan.stream: scan for scan in scans}
    before = (0, NOTHING_KNOWN)
    places = [(cut, numbered[cut - 1][1]["ts"]) for cut in cuts if cut] + [(len(events), 2**61)]
    for place in places:
        end = place is places[-1]
        mine = [e["ts"] for name, e in numbered if name in spoken and _inside(e["ts"], spoken[name])]
        last = max(mine, default=NOTHING_KNOWN)
        clock = place[1] if not end else (bound.upper if bound.upper is not None else last)
        inner = max(clock, last) if end else clock
        if bound.upper is not None:
            clock = min(clock, bound.upper)

        def read(scan: Scan, place: tuple[int, int] = place, before: tuple[int, int] = before) -> pa.Table:
            found = []
            for name, e in numbered:
                new = e[SEQ] < place[0] and e["ts"] <= place[1]
                old = e[SEQ] < before[0] and e["ts"] <= before[1]
                if name == scan.stream and new and not old and _inside(e["ts"], scan):
                    values = {f.name: e.get(a) for f, a in zip(scan.fields, scan.attributes, strict=True)}
                    found.append({TIME: e["ts"], SEQ: e[SEQ], **values})
            return pa.Table.from_pylist(found, schema_of(scan.columns))

        operator_states = OperatorStates({name: State.from_bytes(data) for name, data in states.items()})
        context = StepContext(
            read,
            evaluator,
            relations,
            OPERATORS,
            places_of,
            operator_states,
            clock,
            inner,
            bound.upper,
            end,
            compiled=compiled,
        )
        made = run_root(plan, context).table
        states = {name: state.to_bytes() for name, state in operator_states.by_place.items()}
        before = place
        names = [c.name for c in bound.columns]
        rows += [
            {name: row[name] for name in names} | {"at": to_micros(row["at"])}
            for row in sorted_table(made, (TIME, SEQ, *plan.order)).to_pylist()
        ]
    return rows


def _inside(time: int, scan: Scan) -> bool:
    return time in scan.time


def _apart(plan: Node) -> Node:
    """Every node an object of its own: states go by a node's identity."""
    return replace(plan.map_inputs(_apart))
