"""Conformance cases, asked of each event why it made no row: it is told to be in a match exactly where it is in one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from conformance.cases import Case, cases
from conformance.test_cases_in_steps import NEEDS_SPARK, events_of
from presage.columnar.evaluate import Evaluator
from presage.columnar.reasons import Examiner, Reasons
from presage.execution.steps import OperatorStates, StepContext, run, schema_of
from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.live.program import Program, compile_program
from presage.operators.epl.nodes import PatternMatch
from presage.operators.epl.tracing import showing
from presage.operators.epl.why_not import why_pattern
from presage.operators.match.nodes import Match
from presage.operators.match.stages import showing_rows
from presage.operators.match.why_not import why_match
from presage.operators.running import STEPS as OPERATORS
from presage.operators.trace_columns import bound_in
from presage.plan.nodes import SEQ, TIME, Scan
from presage.storage.relations import relation_table
from presage.workspace import Workspace

# A share of them: all were tried when this was written.
ASKED = [case for case in cases()[::6] if case.by_time and not any(word in case.query for word in NEEDS_SPARK)]


class World:
    """A case as its pattern sees it, at the end of its events."""

    def __init__(self, case: Case) -> None:
        workspace = Workspace([], ".")
        workspace.check(case.declarations)
        query = parse_statement(case.query)
        assert isinstance(query, s.Query)
        bound = workspace.bind(query)
        self.case = case
        self.program: Program = compile_program(bound, workspace.optimize(bound).plan, 1)
        self.relations = {name: relation_table(relation) for name, relation in workspace.catalog.relations.items()}
        self.events = events_of(case)
        self.node = next(node for node in self.program.plan.walk() if isinstance(node, Match | PatternMatch))

    def context(self, more: object = None) -> StepContext:
        last = max((event["ts"] for _, event in self.events), default=0)
        upper = self.program.upper
        clock = last if upper is None else upper
        places = {**self.program.places, id(more): self.program.places[id(self.node)]}
        operator_states, evaluator = OperatorStates(), Evaluator(self.relations)
        return StepContext(
            self._read,
            evaluator,
            self.relations,
            OPERATORS,
            places,
            operator_states,
            clock,
            max(clock, last),
            upper,
            True,
        )

    def _read(self, scan: Scan) -> pa.Table:
        found: list[dict[str, Any]] = []
        for number, (name, event) in enumerate(self.events):
            if name == scan.stream and event["ts"] in scan.time:
                values = {f.name: event.get(a) for f, a in zip(scan.fields, scan.attributes, strict=True)}
                found.append({TIME: event["ts"], SEQ: number, **values})
        return pa.Table.from_pylist(found, schema_of(scan.columns))

    def matched(self) -> list[list[tuple[str, int]]]:
        """The events of all matches, by the names of the pattern."""
        shown: PatternMatch | Match
        if isinstance(self.node, PatternMatch):
            shown, fields = showing(self.node, SEQ)
        else:
            shown, fields = showing_rows(self.node, SEQ)
        rows = run(shown, self.context(shown)).table
        if isinstance(shown, Match) and shown.tables.timeouts:
            rows = rows.filter(pc.invert(rows[shown.tables.timed_out].fill_null(False)))
        found = [bound_in(row) for row in rows.select([f.name for f in fields]).to_pylist()]
        # ALL ROWS PER MATCH tells a match with each of its rows.
        one = isinstance(shown, PatternMatch) or shown.tables.rows == "one"
        return found if one else [list(each) for each in dict.fromkeys(map(tuple, found))]

    def told(self, number: int) -> Reasons:
        context = self.context()
        examiner = Examiner(context.evaluator, self.case.query)
        if isinstance(self.node, PatternMatch):
            return why_pattern(self.node, self.node, context, number, examiner)
        return why_match(self.node, self.node, context, number, examiner)


@pytest.mark.parametrize("case", ASKED, ids=lambda case: case.id)
def test_an_event_is_told_to_be_in_a_match_exactly_where_it_is_in_one(case: Case) -> None:
    world = World(case)
    matched = world.matched()
    for number in range(len(world.events)):
        told = world.told(number)
        names = sorted(note.split()[2] for note in told.notes if note.startswith("It is ") and " match " in note)
        truth = sorted(name for bound in matched for name, found in bound if found == number)
        if isinstance(world.node, PatternMatch):
            # Of many matches the first few are told.
            assert bool(names) == bool(truth), told
        elif not world.node.tables.whole and world.node.tables.skip.kind != "to_current":
            assert names == truth, told
        assert all(answer.holds is not None for chance in told.chances for answer in chance.answers)
