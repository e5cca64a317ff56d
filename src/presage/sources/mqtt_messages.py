"""Messages of a spool in, checked rows out, with their topics and times of arrival where the stream wants them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.model.arrow import to_arrow
from presage.model.catalog import EventType
from presage.sources.messages import MESSAGES, Reader
from presage.sources.spool import Message
from presage.storage import PART, ROW, Checked
from presage.storage.columns import attributes_schema
from presage.storage.text_csv import read_nulls

Numbered = list[tuple[int, Message]]
CSV = "csv"


class Messages:
    """Reads the messages of a stream. Its options `topic_as` and `received_as` name attributes that the topic and the
    time of arrival go into."""

    def __init__(self, event_type: EventType) -> None:
        options = event_type.options
        self._type = event_type
        self._topic, self._received = options.get("topic_as"), options.get("received_as")
        given = (self._topic, self._received)
        told = tuple(a for a in event_type.attributes if a.name not in given)
        is_csv = options.get("format", "json") == CSV
        required = event_type.event_time
        columns, needed = [a.name for a in told] if is_csv else None, None if required == self._received else required
        self._reader = Reader(told, needed, columns, read_nulls(options.get("nulls")))

    def read(self, messages: Numbered) -> Checked:
        """Rows in the order of the messages, with their numbers, which ascend."""
        numbers = np.array([number for number, _ in messages], np.int64)
        topics, payloads = [m.topic for _, m in messages], [m.payload + b"\n" for _, m in messages]
        checked = self._reader.read(pa.table([topics, numbers, payloads], schema=MESSAGES))
        kept = np.searchsorted(numbers, checked.table[ROW].to_numpy())
        return Checked(
            self._whole(checked.table, [messages[i][1] for i in kept]), checked.rejected, checked.ignored, checked.place
        )

    def _whole(self, table: pa.Table, kept: list[Message]) -> pa.Table:
        """The rows with all attributes of the stream, and their numbers."""
        columns = {name: table[name] for name in table.column_names}
        if self._topic is not None:
            columns[self._topic] = table[PART]
        if self._received is not None:
            kind = to_arrow(next(a.type for a in self._type.attributes if a.name == self._received))
            columns[self._received] = pa.array([m.at for m in kept], pa.int64()).cast(kind)
        schema = attributes_schema(self._type.attributes)
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        return rows.append_column(ROW, table[ROW])
