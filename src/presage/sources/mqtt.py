"""`source = 'mqtt'`: messages of a broker, by way of a spool in the home.

A broker deletes a message once it is acknowledged. So messages are spooled first; the cursor is a number in the spool,
and messages that are in the log are deleted from it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from presage.declarations.permissions import MQTT_PORT, MQTT_TLS_PORT
from presage.errors import PresageError
from presage.logging import WARNING, tell
from presage.model.arrow import to_arrow
from presage.model.catalog import EventType
from presage.model.permissions import Grant, Permissions
from presage.model.time import parse_duration
from presage.sources.messages import MESSAGES, Reader
from presage.sources.mqtt_client import Client, PahoClient, Settings
from presage.sources.receiver import TRY_AGAIN_SECONDS, Receiver
from presage.sources.source import Source
from presage.sources.spool import Message, Spool
from presage.storage import PART, ROW, Arrival, Checked, Cursor, Delivery
from presage.storage.columns import attributes_schema
from presage.storage.file_store import FileStore
from presage.storage.home import Home
from presage.storage.text_csv import read_nulls

FOLDER = "spool"
NOTE = "subscribed"
INFLIGHT = 1_000
SESSION = "7 days"
SPOOL_MB = 1_024
MOST_MESSAGES = 50_000
MOST_BYTES = 16 << 20
TLS_FILES = ("ca", "cert", "key")
JOIN_SECONDS = 10.0


class MqttSource(Source):
    """`generation`: of the stream; one that is created again has another spool and another session. `resolve`: the real
    path of a file in an option."""

    name = "mqtt"

    def __init__(
        self,
        event_type: EventType,
        home: Home,
        generation: int,
        resolve: Callable[[str], Path],
        permissions: Permissions,
        make: Callable[[Settings, Grant], Client] | None = None,
    ) -> None:
        super().__init__()
        options = event_type.options
        grant = permissions.of(f"stream '{event_type.name}'")
        default = f"presage-{home.id[:8]}-{generation}"
        folder = home.folder / FOLDER / f"{generation:014d}"
        settings = replace(settings_of(options, default, resolve), note=folder / NOTE)
        self._inflight = settings.inflight
        self._messages = Messages(event_type)
        most = int(options.get("spool_mb", SPOOL_MB)) << 20
        self._spool = Spool(folder, FileStore(home.store.durable), most)
        self._client = (make or PahoClient)(settings, grant)
        self._receiver = Receiver(self._spool, self._client.acknowledge, settings.inflight)
        self._next = 0
        stopped = threading.Event()
        # The thread has no reference to the source: one that is garbage-collected is stopped.
        arguments = (self._receiver, stopped)
        writer = threading.Thread(target=_write, args=arguments, name=f"presage-spool-{event_type.name}", daemon=True)
        self._end = weakref.finalize(self, _stop, self._client, self._receiver, self._spool, stopped, writer)
        writer.start()
        self._client.start(self._receiver)

    @property
    def left(self) -> int:
        return max(0, self._spool.next - self._next)

    def read(self, cursor: Cursor | None) -> Delivery | None:
        self._next = int(cursor["next"]) if cursor is not None else 0
        self.why = self._receiver.why or self._client.why
        if self._receiver.lost:
            self.notes = [f"messages of QoS 0 were lost while the spool could not take them: {self._receiver.lost:,}"]
        found = self._spool.read(self._next, MOST_MESSAGES, MOST_BYTES)
        if not found:
            return None
        checked = self._messages.read([(number, message) for number, message in found if message.topic])
        after = found[-1][0] + 1
        return Delivery(self.name, cursor, {"next": after}, [Arrival("", checked)])

    def settle(self, delivery: Delivery) -> None:
        self._next = int(delivery.cursor["next"])
        self._spool.forget(self._next, self._inflight)

    def position(self, cursor: Cursor | None) -> str:
        return "not begun" if cursor is None else f"message {cursor['next']}"

    def close(self) -> None:
        self._end()


def settings_of(options: Mapping[str, str], client: str, resolve: Callable[[str], Path]) -> Settings:
    """Settings from the options of a stream. `client`: the default name of the session."""
    tls = options.get("tls", "false").lower() == "true"
    files = {n: str(resolve(options[f"tls_{n}"])) for n in TLS_FILES if f"tls_{n}" in options}
    return Settings(
        options["host"],
        int(options.get("port", MQTT_TLS_PORT if tls else MQTT_PORT)),
        options["topic"],
        options.get("client", client),
        options.get("version", "5"),
        (parse_duration(options.get("session", SESSION)) or 0) // 1_000_000,
        int(options.get("inflight", INFLIGHT)),
        options.get("username"),
        options.get("password"),
        tls,
        files,
    )


def _write(receiver: Receiver, stopped: threading.Event) -> None:
    while not stopped.is_set():
        try:
            if not receiver.write() and receiver.why:
                stopped.wait(TRY_AGAIN_SECONDS)
        except (OSError, PresageError) as failure:
            if str(failure) != receiver.why:
                text = "messages cannot be spooled and are not acknowledged: {why}"
                tell(WARNING, "SPOOL_FAILED", text, why=failure)
            receiver.why = str(failure)
            stopped.wait(TRY_AGAIN_SECONDS)


def _stop(client: Client, receiver: Receiver, spool: Spool, stopped: threading.Event, writer: threading.Thread) -> None:
    client.stop()
    stopped.set()
    receiver.wake()
    if threading.current_thread() is not writer:
        writer.join(JOIN_SECONDS)
    spool.close()


Numbered = list[tuple[int, Message]]


class Messages:
    """Parses the messages of a stream. The options `topic_as` and `received_as` name attributes for the topic and the
    time of arrival."""

    def __init__(self, event_type: EventType) -> None:
        options = event_type.options
        self._type = event_type
        self._topic, self._received = options.get("topic_as"), options.get("received_as")
        sent = tuple(a for a in event_type.attributes if a.name not in (self._topic, self._received))
        columns = [a.name for a in sent] if options.get("format", "json") == "csv" else None
        required = None if event_type.event_time == self._received else event_type.event_time
        self._reader = Reader(sent, required, columns, read_nulls(options.get("nulls")))

    def read(self, messages: Numbered) -> Checked:
        """Rows in the order of the messages, with their ascending numbers."""
        numbers = np.array([number for number, _ in messages], np.int64)
        topics, payloads = [m.topic for _, m in messages], [m.payload + b"\n" for _, m in messages]
        checked = self._reader.read(pa.table([topics, numbers, payloads], schema=MESSAGES))
        valid = [messages[i][1] for i in np.searchsorted(numbers, checked.table[ROW].to_numpy())]
        return Checked(self._whole(checked.table, valid), checked.rejected, checked.ignored, checked.locate)

    def _whole(self, table: pa.Table, messages: list[Message]) -> pa.Table:
        """The rows with all attributes of the stream, and their numbers."""
        columns = {name: table[name] for name in table.column_names}
        if self._topic is not None:
            columns[self._topic] = table[PART]
        if self._received is not None:
            kind = to_arrow(next(a.type for a in self._type.attributes if a.name == self._received))
            columns[self._received] = pa.array([m.at for m in messages], pa.int64()).cast(kind)
        schema = attributes_schema(self._type.attributes)
        rows = pa.table([columns[name] for name in schema.names], schema=schema)
        return rows.append_column(ROW, table[ROW])
