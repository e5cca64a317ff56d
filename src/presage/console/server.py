"""The console's HTTP server: uvicorn's, with limits on how long a request may take to arrive, and errors in JSON.

uvicorn waits without end for the rest of a request that has begun: a few hundred half requests would hold all of its
connections.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from presage.console.answers import body_of
from presage.errors import PresageError, error

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HEAD_SECONDS = 10.0
BODY_SECONDS = 120.0  # enough for 16 MB over a slow line


class TimedProtocol(H11Protocol):
    """One connection. The time for a head or a body is fixed when it begins: a byte now and then does not extend it."""

    _waits: str | None = None  # what for: the head of a request, or its body
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_for(None)
        super().connection_lost(exc)

    def _watch(self) -> None:
        waits = {h11.IDLE: "head", h11.SEND_BODY: "body"}.get(self.conn.their_state)
        if waits == "head" and self.timeout_keep_alive_task is not None:
            waits = None  # between two requests uvicorn has a limit of its own
        if waits != self._waits:
            self._wait_for(waits)

    def _wait_for(self, what: str | None) -> None:
        self._waits = what
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if what is not None:
            seconds = HEAD_SECONDS if what == "head" else BODY_SECONDS
            self._timer = self.loop.call_later(seconds, self._end, what)

    def _end(self, what: str) -> None:
        if what == "body" and self.cycle is not None:
            self.cycle.disconnected = True  # drop the rest of the application's response
            self.cycle.message_event.set()
            if self.cycle.response_started:
                self.transport.close()
                return
        self._refuse(408, error("TIMEOUT", what=f"the {what} of the request", fix="send it without pauses"))

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, error("DATA_SHAPE", what="the request", found="it is not HTTP/1.1", fix="send another"))

    def _refuse(self, status: int, problem: PresageError) -> None:
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        events = (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=body_of(problem)),
            h11.EndOfMessage(),
        )
        for event in events:
            self.transport.write(self.conn.send(event))
        self.transport.close()


class _WithoutQuery(logging.Filter):
    """Removes the query string, which may hold the token."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(a.partition("?")[0] if isinstance(a, str) else a for a in record.args)
        return True


_WITHOUT_QUERY = _WithoutQuery()


def server_of(app: ASGIApp, debug: bool = False) -> uvicorn.Server:
    """A server for an application; `debug` lets it log requests, without their queries."""
    how: dict[str, Any] = {"http": TimedProtocol, "ws": "none", "lifespan": "off", "server_header": False}
    config = uvicorn.Config(app, timeout_graceful_shutdown=2, log_level="info" if debug else "warning", **how)
    logging.getLogger("uvicorn.access").addFilter(_WITHOUT_QUERY)
    return uvicorn.Server(config)
