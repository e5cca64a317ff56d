"""The history that a RECALL reads: in this process, and on Spark where it is large or an expression needs Spark.

Spark takes longer to plan a job than a small span takes to read, and the first answer should be early.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.arrays.columns import selected
from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.execution import placement
from presage.execution.local import HistoryAccess
from presage.execution.placement import uncomputed
from presage.execution.steps import schema_of
from presage.operators.recall.executor import Archive
from presage.operators.recall.explain import why_of_select
from presage.operators.recall.history_chunks import CHUNK_ROWS, MOST_GROWTH, Chunk, history_chunks
from presage.operators.recall.local_selects import MOST_PAIRS, ask_here, near_here
from presage.operators.recall.nodes import Nearby, Recall, Recalled, Select, Similar
from presage.operators.recall.progress import History
from presage.operators.recall.questions import EVER, HIGH, Questions
from presage.operators.recall.similar_rows import PastEvents, similar_rows, with_json
from presage.plan.display import show
from presage.plan.nodes import SEQ, TIME, Filter, Merge, Node, Project, Scan
from presage.storage import FileSet

if TYPE_CHECKING:
    from presage.operators.recall.spark_history import SparkHistory


@dataclass(frozen=True)
class ArchiveHistory:
    """History as of a moment: the files of its streams, and how they are read."""

    node: Recall
    access: HistoryAccess

    def chunks(self) -> list[Chunk]:
        """The chunks, newest first; one without bounds if there is no history."""
        spans = self._spans()
        size = self.access.rows_per_chunk or CHUNK_ROWS
        chunks = history_chunks(spans, size, most_rows=MOST_GROWTH * size if self._reads_once() else None)
        return [Chunk(chunks[0].low, EVER), *chunks[1:]] if chunks else [Chunk(-EVER, EVER)]

    def _spans(self) -> list[tuple[int, int, int]]:
        """First time, last time and rows of every file."""
        scans = [scan for history in self.node.histories for scan in scans_of(history)]
        return [span for scan in scans for span in self._files(scan).spans]

    def _reads_once(self) -> bool:
        """Whether each chunk is read once, and may stay small. Selects that run over all chunks need few."""
        own = frozenset(column.name for column in self.node.input.columns)
        plain = [recall for recall in self.node.recalls if isinstance(recall, Recalled)]
        return self.access.deployed and all(not r.select.whole() and r.select.parameters <= own for r in plain)

    def history(self) -> History:
        chunks = self.chunks()
        start = chunks[-1].low if chunks[-1].low != -EVER else None
        return History(self.ask, self.last_arrival, self.similar, start)

    def last_arrival(self, recall: Recalled, chunk: Chunk) -> int:
        last = -1
        for number in recall.select.numbers:
            node = self.node.histories[number]
            if not in_parts(node):
                return EVER
            for scan in scans_of(node):
                files = self._files(scan).between(chunk.low, chunk.high)
                if len(files.arrivals) != len(files.paths):
                    return EVER
                last = max((last, *files.arrivals))
        return last

    def ask(self, recall: Recalled, asked: Questions, chunk: Chunk, parts: bool) -> pa.Table:
        """Answers as of `left_join.Ask`."""
        select = recall.select
        why = why_of_select(select) or self._why(select, chunk)
        if not why:
            rows = cache(lambda number: self._rows(number, chunk))
            found = ask_here(select, asked, rows, self._evaluator(), parts)
            if found is not None:
                return found
            why = f"an event of its RECALL meets more than {MOST_PAIRS:,} pairs of rows"
        return self._on_spark(why).ask(recall, asked, chunk, parts)

    def similar(self, recall: Similar, events: pa.Table, evaluator: Evaluator) -> pa.Table:
        """The past events most like each of these."""
        return similar_rows(recall, events, self.past_events(), evaluator)

    def past_events(self) -> PastEvents:
        return PastEvents(
            self._past, self.ask, self._near, lambda number: in_parts(self.node.histories[number]), self._spans
        )

    def _past(self, number: int, chunk: Chunk) -> pa.Table:
        """The past events of a span of time."""
        why = self._why_of_nodes([number], chunk)
        if why:
            return self._on_spark(why).past(number, chunk)
        return in_order(self.node.histories[number], self._read(number, chunk))

    def _near(self, stream: Nearby, width: int, asked: Questions) -> pa.Table:
        """The events of a stream in the last microseconds of the span of each question."""
        high = asked.table[HIGH].to_numpy()
        chunk = Chunk(int(high.min()) - width, int(high.max()))
        why = self._why_of_nodes([stream.number], chunk)
        if not why:
            found = near_here(stream, width, asked, lambda number: self._rows(number, chunk), self._evaluator())
            if found is not None:
                return with_json(found, stream)
            why = f"its RECALL SIMILAR adds more than {MOST_PAIRS:,} events around a past one"
        return with_json(self._on_spark(why).near(stream, width, asked), stream)

    # -- in this process -----------------------------------------------------------------------------

    def _rows(self, number: int, chunk: Chunk) -> pa.Table:
        """The rows of a stream in a span of time, or of a relation."""
        rows = self._read(number, chunk)
        node = self.node.histories[number]
        timed = [TIME, SEQ] if number in self._streams else []
        return rows.select([*timed, *(column.name for column in node.columns)]).combine_chunks()

    def _read(self, number: int, chunk: Chunk) -> pa.Table:
        node, run = self.node.histories[number], self.access.local
        if in_parts(node):
            files = {scan.extent: self._files(scan).between(chunk.low, chunk.high) for scan in scans_of(node)}
            return replace(run, plan=node, files=files).derived_rows()
        rows = replace(run, plan=node).derived_rows()
        if number not in self._streams:
            return rows
        at = rows[TIME].to_numpy()
        return selected(rows, (at >= chunk.low) & (at < chunk.high))

    def _evaluator(self) -> Evaluator:
        return Evaluator(self.access.local.relations)

    @cached_property
    def _streams(self) -> frozenset[int]:
        past = (recall.past for recall in self.node.recalls if isinstance(recall, Similar))
        return frozenset(past).union(*(recall.numbers for recall in self.node.recalls))

    def _files(self, scan: Scan) -> FileSet:
        return self.access.local.files[scan.extent]

    # -- on Spark ------------------------------------------------------------------------------------

    def _why(self, select: Select, chunk: Chunk) -> str:
        sources = (source for each in select.selects() for source in each.sources)
        return self._why_of_nodes([source.number for source in sources if source.number is not None], chunk)

    def _why_of_nodes(self, numbers: list[int], chunk: Chunk) -> str:
        """Why these histories cannot be read in this process; empty if they can."""
        nodes = [self.node.histories[number] for number in dict.fromkeys(numbers)]
        missing = [expr for node in nodes for expr in uncomputed(node)]
        if missing:
            return f"only Spark computes {show(missing[0])}"
        files = [(self._files(scan), in_parts(node)) for node in nodes for scan in scans_of(node)]
        count = sum((each.between(*chunk) if part else each).rows for each, part in files)
        if self.access.bounded and count > placement.MOST_ROWS:
            return f"its RECALL reads {count:,} events at once"
        return ""

    def _on_spark(self, why: str) -> SparkHistory:
        opened: SparkHistory = self.access.on_spark(why)
        return opened


def open_history(node: Recall, access: HistoryAccess) -> Archive:
    """The history that a recall reads."""
    history = ArchiveHistory(node, access)
    return Archive(history.chunks(), history.history(), history.past_events())


def scans_of(node: Node) -> list[Scan]:
    return [n for n in node.walk() if isinstance(n, Scan)]


def in_parts(node: Node) -> bool:
    """Whether rows in a span depend only on events in it: there are only expressions above the scans."""
    return all(isinstance(n, Scan | Filter | Project | Merge) for n in node.walk())


def in_order(node: Node, rows: pa.Table) -> pa.Table:
    schema = schema_of(node.columns, node.order)
    return sorted_table(rows.select(schema.names), (TIME, SEQ, *node.order)).cast(schema)
