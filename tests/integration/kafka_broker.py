"""An Apache Kafka broker on the loopback, in KRaft mode: started, stopped, started again with what it had."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from integration.install import broker
from presage.execution.spark.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USER, PASSWORD = "presage", "open-sesame"
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{guarded},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{guarded}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,GUARDED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config={login} user_{user}="{password}";
log.dirs={folder}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
"""
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


class Broker:
    """`servers` takes anybody, `guarded` those with the password."""

    def __init__(self, folder: Path) -> None:
        plain, guarded, controller = free_ports(3)
        self.servers, self.guarded = f"127.0.0.1:{plain}", f"127.0.0.1:{guarded}"
        self._port = plain
        self._settings, self._log = folder / "server.properties", folder / "broker.log"
        known = {"plain": plain, "guarded": guarded, "controller": controller, "folder": folder / "data"}
        self._settings.write_text(PROPERTIES.format(**known, login=LOGIN, user=USER, password=PASSWORD))
        self._java = [str(find_java() / "bin" / "java"), "-Xmx512m", "-cp", broker()]
        self._process: subprocess.Popen[bytes] | None = None
        self._run("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings))

    def start(self) -> None:
        with open(self._log, "ab") as log:
            command = [*self._java, "kafka.Kafka", str(self._settings)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while not _is_open(self._port):
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < end, self._log.read_text()
            time.sleep(0.1)

    @property
    def process(self) -> int:
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def _run(self, *arguments: str) -> None:
        told = subprocess.run([*self._java, *arguments], capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stdout + told.stderr


class Topics:
    """Makes, changes and fills topics, by way of a Spark session that has the connector."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self._spark, self._servers = spark, servers
        self._jvm: Any = spark._jvm

    def create(self, partitions: int = 1, name: str | None = None) -> str:
        name = name or f"t{uuid.uuid4().hex[:8]}"
        made = self._jvm.org.apache.kafka.clients.admin.NewTopic(name, partitions, 1)
        self._ask(lambda admin: admin.createTopics(self._several(made)).all())
        return name

    def delete(self, name: str) -> None:
        self._ask(lambda admin: admin.deleteTopics(self._several(name)).all())

    def widen(self, name: str, partitions: int) -> None:
        more = self._jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions)
        self._ask(lambda admin: admin.createPartitions(self._named(name, more)).all())

    def forget(self, name: str, before: int) -> None:
        """Delete the messages of partition 0 before an offset, as retention does."""
        place = self._jvm.org.apache.kafka.common.TopicPartition(name, 0)
        # Two methods go by that name, and Py4J takes the one that it cannot call.
        loader = self._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        known = loader.loadClass("org.apache.kafka.clients.admin.RecordsToDelete")
        method = known.getMethod("beforeOffset", self._array("Class", self._jvm.java.lang.Long.TYPE))
        records = method.invoke(None, self._array("Object", before))
        self._ask(lambda admin: admin.deleteRecords(self._named(place, records)).all())

    def put(self, name: str, values: list[bytes | None], partition: int = 0) -> None:
        """Messages of one partition, in their order."""
        table = pa.table(
            {"value": pa.array(values, pa.binary()), "partition": pa.array([partition] * len(values), pa.int32())}
        )
        frame = self._spark.createDataFrame(table).coalesce(1)
        writer = frame.write.format("kafka").option("kafka.bootstrap.servers", self._servers)
        writer.option("topic", name).save()

    def _ask(self, question: Any) -> None:
        settings = self._named("bootstrap.servers", self._servers)
        admin = self._jvm.org.apache.kafka.clients.admin.Admin.create(settings)
        try:
            question(admin).get()
        finally:
            admin.close()

    def _array(self, kind: str, thing: Any) -> Any:
        gateway: Any = self._spark.sparkContext._gateway
        made = gateway.new_array(getattr(self._jvm.java.lang, kind), 1)
        made[0] = thing
        return made

    def _several(self, thing: Any) -> Any:
        several = self._jvm.java.util.ArrayList()
        several.add(thing)
        return several

    def _named(self, name: Any, thing: Any) -> Any:
        named = self._jvm.java.util.HashMap()
        named.put(name, thing)
        return named


def free_ports(count: int) -> list[int]:
    """Ports of the loopback that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _is_open(port: int) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    os.environ.setdefault("JAVA_HOME", str(find_java()))
    made = Broker(tmp_path_factory.mktemp("kafka"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def topics(kafka_session: SparkSession, kafka_broker: Broker) -> Topics:
    return Topics(kafka_session, kafka_broker.servers)


@pytest.fixture(scope="session")
def kafka_session() -> Iterator[SparkSession]:
    """A user's session that has the connector."""
    from integration.install import connector
    from presage.execution.spark.session import own_session

    session = own_session({"spark.jars": connector()})
    yield session
    session.stop()
