"""Webhooks: rows in order to a server that may be away or refuse them; and secrets that are nowhere to be read."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from presage.errors import PresageError
from presage.workspace import Workspace
from unit.sinks.delivering import Delivering, Server

SINK = "CREATE SINK hook FROM odd WITH (sink = 'webhook', url = '{}', rows = 3{})"


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_a_request_is_one_object_with_rows_ids_and_a_key_of_its_own(world: Delivering, server: Server) -> None:
    world.load(0, 10)
    world.create(SINK.format(server.url + "?to=ops", ", 'header.X-From' = 'hall'"))
    world.drain("hook")
    assert server.taken() == world.expected()
    first, second = server.requests
    assert first["path"] == "/alarm?to=ops"
    assert first["body"] == {
        "id": "odd/1/0-2",
        "statement": "odd",
        "rows": [{"_id": f"odd/1/{i}", "x": 2 * i + 1, "at": f"2024-01-01T00:00:0{2 * i + 1}Z"} for i in range(3)],
    }
    headers = {name.lower(): value for name, value in first["headers"].items()}
    assert headers["idempotency-key"] == "odd/1/0-2"
    assert headers["content-type"].startswith("application/json")
    assert headers["x-from"] == "hall"
    assert len(second["body"]["rows"]) == 2


def test_rows_that_are_sent_again_have_the_same_key_and_company(world: Delivering, server: Server) -> None:
    world.create(SINK.format(server.url, ""))
    world.load(0, 4)
    server.answers = [(503, {}), (500, {})]
    assert [world.step("hook"), world.step("hook")] == [1.0, 2.0]
    assert world.sinks["hook"].why == "the server answered 500 Internal Server Error"
    world.load(4, 20)
    world.drain("hook")
    assert server.taken() == world.expected()
    assert [request["body"]["id"] for request in server.requests[:3]] == ["odd/1/0-1"] * 3


def test_a_server_that_asks_for_time_gets_it(world: Delivering, server: Server) -> None:
    world.create(SINK.format(server.url, ""))
    world.load(0, 4)
    server.answers = [
        (429, {"retry-after": "7"}),
        (503, {"retry-after": "100000"}),
        (503, {"retry-after": "soon"}),
        (503, {"retry-after": "9" * 400}),
        (503, {"retry-after": "-7"}),
    ]
    assert [world.step("hook") for _ in range(5)] == [7.0, 300.0, 4.0, 300.0, 16.0]


def test_a_server_that_is_away_is_waited_for_and_nothing_is_lost(world: Delivering) -> None:
    server = Server()
    url = server.url
    server.close()
    world.create(SINK.format(url, ""))
    world.load(0, 10)
    assert world.step("hook") == 1.0
    assert "no answer from 127.0.0.1" in world.sinks["hook"].why
    assert world.sinks["hook"].left == 5


def test_a_connection_that_the_server_has_ended_is_made_again_at_once(world: Delivering, server: Server) -> None:
    world.create(SINK.format(server.url, ""))
    server.answers = [(200, {"connection": "close"})]
    world.load(0, 4)
    world.drain("hook")
    world.load(4, 4)
    world.drain("hook")
    assert server.taken() == world.expected()
    assert world.sinks["hook"].retries == 0


@pytest.mark.parametrize("status", [301, 401, 403, 404, 408, 429, 500])
def test_an_answer_that_does_not_speak_of_the_rows_skips_none(world: Delivering, server: Server, status: int) -> None:
    world.create(SINK.format(server.url, ", on_error = 'skip'"))
    world.load(0, 4)
    server.answers = [(status, {})]
    assert world.step("hook") == 1.0
    world.drain("hook")
    assert server.taken() == world.expected()
    assert world.sinks["hook"].skipped == 0


def test_a_poison_row_blocks_until_it_is_told_to_skip(world: Delivering, server: Server) -> None:
    world.create(SINK.format(server.url, ""))
    server.poison = {3}
    world.load(0, 10)
    assert [world.step("hook"), world.step("hook")] == [1.0, 2.0]
    assert world.sinks["hook"].rows == 0


def test_skipped_rows_are_kept_with_the_reason_and_the_others_go(world: Delivering, server: Server) -> None:
    world.create(SINK.format(server.url, ", on_error = 'skip'"))
    server.poison = {3, 13}
    world.load(0, 20)
    world.drain("hook")
    assert server.taken() == [row for row in world.expected() if row[1] not in server.poison]
    skipped = world.sinks.skipped("hook").to_pylist()
    assert [row["id"] for row in skipped] == ["odd/1/1", "odd/1/6"]
    assert skipped[0]["reason"] == f"the server answered 422 {HTTPStatus(422).phrase}"
    status = world.sinks["hook"]
    assert (status.rows, status.skipped, status.left) == (8, 2, 0)


def test_a_skipped_row_is_kept_once_though_the_process_died_before_it_was_noted(
    world: Delivering, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    world.create(SINK.format(server.url, ", on_error = 'skip'").replace("rows = 3", "rows = 1"))
    server.poison = {1}
    world.load(0, 4)
    file = world.running("hook")._file
    real = file.skip

    def skip(row: str, reason: str) -> None:
        real(row, reason)
        raise Died

    monkeypatch.setattr(file, "skip", skip)
    with pytest.raises(Died):
        world.step("hook")
    world.die()
    kept = tmp_path / "home" / "sinks"
    (path,) = kept.glob("*.skipped.*")
    # Earlier versions wrote all of them into one file, whose end a crash may have cut.
    path.with_suffix("").write_bytes(path.read_bytes() + b'\n{"id": "cut')
    world = Delivering(tmp_path)
    world.drain("hook")
    assert [row["id"] for row in world.sinks.skipped("hook").to_pylist()] == ["odd/1/0"]
    assert (world.sinks["hook"].rows, world.sinks["hook"].skipped) == (1, 1)
    world.close()


def test_secrets_come_from_the_environment_and_are_nowhere_to_be_read(
    world: Delivering,
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret-token")
    monkeypatch.setenv("HOOK_URL", server.url + "/k3y")
    more = ", header.authorization = 'Bearer env:HOOK_TOKEN'"
    world.create(SINK.format("env:HOOK_URL", more))
    world.load(0, 4)
    world.drain("hook")
    (request,) = server.requests
    assert request["path"] == "/alarm/k3y"
    assert {n.lower(): v for n, v in request["headers"].items()}["authorization"] == "Bearer s3cret-token"
    monkeypatch.setenv("HOOK_TOKEN", "bad\r\ns3cret-token")
    world.load(4, 4)
    with caplog.at_level(logging.WARNING):
        assert world.step("hook") == 1.0
    monkeypatch.setenv("HOOK_URL", "ftp://s3cret-token")
    world.step("hook")
    shown = [str(world.sinks["hook"]), str(world.sinks["hook"].described()), caplog.text]
    shown += [path.read_text() for path in (tmp_path / "home").rglob("*.json")]
    assert not any("s3cret" in text or "k3y" in text for text in shown)
    assert "env:HOOK_TOKEN" in "".join(shown)


@pytest.mark.parametrize("token", ["t0p-line\n", "t0p-line\r\nX-More: t0p-line", "t0p-li\u20ac", "t0p-lin\xe9\t"])
def test_a_secret_that_no_header_can_hold_is_not_quoted(
    world: Delivering, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, token: str
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", token)
    world.create(SINK.format(server.url, ", header.authorization = 'Bearer env:HOOK_TOKEN'"))
    world.load(0, 4)
    assert world.step("hook") == 1.0
    assert "header.authorization of sink 'hook'" in world.sinks["hook"].why
    assert "t0p" not in str(world.sinks["hook"]) + str(world.sinks["hook"].described()) + caplog.text
    monkeypatch.setenv("HOOK_TOKEN", token.split()[0].replace("\u20ac", ""))
    world.drain("hook")
    assert server.taken() == world.expected()


def test_a_variable_that_is_not_set_is_named_and_waited_for(
    world: Delivering, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK_TOKEN", raising=False)
    world.create(SINK.format(server.url, ", 'header.X-Token' = 'env:HOOK_TOKEN'"))
    world.load(0, 4)
    assert world.step("hook") == 1.0
    assert "HOOK_TOKEN" in world.sinks["hook"].why
    monkeypatch.setenv("HOOK_TOKEN", "abcd")
    world.drain("hook")
    assert server.taken() == world.expected()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("url = 'ftp://host/x'", "of the kind 'ftp'"),
        ("url = 'file:///etc/passwd'", "of the kind 'file'"),
        ("url = 'http://me:secret@host/'", "a user's name or password"),
        ("url = 'http:///x'", "without a host"),
        ("url = 'host/x'", "no address"),
        ("url = 'http://host/a b'", "characters"),
        ("url = 'http://host:99999/'", "no address"),
        ("url = 'http://h/', rows = 0", "rows is '0'"),
        ("url = 'http://h/', rows = 1000000", "at most 10,000"),
        ("url = 'http://h/', timeout = '0 sec'", "timeout is 0"),
        ("url = 'http://h/', timeout = 'soon'", "not a duration"),
        ("url = 'http://h/', on_error = 'stop'", "one of retry, skip"),
        ("url = 'http://h/', 'header.Authorization' = 'Bearer abc'", "written out"),
        ("url = 'http://h/', 'header.Content-Length' = '7'", "not set by Presage"),
        ("url = 'http://h/', 'header.a b' = '7'", "letters, digits"),
        ("url = 'http://h/', 'header.a' = 'x\\ny'", "a line of plain text"),
        ("url = 'http://h/', path = 'x'", "not an option"),
        ("rows = 7", "needs the option 'url'"),
        ("url = 'http://h/', URL = 'http://h/'", "used twice"),
    ],
)
def test_an_option_that_cannot_be_is_refused_where_it_is_declared(more: str, said: str) -> None:
    with pytest.raises(PresageError) as refused:
        Workspace([], ".").check(f"CREATE SINK hook FROM odd WITH (sink = 'webhook', {more})")
    assert said in str(refused.value)
    assert "secret@" not in refused.value.message
