"""Bounded queries over a home: bound, planned, and executed locally, on Spark, or through Structured Streaming.

Nothing here changes the home. Spark's modules are imported where they are needed: small work starts without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from presage.errors import PresageError, error
from presage.execution.local import Files, HistoryAccess, LocalRun, derived_run
from presage.execution.placement import Placement, place
from presage.execution.result import Result, TableResult
from presage.lang import syntax as s
from presage.live.replay import Replay
from presage.model.text import Source
from presage.operators.running import STEPS, needs_spark, operator_of, reads_end
from presage.plan.nodes import Node, Scan
from presage.plan.query import BoundQuery
from presage.storage import FileSet, Log
from presage.storage.catalog_views import not_seen
from presage.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from presage.execution.spark.bounded import SparkRun
    from presage.execution.spark.contexts import Contexts


def check_chunk(rows: int | None) -> None:
    """Validate `rows_per_chunk`."""
    if rows is not None and rows < 1:
        raise error("BAD_VALUE", what="rows_per_chunk", found=rows, expected="at least 1")


@contextmanager
def _needed_for(why: str) -> Iterator[None]:
    """Where Java is missing, the error says why a query of this size needs it."""
    try:
        yield
    except PresageError as problem:
        if problem.code != "NO_JAVA":
            raise
        raise type(problem)(problem.code, f"{problem.message}; the query needs Spark: {why}", problem.fix) from None


@dataclass(frozen=True)
class BoundedQueries:
    """`tables`: the current relations and knowledge. `check_open` raises once the engine is closed. `optimize`: False
    runs plans as they are bound. `placement`: see `execution.placement`. `rows_in_memory`: how many rows this process
    may hold at once. `rows_per_chunk`: how many rows of history a recall reads at once; None: it decides."""

    log: Log
    workspace: Workspace
    session: Callable[[], SparkSession]
    tables: Callable[[], Mapping[str, pa.Table]]
    check_open: Callable[[], None]
    optimize: bool
    placement: str
    rows_in_memory: int
    rows_per_chunk: int | None

    def answer(self, statement: s.Query, source: Source) -> Result:
        bound = self.workspace.bind(statement, source=source)
        plan = self._plan(bound)
        # The snapshot is taken now, though the query runs when its rows are read.
        position = self.log.position
        files = {scan.extent: self._snapshot(scan, position) for scan in bound.scans()}
        relations = self.tables()
        timed = {node.extent for node in bound.plan.walk_timed() if isinstance(node, Scan)}

        @cache
        def placed() -> Placement:
            return place(plan, files.values(), self.placement, self.rows_in_memory, needs_spark)

        @cache
        def on_spark() -> SparkRun:
            from presage.execution.spark.bounded import SparkRun

            columns = [column.name for column in bound.columns]
            given = files, relations, bound.upper, reads_end(plan), timed
            return SparkRun(plan, columns, self._contexts, *given)

        def table() -> pa.Table:
            if not placed().local:
                self._refuse_spark(placed().why)
                with _needed_for(placed().why):
                    return on_spark().rows()
            histories = partial(self._opened, files=files, relations=relations)
            given = bound.upper, reads_end(plan), timed, self.check_open
            return LocalRun(plan, files, relations, STEPS, histories, *given).rows()

        def frame() -> DataFrame:
            with _needed_for("Result.df is a DataFrame of Spark"):
                return on_spark().frame()

        return self._noted(
            Result(
                bound.columns,
                plan.depth,
                table,
                frame,
                lambda: f"{self.workspace.explain(bound)}\n\n{placed().section()}",
                lambda: self.workspace.picture(bound),
            ),
            bound,
        )

    def replay(self, query: s.Query, source: Source, batches: int | None) -> Result:
        """A query through Structured Streaming."""
        from presage.execution.spark.catalyst_fallback import catalyst
        from presage.execution.spark.streaming import run_each

        bound, workspace = self.workspace.bind(query, source=source), self.workspace
        with _needed_for("mode='stream' runs through Structured Streaming"):
            spark = self.session()
        fallback = partial(catalyst, spark)
        given = self.log, workspace.catalog, self.tables(), fallback, batches, self.history
        replay = Replay(bound, self._plan(bound), *given)
        run_each(spark, replay.batches, replay.step)
        explain, picture = lambda: workspace.explain(bound), lambda: workspace.picture(bound)
        return self._noted(TableResult(bound.columns, replay.rows(), lambda: spark, explain, picture), bound)

    def explain(self, statement: s.Explain, source: Source) -> str:
        drawn = statement.format == "svg"
        return self.workspace.look(statement) if drawn else self.answer(statement.statement, source).explain()

    def history(self, node: Any) -> Any:
        """The history that a node of a deployed statement reads, as it is now."""
        scans = [scan for each in node.histories for scan in each.walk() if isinstance(scan, Scan)]
        files = {scan.extent: self._snapshot(scan, self.log.position) for scan in scans}
        return self._opened(node, files, self.tables(), deployed=True)

    def _opened(self, node: Node, files: Files, relations: Mapping[str, pa.Table], deployed: bool = False) -> Any:
        histories = partial(self._opened, files=files, relations=relations, deployed=deployed)
        local = derived_run(node, files, relations, STEPS, histories, self.check_open)

        def on_spark(why: str) -> Any:
            self._refuse_spark(why)
            return self._contexts.operators.histories[type(node)](node, self._contexts.of(files, relations))

        access = HistoryAccess(local, on_spark, self.rows_per_chunk, deployed, bounded=self.placement != "local")
        return operator_of(node).history[type(node)](node, access)

    @cached_property
    def _contexts(self) -> Contexts:
        from presage.execution.spark.batch_stages import spark_operators
        from presage.execution.spark.contexts import Contexts
        from presage.operators.running import all_operators

        return Contexts(self.session, spark_operators(all_operators()), self.rows_in_memory, self.rows_per_chunk)

    def _refuse_spark(self, why: str) -> None:
        if self.placement == "local":
            fix = "open the engine with placement='auto'"
            raise error("UNSUPPORTED", what="this query", where=f"with placement='local': {why}", fix=fix)

    def _plan(self, bound: BoundQuery) -> Node:
        return self.workspace.optimize(bound).plan if self.optimize else bound.plan

    def _noted(self, result: Result, bound: BoundQuery) -> Result:
        return result.noted(not_seen(self.log.archive, (scan.stream for scan in bound.scans())), bound.warnings)

    def _snapshot(self, scan: Scan, position: int) -> FileSet:
        up_to = position if scan.until is None else min(position, scan.until)
        return self.log.archive.snapshot(scan.stream, up_to, scan.time.low, scan.time.high, scan.after)
