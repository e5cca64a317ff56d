"""A delivery of a source, and the rows that it adds to the stream's tables in one record of the journal.

A source reads on from where it was: its cursor, which means something to the source alone. The record that brings its
events says how far it is now, so that neither can be there without the other. Beside the stream lie two tables:
`#offsets:<stream>` (see `offset_dedup`) holds the partition and offset of each event in its source,
`#taken:<stream>` the parts that are done with, files for example.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from presage.model.catalog import Attribute, EventType
from presage.model.types import LONG, STRING
from presage.storage.archive import state_of
from presage.storage.columns import EVENTS, LATE, MIN_TIME, REJECTED, SEQ, TIME, TIMESTAMP, events_schema, late_schema
from presage.storage.committer import Committer
from presage.storage.data_files import read_data
from presage.storage.delta import delta_schema
from presage.storage.distributions import Distributions
from presage.storage.home import Home
from presage.storage.home_state import StreamState, greatest
from presage.storage.ingest import Checked, Rejected
from presage.storage.journal import Part, Record, Turn
from presage.storage.lateness import rejected_table, split
from presage.storage.limits import limit_names, refuse_ahead
from presage.storage.offset_dedup import OFFSETS_SCHEMA, offsets_table

# The column of a delivered row that holds its number in its part of the source. No attribute's name can hold the sign.
ROW = "#row"
# The column of the part itself, where rows of several parts arrive together.
PART = "#part"
TAKEN_SCHEMA = pa.schema(
    [
        (SEQ, pa.int64()),  # of the record
        ("source", pa.string()),
        ("partition", pa.string()),
        ("size", pa.int64()),
        ("modified", TIMESTAMP),
        ("rows", pa.int64()),
        ("rejected", pa.int64()),
        ("note", pa.string()),
    ]
)
Cursor = dict[str, Any]


@dataclass(frozen=True)
class Arrival:
    """Rows that come together, as those of one load do, of one part of a source; their table ends with `ROW`, or, if
    they are of several parts, with `ROW` and `PART`."""

    partition: str
    checked: Checked


@dataclass(frozen=True)
class Taken:
    """A part of a source that is done with. Its size in bytes, and when it was changed last, in microseconds."""

    partition: str
    size: int
    modified: int
    rows: int
    rejected: int
    note: str = ""


@dataclass(frozen=True)
class Delivery:
    """Arrivals in turn, from one cursor of a source to the next."""

    source: str
    after: Cursor | None
    cursor: Cursor
    arrivals: list[Arrival]
    taken: list[Taken] = field(default_factory=list)


@dataclass(frozen=True)
class SourceState:
    """How far a source is, and what it has brought so far, as the journal knows it."""

    cursor: Cursor | None = None
    rows: int = 0
    rejected: int = 0

    @classmethod
    def of(cls, content: dict[str, Any] | None) -> SourceState:
        return cls() if content is None else cls(**content)


@dataclass(frozen=True)
class Brought:
    """The rows of a delivery by table, and what the record says of them."""

    tables: dict[str, pa.Table]
    offsets: pa.Table
    taken: pa.Table
    ignored: dict[str, int]
    watermark: int | None
    state: dict[str, Any]

    @property
    def seqs(self) -> int:
        return int(self.tables[EVENTS].num_rows + self.tables[LATE].num_rows)

    @property
    def times(self) -> tuple[int | None, int | None]:
        """Least and greatest event time."""
        events = self.tables[EVENTS]
        bounds = pc.min_max(events[TIME]) if events.num_rows else None
        return (bounds["min"].value, bounds["max"].value) if bounds is not None else (None, None)


def taken_table(stream: str) -> str:
    return f"#taken:{stream}"


def delivered_schemas(event_type: EventType) -> dict[str, dict[str, str]]:
    """The tables beside a stream that a source fills, as a record makes them."""
    return {
        offsets_table(event_type.name): {EVENTS: delta_schema(OFFSETS_SCHEMA)},
        taken_table(event_type.name): {EVENTS: delta_schema(TAKEN_SCHEMA)},
    }


def bring(
    delivery: Delivery,
    event_type: EventType,
    state: StreamState,
    first_seq: int,
    turn: Turn,
    judge: Callable[[pa.Table], dict[int, str]],
) -> Brought:
    """Number the rows, arrival by arrival; what is late is decided by the arrivals before, however they are delivered.

    `judge` gives reasons to reject rows of an arrival that others in the log decide on.
    """
    numbered = replace(event_type, attributes=(*event_type.attributes, Attribute(ROW, LONG)))
    parted = replace(event_type, attributes=(*numbered.attributes, Attribute(PART, STRING)))
    watermark, seq = state.watermark, first_seq
    events: list[pa.Table] = []
    late: list[pa.Table] = []
    offsets, rejected, ignored = [], Rejected(), Counter[str]()
    for arrival in delivery.arrivals:
        checked = refuse_ahead(arrival.checked, event_type, turn.at)
        checked = checked.refuse(judge(checked.table))
        several_parts = PART in checked.table.column_names
        both = split(checked.table, parted if several_parts else numbered, watermark, seq)
        for table, several in zip(reversed(both), (late, events), strict=True):  # late ones have the first numbers
            several.append(table.drop_columns([ROW, PART] if several_parts else [ROW]))
            offsets.append(_offsets(table, delivery.source, None if several_parts else arrival.partition))
        if both[0].num_rows:
            last = int(both[0][TIME][-1].value)
            watermark = greatest(watermark, max(last - event_type.max_delay, MIN_TIME))
        seq += checked.table.num_rows
        rejected.extend(checked.rejected)
        ignored.update(checked.ignored)
    known = SourceState.of(state.cursors.get(delivery.source))
    after = SourceState(delivery.cursor, known.rows + seq - first_seq, known.rejected + len(rejected))
    return Brought(
        {
            EVENTS: pa.concat_tables([events_schema(event_type.attributes).empty_table(), *events]),
            LATE: pa.concat_tables([late_schema(event_type.attributes).empty_table(), *late]),
            REJECTED: rejected_table(rejected, turn),
        },
        pa.concat_tables([OFFSETS_SCHEMA.empty_table(), *offsets]),
        _taken(delivery, turn),
        limit_names(ignored, {}),
        watermark if watermark != state.watermark else None,
        asdict(after),
    )


def _offsets(table: pa.Table, source: str, partition: str | None) -> pa.Table:
    count = table.num_rows
    parts = table[PART] if partition is None else pa.repeat(partition, count)
    columns = [table[SEQ], pa.repeat(source, count), parts, table[ROW]]
    return pa.table(columns, schema=OFFSETS_SCHEMA)


def _taken(delivery: Delivery, turn: Turn) -> pa.Table:
    rows = [{SEQ: turn.n, "source": delivery.source, **asdict(part)} for part in delivery.taken]
    return pa.Table.from_pylist(rows, schema=TAKEN_SCHEMA)


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
