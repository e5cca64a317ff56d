"""Options of an MQTT source in, a connection that is kept up out. The only file that knows paho-mqtt.

The session outlives the connection: the broker keeps what is published meanwhile, and sends again what was not
acknowledged. paho connects anew by itself, with growing pauses; what it meets is told in words.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from presage.errors import error
from presage.sources.spool import Message

KEEP_ALIVE_SECONDS = 30
LONGEST_PAUSE = 30


@dataclass(frozen=True)
class Settings:
    """Where to connect, and as whom; secrets are resolved."""

    host: str
    port: int
    topic: str
    client: str
    version: str  # 5, or 3.1.1
    session_seconds: int
    inflight: int
    username: str | None = None
    password: str | None = None
    tls: bool = False
    tls_files: Mapping[str, str] | None = None  # ca, cert, key


class Listener(Protocol):
    """Who is told what happens, by the client's own thread."""

    def begin(self, same_session: bool) -> None: ...
    def take(self, message: Message, again: bool) -> None: ...


class Client(Protocol):
    """A connection. `why`: what keeps it from listening now; empty while it does."""

    why: str

    def start(self, listener: Listener) -> None: ...
    def acknowledge(self, packet: int) -> None: ...
    def stop(self) -> None: ...


class PahoClient:
    def __init__(self, settings: Settings, masked: Callable[[str], str]) -> None:
        mqtt = _paho()
        self._settings = settings
        self._masked = masked
        self._place = f"the broker at {settings.host}:{settings.port}"
        self.why = f"{self._place} has not answered yet"
        is_new = settings.version == "5"
        self._client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=settings.client,
            clean_session=None if is_new else False,
            protocol=mqtt.MQTTv5 if is_new else mqtt.MQTTv311,
            manual_ack=True,
        )
        self._client.reconnect_delay_set(1, LONGEST_PAUSE)
        if settings.username is not None:
            self._client.username_pw_set(settings.username, settings.password)
        if settings.tls:
            files = settings.tls_files or {}
            self._client.tls_set(files.get("ca"), files.get("cert"), files.get("key"))

    def start(self, listener: Listener) -> None:
        client, settings = self._client, self._settings

        def connected(_: Any, __: Any, flags: Any, reason: Any, *___: Any) -> None:
            if reason.is_failure:
                self._say(f"refuses the connection: {reason}")
                return
            listener.begin(flags.session_present)
            self.why = ""
            # The session of the broker remembers it; a new subscription would bring retained messages again.
            if not flags.session_present:
                client.subscribe(settings.topic, qos=1)

        def subscribed(_: Any, __: Any, ___: Any, reasons: Any, *____: Any) -> None:
            refused = [str(reason) for reason in reasons if reason.is_failure]
            if refused:
                self._say(f"refuses the topic '{settings.topic}': {refused[0]}")

        def disconnected(_: Any, __: Any, ___: Any, reason: Any, *____: Any) -> None:
            if not self.why:
                self._say(f"has ended the connection: {reason}")

        def came(_: Any, __: Any, message: Any) -> None:
            try:
                topic = str(message.topic)
            except UnicodeDecodeError:
                topic = "a topic that is not UTF-8"
            packet = int(message.mid) if message.qos else 0
            made = Message(topic, bytes(message.payload), packet, time.time_ns() // 1_000)
            listener.take(made, bool(message.dup))

        client.on_connect, client.on_subscribe, client.on_disconnect = connected, subscribed, disconnected
        client.on_connect_fail = lambda *_: self._say("cannot be reached")
        client.on_message = came
        more: dict[str, Any] = {}
        if settings.version == "5":
            more = {"clean_start": False, "properties": _properties(settings)}
        client.connect_async(settings.host, settings.port, KEEP_ALIVE_SECONDS, **more)
        client.loop_start()

    def acknowledge(self, packet: int) -> None:
        self._client.ack(packet, 1)

    def stop(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _say(self, what: str) -> None:
        self.why = self._masked(f"{self._place} {what}; it is tried again")


def _properties(settings: Settings) -> Any:
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    made: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    made.SessionExpiryInterval = settings.session_seconds
    made.ReceiveMaximum = settings.inflight
    return made


def _paho() -> Any:
    try:
        import paho.mqtt.client
    except ImportError as missing:
        raise error("NO_PACKAGE", what="source = 'mqtt'", package="paho-mqtt", extra="mqtt") from missing
    return paho.mqtt.client
