"""What the client says while there is no broker; `tests/integration` has a real one."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from presage.model.permissions import Grant, Permissions
from presage.sources.mqtt_client import PahoClient, Settings
from presage.sources.receiver import Receiver


@pytest.fixture
def port() -> Iterator[int]:
    """One that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def settings(port: int, **more: object) -> Settings:
    return Settings("127.0.0.1", port, "t/#", "test", "5", 60, 10, **more)  # type: ignore[arg-type]


def grant(environment: dict[str, str] | None = None, hosts: tuple[str, ...] = ("localhost",)) -> Grant:
    return Permissions(["USER_OF_MQTT", "PASSWORD_OF_MQTT"], hosts, environment).of("stream 'Tick'")


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_variable_that_is_not_set_is_waited_for_and_why_nobody_answers_is_said(port: int) -> None:
    environment = {"USER_OF_MQTT": "me"}
    named = settings(port, username="env:USER_OF_MQTT", password="env:PASSWORD_OF_MQTT")
    client = PahoClient(named, grant(environment))
    client.start(Receiver.__new__(Receiver))
    until(lambda: "stream 'Tick' needs the environment variable PASSWORD_OF_MQTT" in client.why)
    environment["PASSWORD_OF_MQTT"] = "open-sesame"
    until(lambda: "cannot be reached: " in client.why)
    assert "refused" in client.why
    client.stop()


def test_a_broker_that_hangs_up_may_want_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = PahoClient(settings(server.getsockname()[1]), grant())
        client.start(Receiver.__new__(Receiver))
        server.accept()[0].close()
        until(lambda: "if it expects TLS" in client.why)
        client.stop()


def test_files_for_tls_are_named_where_they_are_not_there_or_not_what_they_should_be(tmp_path: Path) -> None:
    broken = tmp_path / "ca.pem"
    with pytest.raises(FileNotFoundError, match=r"tls_ca '.*ca.pem' is not there"):
        PahoClient(settings(1, tls=True, tls_files={"ca": str(broken)}), grant())
    broken.write_text("none")
    with pytest.raises(OSError, match=r"tls_ca '.*ca.pem' cannot be used"):
        PahoClient(settings(1, tls=True, tls_files={"ca": str(broken)}), grant())


def test_a_broker_on_this_machine_is_not_connected_to_unless_it_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = PahoClient(settings(server.getsockname()[1]), grant(hosts=("broker.example",)))
        client.start(Receiver.__new__(Receiver))
        until(lambda: "may not connect to 127.0.0.1" in client.why)
        client.stop()
        server.settimeout(0.05)
        with pytest.raises(TimeoutError):
            server.accept()
