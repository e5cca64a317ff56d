"""Local execution of bounded queries: over files of the archive, in threads of this process, without a Spark job.

Threads partition the events by key, with the kernels and the evaluator that executors run. Old chunks are bucketed by
key already; others are read once and partitioned here. For small inputs the planning, scheduling and collecting of a
Spark job would cost more than the work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import pyarrow as pa

from presage.columnar.evaluate import Evaluator, supports
from presage.execution.keyed_files import Part, Work, work_on_files
from presage.execution.spark.batch import NO_EVENTS
from presage.execution.stage import Operator, Resources, Stage
from presage.execution.step_stages import output_rows
from presage.execution.steps import OperatorStates, Rows, StepContext, run_root, schema_of
from presage.plan.expr import InRelation
from presage.plan.nodes import TIME, Extent, Filter, Node, Project, Stamp
from presage.storage import FileSet
from presage.storage.event_reader import read_events

Files = Mapping[Extent, FileSet]

# The most events, and bytes of their files, for local execution; more are worth a Spark job.
MOST_ROWS, MOST_BYTES = 4_000_000, 1 << 29
# Fewer events are not worth a thread.
ROWS_PER_SHARE = 50_000


@dataclass(frozen=True)
class LocalAnswer:
    """A plan that can run locally, and its stateful node, whose kernel runs over `buckets`, or over shares of all
    files."""

    plan: Node
    node: Node
    work: Work
    buckets: list[Part] | None
    check: Callable[[], None]
    relations: Mapping[str, pa.Table]

    def rows(self) -> pa.Table:
        """TIME, SEQ, order and columns of the plan's rows, not sorted across buckets."""
        self.check()
        threads = os.cpu_count() or 1
        with ThreadPoolExecutor(threads, thread_name_prefix="presage-bucket") as pool:
            if self.buckets is not None:
                parts = pool.map(self.work.rows, self.buckets)
            else:
                shares = min(threads, -(-self.work.files.rows // ROWS_PER_SHARE))
                parts = pool.map(self.work.made_of, self.work.shares(max(1, shares)))
            made = [rows for rows in parts if rows is not None]
        if not made:
            return self._finished(schema_of(self.node.columns, self.node.order).empty_table())
        return self._finished(output_rows(self.work.stage, pa.concat_tables(made), Evaluator(self.relations)))

    def describe(self) -> str:
        files, rows = self.work.files.paths, self.work.files.rows
        where = f"{len(files)} files" if self.buckets is None else f"{len(self.buckets)} buckets of old chunks"
        return f"in this process: {where}, {rows:,} events; as a DataFrame by Spark"

    def _finished(self, made: pa.Table) -> pa.Table:
        """The rows of the plan, from those of its stateful node."""
        watermark = self.work.watermark
        context = StepContext(
            read=lambda scan: made,
            evaluator=Evaluator(self.relations),
            relations=self.relations,
            operators={type(self.node): lambda node, context: Rows(made, watermark)},
            places={id(node): number for number, node in enumerate(self.plan.walk())},
            states=OperatorStates(),
            watermark=watermark,
            inner_watermark=watermark,
            end=True,
        )
        return run_root(self.plan, context).table


def answer_locally(
    plan: Node,
    operators: Mapping[str, Operator],
    files: Files,
    relations: Mapping[str, pa.Table],
    upper: int | None,
    most_rows: int,
    check: Callable[[], None],
) -> LocalAnswer | None:
    """The plan, if it can run locally: only filters and projections are above its one stateful node, and the events are
    few. `upper`: its final watermark, if not the time of its last event; `check` raises once the engine is closed."""
    node = plan.input if isinstance(plan, Stamp) else plan
    named = set[str]()
    while isinstance(node, Project | Filter):
        exprs = node.expressions()
        if not all(map(supports, exprs)):
            return None
        named |= {x.relation for expr in exprs for x in expr.walk() if isinstance(x, InRelation)}
        node = node.input
    stage = stage_of(node, operators)
    if stage is None or not stage.reads_files or len(files) != 1:
        return None
    kernel = stage.kernel(Resources(relations))
    work = work_on_files(stage, kernel, lambda scan: files[scan.extent], relations, 0)
    if work is None or work.files.rows > min(most_rows, MOST_ROWS) or work.files.bytes > MOST_BYTES:
        return None
    watermark = upper if upper is not None else _last_event(work.files)
    return LocalAnswer(
        plan,
        node,
        replace(work, watermark=watermark),
        work.by_bucket(),
        check,
        {name: relations[name] for name in named},
    )


def stage_of(node: Node, operators: Mapping[str, Operator]) -> Stage | None:
    """The stage of a node; None if it has none."""
    for operator in operators.values():
        if type(node) in operator.stages:
            stage = operator.stages[type(node)](node)
            return stage if isinstance(stage, Stage) else None
    return None


def _last_event(files: FileSet) -> int:
    """From the statistics, unless a bound cuts through a file."""
    if files.exact and files.max_time is not None:
        return files.max_time
    times = read_events(files, ())[TIME].to_numpy()
    return int(times.max(initial=NO_EVENTS))
