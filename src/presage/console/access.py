"""HTTP requests in; those that may pass out, the others answered here.

Who may ask: whoever has the token. A page that was loaded from elsewhere must not ask in a user's name, so Host and
Origin are checked too: a name that is made to point at the loopback (DNS rebinding) is not one of ours.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from presage.console.pages import page
from presage.errors import PresageError, error

COOKIE = "presage_token"
MOST_BYTES = 16 * 1024 * 1024
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# What holds no data of anybody's.
OPEN = ("/static/",)
# For people who open the address without it.
LOCKED = "locked.html"
HEADERS = [
    (b"content-security-policy", b"default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]


def new_token() -> str:
    return secrets.token_urlsafe(24)


class Access:
    """Stands before the application. `hosts`: names under which it may be asked, beside those of the loopback."""

    def __init__(self, app: ASGIApp, token: str, hosts: Iterable[str] = (), most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._token = token
        self._hosts = {name.lower() for name in (*LOOPBACK, *hosts)}
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        refused = self._refused(scope, headers)
        if refused is not None:
            await _answer(send_safely, *refused)
            return
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and given and self._is_right(given):
            # Out of the address: it would be kept in the history, and shown to whoever looks over a shoulder.
            cookie = f"{COOKIE}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _redirect(send_safely, "/", cookie)
            return
        if not scope["path"].startswith(OPEN) and not self._is_allowed(headers):
            if scope["path"] == "/" and "text/html" in headers.get("accept", ""):
                await HTMLResponse(page(LOCKED), 401)(scope, receive, send_safely)
                return
            fix = "open the address with its token that `presage serve` printed, or send Authorization: Bearer …"
            await _answer(send_safely, 401, error("NOT_ALLOWED", what="without its token", fix=fix))
            return
        body = _Body(receive, self._most)

        async def send_unless_too_long(message: Message) -> None:
            # The application answers to a body that breaks off; what it says of it is not what happened.
            if not body.too_long:
                await send_safely(message)
            elif message["type"] == "http.response.start":
                await _answer(send_safely, 413, too_long(self._most))

        await self._app(scope, body.receive, send_unless_too_long)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, PresageError] | None:
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            fix = "ask under the name that it listens on, or add yours with --host"
            return 403, error("NOT_ALLOWED", what=f"under the name '{_name(host)[:100]}'", fix=fix)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return 403, error("NOT_ALLOWED", what="from a page of another origin", fix="use the console's own page")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self._most:
            return 413, too_long(self._most)
        return None

    def _is_allowed(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._is_right(given.strip())
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self._is_right(cookie.value)

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


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


def _name(host: str) -> str:
    """The name of a Host header, without its port."""
    return (host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]).lower()


async def _answer(send: Send, status: int, problem: PresageError) -> None:
    body = json.dumps({"errors": [problem.as_dict()]}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _redirect(send: Send, path: str, cookie: str) -> None:
    headers = [(b"location", path.encode()), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
