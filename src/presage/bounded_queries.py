"""Bounded queries over a home: bound, planned, and executed by Spark, locally, or through Structured Streaming.

Nothing here changes the home.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from presage.execution.local import answer_locally
from presage.execution.spark.archive import count_events, time_span
from presage.execution.spark.batch import run_root
from presage.execution.spark.catalyst_fallback import catalyst
from presage.execution.spark.contexts import Contexts
from presage.execution.spark.result import Result, TableResult
from presage.execution.spark.streaming import run_each
from presage.lang import syntax as s
from presage.live.replay import Replay
from presage.model.text import Source
from presage.operators.knowledge.answers import Tables
from presage.operators.knowledge.spark_answers import with_answers
from presage.operators.recall.executor import Archive
from presage.operators.recall.nodes import Recall, waited_for
from presage.operators.recall.spark_history import history_of
from presage.operators.running import OPERATORS, reads_end
from presage.plan.nodes import Node, Scan
from presage.plan.query import BoundQuery
from presage.storage import FileSet, Log
from presage.storage.catalog_views import not_seen
from presage.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class BoundedQueries:
    """`tables`: the current relations and knowledge. `check_open` raises once the engine is closed. `optimize`: False
    runs plans as they are bound. `rows_in_memory`: how many rows this process may hold at once."""

    log: Log
    workspace: Workspace
    contexts: Contexts
    session: Callable[[], SparkSession]
    tables: Callable[[], Tables]
    check_open: Callable[[], None]
    optimize: bool
    rows_in_memory: int

    def answer(self, statement: s.Query, source: Source) -> Result:
        bound = self.workspace.bind(statement, source=source)
        plan = self._plan(bound)
        # The snapshot is taken now, though the query runs when its rows are read.
        position = self.log.position
        files = {scan.extent: self._snapshot(scan, position) for scan in bound.scans()}
        relations = self.tables()
        timed = {node.extent for node in waited_for(bound.plan) if isinstance(node, Scan)}

        def frame() -> DataFrame:
            context = self.contexts.of(files, relations, bound.upper, reads_end(plan), timed)
            return run_root(plan, with_answers(plan, context))

        limits = bound.upper, self.rows_in_memory, self.check_open
        result = Result(
            bound.columns,
            frame,
            plan.depth,
            lambda: self.workspace.explain(bound),
            lambda: self.contexts.partitions(count_events(files.values())),
            lambda: time_span(files.values()),
            lambda: self.workspace.picture(bound),
            lambda: answer_locally(plan, OPERATORS, files, relations, *limits),
        )
        return self._noted(result, bound)

    def replay(self, query: s.Query, source: Source, batches: int | None) -> Result:
        """A query through Structured Streaming."""
        bound, spark, workspace = self.workspace.bind(query, source=source), self.session(), self.workspace
        fallback = lambda relations: catalyst(spark, relations)  # noqa: E731
        given = self.log, workspace.catalog, self.tables(), fallback, batches, self.history
        replay = Replay(bound, self._plan(bound), *given)
        run_each(spark, replay.batches, replay.step)
        explain, picture = lambda: workspace.explain(bound), lambda: workspace.picture(bound)
        return self._noted(TableResult(bound.columns, replay.rows(), lambda: spark, explain, picture), bound)

    def explain(self, statement: s.Explain, source: Source) -> str:
        drawn = statement.format == "svg"
        return self.workspace.look(statement) if drawn else self.answer(statement.statement, source).explain()

    def history(self, node: Recall) -> Archive:
        """The current archive, for the searches of a RECALL."""
        scans = [scan for history in node.histories for scan in history.walk() if isinstance(scan, Scan)]
        files = {scan.extent: self._snapshot(scan, self.log.position) for scan in scans}
        return history_of(node, self.contexts.of(files, self.tables()))

    def _plan(self, bound: BoundQuery) -> Node:
        return self.workspace.optimize(bound).plan if self.optimize else bound.plan

    def _noted(self, result: Result, bound: BoundQuery) -> Result:
        return result.noted(not_seen(self.log.archive, (scan.stream for scan in bound.scans())), bound.warnings)

    def _snapshot(self, scan: Scan, position: int) -> FileSet:
        up_to = position if scan.until is None else min(position, scan.until)
        return self.log.archive.snapshot(scan.stream, up_to, scan.time.low, scan.time.high, scan.after)
