"""The terms of events' contexts: each select of a context runs once for all events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.columns import lists_of
from presage.arrays.jit import Ints
from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import one_array
from presage.model.arrow import to_arrow
from presage.model.types import is_numeric
from presage.operators.recall.answers import as_texts, finished
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.left_join import OWNER, Ask, join_recalls
from presage.operators.recall.nodes import Recalled, Select
from presage.operators.recall.questions import EVENT, EVER, answers_of, questions
from presage.plan.nodes import TIME

_TEXT, _NUMBER = pa.string(), pa.float64()
TERMS = pa.schema({"event": pa.int64(), "attribute": _TEXT, "text": _TEXT, "number": _NUMBER, "shown": _TEXT})


class Found(NamedTuple):
    """The rows of a select, and the event of each, ascending."""

    event: Ints
    rows: pa.Table


class Moments:
    """Events, and selects at their times. `events` has TIME, SEQ and the columns that the selects name."""

    def __init__(self, events: pa.Table, ask: Ask, evaluator: Evaluator) -> None:
        self.events = events
        self._ask = ask
        self._evaluator = evaluator
        self._beside: dict[tuple[Recalled, ...], pa.Table] = {}

    def found(self, select: Select) -> Found:
        """The rows of the select, event by event in its order, under the names of its columns."""
        events = self._asking(select)
        at = events[TIME].to_numpy()
        span = Chunk(int(at.min()) - widest(select), int(at.max()) + 1)
        # Without a bound on arrival: a context is the state at a time.
        low = np.full(len(at), -EVER)
        asked = questions(events, sorted(select.parameters), low, at + 1, Chunk(-EVER, EVER), last_arrival=-1)
        recall = Recalled("", select)
        answers = self._ask(recall, asked, span, False)
        count = asked.count
        rows = finished(recall, answers, asked.table, np.arange(count), np.ones(count), self._evaluator)
        asking, row = answers_of(asked, rows)
        taken = rows.take(pa.array(row)).drop_columns([EVENT])
        event = events[OWNER].to_numpy()[asking] if select.recalled else asking
        return Found(event, taken.rename_columns([o.name for o in select.outputs]))

    def _asking(self, select: Select) -> pa.Table:
        """The events, joined with the RECALLs of the select."""
        if not select.recalled:
            return self.events
        if select.recalled not in self._beside:
            self._beside[select.recalled] = join_recalls(select.recalled, self.events, self._ask, self._evaluator)
        return self._beside[select.recalled]

    def lists(self, select: Select) -> pa.Array:
        """The rows of the select as a list of structs for each event."""
        found = self.found(select)
        kinds = [(o.name, to_arrow(o.expr.type)) for o in select.outputs]
        arrays = [one_array(found.rows[name]).cast(kind) for name, kind in kinds]
        structs = pa.StructArray.from_arrays(arrays, fields=[pa.field(name, kind) for name, kind in kinds])
        return grouped(structs, found.event, self.events.num_rows)

    def terms(self, contexts: Sequence[Select]) -> pa.Table:
        """The contexts of all events: a term for each value, for the kernel, and its text for users."""
        made = [TERMS.empty_table()]
        for select in contexts:
            event, rows = self.found(select)
            for output in select.outputs:
                values = one_array(rows[output.name])
                there = values.is_valid()
                made.append(_terms(output.name, event, values, is_numeric(output.expr.type)).filter(there))
        return pa.concat_tables(made).combine_chunks()


def grouped(values: pa.Array, event: Ints, count: int) -> pa.Array:
    """One list for each event; `event` is that of each value, ascending."""
    offsets = np.searchsorted(event, np.arange(count + 1))
    return lists_of(values, offsets, np.arange(len(event)))


def shown_contexts(terms: pa.Table, count: int) -> pa.Array:
    """Contexts as lists of attribute and value, in one order for equal contexts."""
    keys = [(name, "ascending") for name in ("event", "attribute", "number", "shown")]
    ordered = terms.sort_by(keys)
    names, values = one_array(ordered["attribute"]), one_array(ordered["shown"])
    structs = pa.StructArray.from_arrays([names, values], names=["attribute", "value"])
    return grouped(structs, ordered["event"].to_numpy(), count)


def _terms(name: str, event: Ints, values: pa.Array, number: bool) -> pa.Table:
    count = len(values)
    texts = as_texts(values)
    columns = [
        pa.array(event, pa.int64()),
        pa.repeat(pa.scalar(name, pa.string()), count),
        pa.nulls(count, pa.string()) if number else texts,
        values.cast(pa.float64(), safe=False) if number else pa.nulls(count, pa.float64()),
        texts,
    ]
    return pa.Table.from_arrays(columns, schema=TERMS)


def widest(select: Select) -> int:
    """The greatest window of a select, before an event."""
    return max((source.window or 0 for one in select.selects() for source in one.sources), default=0)
