"""The inspector of deployed statements: EXPLAIN, why-not, the events of matches, pictures. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.columnar.reasons import Reasons
from presage.errors import QueryWarning
from presage.live.job import Job
from presage.live.match_trace import MatchTrace
from presage.live.statement_compiler import StatementCompiler
from presage.live.why_not_conditions import ConditionReport, why_not_conditions
from presage.live.why_not_patterns import why_not_patterns
from presage.model.time import format_timestamp
from presage.operators.running import explain_deployed, has_matches
from presage.plan.display import show
from presage.plan.picture import Picture
from presage.storage import Log

if TYPE_CHECKING:
    from presage.operators.knowledge.lookup import Browser, Selected


@dataclass(frozen=True)
class StatementInspector:
    """`relations`: the current ones; `warnings`: of deployed statements, by number."""

    log: Log
    job: Job
    compiler: StatementCompiler
    relations: Callable[[], Mapping[str, pa.Table]]
    warnings: Mapping[str, tuple[QueryWarning, ...]]

    def explain(self, number: str) -> str:
        """EXPLAIN of a statement, and how it runs."""
        statement, program = self.job.statements[number], self.job.programs[number]
        bound = replace(self.compiler.bind(statement), warnings=self.warnings.get(number, ()))
        plan = self.compiler.workspace.explain(bound)
        shards = f"{program.shards} shards of its keys" if program.shards > 1 else "one shard"
        native = ", ".join(show(expr) for expr in program.catalyst) or "none"
        rows = [
            f"state in {shards}; batches of at most about {self.job.planner.rows_per_batch:,} events",
            f"expressions that Spark computes: {native}",
            f"rows by time alone: {'yes' if program.timers else 'no'}",
            *explain_deployed(program.plan),
        ]
        if has_matches(program.plan):
            rows.append(f"partial matches that are open now: {statement.partial_matches:,}")
        if program.reads_history:
            ready, suspended = statement.recalls_ready, statement.recalls_suspended
            rows.append(f"recalls that are open now: {ready:,} ready, {suspended:,} suspended")
        if program.lags:
            watermark = statement.output_watermark
            made_to = "no watermark yet" if watermark is None else format_timestamp(watermark)
            rows.append(f"its rows wait for the oldest open recall; all have been made up to: {made_to}")
        return plan + "\n\n== Live ==\n" + "\n".join(rows)

    @property
    def knowledge(self) -> Browser:
        # Imported here: few engines have a knowledge base.
        from presage.operators.knowledge.lookup import Browser

        workspace = self.compiler.workspace
        return Browser(workspace.library, workspace.catalog.knowledge.values())

    def selected(self, number: str, limit: int) -> list[Selected]:
        """The entities that the PATHs of a statement select."""
        return self.knowledge.selected(self.job.programs[number].relations, limit)

    def why_not_conditions(self, number: str, limit: int) -> list[ConditionReport]:
        """The newest events of a statement's streams, and which of its conditions they fulfil."""
        position = self.job.position_of(self.job.statements[number])
        program, worded = self.job.programs[number], self.knowledge.worded
        return why_not_conditions(program, position, self.log, self.relations(), limit, worded)

    def why_not_patterns(self, number: str, event: int) -> list[Reasons]:
        """Why an event made no row in the patterns and sequences of a statement; `event` is its sequence number."""
        statement = self.job.statements[number]
        # Compiled again: spans of expressions refer to this text, not to a script with other statements.
        program, position = self.compiler.compile_again(statement), self.job.position_of(statement)
        repeats = self.job.can_repeat(statement)
        return why_not_patterns(program, statement.text, position, self.log, self.relations(), event, repeats)

    def trace(self, number: str) -> MatchTrace:
        """The trace of a statement's matches; `follow` brings it to the position of the statement."""
        return MatchTrace(self.job.programs[number], self.log, self.relations())

    def follow(self, number: str, trace: MatchTrace) -> None:
        statement = self.job.statements[number]
        trace.advance(self.job.position_of(statement), self.job.can_repeat(statement))

    def picture(self, number: str) -> Picture:
        """The automata and patterns of a statement."""
        return self.compiler.workspace.picture(self.compiler.bind(self.job.statements[number]))
