"""The left join of events with the rows of their RECALLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Ints
from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import one_array
from presage.model.arrow import to_arrow
from presage.operators.recall.answers import aggregates_of, finished
from presage.operators.recall.finish import finish
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.nodes import Recalled, Similar
from presage.operators.recall.questions import EVENT, EVER, Questions, counted_out, questions
from presage.plan.nodes import TIME

# Answers to questions over a span, with the number of the question in EVENT: groups `_g…` and aggregates `_a…` or, in
# parts (True), their partial columns; without groups, outputs and terms of the order.
Ask = Callable[[Recalled, Questions, Chunk, bool], pa.Table]
# The event of a row.
OWNER = "_owner"


def join_recalls(recalls: Sequence[Recalled], events: pa.Table, ask: Ask, evaluator: Evaluator) -> pa.Table:
    """The events, joined with the rows of recalls over all of their history, or nulls; OWNER is the event of each,
    ascending. Each recall runs once, for all events."""
    current = events.append_column(OWNER, pa.array(np.arange(events.num_rows)))
    for recall in recalls:
        select, at = recall.select, current[TIME].to_numpy()
        low = np.full(len(at), -EVER) if recall.last is None else at - recall.last
        whole = Chunk(-EVER, EVER)
        asked = questions(current, sorted(select.parameters), low, at, whole, last_arrival=EVER)
        parts = not select.whole()
        found = ask(recall, asked, Chunk(int(low.min()), int(at.max())), parts)
        if parts and select.grouped:
            found = finish(found, [EVENT, *(group.name for group in select.groups)], aggregates_of(select))
        rows = finished(recall, found, asked.table, np.arange(asked.count), np.ones(asked.count), evaluator)
        current = with_columns(recall, current, asked.of, rows, rows[EVENT].to_numpy())
    return current


def with_columns(recall: Recalled | Similar, current: pa.Table, wanted: Ints, rows: pa.Table, keys: Ints) -> pa.Table:
    """The left join of `current` with `rows`, by the keys `wanted` and `keys`."""
    left, right = left_join(wanted, keys)
    joined = current.take(pa.array(left))
    there = pa.array(right, mask=right < 0)
    for column in recall.columns:
        values = one_array(rows[column.name])
        taken = values.take(there) if len(values) else pa.nulls(len(left), to_arrow(column.type))
        joined = joined.append_column(column.name, taken)
    return joined


def left_join(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Pairs of places with equal keys, in the order of both; -1 for a left one without a partner."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, side="left")
    counts = np.searchsorted(right[order], left, side="right") - first
    lefts, within = counted_out(np.maximum(counts, 1))
    if not len(right):
        return lefts, np.full(len(lefts), -1)
    found = order[np.minimum(first[lefts] + within, len(right) - 1)]
    return lefts, np.where(counts[lefts] > 0, found, -1)
