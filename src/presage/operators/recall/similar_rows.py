"""The rows of RECALL SIMILAR: the most similar past events of new ones, with the columns that users see."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Ints
from presage.arrays.rows import lexical_order
from presage.columnar.evaluate import Evaluator
from presage.columnar.vectors import one_array
from presage.execution.steps import MOMENT, schema_of
from presage.model.json_values import plain_column
from presage.model.types import LONG
from presage.operators.recall.answers import ARRIVED, WHEN
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.kernel.similarity import Similar as Found
from presage.operators.recall.kernel.similarity import most_similar
from presage.operators.recall.kernel.store import Store, rows_before
from presage.operators.recall.left_join import Ask
from presage.operators.recall.nodes import Nearby, Similar
from presage.operators.recall.questions import EVENT, EVER, Questions, answers_of, questions
from presage.operators.recall.similar_terms import Moments, grouped, shown_contexts
from presage.plan.nodes import SEQ, TIME, Field

# The attributes of an event around a past one, in the same form wherever it was read.
JSON = "_json"


@dataclass(frozen=True)
class PastEvents:
    """How the archive is read. `past`: the past events of a span by their number, in order; `near`: the events of a
    stream in the span of each question. `in_parts`: whether past events of a span depend only on events in it. `spans`:
    the first time, the last time and the rows of each file that past events and their contexts are read from."""

    past: Callable[[int, Chunk], pa.Table]
    ask: Ask
    near: Callable[[Nearby, int, Questions], pa.Table]
    in_parts: Callable[[int], bool]
    spans: Callable[[], list[tuple[int, int, int]]] = list


def similar_rows(similar: Similar, events: pa.Table, archive: PastEvents, evaluator: Evaluator) -> pa.Table:
    """EVENT, a row of `events`, and the columns of the RECALL: by event and rank."""
    past = archive.past(similar.past, Chunk(-EVER, EVER))
    place, begin = _reaches(similar, past, events)
    if not np.any(place > begin):
        return no_similar_rows(similar)
    # Without those that no event reads.
    first = int(begin.min())
    past = past.slice(first, int(place.max()) - first)
    place, begin = place - first, begin - first
    count = past.num_rows
    named = [TIME, SEQ, *sorted(frozenset[str]().union(*(select.of_event for select in similar.contexts)))]
    both = pa.concat_tables([past.select(named), events.select(named)]).combine_chunks()
    terms = Moments(both, archive.ask, evaluator).terms(similar.contexts)
    owner = terms["event"].to_numpy()
    old, new = terms.filter(pa.array(owner < count)), terms.filter(pa.array(owner >= count))
    store = Store()
    # Rows of one event have equal time and arrival: they differ in their order.
    store.add_newer(pa.table({"time": past[TIME], "seq": np.arange(count)}), old)
    fresh = store.code(events.num_rows, new.set_column(0, "event", pa.array(new["event"].to_numpy() - count)))
    found = most_similar(store, fresh, place, begin, min(similar.count, count), dict(similar.bandwidths))
    rows = pa.array(found.past)
    return shown_rows(
        similar, found, past.take(rows), shown_contexts(old, count).take(rows), events, archive, evaluator
    )


def no_similar_rows(similar: Similar) -> pa.Table:
    """The rows of events without past events."""
    return schema_of((Field(EVENT, LONG), *similar.columns), ()).remove(0).remove(0).empty_table()


def shown_rows(
    similar: Similar,
    found: Found,
    past: pa.Table,
    contexts: pa.Array,
    events: pa.Table,
    archive: PastEvents,
    evaluator: Evaluator,
) -> pa.Table:
    """The result as users see it. `past` and `contexts`: those of each row found."""
    schema = no_similar_rows(similar).schema
    _, firsts, which = np.unique(found.past, return_index=True, return_inverse=True)
    shown = past.take(pa.array(firsts)).combine_chunks()
    again = pa.array(which)
    columns = [pa.array(found.new), pa.array(found.rank), pa.array(found.similarity)]
    columns += [made.take(again) for made in evaluator.columns([named.expr for named in similar.shown], shown)]
    columns.append(contexts)
    moments = Moments(shown, archive.ask, evaluator)
    columns += [moments.lists(select).take(again) for _, select in similar.returned]
    if similar.nearby:
        columns.append(_around(similar, past, events.take(pa.array(found.new)), archive))
    cast = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(cast, schema=schema)


def with_json(rows: pa.Table, stream: Nearby) -> pa.Table:
    """EVENT, WHEN, ARRIVED and JSON of rows with the attributes of the stream."""
    names = [attribute.name for attribute in stream.attributes]
    columns = [plain_column(rows[name]) for name in names]
    values = zip(*columns, strict=True) if columns else (() for _ in range(rows.num_rows))
    texts = [
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, separators=(",", ":")) for row in values
    ]
    kept = {name: rows[name].cast(pa.int64()) for name in (EVENT, WHEN, ARRIVED)}
    return pa.table(kept | {JSON: pa.array(texts, pa.string())})


def _reaches(similar: Similar, past: pa.Table, events: pa.Table) -> tuple[Ints, Ints]:
    """How many past events come before each event, and the first one that it reads."""
    at, held = events[TIME].to_numpy(), past[TIME].to_numpy()
    place = rows_before(held, past[SEQ].to_numpy(), at, events[SEQ].to_numpy())
    if similar.last is None:
        return place, np.zeros(len(at), np.int64)
    begin = np.searchsorted(held, at - similar.last, side="left").astype(np.int64)
    return place, np.minimum(begin, place)


def _around(similar: Similar, past: pa.Table, events: pa.Table, archive: PastEvents) -> pa.Array:
    """For each pair of a past event and a new one: the events around the past one that arrived before the new one."""
    end = past[TIME].to_numpy() + similar.after + 1
    arrivals = pa.table({SEQ: events[SEQ]})
    asked = questions(arrivals, (), np.full(len(end), -EVER), end, Chunk(-EVER, EVER), last_arrival=EVER)
    width = similar.before + similar.after + 1
    made = []
    for number, stream in enumerate(similar.nearby):
        found = archive.near(stream, width, asked)
        event, row = answers_of(asked, found)
        taken = found.take(pa.array(row))
        made.append(
            taken.set_column(0, EVENT, pa.array(event)).append_column("_n", pa.array(np.full(len(row), number)))
        )
    rows = pa.concat_tables(made).combine_chunks()
    keys = [rows[name].to_numpy() for name in (EVENT, WHEN, ARRIVED, "_n")]
    rows = rows.take(pa.array(lexical_order(keys))).combine_chunks()
    names = pa.array([stream.stream for stream in similar.nearby], pa.string())
    parts = [
        one_array(rows[WHEN]).cast(pa.int64()).cast(MOMENT),
        names.take(one_array(rows["_n"])),
        one_array(rows[JSON]).cast(pa.string()),
    ]
    structs = pa.StructArray.from_arrays(parts, names=["at", "stream", "event"])
    return grouped(structs, rows[EVENT].to_numpy(), len(end))
