"""Deliveries of sources in, records of the journal out; and how far each source is."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from presage.model.catalog import EventType
from presage.storage.archive import state_of
from presage.storage.columns import EVENTS, LATE, REJECTED, SEQ
from presage.storage.committer import Committer
from presage.storage.data_files import read_data
from presage.storage.delivery import TAKEN_SCHEMA, Brought, Delivery, SourceState, bring, delivered_schemas, taken_table
from presage.storage.distributions import Distributions
from presage.storage.home import Home
from presage.storage.journal import Part, Record, Turn


class Deliveries:
    def __init__(self, home: Home, committer: Committer, distributions: Distributions) -> None:
        self._home = home
        self._committer = committer
        self._distributions = distributions

    def publish(self, event_type: EventType, delivery: Delivery) -> Record | None:
        """One record with events, their numbers, and how far the source is. None, and nothing has happened, if the
        delivery does not go on from where the source is: what it brings has been here, or the stream is another."""
        with self._committer.turn():
            state = state_of(self._committer, event_type.name)
            if self.state(event_type.name, delivery.source).cursor != delivery.after:
                return None
            beside = delivered_schemas(event_type)
            self._committer.have(beside)
            with self._committer.turn() as turn:
                first = self._committer.state.position + 1
                judge = lambda rows: self._distributions.judge(rows, event_type, state)  # noqa: E731
                made = bring(delivery, event_type, state, first, turn, judge)
                draft = self._draft(turn, event_type, made, delivery.source)
                if event_type.probabilistic is not None:
                    events = made.tables[EVENTS]
                    self._distributions.propose(events, event_type, state, first + made.seqs - 1)
                return self._committer.publish(turn, draft)

    def state(self, stream: str, source: str) -> SourceState:
        """How far a source is that fills a stream by itself."""
        return SourceState.of(state_of(self._committer, stream).cursors.get(source))

    def generation(self, stream: str) -> int:
        """What tells a stream from an earlier one of its name."""
        return state_of(self._committer, stream).generation

    def taken(self, stream: str, source: str) -> pa.Table:
        """The parts of a source that are done with, in the order in which they were taken."""
        name = taken_table(stream)
        if name not in self._committer.state.streams:
            return TAKEN_SCHEMA.empty_table()
        folder = self._home.table_folder(name, EVENTS)
        files = [read_data(folder / file.name, TAKEN_SCHEMA) for file in self._committer.files(name, EVENTS)]
        table = pa.concat_tables([TAKEN_SCHEMA.empty_table(), *files])
        return table.filter(pc.equal(table["source"], source)).sort_by(SEQ)

    def _draft(self, turn: Turn, event_type: EventType, made: Brought, source: str) -> Record:
        """Write the rows as files that nobody sees yet, and the record that will name them."""
        names = [event_type.name, *delivered_schemas(event_type)]
        rows = [made.tables, {EVENTS: made.offsets}, {EVENTS: made.taken}]
        try:
            events, *others = [self._committer.stage(turn, n, t) for n, t in zip(names, rows, strict=True)]
        except Exception:
            for name in names:
                self._committer.discard(turn, name)
            raise
        counts = [made.offsets.num_rows, made.taken.num_rows]
        parts = [Part(n, adds=a, accepted=c) for n, a, c in zip(names[1:], others, counts, strict=True) if c]
        first_time, last_time = made.times
        return Record(
            turn.n,
            "delivery",
            turn.at,
            stream=event_type.name,
            seqs=made.seqs,
            adds=events,
            accepted=made.tables[EVENTS].num_rows,
            late=made.tables[LATE].num_rows,
            rejected=made.tables[REJECTED].num_rows,
            ignored=made.ignored,
            first_time=first_time,
            last_time=last_time,
            watermark=made.watermark,
            parts=parts,
            cursors={source: made.state},
        )
