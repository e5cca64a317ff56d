"""The MQTT client, with paho-mqtt. No other module uses paho-mqtt.

The session outlives the connection: the broker stores what is published in the meantime, and sends again what was not
acknowledged. paho reconnects by itself, with growing pauses, but only after an `OSError`: every failure that may pass
must be one.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from presage.errors import PresageError, error
from presage.model.permissions import Grant
from presage.model.time import wall_clock
from presage.sources.spool import Message

KEEP_ALIVE_SECONDS = 30
LONGEST_PAUSE = 30


@dataclass(frozen=True)
class Settings:
    """Where to connect, and as whom. Secrets are names, which are looked up for each connection."""

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
    note: Path | None = None  # a file that exists once the broker has confirmed the subscription


class Listener(Protocol):
    """Callbacks, called by the client's thread."""

    def begin(self, same_session: bool) -> None: ...
    def take(self, message: Message, again: bool) -> None: ...


class Client(Protocol):
    """A connection. `why`: why it is not listening; empty while it is."""

    why: str

    def start(self, listener: Listener) -> None: ...
    def acknowledge(self, packet: int) -> None: ...
    def stop(self) -> None: ...


class PahoClient:
    def __init__(self, settings: Settings, grant: Grant) -> None:
        mqtt = _paho()
        self._settings = settings
        self._grant = grant
        self._place = f"the broker at {settings.host}:{settings.port}"
        self.why = self._unanswered = f"{self._place} has not answered yet"
        is_new = settings.version == "5"
        self._client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2,
            client_id=settings.client,
            clean_session=None if is_new else False,
            protocol=mqtt.MQTTv5 if is_new else mqtt.MQTTv311,
            manual_ack=True,
        )
        self._client.reconnect_delay_set(1, LONGEST_PAUSE)
        # paho would connect to any address of the name; it has no public way to be given a socket.
        self._client._create_socket_connection = self._connect
        if settings.tls:
            _use_files(self._client, settings.tls_files or {})

    def start(self, listener: Listener) -> None:
        client, settings = self._client, self._settings

        def connected(_: Any, __: Any, flags: Any, reason: Any, *___: Any) -> None:
            if reason.is_failure:
                self._set_why(f"refuses the connection: {reason}")
                return
            listener.begin(flags.session_present)
            self.why = ""
            # The broker's session may have lost the subscription: subscribe again.
            if settings.version == "5":
                client.subscribe(settings.topic, options=_subscription())
            # In version 3.1.1 a second subscription would bring retained messages again.
            elif not (flags.session_present and settings.note is not None and settings.note.exists()):
                client.subscribe(settings.topic, qos=1)

        def subscribed(_: Any, __: Any, ___: Any, reasons: Any, *____: Any) -> None:
            refused = [str(reason) for reason in reasons if reason.is_failure]
            if refused:
                self._set_why(f"refuses the topic '{settings.topic}': {refused[0]}")
            elif settings.note is not None:
                # On a full disk: the next connection subscribes once more, which only repeats retained messages. An
                # error here would end the client's thread.
                with suppress(OSError):
                    settings.note.touch()

        def disconnected(_: Any, __: Any, ___: Any, reason: Any, *____: Any) -> None:
            if not self.why:
                self._set_why(f"has ended the connection: {reason}")
            elif self.why == self._unanswered:
                hint = "" if settings.tls else "; if it expects TLS, declare the stream with tls = 'true'"
                self._set_why(f"ends the connection without a word ({reason}){hint}")

        def came(_: Any, __: Any, message: Any) -> None:
            try:
                topic = str(message.topic)
            except UnicodeDecodeError:
                topic = "a topic that is not UTF-8"
            packet = int(message.mid) if message.qos else 0
            received = Message(topic, bytes(message.payload), packet, wall_clock())
            listener.take(received, bool(message.dup))

        client.on_connect, client.on_subscribe, client.on_disconnect = connected, subscribed, disconnected
        client.on_pre_connect = lambda *_: self._log_in()
        client.on_connect_fail = lambda *_: self._explain(sys.exception())
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

    def _connect(self) -> socket.socket:
        try:
            return self._grant.connect(self._settings.host, self._settings.port, self._client.connect_timeout)
        except PresageError as refused:
            raise _as_os_error(refused) from refused

    def _log_in(self) -> None:
        names = (self._settings.username, self._settings.password)
        try:
            username, password = (name if name is None else self._grant.resolve(name) for name in names)
        except PresageError as missing:
            raise _as_os_error(missing) from missing
        if username is not None:
            self._client.username_pw_set(username, password)

    def _explain(self, failure: BaseException | None) -> None:
        if isinstance(failure, PermissionError) and isinstance(failure.__cause__, PresageError):
            self.why = self._grant.masked(str(failure))  # refused before connecting
        else:
            self._set_why(f"cannot be reached: {failure}")

    def _set_why(self, what: str) -> None:
        self.why = self._grant.masked(f"{self._place} {what}; it is tried again")


def _as_os_error(problem: PresageError) -> PermissionError:
    return PermissionError("; ".join(filter(None, (problem.message, problem.fix))))


def _use_files(client: Any, files: Mapping[str, str]) -> None:
    """Configure TLS. Errors name the files, which OpenSSL's do not."""
    for name, path in files.items():
        if not Path(path).is_file():
            raise FileNotFoundError(f"tls_{name} '{path}' is not there")
    try:
        client.tls_set(files.get("ca"), files.get("cert"), files.get("key"))
    except OSError as failure:
        given = " and ".join(f"tls_{name} '{path}'" for name, path in files.items())
        raise OSError(f"{given} cannot be used: {failure}") from failure


def _subscription() -> Any:
    """Retained messages come only with the first subscription of a session."""
    from paho.mqtt.subscribeoptions import SubscribeOptions

    options: Any = SubscribeOptions
    return options(qos=1, retainHandling=options.RETAIN_SEND_IF_NEW_SUB)


def _properties(settings: Settings) -> Any:
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties

    properties: Any = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
    properties.SessionExpiryInterval = settings.session_seconds
    properties.ReceiveMaximum = settings.inflight
    return properties


def _paho() -> Any:
    try:
        import paho.mqtt.client
    except ImportError as missing:
        raise error("NO_PACKAGE", what="source = 'mqtt'", package="paho-mqtt", extra="mqtt") from missing
    return paho.mqtt.client
