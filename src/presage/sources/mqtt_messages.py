"""Messages in, checked rows out: one message is one row, of JSON or CSV; what is none is rejected with its topic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.log import ROW, Checked
from presage.log.columns import attributes_schema
from presage.log.ingest import Rejected
from presage.log.text_csv import read_csv_rows, readable
from presage.log.text_json import read_json_lines
from presage.model.arrow import to_arrow
from presage.model.catalog import EventType
from presage.sources.spool import Message

Numbered = list[tuple[int, Message]]
CSV = "csv"


class Messages:
    """Reads the messages of a stream. Its options `topic_as` and `received_as` name attributes that the topic and the
    time of arrival go into."""

    def __init__(self, event_type: EventType) -> None:
        options = event_type.options
        self._type = event_type
        self._is_csv = options.get("format", "json") == CSV
        self._topic, self._received = options.get("topic_as"), options.get("received_as")
        given = (self._topic, self._received)
        self._attributes = tuple(a for a in event_type.attributes if a.name not in given)
        required = event_type.event_time
        self._required = None if required == self._received else required

    def read(self, messages: Numbered) -> Checked:
        """Rows in the order of the messages, with their numbers."""
        whole = [(number, m) for number, m in messages if not self._problem(m.payload)]
        data = b"".join(m.payload.replace(b"\n", b" ") + b"\n" for _, m in whole)
        if self._is_csv:
            names = [a.name for a in self._attributes]
            checked = read_csv_rows(data, "mqtt", names, self._attributes, self._required, 0)
        else:
            checked = read_json_lines(data, "mqtt", self._attributes, self._required)
        bad = [int(origin.rpartition(":")[2]) - 1 for origin in checked.rejected.origins]
        good = np.delete(np.arange(len(whole)), bad)
        rejected = self._rejected(messages, checked.rejected, [whole[i][0] for i in bad])
        kept = [whole[i] for i in good]

        def place(row: int) -> tuple[str, str]:
            number, message = kept[row]
            return _text(message.payload), _origin(number, message)

        return Checked(self._whole(checked.table, kept), rejected, checked.ignored, place)

    def _problem(self, payload: bytes) -> str:
        """Why a payload is no line of text; empty if it may be one."""
        if not payload.decode("utf-8", "replace").strip():
            return "the message is empty"
        if self._is_csv and (b"\n" in payload or b"\r" in payload):
            return "the message has several lines; one message is one row"
        if self._is_csv and payload.count(b'"') % 2:
            return "a quote is opened and never closed"
        return ""

    def _rejected(self, messages: Numbered, found: Rejected, numbers: list[int]) -> Rejected:
        """All that is no row, in the order of the messages."""
        known = dict(zip(numbers, range(len(numbers)), strict=True))
        made = Rejected()
        for number, message in messages:
            why = self._problem(message.payload)
            if number in known:
                at = known[number]
                reason = found.reasons[at].replace("the line is", "the message is")
                made.add(reason, _text(message.payload), _origin(number, message), found.remains[at])
            elif why:
                made.add(why, _text(message.payload), _origin(number, message))
        return made

    def _whole(self, table: pa.Table, kept: Numbered) -> pa.Table:
        """The rows with all attributes of the stream, and their numbers."""
        columns = {name: table[name] for name in table.column_names}
        if self._topic is not None:
            columns[self._topic] = pa.array([m.topic for _, m in kept], pa.string())
        if self._received is not None:
            kind = to_arrow(next(a.type for a in self._type.attributes if a.name == self._received))
            columns[self._received] = pa.array([m.at for _, m in kept], pa.int64()).cast(kind)
        schema = attributes_schema(self._type.attributes)
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        return rows.append_column(ROW, pa.array([number for number, _ in kept], pa.int64()))


def _origin(number: int, message: Message) -> str:
    return f"{message.topic}, message {number}"


def _text(payload: bytes) -> str:
    return readable(payload.decode("utf-8", "surrogateescape"))
