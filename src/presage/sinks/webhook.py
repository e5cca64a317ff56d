"""`sink = 'webhook'`: sends rows as POST requests, one after the other.

A request contains one line of JSON, `{"id": …, "statement": …, "rows": […]}`, and its id as `Idempotency-Key`. A batch
that is sent again, after a crash or a lost response, has the same rows and the same key.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from urllib.parse import urlsplit

from presage.declarations.sinks import url_problem
from presage.errors import error
from presage.model.catalog import Sink
from presage.model.permissions import Permissions
from presage.model.time import parse_duration
from presage.sinks.sink import Batch, NotTaken, Target, rows_as_json

ROWS = 100
TIMEOUT = "10 sec"
# Status codes that refuse the content of the rows. All others are retried.
REFUSALS = (400, 413, 415, 422)
MOST_ANSWER = 64 << 10  # bytes that are read of a response


class _Plain(http.client.HTTPConnection):
    """A connection to an address that `open` checks."""

    open: Callable[[str, int, float | None], socket.socket]

    def connect(self) -> None:
        self.sock = self.open(self.host, self.port, self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _Secure(_Plain):
    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


class WebhookTarget(Target):
    """Keeps one connection open, and reconnects when it is lost."""

    def __init__(self, sink: Sink, permissions: Permissions) -> None:
        options = sink.options
        self.most = int(options.get("rows", ROWS))
        self._sink = sink
        self._timeout = (parse_duration(options.get("timeout", TIMEOUT)) or 0) / 1e6
        self._headers = {
            name.removeprefix("header."): value for name, value in options.items() if name.startswith("header.")
        }
        self._grant = permissions.of(f"sink '{sink.name}'")
        self._connection: _Plain | None = None
        self._address = ""  # that the connection is for

    def deliver(self, batch: Batch) -> int:
        rows = ",".join(rows_as_json(batch))
        name = json.dumps(batch.statement, ensure_ascii=False)
        body = f'{{"id":{json.dumps(batch.id, ensure_ascii=False)},"statement":{name},"rows":[{rows}]}}\n'.encode()
        # Resolved for every request: a renewed token needs no restart.
        url = self._grant.resolve(self._sink.options["url"])
        headers = {name: self._header(name, value) for name, value in self._headers.items()}
        # A header must be ASCII; a name may contain any letter.
        key = batch.id.encode("unicode_escape").decode("ascii")
        headers |= {"content-type": "application/json; charset=utf-8", "idempotency-key": key}
        answer = self._post(url, headers, body)
        if 200 <= answer.status < 300:
            return int(batch.rows.num_rows)
        # Only the status: the response is not for the user who named the address.
        why = f"the server answered {answer.status}{_phrase(answer.status)}"
        raise NotTaken(why, answer.status in REFUSALS, pause=_asked(answer.getheader("retry-after")))

    def _header(self, name: str, value: str) -> str:
        """The value of a header. Reject here what cannot be sent: a later error message would print the secret."""
        resolved = self._grant.resolve(value)
        if not resolved.isprintable() or any(letter > "\xff" for letter in resolved):
            fix = "look at the end of the variable that it names: a line feed there is easily overlooked"
            what = f"header.{name} of sink '{self._sink.name}'"
            raise error("BAD_VALUE", what=what, found="more than that", expected="one line of Latin letters", fix=fix)
        return resolved

    def masked(self, text: str) -> str:
        return self._grant.masked(text)

    def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> http.client.HTTPResponse:
        try:
            used = self._connection is not None and self._address == url
            try:
                return self._ask(url, headers, body)
            except (ConnectionError, http.client.BadStatusLine):
                if not used:
                    raise
                self.close()  # the server has closed the idle connection
                return self._ask(url, headers, body)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            # ValueError: an invalid address from the environment.
            self.close()
            # The text of an HTTPException quotes the response.
            text = "" if isinstance(failure, http.client.HTTPException) else str(failure)
            raise NotTaken(f"no answer from {urlsplit(url).hostname}: {text or type(failure).__name__}") from failure

    def _ask(self, url: str, headers: Mapping[str, str], body: bytes) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        connection = self._connected(url)
        connection.request("POST", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", body, dict(headers))
        answer = connection.getresponse()
        answer.read(MOST_ANSWER)  # a connection can be reused if the response is read to its end
        if answer.will_close or not answer.isclosed():
            self.close()
        return answer

    def _connected(self, url: str) -> _Plain:
        if self._connection is None or self._address != url:
            problem = url_problem(url)
            if problem is not None:
                what, fix = f"the url of sink '{self._sink.name}'", "give one that begins with http:// or https://"
                fix += ", without a user's name"
                raise error("BAD_VALUE", what=what, found=problem, expected="an address", fix=fix)
            self.close()
            parts = urlsplit(url)
            assert parts.hostname is not None
            kind = _Secure if parts.scheme == "https" else _Plain
            self._connection = kind(parts.hostname, parts.port, timeout=self._timeout)
            self._connection.open = self._grant.connect
            self._address = url
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _phrase(status: int) -> str:
    """The standard phrase of a status, not that of the server."""
    return f" {HTTPStatus(status).phrase}" if status in HTTPStatus._value2member_map_ else ""


def _asked(retry_after: str | None) -> float | None:
    """The pause that a server asks for in seconds; the header is a number or a date."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)  # infinite if it is too large
    try:
        return parsedate_to_datetime(retry_after).timestamp() - time()
    except (ValueError, OverflowError):
        return None
