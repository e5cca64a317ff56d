"""Messages of a broker: each one event, none lost, whatever is cut; bad ones are rejected with their topic."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.declarations.sources import check_source
from presage.errors import PresageError
from presage.sources import Sources
from presage.sources.mqtt import Messages
from presage.sources.spool import Message
from presage.storage import Log
from presage.workspace import Workspace
from unit.sources.brokers import ALLOWED, Broker, FakeClient, Listening, payload, stream

DECLARED = "CREATE STREAM Tick (x LONG, topic STRING, at TIMESTAMP) EVENT TIME at WITH (source = 'mqtt', {})"


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def world(tmp_path: Path, broker: Broker) -> Iterator[Listening]:
    made = Listening(tmp_path / "home", broker)
    yield made
    made.close()


def publish(broker: Broker, *numbers: int) -> None:
    for x in numbers:
        broker.publish(payload(x))
    broker.deliver()


def test_messages_become_events_and_are_acknowledged_once_they_are_durable(world: Listening, broker: Broker) -> None:
    world.client.connect()
    publish(broker, 1, 2, 3)
    assert len(broker.sent) == 3
    assert world.write()
    assert broker.sent == {}
    report = world.step()
    assert report is not None
    assert report.accepted == 3
    assert world.events() == [1, 2, 3]
    assert world.source.position(world.log.deliveries.state("Tick", "mqtt").cursor) == "message 4"
    assert world.step() is None


def test_what_was_kept_and_whose_acknowledgement_was_lost_is_no_second_event(
    world: Listening, broker: Broker, tmp_path: Path
) -> None:
    world.client.connect()
    broker.lose_acknowledgements = True
    publish(broker, 1, 2)
    world.write()
    world.die()
    broker.lose_acknowledgements = False
    world = Listening(tmp_path / "home", broker)
    world.client.connect()
    publish(broker, 3)
    world.write()
    world.step()
    assert world.events() == [1, 2, 3]
    assert broker.sent == {}
    world.close()


def test_equal_messages_are_as_many_events(world: Listening, broker: Broker) -> None:
    world.client.connect()
    for _ in range(3):
        publish(broker, 7)
        world.write()
    world.step()
    assert world.events() == [7, 7, 7]


def test_a_broker_that_forgot_the_session_counts_anew_and_nothing_is_taken_for_a_repetition(
    world: Listening, broker: Broker, tmp_path: Path
) -> None:
    world.client.connect()
    publish(broker, 7)
    world.write()
    world.die()
    broker.has_session = False
    world = Listening(tmp_path / "home", broker)
    world.client.connect()
    world.write()
    world.die()  # before any message of the new session
    broker.publish(payload(7))
    broker.sent, broker._last = {1: broker.queue.pop()}, 1  # sent once, and lost with the connection
    world = Listening(tmp_path / "home", broker)
    world.client.connect()
    world.write()
    world.step()
    assert world.events() == [7, 7]
    world.close()


def test_a_number_of_an_earlier_connection_is_not_acknowledged(world: Listening, broker: Broker) -> None:
    world.client.connect()
    publish(broker, 1)
    broker.disconnect()
    broker.has_session = False
    world.client.connect()
    publish(broker, 2)  # has the number that the first had
    world.source._receiver._waiting, late = world.source._receiver._waiting[:1], world.source._receiver._waiting[1:]
    world.write()
    assert len(broker.sent) == 1
    world.source._receiver._waiting += late
    world.write()
    world.step()
    assert world.events() == [1, 2]
    assert broker.sent == {}


def test_a_full_spool_acknowledges_nothing_until_statements_have_taken_messages_in(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = Listening(tmp_path / "home", broker, stream(inflight="1"))
    monkeypatch.setattr("presage.sources.spool.SEGMENT_BYTES", 200)
    world.source._spool._most = 400
    world.client.connect()
    published = 0
    while world.source._spool.bytes < 400:
        publish(broker, published)
        published += 1
        world.write()
    publish(broker, published)
    assert not world.write()
    assert len(broker.sent) == 1
    world.step()
    assert "the spool is full" in world.source.why
    assert world.write()
    world.step()
    assert world.events() == list(range(published + 1))
    assert world.source.read(world.log.deliveries.state("Tick", "mqtt").cursor) is None
    assert world.source.why == ""
    world.close()


def test_messages_that_nobody_keeps_do_not_fill_the_memory_while_the_spool_is_full(
    tmp_path: Path, broker: Broker
) -> None:
    world = Listening(tmp_path / "home", broker, stream(inflight="2"))
    world.client.connect()
    publish(broker, 0)
    world.write()
    world.source._spool._most = 1
    world.client.came(0, "t/a", payload(1), again=False)
    assert not world.write()
    for x in range(2, 10):
        world.client.came(0, "t/a", payload(x), again=False)
    publish(broker, 10)
    world.source._spool._most = 1 << 20
    world.write()
    world.step()
    assert world.events() == [0, 1, 2, 10]
    assert world.source.notes == ["messages of QoS 0 were lost while the spool could not take them: 7"]
    world.close()


def test_a_disk_that_is_full_keeps_messages_with_the_broker(
    world: Listening, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    world.client.connect()
    publish(broker, 1)
    monkeypatch.setattr(world.source._spool, "append", full)
    with pytest.raises(OSError, match="No space"):
        world.write()
    assert len(broker.sent) == 1
    monkeypatch.undo()
    world.write()
    world.step()
    assert world.events() == [1]
    assert broker.sent == {}


def test_what_is_no_row_is_rejected_with_its_topic_and_its_text(world: Listening, broker: Broker) -> None:
    world.client.connect()
    for body in (
        b"{",
        b"",
        b"\xff\xfe",
        b'{"x": "far", "at": "2024-01-01T00:00:00Z"}',
        b'{"x": 1}',
        b"[1]",
        payload(5),
    ):
        broker.publish(body, "t/bad")
    broker.deliver()
    world.write()
    world.step()
    assert world.events() == [5]
    found = world.rejected()
    assert [origin for origin, _, _ in found] == [f"t/bad:{n}" for n in range(1, 7)]
    assert found[0][1].startswith("the message is not JSON")
    assert found[0][2] == "{"
    assert found[1][1] == "the message is empty"
    assert found[2][1] == "the message is not UTF-8"
    assert "\ufffd" in found[2][2]


def test_an_object_may_have_several_lines_and_topic_and_arrival_may_be_attributes(
    tmp_path: Path, broker: Broker
) -> None:
    tick = stream(topic_as="topic", received_as="at")
    world = Listening(tmp_path / "home", broker, tick)
    world.client.connect()
    world.client.at = 1_704_067_200_000_000
    broker.publish(b'{\n "x": 1\n}', "t/kitchen")
    broker.deliver()
    world.write()
    world.step()
    archive = world.log.archive
    (row,) = archive.read_arrow(archive.snapshot("Tick"), ["x", "topic", "_t"]).to_pylist()
    assert (row["x"], row["topic"], row["_t"].year) == (1, "t/kitchen", 2024)
    world.close()


def test_csv_is_a_row_without_names(tmp_path: Path, broker: Broker) -> None:
    world = Listening(tmp_path / "home", broker, stream(format="csv"))
    world.client.connect()
    for body in (b"1,2024-01-01T00:00:01Z", b'2,"2024-01-01T00:00:02Z"', b'3,"open', b"4,5,6", b"a\nb", b"7"):
        broker.publish(body)
    broker.deliver()
    world.write()
    world.step()
    assert world.events() == [1, 2]
    assert len(world.rejected()) == 4
    world.close()


@given(
    st.lists(
        st.binary(max_size=6) | st.sampled_from([payload(1), b"1,2024-01-01T00:00:01Z", b'"', b"\xc2\xa0", b"\x1c"])
    )
)
@pytest.mark.parametrize("kind", ["json", "csv"])
def test_every_message_is_a_row_or_rejected_and_has_its_number(kind: str, bodies: list[bytes]) -> None:
    messages = [(10 + i, Message("t", body, 1, 0)) for i, body in enumerate(bodies)]
    checked = Messages(stream(format=kind)).read(messages)
    rejected = [int(origin.rpartition(":")[2]) for origin in checked.rejected.origins]
    assert sorted([*checked.table["#row"].to_pylist(), *rejected]) == [number for number, _ in messages]


def test_a_source_that_runs_by_itself_listens_and_says_what_it_waits_for(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = FakeClient(broker)
    monkeypatch.setattr("presage.sources.mqtt.PahoClient", lambda settings, masked: client)
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(stream())
        sources = Sources(log, lambda: [stream()], Path, permissions=ALLOWED)
        sources.start()
        until(lambda: sources["Tick"].why == "not connected")
        assert sources["Tick"].state == "waiting"
        client.connect()
        publish(broker, 1, 2)
        until(lambda: sources["Tick"].rows == 2)
        until(lambda: sources["Tick"].state == "running" and sources.is_quiet("Tick"))
        sources.close()
        assert broker.client is None


def until(true: Any) -> None:
    end = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_without_its_package_the_source_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    monkeypatch.setitem(sys.modules, "paho.mqtt", None)
    with Log.open(tmp_path / "home", durable=False) as log:
        log.create_stream(stream())
        sources = Sources(log, lambda: [stream()], Path, permissions=ALLOWED)
        sources.start()
        until(lambda: sources["Tick"].state == "failed")
        assert "pip install 'presage[mqtt]'" in sources["Tick"].why
        sources.close()


def test_spools_of_streams_that_are_gone_are_removed(tmp_path: Path, broker: Broker) -> None:
    world = Listening(tmp_path / "home", broker)
    world.source.close()
    assert len(list((tmp_path / "home" / "spool").iterdir())) == 1
    world.log.drop_stream("Tick")
    sources = Sources(world.log, list, Path)
    sources.start()
    assert list((tmp_path / "home" / "spool").iterdir()) == []
    sources.close()
    world.log.close()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("topic = 'a'", "needs the option 'host'"),
        ("host = 'h'", "needs the option 'topic'"),
        ("host = 'h', topic = 'a/b+'", "+ alone between slashes"),
        ("host = 'h', topic = '#/a'", "# at its end"),
        ("host = 'h', topic = 'a', port = 0", "port is '0'"),
        ("host = 'h', topic = 'a', format = 'parquet'", "one of json, csv"),
        ("host = 'h', topic = 'a', version = '4'", "one of 5, 3.1.1"),
        ("host = 'h', topic = 'a', username = 'me', password = 'abc'", "written out"),
        ("host = 'h', topic = 'a', password = 'env:P'", "needs the option 'username'"),
        ("host = 'h', topic = 'a', topic_as = 'x'", "needs STRING"),
        ("host = 'h', topic = 'a', received_as = 'y'", "no attribute 'y'"),
        ("host = 'h', topic = 'a', session = 'long'", "not a duration"),
        ("host = 'h', topic = 'a', qos = 2", "not an option"),
        ("host = 'mqtt://h', topic = 'a'", "host is 'mqtt://h'"),
        ("host = 'h:1883', topic = 'a'", "its port goes into port"),
        ("host = 'a..b', topic = 'a'", "host is 'a..b'"),
        ("host = 'h', topic = 'a', tls_ca = 'ca.pem'", "add tls = 'true'"),
        ("host = 'h', topic = 'a', tls = 'true', tls_key = 'k.pem'", "needs the option 'tls_cert'"),
        ("host = 'h', topic = 'a', session = '60000 days'", "as far as a broker counts"),
    ],
)
def test_options_that_cannot_be_are_refused(options: str, said: str) -> None:
    with pytest.raises(PresageError) as refused:
        Workspace([], ".").check(DECLARED.format(options))
    assert said in str(refused.value)


def test_a_password_that_is_written_out_is_not_shown_again() -> None:
    with pytest.raises(PresageError) as refused:
        Workspace([], ".").check(DECLARED.format("host = 'h', topic = 'a', username = 'me', password = 'open-sesame'"))
    assert "open-sesame" not in str(refused.value)


def test_options_that_can_be_are_taken() -> None:
    check_source(stream(host="::1"))
    check_source(stream(host="brücke.example"))
    check_source(stream(port="8883", tls="true", username="env:U", password="env:P", topic="building/+/temp/#"))
