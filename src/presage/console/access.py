"""Access control of HTTP requests.

A request needs the token. Host and Origin are checked too, against cross-site requests and DNS rebinding.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from presage.console.answers import body_of
from presage.console.pages import PAGES, page
from presage.errors import PresageError, error
from presage.logging import ERROR, tell

MOST_BYTES = 16 * 1024 * 1024
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# A name or an address of version 4, or one of version 6 in brackets, and a port; nothing behind it.
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
# Reject duplicates: a proxy may have checked the other one.
ONCE = ("host", "origin", "authorization", "cookie", "content-length", "content-type")
# Paths without data.
OPEN = ("/static/",)
# For people who open the address without the token.
LOCKED = "locked.html"
HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


def new_token() -> str:
    return secrets.token_urlsafe(24)


class Access:
    """Middleware before the application. `hosts`: accepted names beside those of the loopback.

    The cookie opens pages, which hold no data. Browsers send it to every port of the host, so it opens nothing else,
    and its value is not the token: the API takes `Authorization: Bearer` alone, which the page keeps for its own port.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str] = (), most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._token = token
        self._hosts = {name.lower() for name in (*LOOPBACK, *hosts)}
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # nothing of ours is a web socket
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        try:
            await self._answer(scope, receive, send_safely)
        except Exception as failure:
            tell(
                ERROR, "REQUEST_FAILED", "a request of the console failed: {path}", failure=failure, path=scope["path"]
            )
            if not started:
                await _answer(send_safely, 500, error("INTERNAL", what=type(failure).__name__))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _Headers(scope)
        refused = self._refused(headers)
        if refused is not None:
            await _answer(send, *refused)
            return
        path, port = scope["path"], (scope.get("server") or ("", 0))[1] or 0
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if path == "/" and given and self._is_right(given):
            # Move the token into the fragment of the address, which browsers never send; the page reads it there.
            cookie = f"{cookie_name(port)}={self._pass(port)}; HttpOnly; SameSite=Strict; Path=/"
            await _redirect(send, f"/#token={quote(given, safe='')}", cookie)
            return
        if not path.startswith(OPEN) and not self._is_allowed(path, port, headers):
            if path == "/" and "text/html" in headers.one("accept"):
                await HTMLResponse(page(LOCKED), 401)(scope, receive, send)
                return
            fix = "open the address with its token that `presage serve` printed, or send Authorization: Bearer …"
            await _answer(send, 401, error("NOT_ALLOWED", what="without its token", fix=fix))
            return
        body = _Body(receive, self._most)

        async def send_unless_too_long(message: Message) -> None:
            # The body was cut at the limit: replace the application's answer by the error about the limit.
            if not body.too_long:
                await send(message)
            elif message["type"] == "http.response.start":
                await _answer(send, 413, too_long(self._most))

        await self._app(scope, body.receive, send_unless_too_long)

    def _refused(self, headers: _Headers) -> tuple[int, PresageError] | None:
        twice = headers.twice(ONCE)
        if twice is not None:
            return 400, error(
                "DATA_SHAPE", what="the request", found=f"it has the header '{twice}' twice", fix="send one"
            )
        host = headers.one("host")
        name = _HOST.fullmatch(host)
        if name is None or name["name"].lower() not in self._hosts:
            fix = "ask under the name that it listens on, or add yours with --name"
            return 403, error("NOT_ALLOWED", what=f"under the name '{host[:100]}'", fix=fix)
        scheme, _, netloc = headers.one("origin", f"http://{host}").partition("://")
        if scheme not in ("http", "https") or netloc.lower() != host.lower():
            return 403, error("NOT_ALLOWED", what="from a page of another origin", fix="use the console's own page")
        length = headers.one("content-length", "0")
        if not (length.isascii() and length.isdigit()) or int(length[:20]) > self._most:
            return 413, too_long(self._most)
        return None

    def _is_allowed(self, path: str, port: int, headers: _Headers) -> bool:
        scheme, _, given = headers.one("authorization").partition(" ")
        if scheme.lower() == "bearer":
            return self._is_right(given.strip())
        if path not in PAGES:
            return False
        try:
            cookie = SimpleCookie(headers.one("cookie")).get(cookie_name(port))
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), self._pass(port).encode())

    def _pass(self, port: int) -> str:
        """The cookie that opens the pages of a port; the token cannot be derived from it."""
        return hmac.new(self._token.encode(), f"page {port}".encode(), "sha256").hexdigest()

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


class _Headers:
    """The headers of a request, by their names in lower case; of some there may be one only."""

    def __init__(self, scope: Scope) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            self._values.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def one(self, name: str, otherwise: str = "") -> str:
        return self._values.get(name, [otherwise])[0]

    def twice(self, names: Iterable[str]) -> str | None:
        return next((name for name in names if len(self._values.get(name, ())) > 1), None)


def cookie_name(port: int) -> str:
    """Cookies are shared by all ports of a host: each has a name of its own."""
    return f"presage_page_{port}"


class _Body:
    """The body of a request; past the limit it breaks off, whatever its header said."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most
        self.too_long = False

    async def receive(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        self.too_long = self.too_long or self._left < 0
        return {"type": "http.disconnect"} if self.too_long else message


def too_long(most: int) -> PresageError:
    fix = "send less at a time, or put files where a statement can read them"
    return error("LIMIT", what="the body of the request", limit_name="bytes of a request", limit=f"{most:,}", fix=fix)


async def _answer(send: Send, status: int, problem: PresageError) -> None:
    body = body_of(problem)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _redirect(send: Send, path: str, cookie: str) -> None:
    headers = [(b"location", path.encode()), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
