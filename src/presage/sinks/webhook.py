"""`sink = 'webhook'`: rows in, POST requests to an address out, one after the other.

A request carries one line of JSON, `{"id": …, "statement": …, "rows": […]}`, and its id as `Idempotency-Key`: rows that
are sent again, after a crash or an answer that never came, are sent with the same key and in the same company.
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
from presage.sinks.sink import Batch, NotTaken, rows_as_json

ROWS = 100
TIMEOUT = "10 sec"
# Answers that speak of what the rows hold. Others speak of the server, of the address or of the sender: those pass.
REFUSALS = (400, 413, 415, 422)
MOST_ANSWER = 64 << 10  # bytes that are read of an answer


class _Plain(http.client.HTTPConnection):
    """A connection to an address that `open` has checked."""

    open: Callable[[str, int, float | None], socket.socket]

    def connect(self) -> None:
        self.sock = self.open(self.host, self.port, self.timeout)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _Secure(_Plain):
    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


class WebhookTarget:
    """Keeps one connection, and makes another when it is lost."""

    every = 0.0
    why = ""

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

    def prepare(self, batch: Batch) -> None:
        """A request is nothing before it is sent."""

    def deliver(self, batch: Batch) -> int:
        rows = ",".join(rows_as_json(batch))
        name = json.dumps(batch.statement, ensure_ascii=False)
        body = f'{{"id":{json.dumps(batch.id, ensure_ascii=False)},"statement":{name},"rows":[{rows}]}}\n'.encode()
        # Looked up for every request: a token that is renewed needs no restart.
        url = self._grant.resolve(self._sink.options["url"])
        headers = {name: self._header(name, value) for name, value in self._headers.items()}
        # A header is one line of Latin letters; a name may hold any.
        key = batch.id.encode("unicode_escape").decode("ascii")
        headers |= {"content-type": "application/json; charset=utf-8", "idempotency-key": key}
        answer = self._post(url, headers, body)
        if 200 <= answer.status < 300:
            return int(batch.rows.num_rows)
        # The number alone: what a server says is not for whoever named its address.
        why = f"the server answered {answer.status}{_phrase(answer.status)}"
        raise NotTaken(why, answer.status in REFUSALS, pause=_asked(answer.getheader("retry-after")))

    def _header(self, name: str, value: str) -> str:
        """What a header says. One that cannot be sent is refused here: who refuses it later quotes it."""
        found = self._grant.resolve(value)
        if not found.isprintable() or any(letter > "\xff" for letter in found):
            fix = "look at the end of the variable that it names: a line feed there is easily overlooked"
            what = f"header.{name} of sink '{self._sink.name}'"
            raise error("BAD_VALUE", what=what, found="more than that", expected="one line of Latin letters", fix=fix)
        return found

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        return False  # only the server knows

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
                self.close()  # the server has ended the connection while nothing was said: that is its right
                return self._ask(url, headers, body)
        except (OSError, http.client.HTTPException, ValueError) as failure:
            # ValueError: an address, from the environment, that cannot be asked for.
            self.close()
            # What is no HTTP is quoted by the library: a server's words again.
            said = "" if isinstance(failure, http.client.HTTPException) else str(failure)
            told = said or type(failure).__name__
            raise NotTaken(f"no answer from {urlsplit(url).hostname}: {told}") from failure

    def _ask(self, url: str, headers: Mapping[str, str], body: bytes) -> http.client.HTTPResponse:
        parts = urlsplit(url)
        connection = self._connected(url)
        connection.request("POST", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", body, dict(headers))
        answer = connection.getresponse()
        answer.read(MOST_ANSWER)  # the connection can be used again if that is all
        if answer.will_close or not answer.isclosed():
            self.close()
        return answer

    def _connected(self, url: str) -> _Plain:
        if self._connection is None or self._address != url:
            problem = url_problem(url)
            if problem is not None:
                fix = "give one that begins with http:// or https://, without a user's name"
                raise error(
                    "BAD_VALUE",
                    what=f"the url of sink '{self._sink.name}'",
                    found=problem,
                    expected="an address",
                    fix=fix,
                )
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
    """What a number means, in our words."""
    known = {each.value: each.phrase for each in HTTPStatus}
    return f" {known[status]}" if status in known else ""


def _asked(retry_after: str | None) -> float | None:
    """Seconds that a server asks to be left alone for: a number, or until a date."""
    if retry_after is None:
        return None
    if retry_after.isdecimal():
        return float(retry_after)  # of any size: one that is too large for a float is infinite
    try:
        return parsedate_to_datetime(retry_after).timestamp() - time()
    except (ValueError, OverflowError):
        return None
