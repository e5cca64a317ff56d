from __future__ import annotations

import pytest

from presage.errors import PresageError
from presage.lang import print_statement
from presage.model.catalog import EventType
from presage.workspace import Workspace


def declared(options: str) -> tuple[EventType, str]:
    workspace = Workspace([], base=None)  # type: ignore[arg-type]
    text = f"CREATE STREAM Fault (x LONG, at TIMESTAMP) EVENT TIME at WITH (source = 'kafka', {options})"
    (statement,) = workspace.parse(text).statements
    return workspace.declare(statement).types["Fault"], print_statement(statement)


def test_a_topic_is_all_that_it_needs() -> None:
    made, _ = declared("topic = 'faults', max_delay = '5 sec'")
    assert made.options == {"source": "kafka", "topic": "faults", "max_delay": "5 sec"}


def test_settings_of_kafka_itself_are_passed_on_by_their_dotted_names_and_printed_so() -> None:
    made, text = declared("topic = 'faults', servers = 'a:9092, b:9093', kafka.security.protocol = 'SASL_SSL'")
    assert made.options["kafka.security.protocol"] == "SASL_SSL"
    assert "kafka.security.protocol = 'SASL_SSL'" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("servers = 'a:9092'", "needs the option 'topic'"),
        ("topic = 'a b'", "topic is 'a b'; it must be the name of one topic"),
        ("topic = 't', servers = 'localhost'", "it must be hosts with their ports"),
        ("topic = 't', format = 'avro'", "it must be one of json, csv"),
        ("topic = 't', start = 'newest'", "it must be 'earliest', 'latest' or a timestamp"),
        ("topic = 't', topics = 'u'", "'topics' is not an option of stream 'Fault'"),
        ("topic = 't', columns = 'x, at'", "it must be given for format = 'csv'"),
        ("topic = 't', format = 'csv', columns = 'x'", "name the event time, at, among them"),
        ("topic = 't', format = 'csv', columns = 'x, x, at'", "names, each of them once"),
        ("topic = 't', user = 'u'", "given together: user and password"),
        ("topic = 't', kafka.bootstrap.servers = 'a:1'", "write servers = 'host:port'"),
        ("topic = 't', kafka.auto.offset.reset = 'latest'", "write start ="),
    ],
)
def test_what_no_broker_could_make_sense_of_is_refused_with_a_fix(options: str, said: str) -> None:
    with pytest.raises(PresageError) as refused:
        declared(options)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "name", ["password", "kafka.sasl.jaas.config", "kafka.ssl.keystore.password", "kafka.ssl.keystore.key"]
)
def test_a_secret_that_is_written_out_is_refused_and_not_shown_again(name: str) -> None:
    with pytest.raises(PresageError) as refused:
        declared(
            f"topic = 't', user = 'me', password = 'env:P', {name} = 'hunter2-hunter2'"
            if name != "password"
            else "topic = 't', user = 'me', password = 'hunter2-hunter2'"
        )
    assert f"write {name} = 'env:NAME'" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_the_name_of_a_secret_is_what_the_catalog_holds() -> None:
    made, text = declared("topic = 't', user = 'env:KAFKA_USER', password = 'env:KAFKA_PASSWORD'")
    assert made.options["password"] == "env:KAFKA_PASSWORD"
    assert "password = 'env:KAFKA_PASSWORD'" in text
