"""A query over semantic events in, its rows out, without Spark: the plan is stepped once over a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.execution.steps import OperatorStates, StepContext, run_root, schema_of
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.live.program import compile_program
from presage.model.time import to_micros
from presage.operators.knowledge.library import Relations
from presage.operators.running import STEPS as OPERATORS
from presage.plan.nodes import SEQ, TIME, Scan
from presage.workspace import Workspace

END = 2**61


def knowing(folder: Path, knowledge: str, declarations: str, **files: str) -> Workspace:
    """A workspace with a knowledge base `world` and further files, given by name without their extension's dot."""
    (folder / "world.ttl").write_text(knowledge, encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    workspace = Workspace([folder], folder)
    workspace.check(f"CREATE KNOWLEDGE world FROM 'world.ttl' REASONING OWL_RL;\n{declarations}")
    return workspace


def rows_of(
    workspace: Workspace, text: str, events: dict[str, Sequence[dict[str, Any]]], live: bool = False
) -> list[dict[str, Any]]:
    """The rows of a query; the events of each stream in order, `at` their time."""
    query = parse_statement(text)
    assert isinstance(query, s.Query)
    bound = workspace.bind(query, live=live)
    plan = workspace.optimize(bound).plan if workspace.optimizing else bound.plan
    program = compile_program(bound, plan, 1)
    tables = Relations({}, workspace.library, workspace.catalog.knowledge.values())
    relations = {name: tables[name] for name in program.relations}

    def read(scan: Scan) -> pa.Table:
        rows = []
        for number, event in enumerate(events.get(scan.stream, ())):
            named = {f.name: event[a] for f, a in zip(scan.fields, scan.attributes, strict=True)}
            rows.append({TIME: to_micros(event["at"]), SEQ: number, **named})
        return pa.Table.from_pylist(rows, schema_of(scan.columns))

    context = StepContext(
        read,
        Evaluator(relations),
        relations,
        OPERATORS,
        program.places,
        OperatorStates(),
        END,
        END,
        program.upper,
        True,
    )
    made = run_root(program.plan, context).table
    return [dict(row) for row in made.select([c.name for c in program.columns]).to_pylist()]
