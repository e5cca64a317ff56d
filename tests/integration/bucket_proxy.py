"""A proxy on the loopback before a server of buckets, which lets requests fail as a network or a busy server would."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

SLOW_DOWN = b"""<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"""
OF_A_CONNECTION = ("connection", "transfer-encoding", "content-length", "keep-alive")


class BucketProxy:
    """What it does with requests is changed while it runs."""

    def __init__(self, endpoint: str) -> None:
        self.throttles = False  # answers with 503
        self.drops = False  # ends connections without an answer
        self.stalls = False  # accepts requests, and never answers
        self.overwrites = False  # a server that does not know put-if-absent
        self.loses_replies = 0  # so many of the next puts take effect without an answer
        self.skew = timedelta()  # of the server's clock
        self.refused = 0  # requests that failed here
        target = urlsplit(endpoint)
        self._target = (target.hostname or "", target.port or 80)
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                proxy._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Requests are not logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def well(self) -> None:
        self.throttles = self.drops = self.stalls = False

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        while self.stalls:
            time.sleep(0.1)
        if self.drops:
            self.refused += 1
            request.close_connection = True
            return
        if self.throttles:
            self.refused += 1
            self._send(request, 503, [("Content-Type", "application/xml")], SLOW_DOWN)
            return
        headers = {name: value for name, value in request.headers.items() if name.lower() not in OF_A_CONNECTION}
        if self.overwrites:
            headers = {name: value for name, value in headers.items() if name.lower() != "if-none-match"}
        server = http.client.HTTPConnection(*self._target)
        server.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            server.putheader(name, value)
        server.putheader("Content-Length", str(len(body)))
        server.endheaders(body)
        answer = server.getresponse()
        content = answer.read()
        length = answer.getheader("Content-Length") if request.command == "HEAD" else None
        server.close()
        if self.loses_replies and request.command == "PUT":
            self.loses_replies -= 1
            self.refused += 1
            request.close_connection = True
            return
        self._send(request, answer.status, [self._skewed(each) for each in answer.getheaders()], content, length)

    def _skewed(self, header: tuple[str, str]) -> tuple[str, str]:
        name, value = header
        if not self.skew or name.lower() not in ("date", "last-modified"):
            return header
        at = datetime.strptime(value, "%a, %d %b %Y %H:%M:%S %Z").replace(tzinfo=UTC)
        return name, format_datetime(at + self.skew, usegmt=True)

    def _send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        length: str | None = None,
    ) -> None:
        request.send_response_only(status)
        for name, value in headers:
            if name.lower() not in OF_A_CONNECTION:
                request.send_header(name, value)
        request.send_header("Content-Length", length or str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)


@contextmanager
def proxy_of(endpoint: str) -> Iterator[BucketProxy]:
    proxy = BucketProxy(endpoint)
    try:
        yield proxy
    finally:
        proxy.well()
        proxy.stop()
