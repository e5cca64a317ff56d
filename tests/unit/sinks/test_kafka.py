"""Kafka, with a writer in the place of Spark: keys, values, options, and failures that pass or do not."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from presage.errors import PresageError
from unit.sinks.delivering import Delivering

SINK = """CREATE SINK out FROM odd WITH (sink = 'kafka', servers = 'localhost:9092', topic = 'alarms', rows = 3{})"""


class Topic:
    """Takes messages, unless it is told to fail."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.options: Mapping[str, str] = {}
        self.failures: list[Exception] = []
        self.too_large: set[str] = set()

    def write(self, rows: pa.Table, options: Mapping[str, str]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.options = options
        if self.too_large & set(rows["key"].to_pylist()):
            raise RuntimeError("org.apache.kafka.common.errors.RecordTooLargeException: 2 MB\n\tat somewhere")
        self.messages += zip(rows["key"].to_pylist(), rows["value"].to_pylist(), strict=True)


@pytest.fixture
def topic() -> Topic:
    return Topic()


@pytest.fixture
def world(tmp_path: Path, topic: Topic) -> Iterator[Delivering]:
    made = Delivering(tmp_path, kafka=topic.write)
    yield made
    made.close()


def test_a_message_is_a_row_with_its_id_as_key(world: Delivering, topic: Topic) -> None:
    world.create(SINK.format(", kafka.acks = 'all'"))
    world.load(0, 10)
    world.drain("out")
    assert [(key, json.loads(value)["x"]) for key, value in topic.messages] == world.expected()
    assert json.loads(topic.messages[0][1]) == {"_id": "odd/1/0", "x": 1, "at": "2024-01-01T00:00:01Z"}
    assert topic.options == {"servers": "localhost:9092", "topic": "alarms", "kafka.acks": "all"}


def test_whatever_the_writer_throws_is_waited_out(world: Delivering, topic: Topic) -> None:
    world.create(SINK.format(", on_error = 'skip'"))
    topic.failures = [RuntimeError("TimeoutException: no broker\n\tat org.apache"), OSError("network"), ValueError()]
    world.load(0, 10)
    assert [world.step("out") for _ in range(3)] == [1.0, 2.0, 4.0]
    assert world.sinks["out"].why == "Kafka did not take the rows: ValueError"
    world.drain("out")
    assert [key for key, _ in topic.messages] == [key for key, _ in world.expected()]


def test_a_message_that_no_broker_takes_may_be_skipped(world: Delivering, topic: Topic) -> None:
    world.create(SINK.format(", on_error = 'skip'"))
    topic.too_large = {"odd/1/1"}
    world.load(0, 10)
    world.drain("out")
    assert [key for key, _ in topic.messages] == ["odd/1/0", "odd/1/2", "odd/1/3", "odd/1/4"]
    assert world.sinks.skipped("out")["id"].to_pylist() == ["odd/1/1"]


def test_secrets_are_resolved_for_the_writer_and_masked_in_what_it_says(
    world: Delivering, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAAS", "password-7")
    world.create(SINK.format(", 'kafka.sasl.jaas.config' = 'env:JAAS'"))
    world.load(0, 2)
    topic.failures = []
    world.drain("out")
    assert topic.options["kafka.sasl.jaas.config"] == "password-7"
    topic.failures = [RuntimeError("bad login with password-7")]
    world.load(2, 2)
    world.step("out")
    assert world.sinks["out"].last_error == "Kafka did not take the rows: bad login with ***"


def test_a_secret_that_is_written_out_is_refused(world: Delivering) -> None:
    with pytest.raises(PresageError, match="written out"):
        world.create(SINK.format(", 'kafka.ssl.keystore.password' = 'abc'"))


def test_an_engine_without_a_writer_says_so_and_keeps_the_rows(tmp_path: Path) -> None:
    world = Delivering(tmp_path)
    world.create(SINK.format(""))
    world.load(0, 4)
    assert world.step("out") == 1.0
    assert "not supported" in world.sinks["out"].why
    assert world.sinks["out"].left == 2
    world.close()
