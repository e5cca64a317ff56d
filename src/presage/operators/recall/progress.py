"""The progress of events through history: chunks are read newest first, and each yields revisions.

The answer over the history that has been read is that of the plain selects over it: parts are merged where possible,
else the selects run again over all that is covered. Counts and sums are scaled while history is partial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from presage.arrays.columns import selected
from presage.arrays.jit import Bools, Floats, Ints
from presage.columnar.evaluate import Evaluator
from presage.columnar.join import join_rows
from presage.columnar.vectors import one_array
from presage.execution.steps import MOMENT
from presage.operators.recall.answers import aggregates_of, as_texts, finished
from presage.operators.recall.finish import finish, scale_factors
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.left_join import Ask, with_columns
from presage.operators.recall.nodes import Recall, Recalled, Similar
from presage.operators.recall.partial import merge_parts, of_older_version
from presage.operators.recall.questions import EVENT, EVER, answers_of, questions
from presage.operators.recall.revisions import ReportedRows, Revisions
from presage.plan.nodes import TIME

# The last sequence number in a chunk, of the streams that a RECALL reads.
LastArrival = Callable[[Recalled, Chunk], int]
# The rows of a RECALL SIMILAR for some events: EVENT, the place of the event, and its columns.
FindSimilar = Callable[[Similar, pa.Table, Evaluator], pa.Table]
# The row of an event, in the table of events.
ROW = "_row"


@dataclass(frozen=True)
class History:
    """How history is read: by `ask`; `start` is the time of its first event. `present`: the relations and windows that
    a revision is joined with, as they are now."""

    ask: Ask
    last_arrival: LastArrival
    similar: FindSimilar
    start: int | None
    present: tuple[pa.Table, ...] = ()


@dataclass
class Progress:
    """The recalls of one set of events. `events` has TIME, SEQ, order and the columns of the Recall's input."""

    node: Recall
    events: pa.Table
    evaluator: Evaluator
    history: History
    covered: Ints = field(init=False)  # how far back the history of each event has been read
    done: Bools = field(init=False)
    found_for: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # the event of each row of the last read
    _found: dict[str, pa.Table] = field(default_factory=dict)
    _revisions: Revisions = field(init=False)

    def __post_init__(self) -> None:
        at = self.events[TIME].to_numpy()
        self.covered = at.copy()
        self.done = np.zeros(len(at), np.bool_)
        self.events = self.events.append_column(ROW, pa.array(np.arange(len(at))))
        self._revisions = Revisions(self.node, len(at))

    @property
    def at(self) -> Ints:
        times: Ints = self.events[TIME].to_numpy()
        return times

    def wanted(self, recall: Recalled | Similar) -> Ints:
        """The time from which on each event reads history."""
        at = self.at
        if recall.last is not None:
            return at - recall.last
        return np.full(len(at), -EVER if self.history.start is None else self.history.start)

    def begins(self) -> Ints:
        """The beginning of the history of each event: as far back as it reads, within the archive."""
        if self.history.start is None:
            return self.at
        asked = np.minimum.reduce([self.wanted(recall) for recall in self.node.recalls])
        return np.minimum(np.maximum(asked, self.history.start), self.at)

    def read(self, chunk: Chunk, last: bool, chosen: Bools | None = None, quiet: Bools | None = None) -> pa.Table:
        """Read the next older chunk; `last`: there is none before it. Returns the rows that changed.

        `chosen`: the events that it is read for, by default all. `quiet`: events that are not reported yet, unless they
        are finished."""
        at = self.at
        active = ~self.done & ((at > chunk.low) | last)
        active = active if chosen is None else active & chosen
        self.covered = np.where(active, np.minimum(self.covered, chunk.low), self.covered)
        current = selected(self.events, active)
        for recall in self.node.recalls:
            if isinstance(recall, Similar):
                current = self._joined_similar(recall, current)
            else:
                current = self._joined(recall, current, chunk)
        self.found_for = current[ROW].to_numpy()
        finished = active & np.logical_and.reduce([last | (chunk.low <= self.wanted(r)) for r in self.node.recalls])
        self.done |= finished
        current = self._joined_present(current)
        if self.node.condition is not None:
            current = selected(current, self.evaluator.mask(self.node.condition, current))
        reported = active if quiet is None else active & (finished | ~quiet)
        return self._report(selected(current, reported[current[ROW].to_numpy()]), reported, finished)

    # -- between two steps -----------------------------------------------------------------------------

    def tables(self) -> dict[str, pa.Table]:
        """The state until more of history is read."""
        figures = {"covered": self.covered, "done": self.done, "told": self._revisions.count}
        tables = {"events": self.events.drop_columns([ROW]), "figures": pa.table(figures)}
        tables |= {f"found {alias}": table for alias, table in self._found.items()}
        return tables if self._revisions.last is None else tables | {"last": self._revisions.last}

    def restore(self, tables: Mapping[str, pa.Table]) -> None:
        figures = tables["figures"]
        self.covered, self.done = (np.array(figures[name].to_numpy()) for name in ("covered", "done"))
        self._revisions.count, self._revisions.last = np.array(figures["told"].to_numpy()), tables.get("last")
        prefix = "found "
        self._found = {name.removeprefix(prefix): t for name, t in tables.items() if name.startswith(prefix)}
        for recall in self.node.recalls:
            if isinstance(recall, Recalled) and recall.alias in self._found:
                self._found[recall.alias] = of_older_version(self._found[recall.alias], aggregates_of(recall.select))

    # -- one RECALL ----------------------------------------------------------------------------------

    def _joined(self, recall: Recalled, current: pa.Table, chunk: Chunk) -> pa.Table:
        """The rows so far, each joined with the rows of the recall, or nulls."""
        independent = recall.select.parameters <= self.events_columns
        if independent:
            asking = selected(self.events, np.isin(np.arange(self.events.num_rows), current[ROW].to_numpy()))
        else:
            asking = current
        merged = independent and not recall.select.whole()
        low, at = self.wanted(recall)[asking[ROW].to_numpy()], asking[TIME].to_numpy()
        span = chunk if merged else Chunk(chunk.low, EVER)
        asked = questions(
            asking, sorted(recall.select.parameters), low, at, span, self.history.last_arrival(recall, span)
        )
        found = self.history.ask(recall, asked, span, merged)
        event, row = answers_of(asked, found)
        found = _of_events(found, row, event)
        if merged:
            found = self._merged(recall, found, asking)
        scale = self._scale(recall, asking)
        if merged and recall.select.grouped:
            keys = [EVENT, *(g.name for g in recall.select.groups)]
            found = finish(found, keys, aggregates_of(recall.select))
        rows = finished(recall, found, asking, np.arange(asking.num_rows), scale, self.evaluator)
        mine = rows[EVENT].to_numpy()
        keys = asking[ROW].to_numpy()[mine] if independent else mine
        wanted = current[ROW].to_numpy() if independent else np.arange(current.num_rows)
        return with_columns(recall, current, wanted, rows, keys)

    def _joined_similar(self, recall: Similar, current: pa.Table) -> pa.Table:
        """The rows so far, each joined with the past events most like its own, or nulls."""
        events = current[ROW].to_numpy()
        asking = selected(self.events, np.isin(np.arange(self.events.num_rows), events))
        rows = self.history.similar(recall, asking, self.evaluator)
        return with_columns(recall, current, events, rows, asking[ROW].to_numpy()[rows[EVENT].to_numpy()])

    def _joined_present(self, current: pa.Table) -> pa.Table:
        """The inner join of the rows with the present."""
        for node, on, table in zip(self.node.present, self.node.on, self.history.present, strict=True):
            others = table.select([column.name for column in node.columns])
            left, right = join_rows(on, current, others, self.evaluator)
            current = current.take(pa.array(left))
            for name in others.column_names:
                current = current.append_column(name, one_array(others[name]).take(pa.array(right)))
        return current

    @property
    def events_columns(self) -> frozenset[str]:
        return frozenset(c.name for c in self.node.input.columns)

    def _merged(self, recall: Recalled, found: pa.Table, asking: pa.Table) -> pa.Table:
        """The answers so far, for the events of this read; EVENT is a row of `asking`."""
        rows = asking[ROW].to_numpy()
        own = found.set_column(0, EVENT, pa.array(rows[found[EVENT].to_numpy()]))
        before = self._found.get(recall.alias)
        both = own if before is None else pa.concat_tables([before, own])
        if before is not None and recall.select.grouped:
            keys = [EVENT, *(g.name for g in recall.select.groups)]
            both = merge_parts([before, own], keys, aggregates_of(recall.select)).cast(before.schema)
        self._found[recall.alias] = both
        place = np.full(self.events.num_rows, -1)
        place[rows] = np.arange(len(rows))
        here = place[both[EVENT].to_numpy()]
        return selected(both.set_column(0, EVENT, pa.array(here)), here >= 0)

    def _scale(self, recall: Recalled, asking: pa.Table) -> Floats:
        """The requested history as a multiple of what has been read; 1 where all has been read."""
        rows = asking[ROW].to_numpy()
        at, wanted, covered = self.at[rows], self.wanted(recall)[rows], self.covered[rows]
        read = at - np.maximum(covered, wanted)
        start = -EVER if self.history.start is None else self.history.start
        partial = (covered > wanted) & (covered > start) & bool(recall.select.numbers)
        return scale_factors(at - wanted, np.where(partial, read, 0))

    # -- reporting -----------------------------------------------------------------------------------

    def _report(self, current: pa.Table, active: Bools, finished: Bools) -> pa.Table:
        values = self.evaluator.columns([o.expr for o in self.node.outputs], current)
        outputs = {o.name: column for o, column in zip(self.node.outputs, values, strict=True)}
        identity = {name: one_array(current[name]) for r in self.node.recalls for name in _identity(r)}
        identity |= {c.name: one_array(current[c.name]) for node in self.node.present for c in node.columns}
        covered = np.where(finished, self.begins(), np.maximum(self.covered, self.begins()))
        rows = ReportedRows(current[ROW].to_numpy(), outputs, identity, active, finished, covered)
        return self._revisions.report(rows, self.events, self.event_ids())

    def event_ids(self) -> pa.Array:
        moment = self.events.set_column(
            self.events.column_names.index(TIME), TIME, self.events[TIME].cast(pa.int64()).cast(MOMENT)
        )
        texts = [as_texts(column) for column in self.evaluator.columns(list(self.node.event_id), moment)]
        return pa.compute.binary_join_element_wise(*texts, "/", null_handling="replace", null_replacement="null")


def _identity(recall: Recalled | Similar) -> Sequence[str]:
    """Columns that identify a row; all of them, if rows are never updated."""
    return [column.name for column in recall.columns] if recall.identity is None else recall.identity


def _of_events(found: pa.Table, rows: Ints, events: Ints) -> pa.Table:
    taken = found.take(pa.array(rows))
    return taken.set_column(taken.column_names.index(EVENT), EVENT, pa.array(events)).select(
        [EVENT, *(n for n in taken.column_names if n != EVENT)]
    )
