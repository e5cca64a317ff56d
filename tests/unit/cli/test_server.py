"""The server of `presage serve`, before the engine and the HTTP server run."""

from __future__ import annotations

import socket

import pytest

from presage.cli import server
from presage.errors import PresageError


def test_who_reads_the_address_may_connect_before_the_server_runs() -> None:
    with (
        server._listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname(), timeout=5) as asking,
    ):
        assert asking.getpeername() == listening.getsockname()


def test_a_port_that_is_taken_is_refused_by_name() -> None:
    with server._listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(PresageError, match=str(port)):
            server._listen("127.0.0.1", port)
