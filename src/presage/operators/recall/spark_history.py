"""RECALL on Spark: large history is read chunk by chunk; in a plan on Spark, events are collected and rows return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from presage.arrays.columns import selected
from presage.columnar.evaluate import Evaluator, supports
from presage.execution.local import HistoryAccess, derived_run
from presage.execution.spark.archive import read_archive
from presage.execution.spark.batch import BatchContext, SparkOperators, column, ordering, run
from presage.execution.spark.catalyst_fallback import catalyst
from presage.execution.spark.types import frame_of
from presage.execution.steps import relation_rows
from presage.model.arrow import to_arrow
from presage.model.types import BOOLEAN, LONG
from presage.operators.recall.answers import ARRIVED, WHEN, aggregates_of
from presage.operators.recall.archive_history import in_order, in_parts, open_history, scans_of
from presage.operators.recall.bounded import recall_all
from presage.operators.recall.executor import Archive
from presage.operators.recall.finish import BEYOND, overflow
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Nearby, Recall, Recalled, Retained, Select
from presage.operators.recall.partial import merge_parts
from presage.operators.recall.questions import EVENT, HIGH, Questions
from presage.operators.recall.spark_selects import Asking, near_rows, select_groups, select_parts, select_rows
from presage.operators.running import STEPS
from presage.plan.expr import InRelation
from presage.plan.nodes import TIME, Field, Named, Node, RelationScan, Scan


@dataclass(frozen=True)
class SparkHistory:
    """The history that a Recall reads, as of a moment."""

    node: Recall
    context: BatchContext

    def ask(self, recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table:
        """Answers as of `left_join.Ask`."""
        select = recall.select
        asking = self._asking(asked, chunk)
        if not select.grouped:
            return _rows_of((*select.outputs, *select.sort), select_rows(select, asking))
        if not parts:
            named = {each.name: Field(each.name, each.expr.type) for each in (*select.groups, *select.calls)}
            named |= {q.name: Field(q.name, q.type) for q in select.subqueries if q.late}
            named |= {c.name + BEYOND: Field(c.name + BEYOND, BOOLEAN) for c in select.calls}
            return _in_range(select, _collected(select_groups(select, asking), named))
        groups = {f"g{i}": Field(g.name, g.expr.type) for i, g in enumerate(select.groups)}
        aggregates = aggregates_of(select)
        columns = [item for a in aggregates for item in a.partial_columns().items()]
        found = _collected(select_parts(select, asking), groups, keep=True)
        for i, (name, kind) in enumerate(columns):
            place = found.column_names.index(f"p{i}")
            found = found.set_column(place, name, found[f"p{i}"].cast(kind))
        return merge_parts([found], [EVENT, *(f.name for f in groups.values())], aggregates)

    def past(self, number: int, chunk: Chunk) -> pa.Table:
        """The past events of a span of time."""
        node = self.node.histories[number]
        # The bound of the query does not apply to history.
        context = self.context.inner(None)
        if in_parts(node):
            context = replace(context, read=lambda scan: self._read(scan, chunk))
        rows = in_order(node, run(node, context).toArrow())
        at = rows[TIME].to_numpy()
        return selected(rows, (at >= chunk.low) & (at < chunk.high))

    def near(self, stream: Nearby, width: int, asked: Questions) -> pa.Table:
        """EVENT, WHEN, ARRIVED and the attributes of events of a stream in the end of the span of each question."""
        high = asked.table[HIGH].to_numpy()
        asking = self._asking(asked, Chunk(int(high.min()) - width, int(high.max())))
        return _rows_of(stream.attributes, near_rows(stream, width, asking))

    def _asking(self, asked: Questions, chunk: Chunk) -> Asking:
        table = asked.table.combine_chunks()
        frame = frame_of(self.context.spark, table)
        return Asking(table, frame, lambda number: self._rows(number, chunk), chunk, self.context)

    def _rows(self, number: int, chunk: Chunk) -> DataFrame:
        """The rows of a stream in a span of time, or of a relation."""
        node = self.node.histories[number]
        if number not in _streams(self.node):
            return run(node, self.context)
        if not in_parts(node):
            rows = run(node, self.context).where((F.col(TIME) >= F.lit(chunk.low)) & (F.col(TIME) < F.lit(chunk.high)))
        else:
            rows = run(node, replace(self.context, read=lambda scan: self._read(scan, chunk)))
        return rows.drop(*node.order)

    def _read(self, scan: Scan, chunk: Chunk) -> DataFrame | None:
        assert self.context.files is not None
        files = self.context.files(scan).between(chunk.low, chunk.high)
        return read_archive(self.context.spark, files) if files.paths else None


def run_recall(node: Recall, context: BatchContext) -> DataFrame:
    """All revisions of all events, or the last of each."""
    events = in_order(node.input, run(node.input, context).toArrow())
    present = tuple(_present(each, context) for each in node.present)
    archive = open_history(node, _access(node, context)).with_present(present)
    return frame_of(context.spark, recall_all(node, events, archive, evaluator_of(node, context)))


def _access(node: Recall, context: BatchContext) -> HistoryAccess:
    """History of a query that runs on Spark: small spans are read in this process all the same."""
    assert context.files is not None
    files = {scan.extent: context.files(scan) for history in node.histories for scan in scans_of(history)}

    def access(inner: Recall) -> HistoryAccess:
        local = derived_run(inner, files, context.relations, STEPS, opened)
        return HistoryAccess(local, lambda why: SparkHistory(inner, context), context.rows_per_chunk)

    def opened(inner: Any) -> Archive:
        return open_history(inner, access(inner))

    return access(node)


def evaluator_of(node: Recall, context: BatchContext) -> Evaluator:
    """The evaluator of terms over answers; Catalyst computes those that only it can."""
    exprs = [*node.expressions(), *(expr for recall in node.recalls for expr in recall.expressions())]
    names = {e.relation for expr in exprs for e in expr.walk() if isinstance(e, InRelation)}
    relations = {name: context.relations[name] for name in names}
    native = not all(map(supports, exprs))
    return Evaluator(relations, catalyst(context.spark, relations) if native else None)


def _streams(node: Recall) -> frozenset[int]:
    return frozenset[int]().union(*(recall.numbers for recall in node.recalls))


def _in_range(select: Select, found: pa.Table) -> pa.Table:
    """The groups without the flags of overflow; an error if one is set."""
    for aggregate in aggregates_of(select):
        name = aggregate.output + BEYOND
        if name in found.column_names:
            if pc.any(found[name]).as_py():
                raise overflow(aggregate)
            found = found.drop_columns(name)
    return found


def _collected(frame: DataFrame, named: dict[str, Field], keep: bool = False) -> pa.Table:
    """The rows on the driver, with the names and types of the plan."""
    found = frame.toArrow()
    columns = {EVENT: found[EVENT].cast(pa.int64())}
    for name in found.column_names:
        if name in named:
            columns[named[name].name] = found[name].cast(to_arrow(named[name].type))
        elif keep and name != EVENT:
            columns[name] = found[name]
    return pa.table(columns)


def _rows_of(terms: Sequence[Named], frame: DataFrame) -> pa.Table:
    """The rows of a select without groups, on the driver."""
    named = {f"c{i}": Field(o.name, o.expr.type) for i, o in enumerate(terms)}
    return _collected(frame, {**named, WHEN: Field(WHEN, LONG), ARRIVED: Field(ARRIVED, LONG)})


def _present(node: Node, context: BatchContext) -> pa.Table:
    if isinstance(node, RelationScan):
        return relation_rows(node, context.relations)
    return in_order(node, run(node, context).toArrow())


def run_retained(node: Retained, context: BatchContext) -> DataFrame:
    """What the window holds at the watermark of the query."""
    rows = run(node.input, context)
    if node.span is not None:
        rows = rows.where(F.col(TIME) > F.lit(context.watermark - node.span))
    if node.most is None:
        return rows
    keys = [column(key, context) for key in node.keys]
    came = [place.asc() if node.oldest else place.desc() for place in ordering(node)]
    place = F.row_number().over(Window.partitionBy(*(keys or [F.lit(0)])).orderBy(*came))
    return rows.withColumn("_n", place).where(F.col("_n") <= node.most).drop("_n")


OPERATORS = SparkOperators({Recall: run_recall, Retained: run_retained}, histories={Recall: SparkHistory})
