"""Who may ask the console, whatever the headers say: no header makes it fail, and only the right ones open it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.console import server
from presage.console.access import Access, cookie_name
from presage.console.gate import Gate

TOKEN = "t0ken-of-the-tests"
PORT = 8765
HOST = f"127.0.0.1:{PORT}"
Header = tuple[bytes, bytes]


def ask(headers: list[Header], path: str = "/api/status", query: bytes = b"") -> tuple[int, dict[str, Any] | None]:
    """The status, and the body if it is JSON."""
    sent: list[Any] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query,
        "headers": headers,
        "server": ("127.0.0.1", PORT),
        "http_version": "1.1",
        "scheme": "http",
        "root_path": "",
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Access(Gate(), TOKEN)(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    kind = dict(sent[0]["headers"]).get(b"content-type", b"")
    return sent[0]["status"], json.loads(body) if kind.startswith(b"application/json") else None


def with_token(*more: Header, host: str = HOST) -> list[Header]:
    return [(b"host", host.encode()), (b"authorization", f"Bearer {TOKEN}".encode()), *more]


def test_the_right_headers_open_it() -> None:
    assert ask(with_token())[0] == 200
    assert ask(with_token((b"origin", f"http://{HOST}".encode())))[0] == 200
    assert ask(with_token(host="[::1]:8765"))[0] == 200
    assert ask(with_token((b"origin", b"https://localhost"), host="localhost"))[0] == 200  # a proxy with TLS before it


@pytest.mark.parametrize(
    "host",
    [
        "[::1].evil",
        "[::1]evil:80",
        "[::1",
        "127.0.0.1.evil",
        "127.0.0.1:80:80",
        "127.0.0.1:x",
        "localhost@evil",
        "",
        "evil",
        "127.0.0.1/evil",
        "[::1]:80.evil",
        "\u00b2",
        "localhost ",
    ],
)
def test_a_host_that_is_not_ours_is_refused(host: str) -> None:
    assert ask([(b"host", host.encode()), *with_token()[1:]])[0] == 403


@pytest.mark.parametrize(
    "origin",
    [
        b"http://[",
        b"http://[::1",
        b"null",
        b"",
        b"http://",
        b"evil",
        b"http://127.0.0.1:8765.evil",
        b"//127.0.0.1:8765",
        b"ftp://127.0.0.1:8765",
        b"http://127.0.0.1:8765/",
        b"http://127.0.0.1",
        b"\xff\xfe",
    ],
)
def test_an_origin_that_is_not_ours_is_refused(origin: bytes) -> None:
    assert ask(with_token((b"origin", origin)))[0] == 403


@pytest.mark.parametrize("name", ["Origin", "host", "Authorization", "Cookie", "content-length"])
def test_two_of_what_there_may_be_one_of_are_refused(name: str) -> None:
    known = {"origin": f"http://{HOST}", "host": HOST, "authorization": f"Bearer {TOKEN}", "content-length": "0"}
    value = known.get(name.lower(), "a=b").encode()
    headers = [h for h in with_token() if h[0] != name.lower().encode()] + 2 * [(name.encode(), value)]
    status, told = ask(headers)
    assert status == 400
    assert told is not None
    assert told["errors"][0]["code"] == "DATA_SHAPE"


PARTS = st.sampled_from(
    [
        "127.0.0.1",
        ":8765",
        "localhost",
        "[",
        "]",
        "::1",
        "http://",
        "https://",
        "evil",
        ".",
        "@",
        "/",
        "?",
        "#",
        "\xff",
        "\u00b2",
        " ",
        "Bearer",
        TOKEN,
        "Basic",
        ";",
        "=",
        ",",
        '"',
        "\\",
        "%",
        cookie_name(PORT),
        "0",
        "-1",
        "9" * 30,
        "null",
        "\t",
        "$",
    ]
)
VALUES = st.one_of(
    st.lists(PARTS, max_size=6).map(lambda parts: "".join(parts).encode("latin-1")), st.binary(max_size=40)
)
NAMES = st.sampled_from(["host", "Host", "origin", "authorization", "cookie", "content-length", "accept", "x-any"])


@given(
    st.lists(st.tuples(NAMES.map(str.encode), VALUES), max_size=6), st.booleans(), st.sampled_from(["/", "/api/status"])
)
def test_no_header_makes_it_fail_and_every_refusal_has_one_shape(headers: list[Header], known: bool, path: str) -> None:
    given_ = with_token() + headers if known else headers
    status, told = ask(given_, path, b"token=" + (headers[0][1] if headers else b""))
    assert status in (200, 303, 400, 401, 403, 413)
    values = [value for name, value in given_ if name.lower() == b"authorization"]
    if status == 200:
        assert values == [f"Bearer {TOKEN}".encode()] or (len(values) == 1 and TOKEN.encode() in values[0])
    if status >= 400:
        assert told is not None
        assert {"code", "fault", "message", "fix", "source", "line", "column", "start", "end"} == told["errors"][
            0
        ].keys()


def test_a_mistake_of_ours_is_told_in_the_same_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise KeyError(TOKEN)

    monkeypatch.setattr(Gate, "__call__", broken)
    status, told = ask(with_token())
    assert (status, told is not None and told["errors"][0]["code"]) == (500, "INTERNAL")
    assert TOKEN not in json.dumps(told)


# -- the server -------------------------------------------------------------------------------------


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(server, "BODY_SECONDS", 0.5)
    listening = socket.create_server(("127.0.0.1", 0))
    made = server.server_of(Access(Gate(), TOKEN), debug=True)
    thread = threading.Thread(target=made.run, args=([listening],), daemon=True)
    thread.start()
    while not made.started:
        time.sleep(0.01)
    yield listening.getsockname()[1]
    made.should_exit = True
    thread.join()


def response_of(line: socket.socket) -> bytes:
    """Until the server hangs up."""
    line.settimeout(30)
    found = b""
    while part := line.recv(65_536):
        found += part
    return found


HEAD = b"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n"


@pytest.mark.parametrize("begun", [b"", b"GET / HT", HEAD, HEAD + b"Content-Length: 100\r\n\r\n{"])
def test_a_request_that_does_not_come_to_an_end_is_hung_up_on(served: int, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served)) as line:
        line.sendall(begun)
        began = time.monotonic()
        answer = response_of(line)
        assert time.monotonic() - began < 20
    if HEAD not in begun or not begun.endswith(b"{"):
        assert answer.startswith(b"HTTP/1.1 408")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["errors"][0]["code"] == "TIMEOUT"


def test_a_byte_now_and_then_does_not_keep_a_request_open(served: int) -> None:
    with socket.create_connection(("127.0.0.1", served)) as line:
        until = time.monotonic() + 20

        def trickle() -> None:
            while time.monotonic() < until:
                line.sendall(b"X")
                time.sleep(0.05)

        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            trickle()


def test_what_is_not_http_is_told_in_the_same_shape(served: int) -> None:
    with socket.create_connection(("127.0.0.1", served)) as line:
        line.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = response_of(line)
    assert answer.startswith(b"HTTP/1.1 400")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["errors"][0]["code"] == "DATA_SHAPE"


def test_a_line_that_is_silent_while_it_is_answered_is_not_cut(served: int) -> None:
    """The time of a request is over with its last byte; that of the answer is not limited."""
    with socket.create_connection(("127.0.0.1", served)) as line:
        for _ in range(2):
            line.sendall(HEAD.replace(b"POST /api/check", b"GET /api/status") + b"\r\n")
            line.settimeout(30)
            answer = b""
            while not answer.endswith(b"}"):
                answer += line.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 200")
            time.sleep(0.6)


def test_requests_are_logged_without_their_queries(served: int, caplog: pytest.LogCaptureFixture) -> None:
    access = logging.getLogger("uvicorn.access")
    access.addHandler(caplog.handler)
    try:
        with socket.create_connection(("127.0.0.1", served)) as line:
            line.sendall(f"GET /?token={TOKEN} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            assert b"303" in response_of(line)
    finally:
        access.removeHandler(caplog.handler)
    assert '"GET / HTTP/1.1" 303' in caplog.text
    assert TOKEN not in caplog.text
