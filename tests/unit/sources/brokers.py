"""A broker in memory, as strict about packet numbers as a real one, and the client that an MQTT source has of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from presage.model.catalog import Attribute, EventType
from presage.model.permissions import Permissions
from presage.model.types import LONG, STRING, TIMESTAMP
from presage.sources.mqtt import MqttSource
from presage.sources.mqtt_client import Listener, Settings
from presage.sources.spool import Message
from presage.storage import LoadReport, Log

ATTRIBUTES = (Attribute("x", LONG), Attribute("at", TIMESTAMP))


# Brokers of these tests are on the loopback.
ALLOWED = Permissions(["MQTT_USER", "MQTT_PASSWORD"], ["localhost"])


def stream(**options: str) -> EventType:
    given = {"source": "mqtt", "host": "localhost", "topic": "t/#", **options}
    more = (Attribute("topic", STRING),) if "topic_as" in given else ()
    return EventType("Tick", "stream", (*ATTRIBUTES, *more), event_time="at", options=given)


def payload(x: int, second: int | None = None) -> bytes:
    second = x if second is None else second
    return json.dumps({"x": x, "at": f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}Z"}).encode()


class Broker:
    """Keeps what is published for one session: sends it in order, at most `window` at a time, again on a new connection
    until it is acknowledged, with the packet number that it had."""

    def __init__(self, window: int = 20) -> None:
        self.window = window
        self.queue: list[tuple[str, bytes]] = []
        self.sent: dict[int, tuple[str, bytes]] = {}  # by packet number, in order
        self.has_session = False
        self.client: FakeClient | None = None
        self.lose_acknowledgements = False
        self._last = 0

    def publish(self, payload: bytes, topic: str = "t/a") -> None:
        self.queue.append((topic, payload))

    def connect(self, client: FakeClient) -> None:
        self.client = client
        client.begin(self.has_session)
        if not self.has_session:
            self.sent, self._last = {}, 0
        self.has_session = True
        for packet, (topic, payload) in self.sent.items():
            client.came(packet, topic, payload, again=True)

    def disconnect(self) -> None:
        self.client = None

    def deliver(self) -> None:
        """Send what the window allows."""
        while self.client is not None and self.queue and len(self.sent) < self.window:
            self._last = self._last % 40 + 1  # small numbers come again soon
            while self._last in self.sent:
                self._last = self._last % 40 + 1
            self.sent[self._last] = self.queue.pop(0)
            self.client.came(self._last, *self.sent[self._last], again=False)

    def acknowledged(self, client: FakeClient, packet: int) -> None:
        if self.lose_acknowledgements or client is not self.client:
            return
        assert packet in self.sent, "an acknowledgement of nothing"
        del self.sent[packet]


class FakeClient:
    """Connects when it is told to."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.why = "not connected"
        self.listener: Listener | None = None
        self.at = 0

    def start(self, listener: Listener) -> None:
        self.listener = listener

    def connect(self) -> None:
        self.why = ""
        self.broker.connect(self)

    def begin(self, same_session: bool) -> None:
        assert self.listener is not None
        self.listener.begin(same_session)

    def came(self, packet: int, topic: str, payload: bytes, again: bool) -> None:
        assert self.listener is not None
        self.at += 1
        self.listener.take(Message(topic, payload, packet, self.at), again)

    def acknowledge(self, packet: int) -> None:
        self.broker.acknowledged(self, packet)

    def stop(self) -> None:
        if self.broker.client is self:
            self.broker.disconnect()


class Listening:
    """A log, an MQTT source and its client, stepped by hand: its writer thread is stopped at once."""

    def __init__(self, home: Path, broker: Broker, tick: EventType | None = None, log: Log | None = None) -> None:
        self.type = tick or stream()
        self.log = log or Log.open(home, durable=False)
        if "Tick" not in self.log.archive.streams():
            self.log.create_stream(self.type)
        self.client = FakeClient(broker)
        make: Callable[[Settings, Any], FakeClient] = lambda settings, masked: self.client  # noqa: E731
        generation = self.log.deliveries.generation("Tick")
        self.source = MqttSource(self.type, self.log.home, generation, Path, ALLOWED, make)
        _, _, arguments, _ = self.source._end.peek()  # type: ignore[misc]
        stopped, writer = arguments[3], arguments[4]
        stopped.set()
        self.source._receiver.wake()
        writer.join()

    def write(self) -> bool:
        return self.source._receiver.write(patience=0)

    def step(self) -> LoadReport | None:
        delivery = self.source.read(self.log.deliveries.state("Tick", "mqtt").cursor)
        if delivery is None:
            return None
        report = self.log.deliver(self.type, delivery)
        self.source.settle(delivery)
        return report

    def events(self) -> list[int]:
        archive = self.log.archive
        return [row["x"] for row in archive.read_arrow(archive.snapshot("Tick")).to_pylist()]

    def rejected(self) -> list[tuple[str, str, str]]:
        rows = self.log.archive.read_rejected("Tick").to_pylist()
        return [(row["origin"], row["reason"], row["raw"]) for row in rows]

    def die(self) -> None:
        """The lock is free, the connection is lost, nothing else happens."""
        self.client.broker.disconnect()
        self.source._spool.close()
        self.source._end.detach()
        self.log.home.unlock()

    def close(self) -> None:
        self.source.close()
        self.log.close()
