"""RECALL in bounded queries: events are collected, history is read by Spark chunk by chunk, rows return to Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from presage.arrays.columns import selected
from presage.columnar.evaluate import Evaluator, supports
from presage.columnar.processing_order import sorted_table
from presage.execution.spark.archive import read_archive
from presage.execution.spark.batch import BatchContext, SparkOperators, column, ordering, run
from presage.execution.spark.catalyst_fallback import catalyst
from presage.execution.spark.types import frame_of
from presage.execution.steps import relation_rows, schema_of
from presage.model.arrow import to_arrow
from presage.model.types import BOOLEAN, LONG
from presage.operators.recall.answers import ARRIVED, WHEN, aggregates_of
from presage.operators.recall.bounded import recall_all
from presage.operators.recall.executor import Archive
from presage.operators.recall.finish import finish, overflow
from presage.operators.recall.history_chunks import CHUNK_ROWS, MOST_GROWTH, Chunk, history_chunks
from presage.operators.recall.local_execution import MOST_ROWS, ask_event, ask_here, is_plain, plain_select, rows_here
from presage.operators.recall.nodes import Nearby, Recall, Recalled, Retained, Select, Similar
from presage.operators.recall.partial import merge_parts
from presage.operators.recall.progress import History
from presage.operators.recall.questions import EVENT, EVER, HIGH, Questions
from presage.operators.recall.similar_rows import PastEvents, similar_rows
from presage.operators.recall.spark_aggregates import BEYOND
from presage.operators.recall.spark_selects import Asking, near_rows, select_groups, select_parts, select_rows
from presage.plan.expr import InRelation
from presage.plan.nodes import SEQ, TIME, Field, Filter, Merge, Node, Project, RelationScan, Scan


@dataclass(frozen=True)
class SparkHistory:
    """The history that a Recall reads, as of a moment: the files of its streams, and how they are read."""

    node: Recall
    context: BatchContext
    chunk_rows: int | None = None
    deployed: bool = False  # other events wait while a chunk is read

    def chunks(self) -> list[Chunk]:
        """The chunks, newest first; one without bounds if there is no history."""
        spans = self._spans()
        size = self.chunk_rows or self.context.rows_per_chunk or CHUNK_ROWS
        chunks = history_chunks(spans, size, most_rows=MOST_GROWTH * size if self._reads_once() else None)
        return [Chunk(chunks[0].low, EVER), *chunks[1:]] if chunks else [Chunk(-EVER, EVER)]

    def _spans(self) -> list[tuple[int, int, int]]:
        """First time, last time and rows of every file."""
        scans = [scan for history in self.node.histories for scan in _scans(history)]
        return [span for scan in scans for span in self._files(scan).spans]

    def _reads_once(self) -> bool:
        """Whether each chunk is read once, and may stay small. Selects that run over all chunks need few."""
        own = frozenset(column.name for column in self.node.input.columns)
        plain = [recall for recall in self.node.recalls if isinstance(recall, Recalled)]
        return self.deployed and all(not r.select.whole() and r.select.parameters <= own for r in plain)

    def history(self) -> History:
        chunks = self.chunks()
        start = chunks[-1].low if chunks[-1].low != -EVER else None
        return History(self.ask, self.last_arrival, self.similar, start)

    def last_arrival(self, recall: Recalled, chunk: Chunk) -> int:
        last = -1
        for number in recall.select.numbers:
            node = self.node.histories[number]
            if not _in_parts(node):
                return EVER
            for scan in _scans(node):
                files = self._files(scan).between(chunk.low, chunk.high)
                if len(files.arrivals) != len(files.paths):
                    return EVER
                last = max((last, *files.arrivals))
        return last

    def ask(self, recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table:
        select = recall.select
        local = self._ask_locally(recall, asked, chunk, parts)
        if local is not None:
            return local
        asking = self._asking(asked, chunk)
        if not select.grouped:
            terms = (*select.outputs, *select.sort)
            named = {f"c{i}": Field(o.name, o.expr.type) for i, o in enumerate(terms)}
            return _collected(
                select_rows(select, asking), {**named, WHEN: Field(WHEN, LONG), ARRIVED: Field(ARRIVED, LONG)}
            )
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

    def _ask_locally(self, recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table | None:
        """The answers, if the select can run in this process."""
        select = recall.select
        plain = plain_select(select, self.node.histories)
        if plain is None:
            return ask_event(select, asked)
        if select.grouped and not parts and not select.in_parts():
            return None
        (scan,) = _scans(plain.node)
        files = self._files(scan).between(chunk.low, chunk.high)
        found = ask_here(select, plain, files, asked, aggregates_of(select) if select.grouped else None)
        if found is None or parts or not select.grouped:
            return found
        return finish(found, [EVENT, *(g.name for g in select.groups)], aggregates_of(select))

    def similar(self, recall: Similar, events: pa.Table, evaluator: Evaluator) -> pa.Table:
        """The past events most like each of these."""
        return similar_rows(recall, events, self.past_events(), evaluator)

    def past_events(self) -> PastEvents:
        return PastEvents(
            self._past, self.ask, self._near, lambda number: _in_parts(self.node.histories[number]), self._spans
        )

    def _past(self, number: int, chunk: Chunk) -> pa.Table:
        """The past events of a span of time."""
        node = self.node.histories[number]
        if is_plain(node):
            (scan,) = _scans(node)
            files = self._files(scan).between(chunk.low, chunk.high)
            if files.rows <= MOST_ROWS:
                return _sorted(node, rows_here(node, files, Evaluator({})))
        # The bound of the query does not apply to history.
        context = self.context.inner(None)
        if _in_parts(node):
            context = replace(context, read=lambda scan: self._read(scan, chunk))
        rows = _in_order(node, run(node, context))
        at = rows[TIME].to_numpy()
        return selected(rows, (at >= chunk.low) & (at < chunk.high))

    def _near(self, stream: Nearby, width: int, asked: Questions) -> pa.Table:
        high = asked.table[HIGH].to_numpy()
        asking = self._asking(asked, Chunk(int(high.min()) - width, int(high.max())))
        found = near_rows(stream.number, width, stream.attributes, asking).toArrow()
        return found.set_column(0, EVENT, found[EVENT].cast(pa.int64()))

    def _asking(self, asked: Questions, chunk: Chunk) -> Asking:
        table = asked.table.combine_chunks()
        frame = frame_of(self.context.spark, table)
        return Asking(table, frame, lambda number: self._rows(number, chunk), chunk, self.context)

    def _rows(self, number: int, chunk: Chunk) -> DataFrame:
        """The rows of a stream in a span of time, or of a relation."""
        node = self.node.histories[number]
        if number not in _streams(self.node):
            return run(node, self.context)
        if not _in_parts(node):
            rows = run(node, self.context).where((F.col(TIME) >= F.lit(chunk.low)) & (F.col(TIME) < F.lit(chunk.high)))
        else:
            rows = run(node, replace(self.context, read=lambda scan: self._read(scan, chunk)))
        return rows.drop(*node.order)

    def _read(self, scan: Scan, chunk: Chunk) -> DataFrame | None:
        files = self._files(scan).between(chunk.low, chunk.high)
        return read_archive(self.context.spark, files) if files.paths else None

    def _files(self, scan: Scan):  # type: ignore[no-untyped-def]
        assert self.context.files is not None
        return self.context.files(scan)


def history_of(node: Recall, context: BatchContext, deployed: bool = True) -> Archive:
    """The history that a recall reads, as of the context."""
    spark = SparkHistory(node, context, deployed=deployed)
    return Archive(spark.chunks(), spark.history(), spark.past_events())


def run_recall(node: Recall, context: BatchContext) -> DataFrame:
    """All revisions of all events, or the last of each."""
    events = _in_order(node.input, run(node.input, context))
    present = tuple(_present(each, context) for each in node.present)
    archive = history_of(node, context, deployed=False).with_present(present)
    return frame_of(context.spark, recall_all(node, events, archive, evaluator_of(node, context)))


def evaluator_of(node: Recall, context: BatchContext) -> Evaluator:
    """The evaluator of terms over answers; Catalyst computes those that only it can."""
    exprs = [*node.expressions(), *(expr for recall in node.recalls for expr in recall.expressions())]
    names = {e.relation for expr in exprs for e in expr.walk() if isinstance(e, InRelation)}
    relations = {name: context.relations[name] for name in names}
    native = not all(map(supports, exprs))
    return Evaluator(relations, catalyst(context.spark, relations) if native else None)


def _streams(node: Recall) -> frozenset[int]:
    return frozenset[int]().union(*(recall.numbers for recall in node.recalls))


def _in_order(node: Node, frame: DataFrame) -> pa.Table:
    return _sorted(node, frame.toArrow())


def _sorted(node: Node, rows: pa.Table) -> pa.Table:
    schema = schema_of(node.columns, node.order)
    return sorted_table(rows.select(schema.names), (TIME, SEQ, *node.order)).cast(schema)


def _scans(node: Node) -> list[Scan]:
    return [n for n in node.walk() if isinstance(n, Scan)]


def _in_parts(node: Node) -> bool:
    """Whether rows in a span depend only on events in it: there are only expressions above the scans."""
    return all(isinstance(n, Scan | Filter | Project | Merge) for n in node.walk())


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


def _present(node: Node, context: BatchContext) -> pa.Table:
    if isinstance(node, RelationScan):
        return relation_rows(node, context.relations)
    return _in_order(node, run(node, context))


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


def _open_history(node: Recall, context_of: Callable[[Iterable[Node]], BatchContext], deployed: bool = True) -> Archive:
    return history_of(node, context_of(node.histories), deployed)


OPERATORS = SparkOperators({Recall: run_recall, Retained: run_retained}, histories={Recall: _open_history})
