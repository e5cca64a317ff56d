"""RECALL in bounded queries: every event reads all of its history, chunk by chunk, newest first."""

from __future__ import annotations

import pyarrow as pa

from presage.columnar.evaluate import Evaluator
from presage.columnar.processing_order import sorted_table
from presage.errors import error
from presage.execution.steps import Rows, StepContext, run, schema_of
from presage.operators.recall.executor import Archive
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Recall, Similar
from presage.operators.recall.progress import Progress
from presage.operators.recall.questions import EVER
from presage.plan.nodes import SEQ, TIME

# Events that read history together.
EVENTS_AT_ONCE = 100_000


def recall_all(node: Recall, events: pa.Table, archive: Archive, evaluator: Evaluator) -> pa.Table:
    """All revisions of all events, or the last of each. `events`: in processing order."""
    schema = schema_of(node.columns, node.order)
    chunks = archive.chunks
    if any(isinstance(recall, Similar) for recall in node.recalls):
        # The rarity of terms is that of all history.
        chunks = [Chunk(chunks[-1].low, EVER)]
    tables = [schema.empty_table()]
    for start in range(0, events.num_rows, EVENTS_AT_ONCE):
        progress = Progress(node, events.slice(start, EVENTS_AT_ONCE).combine_chunks(), evaluator, archive.history)
        tables += [progress.read(chunk, last=chunk is chunks[-1]) for chunk in chunks]
    return pa.concat_tables([table.select(schema.names).cast(schema) for table in tables])


def run_recall(node: Recall, context: StepContext) -> Rows:
    """The only step of a bounded query."""
    if context.histories is None or not context.end:
        raise error("INTERNAL", what="a bounded RECALL without an archive, or before the end of its input")
    rows = run(node.input, context)
    schema = schema_of(node.input.columns, node.input.order)
    events = sorted_table(rows.table.select(schema.names), (TIME, SEQ, *node.input.order)).cast(schema)
    present = tuple(run(each, context).table for each in node.present)
    archive = context.histories(node).with_present(present)
    return Rows(recall_all(node, events, archive, context.evaluator), rows.watermark)
