"""Kafka through the whole pipe, against a real broker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from integration.install import connector
from integration.kafka_broker import PASSWORD, USER, Broker, Topics
from presage import Engine
from presage.execution.spark.kafka import WRITE_SECONDS, write_kafka
from presage.sources.source import SourceStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at WITH (source = 'kafka'"
AVERAGE = "SELECT sym, avg(price) AS mean FROM Tick#time(10 sec) GROUP BY sym"
PATIENCE = 180

ALLOWED: dict[str, Any] = {"allow_env": ["K_USER", "K_PASSWORD"], "allow_hosts": ["localhost"]}


def tick(n: int) -> bytes:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_704_067_200 + n))
    return json.dumps({"sym": "abc"[n % 3], "price": float(n), "at": at}).encode()


def ticks(first: int, last: int) -> list[bytes | None]:
    return [tick(n) for n in range(first, last)]


def declared(servers: str, topic: str, more: str = "") -> str:
    # Events of years ago, as when a topic is filled again: time must not go on while they are awaited.
    return f"{TICK}, servers = '{servers}', topic = '{topic}', idle_after = '1 day'{more})"


def until(engine: Engine, so: Callable[[SourceStatus], bool]) -> SourceStatus:
    end = time.monotonic() + PATIENCE
    while not so(status := engine.sources["Tick"]):
        assert status.state != "failed", status
        assert time.monotonic() < end, status
        time.sleep(0.05)
    return status


def prices(engine: Engine) -> list[int]:
    return sorted(int(row["price"]) for row in engine.query("SELECT price FROM Tick").to_arrow().to_pylist())


@pytest.fixture
def engine(kafka_session: SparkSession, tmp_path: Path) -> Any:
    with Engine(kafka_session, tmp_path / "home", **ALLOWED) as made:
        yield made


def test_poison_is_rejected_with_its_place_and_a_statement_has_the_rows_of_the_others(
    engine: Engine, kafka_broker: Broker, topics: Topics
) -> None:
    topic = topics.create(2)
    topics.put(topic, [*ticks(0, 20), b"\xff\xfe", b"{nope", None, *ticks(20, 30)])
    topics.put(topic, ticks(30, 60), partition=1)
    engine.execute(declared(kafka_broker.servers, topic))
    deployment = engine.deploy(AVERAGE, name="mean")
    until(engine, lambda status: status.rows >= 60 and status.rejected >= 3)
    deployment.drain(timeout=PATIENCE)
    assert prices(engine) == list(range(60))
    assert deployment.results().to_arrow().to_pylist() == engine.query(AVERAGE).to_arrow().to_pylist()
    rejected = engine.rejected("Tick").to_pylist()
    assert [row["origin"] for row in rejected] == [f"{topic}-0:{n}" for n in (20, 21, 22)]
    assert rejected[0]["reason"] == "the message is not UTF-8"


def test_a_broker_that_stops_in_mid_stream_is_waited_for_and_so_is_one_that_is_down_at_the_start(
    engine: Engine, kafka_broker: Broker, topics: Topics
) -> None:
    topic = topics.create()
    topics.put(topic, ticks(0, 50))
    kafka_broker.stop()
    try:
        engine.execute(declared(kafka_broker.servers, topic))
        status = until(engine, lambda status: "cannot be read now" in status.why)
        assert status.state == "waiting"
        assert f"the topic '{topic}' on {kafka_broker.servers}" in status.why
        kafka_broker.start()
        until(engine, lambda status: status.rows == 50)
        kafka_broker.stop()
        until(engine, lambda status: "cannot be read now" in status.why)
    finally:
        kafka_broker.start()
    topics.put(topic, ticks(50, 80))
    until(engine, lambda status: status.rows == 80 and status.state == "running")
    assert prices(engine) == list(range(80))


def test_a_topic_may_come_later_vanish_and_be_made_again(engine: Engine, kafka_broker: Broker, topics: Topics) -> None:
    engine.execute(declared(kafka_broker.servers, "later"))
    status = until(engine, lambda status: "does not exist" in status.why)
    assert f"the topic 'later' on {kafka_broker.servers} does not exist" in str(status)
    topics.create(name="later")
    topics.put("later", ticks(0, 10))
    until(engine, lambda status: status.rows == 10)
    topics.delete("later")
    until(engine, lambda status: "does not exist" in status.why)
    topics.create(name="later")
    topics.put("later", ticks(10, 15))
    status = until(engine, lambda status: status.rows == 15)
    assert prices(engine) == list(range(15))
    assert "was deleted and made again" in status.notes[0]


def test_partitions_that_are_added_are_read_and_what_retention_took_is_counted(
    engine: Engine, kafka_broker: Broker, topics: Topics
) -> None:
    topic = topics.create()
    topics.put(topic, ticks(0, 10))
    engine.execute(declared(kafka_broker.servers, topic))
    until(engine, lambda status: status.rows == 10)
    topics.widen(topic, 3)
    topics.put(topic, ticks(10, 20), partition=2)
    until(engine, lambda status: status.rows == 20)
    home = engine.home
    engine.close()
    topics.put(topic, ticks(20, 30))
    topics.forget(topic, before=15)
    with Engine(topics._spark, home, **ALLOWED) as again:
        status = until(again, lambda status: status.rows == 25)
        assert prices(again) == [*range(20), *range(25, 30)]
        assert "5 offsets were gone before they could be read" in status.position
        assert "offsets 10 to 14" in again.rejected("Tick").to_pylist()[0]["reason"]


def test_the_source_waits_while_statements_have_rows_to_take_in(
    kafka_session: SparkSession, tmp_path: Path, kafka_broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presage.sources.kafka.ROWS", 2_000)
    monkeypatch.setattr("presage.sources.kafka.FIRST_ROWS", 2_000)
    topic = topics.create()
    topics.put(topic, ticks(0, 12_000))
    with Engine(kafka_session, tmp_path / "home", rows_per_batch=500, **ALLOWED) as engine:
        deployment = engine.deploy(f"{declared(kafka_broker.servers, topic)}; SELECT price FROM Tick", name="all")
        said = until(engine, lambda status: "rows of it to process first" in status.why)
        assert said.rows < 12_000
        until(engine, lambda status: status.rows == 12_000)
        deployment.drain(timeout=PATIENCE)
        assert [int(row["price"]) for row in deployment.results().to_arrow().to_pylist()] == list(range(12_000))


def test_from_topic_to_topic_an_engine_that_is_killed_again_and_again_loses_and_repeats_nothing(
    kafka_session: SparkSession, tmp_path: Path, kafka_broker: Broker, topics: Topics
) -> None:
    topic, told, home = topics.create(2), topics.create(), tmp_path / "home"
    with Engine(kafka_session, home, live=False, **ALLOWED) as engine:
        engine.execute(declared(kafka_broker.servers, topic))
        engine.deploy(AVERAGE, name="mean")
        engine.execute(
            f"CREATE SINK means FROM mean WITH (sink = 'kafka', servers = '{kafka_broker.servers}', topic = '{told}')"
        )
    script = Path(__file__).with_name("kafka_engine.py")
    for round in range(3):
        for partition in range(2):
            topics.put(topic, ticks(round * 40 + partition * 20, round * 40 + partition * 20 + 20), partition)
        command = [sys.executable, str(script), str(home), connector(), "mean"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as killed:
            assert killed.stdout is not None
            for line in killed.stdout:
                if int(line.split()[0]) >= round * 40 + (1, 40, 20)[round]:
                    break
            killed.kill()
    with Engine(kafka_session, home, **ALLOWED) as engine:
        until(engine, lambda status: status.rows >= 120)
        deployment = engine.deployments["mean"]
        deployment.drain(timeout=PATIENCE)
        assert prices(engine) == list(range(120))
        assert engine.late("Tick").num_rows == 0
        rows = deployment.results().to_arrow().to_pylist()
        assert rows == engine.query(AVERAGE).to_arrow().to_pylist()
        engine.sinks.flush()
    # A row may be told twice after a kill, with the same id; by their ids they are the rows of the statement, in order.
    reader = kafka_session.read.format("kafka").option("kafka.bootstrap.servers", kafka_broker.servers)
    messages = reader.option("subscribe", told).load().orderBy("offset").collect()
    once = {message.key.decode(): json.loads(message.value) for message in reversed(messages)}
    first = dict.fromkeys(message.key.decode() for message in messages)
    assert [(once[id]["sym"], once[id]["mean"]) for id in first] == [(row["sym"], row["mean"]) for row in rows]


def test_credentials_come_from_the_environment_and_wrong_ones_are_said_without_them(
    engine: Engine, kafka_broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr("presage.sources.kafka.REFUSED_PAUSE", 1.0)
    topic = topics.create()
    topics.put(topic, ticks(0, 10))
    secret = ", user = 'env:K_USER', password = 'env:K_PASSWORD', kafka.security.protocol = 'SASL_PLAINTEXT'"
    monkeypatch.setenv("K_USER", USER)
    engine.execute(declared(kafka_broker.guarded, topic, secret))
    status = until(engine, lambda status: status.state == "waiting" and bool(status.why))
    assert "needs the environment variable K_PASSWORD" in status.why
    monkeypatch.setenv("K_PASSWORD", "wrong-wrong-wrong")
    status = until(engine, lambda status: "with these credentials" in status.why)
    assert "SaslAuthenticationException" in status.why
    monkeypatch.setenv("K_PASSWORD", PASSWORD)
    until(engine, lambda status: status.rows == 10)
    shown = str(engine.execute("DESCRIBE Tick").to_arrow().to_pylist()) + caplog.text  # type: ignore[union-attr]
    for file in (tmp for tmp in engine.home.rglob("*") if tmp.is_file()):
        shown += file.read_bytes().decode("latin-1")
    assert PASSWORD not in shown
    assert "wrong-wrong-wrong" not in shown


def test_rows_are_written_with_their_keys_and_headers(
    kafka_session: SparkSession, kafka_broker: Broker, topics: Topics
) -> None:
    topic = topics.create()
    rows = pa.table(
        {
            "key": ["s1:1", "s1:2"],
            "value": ['{"a": 1}', '{"a": "ü"}'],
            "headers": pa.array([[("statement", "s1")], [("statement", "s1")]], pa.map_(pa.string(), pa.string())),
        }
    )
    options = {"servers": kafka_broker.servers, "topic": topic}
    write_kafka(kafka_session, rows, options)
    write_kafka(kafka_session, rows.select(["key", "value"]), options)
    reader = kafka_session.read.format("kafka").option("kafka.bootstrap.servers", kafka_broker.servers)
    found = reader.option("subscribe", topic).option("includeHeaders", "true").load().orderBy("offset").collect()
    assert [row.key.decode() for row in found] == ["s1:1", "s1:2"] * 2
    assert [row.value.decode() for row in found] == ['{"a": 1}', '{"a": "ü"}'] * 2
    assert [(h.key, h.value.decode()) for h in found[0].headers] == [("statement", "s1")]
    began = time.monotonic()
    with pytest.raises(OSError, match="did not take the rows"):
        write_kafka(kafka_session, rows, {**options, "topic": "nowhere"})
    assert time.monotonic() - began < 2 * WRITE_SECONDS
    big = pa.table({"key": ["k"], "value": ["x" * 2_000_000]})
    with pytest.raises(ValueError, match="RecordTooLargeException"):
        write_kafka(kafka_session, big, options)
