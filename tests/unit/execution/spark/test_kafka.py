from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError

from presage.errors import PresageError
from presage.execution.spark.kafka import KafkaTopic, client_settings, masked, root_cause
from presage.model.permissions import Permissions


def test_user_and_password_become_what_kafka_wants_and_are_masked_in_what_is_said() -> None:
    permissions = Permissions(["KAFKA_PASSWORD"], environment={"KAFKA_PASSWORD": 'open"sesame\\'})
    options = {
        "topic": "t",
        "user": "me",
        "password": "env:KAFKA_PASSWORD",
        "kafka.security.protocol": "SASL_PLAINTEXT",
    }
    settings = client_settings(options, permissions.of("stream 'Fault'").resolve, "a:1")
    assert settings["bootstrap.servers"] == "a:1"
    assert settings["security.protocol"] == "SASL_PLAINTEXT"
    assert settings["sasl.mechanism"] == "PLAIN"
    assert settings["sasl.jaas.config"] == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="open\\"sesame\\\\";'
    )
    told = masked(f"SaslException: {settings['sasl.jaas.config']}, {'open' + chr(34) + 'sesame' + chr(92)}")
    assert "sesame" not in told


def test_scram_has_a_login_of_its_own() -> None:
    options = {"user": "me", "password": "pass", "kafka.sasl.mechanism": "SCRAM-SHA-512"}
    assert "scram.ScramLoginModule" in client_settings(options, str, "a:1")["sasl.jaas.config"]


def test_a_secret_that_is_not_there_is_named() -> None:
    with pytest.raises(PresageError) as refused:
        client_settings(
            {"kafka.sasl.jaas.config": "env:JAAS"},
            Permissions(["JAAS"], environment={}).of("stream 'Fault'").resolve,
            "a:1",
        )
    assert "stream 'Fault' needs the environment variable JAAS" in str(refused.value)


def test_what_kafka_says_is_found_below_what_spark_says() -> None:
    text = """Job aborted due to stage failure: Task 0 failed 1 times
        org.apache.spark.SparkException: something
        Caused by: org.apache.kafka.common.errors.TimeoutException: no answer in 20000 ms
        at x.y(Z.java:1)"""
    assert root_cause(RuntimeError(text)) == ("TimeoutException", "no answer in 20000 ms")
    assert root_cause(RuntimeError("plain")) == ("RuntimeError", "plain")


class Reader:
    """Spark's reader, as far as a topic needs it: remembers the options, and finds nothing."""

    def __init__(self) -> None:
        self.options: dict[str, str] = {}

    def format(self, _: str) -> Reader:
        return self

    def option(self, name: str, value: object) -> Reader:
        self.options[name] = str(value)
        return self

    def load(self) -> Reader:
        return self

    def selectExpr(self, *_: str) -> Reader:
        return self

    def toArrow(self) -> pa.Table:
        return pa.table({"partition": pa.array([], pa.int32())})


def topic_of(session: Any, **options: str) -> KafkaTopic:
    topic = object.__new__(KafkaTopic)  # without a look for the connector, which is not there
    topic._spark, topic._jvm, topic._topic = session, session, "doors"
    topic._options, topic._grant, topic._servers = options, Permissions().of("stream 'Door'"), "broker:9092"
    topic._group, topic._admin, topic._names = "presage-Door", None, {}
    return topic


@pytest.mark.parametrize(
    ("partitions", "fetched"), [(1, 16 << 20), (4, 16 << 20), (16, 4 << 20), (64, 1 << 20), (500, 1 << 20)]
)
def test_what_consumers_keep_does_not_grow_with_the_partitions(partitions: int, fetched: int) -> None:
    reader = Reader()
    topic_of(SimpleNamespace(read=reader)).read(dict.fromkeys(range(partitions), (0, 10)))
    assert reader.options["kafka.max.partition.fetch.bytes"] == str(fetched)
    assert reader.options["kafka.group.id"] == "presage-Door"


def test_who_knows_better_says_how_much_is_fetched() -> None:
    reader = Reader()
    topic_of(SimpleNamespace(read=reader), **{"kafka.max.partition.fetch.bytes": "7"}).read({0: (0, 10)})
    assert reader.options["kafka.max.partition.fetch.bytes"] == "7"


@pytest.mark.parametrize("lost", [ConnectionRefusedError(111, "Connection refused"), Py4JNetworkError("no answer")])
def test_a_session_whose_jvm_is_gone_is_not_taken_for_a_broker_that_is_away(lost: Exception) -> None:
    class Gone:
        @property
        def org(self) -> Any:
            raise lost

        java = org

    with pytest.raises(ConnectionError) as told:
        topic_of(Gone()).identify()
    assert "the topic 'doors' is not read: Spark does not answer" in str(told.value)
    assert "open the engine again" in str(told.value)
