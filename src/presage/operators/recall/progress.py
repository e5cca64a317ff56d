"""The progress of events through history: chunks are read newest first, and each gives revisions.

The answer over what has been read is the answer of the plain selects over that history: parts are put together where
that can be done, else all that is covered is asked anew. Counts and sums are scaled while history is partial.
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
from presage.operators.recall.answers import aggregates_of, finished
from presage.operators.recall.finish import finish, scale_factors
from presage.operators.recall.history_chunks import Chunk
from presage.operators.recall.left_join import Ask, with_columns
from presage.operators.recall.nodes import Recall, Recalled, Similar
from presage.operators.recall.partial import merge_parts, of_older_version
from presage.operators.recall.questions import EVENT, EVER, answers_of, questions
from presage.operators.recall.revisions import ReportedRows, Revisions
from presage.operators.recall.texts import as_texts
from presage.plan.nodes import TIME

# The last position that any event in a span has, of the streams that a RECALL reads.
LastArrival = Callable[[Recalled, Chunk], int]
# The rows of a RECALL SIMILAR for some events: EVENT, the place of one among them, and its columns.
FindSimilar = Callable[[Similar, pa.Table, Evaluator], pa.Table]
# Columns of the table of events beside TIME and SEQ.
ROW = "_row"


@dataclass(frozen=True)
class History:
    """How history is asked: by `ask`; it begins at `start`, the time of its first event. `present`: the relations and
    windows that a revision meets, as they are now."""

    ask: Ask
    last_arrival: LastArrival
    similar: FindSimilar
    start: int | None
    present: tuple[pa.Table, ...] = ()


@dataclass
class Progress:
    """The recalls of one set of events. `events` has TIME, SEQ, the order and the columns of the Recall's input."""

    node: Recall
    events: pa.Table
    evaluator: Evaluator
    history: History
    covered: Ints = field(init=False)  # how far back the history of each event has been read
    done: Bools = field(init=False)
    found_for: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # the event of each row that was last found
    _found: dict[str, pa.Table] = field(default_factory=dict)
    _told: Revisions = field(init=False)

    def __post_init__(self) -> None:
        at = self.events[TIME].to_numpy()
        self.covered = at.copy()
        self.done = np.zeros(len(at), np.bool_)
        self.events = self.events.append_column(ROW, pa.array(np.arange(len(at))))
        self._told = Revisions(self.node, len(at))

    @property
    def at(self) -> Ints:
        times: Ints = self.events[TIME].to_numpy()
        return times

    def wanted(self, recall: Recalled | Similar) -> Ints:
        """From when on each event asks for history."""
        at = self.at
        if recall.last is not None:
            return at - recall.last
        return np.full(len(at), -EVER if self.history.start is None else self.history.start)

    def begins(self) -> Ints:
        """Where the history of each event begins: as far back as it asks, and no farther than the archive goes."""
        if self.history.start is None:
            return self.at
        asked = np.minimum.reduce([self.wanted(recall) for recall in self.node.recalls])
        return np.minimum(np.maximum(asked, self.history.start), self.at)

    def read(self, chunk: Chunk, last: bool, chosen: Bools | None = None, quiet: Bools | None = None) -> pa.Table:
        """Take in a span of history, the next older one; `last`: there is none before it. The rows that changed.

        `chosen`: the events that it is read for; all, if it is left out. `quiet`: those of which nothing is told yet,
        unless this is all there is."""
        at = self.at
        active = ~self.done & ((at > chunk.low) | last)
        active = active if chosen is None else active & chosen
        self.covered = np.where(active, np.minimum(self.covered, chunk.low), self.covered)
        current = selected(self.events, active)
        for recall in self.node.recalls:
            if isinstance(recall, Similar):
                current = self._beside_similar(recall, current)
            else:
                current = self._beside(recall, current, chunk)
        self.found_for = current[ROW].to_numpy()
        finished = active & np.logical_and.reduce([last | (chunk.low <= self.wanted(r)) for r in self.node.recalls])
        self.done |= finished
        current = self._beside_present(current)
        if self.node.condition is not None:
            current = selected(current, self.evaluator.mask(self.node.condition, current))
        told = active if quiet is None else active & (finished | ~quiet)
        return self._tell(selected(current, told[current[ROW].to_numpy()]), told, finished)

    # -- between two steps -----------------------------------------------------------------------------

    def tables(self) -> dict[str, pa.Table]:
        """All that has to be kept until more of history is read."""
        figures = {"covered": self.covered, "done": self.done, "told": self._told.count}
        kept = {"events": self.events.drop_columns([ROW]), "figures": pa.table(figures)}
        kept |= {f"found {alias}": table for alias, table in self._found.items()}
        return kept if self._told.last is None else kept | {"last": self._told.last}

    def restore(self, tables: Mapping[str, pa.Table]) -> None:
        """Go on with what was kept."""
        figures = tables["figures"]
        self.covered, self.done = (np.array(figures[name].to_numpy()) for name in ("covered", "done"))
        self._told.count, self._told.last = np.array(figures["told"].to_numpy()), tables.get("last")
        prefix = "found "
        self._found = {name.removeprefix(prefix): t for name, t in tables.items() if name.startswith(prefix)}
        for recall in self.node.recalls:
            if isinstance(recall, Recalled) and recall.alias in self._found:
                self._found[recall.alias] = of_older_version(self._found[recall.alias], aggregates_of(recall.select))

    # -- one RECALL ----------------------------------------------------------------------------------

    def _beside(self, recall: Recalled, current: pa.Table, chunk: Chunk) -> pa.Table:
        """The rows so far, each beside what the recall found for it, or nulls."""
        independent = recall.select.parameters <= self.events_columns
        if independent:
            asking = selected(self.events, np.isin(np.arange(self.events.num_rows), current[ROW].to_numpy()))
        else:
            asking = current
        kept = independent and not recall.select.whole()
        low, at = self.wanted(recall)[asking[ROW].to_numpy()], asking[TIME].to_numpy()
        span = chunk if kept else Chunk(chunk.low, EVER)
        asked = questions(
            asking, sorted(recall.select.parameters), low, at, span, self.history.last_arrival(recall, span)
        )
        found = self.history.ask(recall, asked, span, kept)
        event, row = answers_of(asked, found)
        found = _of_events(found, row, event)
        if kept:
            found = self._merged(recall, found, asking)
        scale = self._scale(recall, asking)
        if kept and recall.select.grouped:
            keys = [EVENT, *(g.name for g in recall.select.groups)]
            found = finish(found, keys, aggregates_of(recall.select))
        rows = finished(recall, found, asking, np.arange(asking.num_rows), scale, self.evaluator)
        mine = rows[EVENT].to_numpy()
        keys = asking[ROW].to_numpy()[mine] if independent else mine
        wanted = current[ROW].to_numpy() if independent else np.arange(current.num_rows)
        return with_columns(recall, current, wanted, rows, keys)

    def _beside_similar(self, recall: Similar, current: pa.Table) -> pa.Table:
        """The rows so far, each beside the past events most like its own, or nulls."""
        events = current[ROW].to_numpy()
        asking = selected(self.events, np.isin(np.arange(self.events.num_rows), events))
        rows = self.history.similar(recall, asking, self.evaluator)
        return with_columns(recall, current, events, rows, asking[ROW].to_numpy()[rows[EVENT].to_numpy()])

    def _beside_present(self, current: pa.Table) -> pa.Table:
        """Each row beside what it meets of the present; without that it is no row."""
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
        """What was found before and now, for the events that ask now; EVENT is a row of `asking`."""
        rows = asking[ROW].to_numpy()
        own = found.set_column(0, EVENT, pa.array(rows[found[EVENT].to_numpy()]))
        known = self._found.get(recall.alias)
        both = own if known is None else pa.concat_tables([known, own])
        if known is not None and recall.select.grouped:
            keys = [EVENT, *(g.name for g in recall.select.groups)]
            both = merge_parts([known, own], keys, aggregates_of(recall.select)).cast(known.schema)
        self._found[recall.alias] = both
        place = np.full(self.events.num_rows, -1)
        place[rows] = np.arange(len(rows))
        here = place[both[EVENT].to_numpy()]
        kept = both.set_column(0, EVENT, pa.array(here))
        return selected(kept, here >= 0)

    def _scale(self, recall: Recalled, asking: pa.Table) -> Floats:
        """By how much the history asked for exceeds what is known; 1 where all is known."""
        rows = asking[ROW].to_numpy()
        at, wanted, covered = self.at[rows], self.wanted(recall)[rows], self.covered[rows]
        known = at - np.maximum(covered, wanted)
        start = -EVER if self.history.start is None else self.history.start
        partial = (covered > wanted) & (covered > start) & bool(recall.select.numbers)
        return scale_factors(at - wanted, np.where(partial, known, 0))

    # -- telling -------------------------------------------------------------------------------------

    def _tell(self, current: pa.Table, active: Bools, finished: Bools) -> pa.Table:
        made = self.evaluator.columns([o.expr for o in self.node.outputs], current)
        outputs = {o.name: column for o, column in zip(self.node.outputs, made, strict=True)}
        identity = {name: one_array(current[name]) for r in self.node.recalls for name in _known_by(r)}
        identity |= {c.name: one_array(current[c.name]) for node in self.node.present for c in node.columns}
        covered = np.where(finished, self.begins(), np.maximum(self.covered, self.begins()))
        told = ReportedRows(current[ROW].to_numpy(), outputs, identity, active, finished, covered)
        return self._told.tell(told, self.events, self.event_ids())

    def event_ids(self) -> pa.Array:
        moment = self.events.set_column(
            self.events.column_names.index(TIME), TIME, self.events[TIME].cast(pa.int64()).cast(MOMENT)
        )
        texts = [as_texts(column) for column in self.evaluator.columns(list(self.node.event_id), moment)]
        return pa.compute.binary_join_element_wise(*texts, "/", null_handling="replace", null_replacement="null")


def _known_by(recall: Recalled | Similar) -> Sequence[str]:
    """Columns by which a row is known again; all, where rows come and go and never change."""
    return [column.name for column in recall.columns] if recall.identity is None else recall.identity


def _of_events(found: pa.Table, rows: Ints, events: Ints) -> pa.Table:
    taken = found.take(pa.array(rows))
    return taken.set_column(taken.column_names.index(EVENT), EVENT, pa.array(events)).select(
        [EVENT, *(n for n in taken.column_names if n != EVENT)]
    )
