"""What sinks may use of the process and its network: refused when they are declared, and told of homes from before."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.model.permissions import Permissions
from presage.workspace import Workspace
from unit.sinks.delivering import Delivering, Server

HOOK = "CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{}'{})"
KAFKA = "CREATE SINK out FROM odd WITH (sink = 'kafka', servers = 'broker.example:9092', topic = 'alarms', {})"
SOURCE = (
    "CREATE STREAM Fault (x LONG, at TIMESTAMP) EVENT TIME at WITH (source = 'kafka', servers = 'b:1', topic = 't', {})"
)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def opened(folder: Path, env: tuple[str, ...] = (), hosts: tuple[str, ...] | None = None, **more: Any) -> Delivering:
    return Delivering(folder, permissions=Permissions(env, hosts), **more)


def test_a_variable_that_is_not_named_is_refused_where_it_is_written(tmp_path: Path) -> None:
    world = opened(tmp_path)
    with pytest.raises(PresageError) as refused:
        world.create(HOOK.format("https://example.org/", ", header.authorization = 'Bearer env:AWS_SECRET_ACCESS_KEY'"))
    assert refused.value.code == "ENV_NOT_ALLOWED"
    assert refused.value.span is not None
    assert "allow_env=['AWS_SECRET_ACCESS_KEY']" in refused.value.fix
    assert "hook" not in world.sinks
    world.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "localhost", "[fe80::1]"])
def test_this_machine_is_refused_where_it_is_written(tmp_path: Path, host: str) -> None:
    world = opened(tmp_path)
    with pytest.raises(PresageError) as refused:
        world.create(HOOK.format(f"http://{host}:8080/x", ""))
    assert refused.value.code == "HOST_NOT_ALLOWED"
    world.close()


def test_sinks_of_a_home_from_before_fail_with_the_fix_and_nothing_else_stops(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret-token")
    world = opened(tmp_path, ("HOOK_TOKEN",), ("localhost", "example.org"))
    world.create(HOOK.format(server.url, ""))
    world.create(
        HOOK.format("https://example.org/", ", 'header.X-Token' = 'env:HOOK_TOKEN'").replace("SINK hook", "SINK named")
    )
    world.create(f"CREATE SINK files FROM odd WITH (sink = 'parquet', path = '{tmp_path / 'out'}')")
    world.load(0, 10)
    world.close()
    world = opened(tmp_path)
    assert [world.step("hook"), world.step("named")] == [None, None]
    hook, named = world.sinks["hook"], world.sinks["named"]
    assert (hook.state, named.state) == ("failed", "failed")
    assert hook.why.startswith("HOST_NOT_ALLOWED: sink 'hook' may not connect to 127.0.0.1:")
    assert "allow_hosts=['127.0.0.1']" in hook.why
    assert named.why.startswith("ENV_NOT_ALLOWED: sink 'named' uses the environment variable HOOK_TOKEN")
    assert "allow_env=['HOOK_TOKEN']" in named.why
    assert server.requests == []
    world.drain("files")
    assert world.sinks["files"].rows == 5
    world.close()
    world = opened(tmp_path, hosts=("127.0.0.1",))
    world.drain("hook")
    assert server.taken() == world.expected()
    world.close()


def test_a_name_that_resolves_to_this_machine_is_not_connected_to(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: known("127.0.0.1", *a, **k))
    world = opened(tmp_path, hosts=("*", "rebound.example"))
    world.create(HOOK.format(f"http://rebound.example:{server.port}/x", ""))
    world.load(0, 4)
    assert world.step("hook") is None
    assert world.sinks["hook"].why.startswith("HOST_NOT_ALLOWED: sink 'hook' may not connect to rebound.example")
    assert server.requests == []
    world.close()


def test_an_address_from_the_environment_is_held_to_the_same_list(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_URL", server.url)
    world = opened(tmp_path, ("HOOK_URL",))
    world.create(HOOK.format("env:HOOK_URL", ""))
    world.load(0, 4)
    assert world.step("hook") is None
    assert "HOST_NOT_ALLOWED" in world.sinks["hook"].why
    assert server.requests == []
    world.close()


def test_a_redirection_is_not_followed(tmp_path: Path, server: Server) -> None:
    other = Server()
    world = Delivering(tmp_path)
    world.create(HOOK.format(server.url, ""))
    world.load(0, 4)
    server.answers = [(307, {"location": other.url})]
    assert world.step("hook") == 1.0
    assert other.requests == []
    other.close()
    world.close()


def test_nothing_that_a_server_says_is_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not its body, nor the words behind the number, nor the first line of what is no HTTP at all."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        answers = [b"HTTP/1.1 500 inner-secret\r\ncontent-length: 12\r\n\r\ninner-secret", b"inner-secret of redis\r\n"]

        def serve() -> None:
            for answer in answers:
                line, _ = listening.accept()
                with line:
                    line.recv(65_536)
                    line.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        world = Delivering(tmp_path)
        world.create(HOOK.format(f"http://127.0.0.1:{listening.getsockname()[1]}/", ", on_error = 'skip'"))
        world.load(0, 4)
        shown = ""
        for told in ("the server answered 500 Internal Server Error", "no answer from 127.0.0.1: BadStatusLine"):
            world.step("hook")
            shown += str(world.sinks["hook"]) + str(world.sinks["hook"].described())
            assert world.sinks["hook"].why == told
        thread.join()
        world.close()
    assert "inner-secret" not in shown + caplog.text


@pytest.mark.parametrize(
    "setting",
    [
        "config.providers",
        "config.providers.file.class",
        "interceptor.classes",
        "metric.reporters",
        "partitioner.class",
        "security.providers",
        "ssl.engine.factory.class",
        "sasl.kerberos.kinit.cmd",
        "sasl.login.class",
        "sasl.oauthbearer.jwks.endpoint.url",
        "key.serializer",
        "value.deserializer",
        "bootstrap.servers",
    ],
)
def test_sources_and_sinks_of_kafka_refuse_the_same_settings(setting: str) -> None:
    for text in (KAFKA, SOURCE):
        with pytest.raises(PresageError) as refused:
            Workspace([], ".").check(text.format(f"'kafka.{setting}' = 'x'"))
        assert refused.value.code == "UNKNOWN_OPTION"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("kafka.sasl.login.callback.handler.class = 'my.Handler'", "BAD_VALUE"),
        ("kafka.sasl.oauthbearer.token.endpoint.url = 'file:///etc/passwd'", "BAD_VALUE"),
        ("kafka.sasl.oauthbearer.token.endpoint.url = 'http://169.254.169.254/token'", "HOST_NOT_ALLOWED"),
        ("kafka.sasl.jaas.config = 'env:JAAS_OF_ANOTHER'", "ENV_NOT_ALLOWED"),
        ("kafka.ssl.keystore.key = 'written out'", "BAD_VALUE"),
        ("user = 'me'", "BAD_VALUE"),
    ],
)
def test_what_logs_in_to_kafka_is_held_to_the_lists_for_sources_and_sinks(more: str, code: str) -> None:
    for text in (KAFKA, SOURCE):
        with pytest.raises(PresageError) as refused:
            Workspace([], ".", permissions=Permissions(["JAAS"])).check(text.format(more))
        assert refused.value.code == code


def test_a_kafka_sink_of_before_with_a_provider_of_configuration_opens_and_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = ("broker.example",)
    with monkeypatch.context() as before:
        before.setattr("presage.declarations.sinks.check_client", lambda *_: None)
        world = opened(tmp_path, hosts=hosts)
        world.create(KAFKA.format("'kafka.config.providers' = 'file'"))
        world.load(0, 4)
        world.close()
    world = opened(tmp_path, hosts=hosts)
    assert world.step("out") is None
    assert world.sinks["out"].why.startswith("UNKNOWN_OPTION: 'kafka.config.providers' is not an option of sink 'out'")
    world.close()


def test_files_of_kafka_lie_under_the_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *a, **k: known("127.0.0.1", *a, **k))
    given: list[dict[str, str]] = []
    world = opened(
        tmp_path, hosts=("localhost", "broker.example"), kafka=lambda rows, options: given.append({**options})
    )
    world.create(KAFKA.format("'kafka.ssl.truststore.location' = '/etc/hostname'"))
    world.create(KAFKA.format("'kafka.ssl.truststore.location' = 'trust.jks'").replace("SINK out", "SINK good"))
    world.load(0, 4)
    assert world.step("out") == 1.0
    assert "outside the allowed folders" in world.sinks["out"].why
    world.drain("good")
    assert given[0]["kafka.ssl.truststore.location"] == str(tmp_path / "home" / "trust.jks")
    world.close()


@pytest.mark.parametrize(
    "given", [{"env": "TOKEN"}, {"hosts": "example.org"}, {"env": ["a-b"]}, {"hosts": ["http://x"]}]
)
def test_what_is_no_list_of_names_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(PresageError):
        Permissions(**given)


def test_the_usual_broker_needs_a_name_only_where_hosts_are_listed() -> None:
    stream = "CREATE STREAM Fault (x LONG, at TIMESTAMP) EVENT TIME at WITH (source = 'kafka', topic = 't')"
    Workspace([], ".", permissions=Permissions()).check(stream)
    with pytest.raises(PresageError) as refused:
        Workspace([], ".", permissions=Permissions((), ["broker.example"])).check(stream)
    assert refused.value.code == "HOST_NOT_ALLOWED"
