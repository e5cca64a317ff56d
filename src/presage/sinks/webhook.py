"""`sink = 'webhook'`: rows in, POST requests to an address out, one after the other.

A request carries one line of JSON, `{"id": …, "statement": …, "rows": […]}`, and its id as `Idempotency-Key`: rows that
are sent again, after a crash or an answer that never came, are sent with the same key and in the same company.
"""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from urllib.parse import urlsplit

from presage.analyze.declare_sink import url_problem
from presage.errors import error
from presage.model.catalog import Sink
from presage.model.secrets import Secrets
from presage.model.time import parse_duration
from presage.sinks.rows import rows_as_json
from presage.sinks.sink import Batch, NotTaken

ROWS = 100
TIMEOUT = "10 sec"
# Answers that speak of what the rows hold. Others speak of the server, of the address or of the sender: those pass.
REFUSALS = (400, 413, 415, 422)
MOST_ANSWER = 64 << 10  # bytes that are read of an answer
MOST_SHOWN = 200  # characters of it that are shown


class WebhookTarget:
    """Keeps one connection, and makes another when it is lost."""

    every = 0.0
    why = ""

    def __init__(self, sink: Sink, environment: Mapping[str, str] | None = None) -> None:
        options = sink.options
        self.most = int(options.get("rows", ROWS))
        self._sink = sink
        self._timeout = (parse_duration(options.get("timeout", TIMEOUT)) or 0) / 1e6
        self._headers = {
            name.removeprefix("header."): value for name, value in options.items() if name.startswith("header.")
        }
        self._secrets = Secrets(f"sink '{sink.name}'", environment)
        self._connection: http.client.HTTPConnection | None = None
        self._address = ""  # that the connection is for

    def prepare(self, batch: Batch) -> None:
        """A request is nothing before it is sent."""

    def deliver(self, batch: Batch) -> int:
        rows = ",".join(rows_as_json(batch))
        name = json.dumps(batch.statement, ensure_ascii=False)
        body = f'{{"id":{json.dumps(batch.id, ensure_ascii=False)},"statement":{name},"rows":[{rows}]}}\n'.encode()
        # Looked up for every request: a token that is renewed needs no restart.
        url = self._secrets.resolve(self._sink.options["url"])
        headers = {name: self._header(name, value) for name, value in self._headers.items()}
        # A header is one line of Latin letters; a name may hold any.
        key = batch.id.encode("unicode_escape").decode("ascii")
        headers |= {"content-type": "application/json; charset=utf-8", "idempotency-key": key}
        answer, text = self._post(url, headers, body)
        if 200 <= answer.status < 300:
            return int(batch.rows.num_rows)
        said = " ".join(text.split())[:MOST_SHOWN]
        why = f"the server answered {answer.status} {answer.reason}{': ' if said else ''}{said}"
        raise NotTaken(why, answer.status in REFUSALS, pause=_asked(answer.getheader("retry-after")))

    def _header(self, name: str, value: str) -> str:
        """What a header says. One that cannot be sent is refused here: who refuses it later quotes it."""
        found = self._secrets.resolve(value)
        if not found.isprintable() or any(letter > "\xff" for letter in found):
            fix = "look at the end of the variable that it names: a line feed there is easily overlooked"
            what = f"header.{name} of sink '{self._sink.name}'"
            raise error("BAD_VALUE", what=what, found="more than that", expected="one line of Latin letters", fix=fix)
        return found

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        return False  # only the server knows

    def masked(self, text: str) -> str:
        return self._secrets.masked(text)

    def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[http.client.HTTPResponse, str]:
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
            told = str(failure) or type(failure).__name__
            raise NotTaken(f"no answer from {urlsplit(url).hostname}: {told}") from failure

    def _ask(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[http.client.HTTPResponse, str]:
        parts = urlsplit(url)
        connection = self._connected(url)
        connection.request("POST", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", body, dict(headers))
        answer = connection.getresponse()
        text = answer.read(MOST_ANSWER).decode("utf-8", errors="replace")
        if answer.will_close or not answer.isclosed():
            self.close()
        return answer, text

    def _connected(self, url: str) -> http.client.HTTPConnection:
        if self._connection is None or self._address != url:
            problem = url_problem(url)
            if problem is not None:
                fix = "give one that begins with http:// or https://, without a user's name"
                raise error("BAD_VALUE", what=f"the url of sink '{self._sink.name}'", found=problem,
                            expected="an address", fix=fix)  # fmt: skip
            self.close()
            parts = urlsplit(url)
            assert parts.hostname is not None
            if parts.scheme == "https":
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(
                    parts.hostname, parts.port, timeout=self._timeout, context=context
                )
            else:
                self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=self._timeout)
            self._address = url
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


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
