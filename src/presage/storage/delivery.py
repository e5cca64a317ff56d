"""Deliveries of declared sources: batches of rows that are committed together with the source's cursor.

Only the source interprets its cursor. One record publishes both the rows and the new cursor, so that neither can exist
without the other. Two internal tables belong to the stream: `#offsets:<stream>` (see `offset_dedup`) holds the
partition and offset of each event in its source, `#taken:<stream>` the parts, such as files, that are finished.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
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
from presage.storage.delta_schema import to_delta
from presage.storage.distributions import Distributions
from presage.storage.home import Home
from presage.storage.home_state import StreamState, greatest
from presage.storage.ingest import Checked, Rejected
from presage.storage.journal import Part, Record, Turn
from presage.storage.lateness import arrival_record, rejected_table, split
from presage.storage.limits import refuse_ahead
from presage.storage.offset_dedup import OFFSETS_SCHEMA, offsets_table

# The column with a row's offset in its partition of the source. No attribute's name can contain the sign.
ROW = "#row"
# The column with the partition, in arrivals with rows of several partitions.
PART = "#part"
TAKEN_SCHEMA = pa.schema(
    {SEQ: pa.int64(), "source": pa.string(), "partition": pa.string(), "size": pa.int64(), "modified": TIMESTAMP}
    | {"rows": pa.int64(), "rejected": pa.int64(), "note": pa.string()}
)  # SEQ: the record
Cursor = dict[str, Any]


@dataclass(frozen=True)
class Arrival:
    """Rows that arrive together, like those of one load, from one partition of a source. Their table ends with `ROW`,
    or with `ROW` and `PART` if they come from several partitions."""

    partition: str
    checked: Checked


@dataclass(frozen=True)
class Taken:
    """A part of a source, such as a file, that is read to its end. `modified`: microseconds."""

    partition: str
    size: int
    modified: int
    rows: int
    rejected: int
    note: str = ""


@dataclass(frozen=True)
class Delivery:
    """Arrivals in order, from one cursor of a source (`after`) to the next. `frame`: rows that arrive together, as a
    Spark DataFrame, in place of arrivals."""

    source: str
    after: Cursor | None
    cursor: Cursor
    arrivals: list[Arrival] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    frame: Any = None


@dataclass(frozen=True)
class SourceState:
    """Cursor and row counts of a source, as in the journal."""

    cursor: Cursor | None = None
    rows: int = 0
    rejected: int = 0

    @classmethod
    def of(cls, content: dict[str, Any] | None) -> SourceState:
        return cls() if content is None else cls(**content)


@dataclass(frozen=True)
class DeliveredRows:
    """The numbered rows of a delivery, by table, and the source's new state."""

    tables: dict[str, pa.Table]
    offsets: pa.Table
    taken: pa.Table
    ignored: Mapping[str, int]
    watermark: int | None
    state: dict[str, Any]


def taken_table(stream: str) -> str:
    return f"#taken:{stream}"


def delivered_schemas(event_type: EventType) -> dict[str, dict[str, str]]:
    """Schemas of the internal tables of a stream with a source."""
    return {
        offsets_table(event_type.name): {EVENTS: to_delta(OFFSETS_SCHEMA)},
        taken_table(event_type.name): {EVENTS: to_delta(TAKEN_SCHEMA)},
    }


def number_rows(
    delivery: Delivery,
    event_type: EventType,
    state: StreamState,
    first_seq: int,
    turn: Turn,
    judge: Callable[[pa.Table], dict[int, str]],
) -> DeliveredRows:
    """Number the rows, arrival by arrival. Earlier arrivals decide which rows are late, however they are delivered.

    `judge` returns reasons to reject rows of an arrival, in view of other rows in the log.
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
            watermark = greatest((watermark, max(last - event_type.max_delay, MIN_TIME)))
        seq += checked.table.num_rows
        rejected.extend(checked.rejected)
        ignored.update(checked.ignored)
    before = SourceState.of(state.cursors.get(delivery.source))
    after = SourceState(delivery.cursor, before.rows + seq - first_seq, before.rejected + len(rejected))
    taken = [{SEQ: turn.n, "source": delivery.source, **asdict(part)} for part in delivery.taken]
    return DeliveredRows(
        {
            EVENTS: pa.concat_tables([events_schema(event_type.attributes).empty_table(), *events]),
            LATE: pa.concat_tables([late_schema(event_type.attributes).empty_table(), *late]),
            REJECTED: rejected_table(rejected, turn),
        },
        pa.concat_tables([OFFSETS_SCHEMA.empty_table(), *offsets]),
        pa.Table.from_pylist(taken, schema=TAKEN_SCHEMA),
        ignored,
        watermark if watermark != state.watermark else None,
        asdict(after),
    )


def _offsets(table: pa.Table, source: str, partition: str | None) -> pa.Table:
    count = table.num_rows
    parts = table[PART] if partition is None else pa.repeat(partition, count)
    columns = [table[SEQ], pa.repeat(source, count), parts, table[ROW]]
    return pa.table(columns, schema=OFFSETS_SCHEMA)


class Deliveries:
    def __init__(self, home: Home, committer: Committer, distributions: Distributions) -> None:
        self._home = home
        self._committer = committer
        self._distributions = distributions

    def publish(self, event_type: EventType, delivery: Delivery) -> Record | None:
        """Commit events, their offsets and the cursor in one record. None, without effect, if the delivery does not
        start at the source's current cursor: it is a duplicate, or the stream was created anew."""
        with self._committer.turn():
            state = state_of(self._committer, event_type.name)
            before = self.state(event_type.name, delivery.source)
            if before.cursor != delivery.after:
                return None
            if delivery.frame is not None:
                return self._publish_frame(event_type, delivery, before)
            self._committer.ensure_tables(delivered_schemas(event_type))
            with self._committer.turn() as turn:
                first = self._committer.state.position + 1
                judge = lambda rows: self._distributions.judge(rows, event_type, state)  # noqa: E731
                rows = number_rows(delivery, event_type, state, first, turn, judge)
                draft = self._draft(turn, event_type, rows, delivery.source)
                self._distributions.propose(rows.tables[EVENTS], event_type, state, first + draft.seqs - 1)
                return self._committer.publish(turn, draft)

    def _publish_frame(self, event_type: EventType, delivery: Delivery, before: SourceState) -> Record:
        from presage.storage.spark_ingest import stage_load  # loads PySpark

        with self._committer.turn() as turn:
            draft = stage_load(self._home, self._committer, turn, event_type, delivery.frame)
            after = SourceState(delivery.cursor, before.rows + draft.seqs, before.rejected + draft.rejected)
            draft = replace(draft, kind="delivery", cursors={delivery.source: asdict(after)})
            return self._committer.publish(turn, draft)

    def state(self, stream: str, source: str) -> SourceState:
        """Cursor and counts of a source."""
        return SourceState.of(state_of(self._committer, stream).cursors.get(source))

    def generation(self, stream: str) -> int:
        """The number that distinguishes a stream from earlier ones of its name."""
        return state_of(self._committer, stream).generation

    def taken(self, stream: str, source: str) -> pa.Table:
        """The finished parts of a source, in the order in which they were finished."""
        name = taken_table(stream)
        if name not in self._committer.state.streams:
            return TAKEN_SCHEMA.empty_table()
        paths = [self._committer.path_of(name, EVENTS, file.name) for file in self._committer.files(name, EVENTS)]
        files = [read_data(path, TAKEN_SCHEMA) for path in paths]
        table = pa.concat_tables([TAKEN_SCHEMA.empty_table(), *files])
        return table.filter(pc.equal(table["source"], source)).sort_by(SEQ)

    def _draft(self, turn: Turn, event_type: EventType, rows: DeliveredRows, source: str) -> Record:
        """Stage the rows, and draft the record that names their files."""
        names = [event_type.name, *delivered_schemas(event_type)]
        tables = [rows.tables, {EVENTS: rows.offsets}, {EVENTS: rows.taken}]
        try:
            staged, *others = [self._committer.stage(turn, n, t) for n, t in zip(names, tables, strict=True)]
        except Exception:
            for name in names:
                self._committer.discard(turn, name)
            raise
        counts = [rows.offsets.num_rows, rows.taken.num_rows]
        parts = [Part(n, adds=a, accepted=c) for n, a, c in zip(names[1:], others, counts, strict=True) if c]
        more = {"watermark": rows.watermark, "parts": parts, "cursors": {source: rows.state}}
        return arrival_record(turn, "delivery", event_type.name, rows.tables, staged, rows.ignored, **more)
