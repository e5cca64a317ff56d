"""Kafka through Spark's connector: reads ranges of offsets as Arrow, writes rows to a topic.

The first and last offsets come from Kafka's admin client in Spark's JVM, which is a part of the connector. A batch job
with fixed offsets reads the messages, with one task for each partition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from py4j.java_gateway import JavaClass, JavaObject  # type: ignore[import-untyped]
from py4j.protocol import Py4JJavaError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import __version__ as SPARK_VERSION
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from presage.declarations.permissions import KAFKA_SERVERS, reachable
from presage.errors import error
from presage.model.catalog import EventType
from presage.model.permissions import Permissions
from presage.model.redaction import masked as without_secrets

CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK_VERSION}"
ASK_SECONDS = 10
READ_SECONDS = 20  # a task's timeout for messages that the broker has
# A producer's timeout for a broker or topic that is not there. It is retried, and closing the engine waits for it;
# Kafka's default is 60.
WRITE_SECONDS = 10
# Kafka's defaults are for many small consumers; a Spark job reads a range as fast as it can.
READING = {
    "max.poll.records": "20000",
    # The messages are there: only a fetch beyond the end waits, and delays the next one. The default is 500.
    "fetch.max.wait.ms": "10",
    # Only committed messages are events. No effect on topics without transactions.
    "isolation.level": "read_committed",
}
# Spark caches a consumer for each partition, with its fetched messages. The bytes of all of them together; the least of
# one is Kafka's default, and more than the most makes it no faster.
FETCHED_BYTES, LEAST_FETCHED, MOST_FETCHED = 64 << 20, 1 << 20, 16 << 20
# Each message as a line: their concatenation is a text that a reader of JSON lines parses as it is.
LINE = "concat(value, X'0A') AS line"
_RAISED = re.compile(r"(?:[a-z0-9_]+\.)+([A-Z]\w*(?:Exception|Error))(?:: ([^\n]*))?")
_REFUSED = re.compile(r"Sasl\w*Exception|\w*Authenticat\w*Exception|\w*Authoriz\w*Exception|SslAuth\w*|LoginException")
_AROUND = ("SparkException", "ExecutionException", "Py4JJavaError")  # exceptions that wrap others
_ABSENT = ("UnknownTopicOrPartitionException", "UnknownTopicIdException", "InvalidTopicException")


class KafkaTopic:
    """The topic of a stream. `session` gives the Spark session, and waits while it is starting. It must not take the
    engine's lock: a DROP of the stream holds the lock and waits for the source."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        event_type: EventType,
        permissions: Permissions,
        file: Callable[[str], Path],
    ) -> None:
        stream, options = event_type.name, event_type.options
        self._spark = session()
        require_connector(self._spark, f"stream '{stream}' with source = 'kafka'")
        self._jvm: Any = self._spark._jvm
        self._topic = options["topic"]
        self._grant = permissions.of(f"stream '{stream}'")
        self._options = reachable(options, self._grant, file)
        self._servers = options.get("servers", KAFKA_SERVERS)
        # Spark caches consumers by this name; a reopened stream reuses them.
        self._group = f"presage-{stream}"
        self._admin: Any = None
        self._names: dict[int, Any] = {}

    def identify(self) -> tuple[str, list[int]]:
        with self._connected() as admin:
            topics = self._jvm.java.util.ArrayList()
            topics.add(self._topic)
            described = self._got(admin.describeTopics(topics).allTopicNames()).get(self._topic)
            return described.topicId().toString(), sorted(p.partition() for p in described.partitions())

    def ends(self, partitions: list[int]) -> dict[int, int]:
        return self._offsets(partitions, self._jvm.org.apache.kafka.clients.admin.OffsetSpec.latest())

    def begins(self, partitions: list[int]) -> dict[int, int]:
        return self._offsets(partitions, self._jvm.org.apache.kafka.clients.admin.OffsetSpec.earliest())

    def since(self, partitions: list[int], micros: int) -> dict[int, int]:
        spec = self._jvm.org.apache.kafka.clients.admin.OffsetSpec.forTimestamp(-(-micros // 1_000))
        starts, ends = self._offsets(partitions, spec), self.ends(partitions)
        return {partition: offset if offset >= 0 else ends[partition] for partition, offset in starts.items()}

    def read(self, ranges: Mapping[int, tuple[int, int]]) -> pa.Table:
        reader = self._spark.read.format("kafka").option("assign", json.dumps({self._topic: list(ranges)}))
        for side, name in enumerate(("startingOffsets", "endingOffsets")):
            reader = reader.option(name, json.dumps({self._topic: {str(p): ends[side] for p, ends in ranges.items()}}))
        fetched = min(MOST_FETCHED, max(LEAST_FETCHED, FETCHED_BYTES // len(ranges)))
        reading = {**READING, "max.partition.fetch.bytes": str(fetched), "group.id": self._group}
        given = {**reading, **self._settings()}
        for name, value in given.items():
            reader = reader.option(f"kafka.{name}", value)
        reader = reader.option("kafkaConsumer.pollTimeoutMs", READ_SECONDS * 1_000)
        with self._explained():
            return reader.load().selectExpr("partition", "offset", LINE).toArrow()

    # -- the admin client ----------------------------------------------------------------------------

    def _offsets(self, partitions: list[int], spec: Any) -> dict[int, int]:
        admin_classes = self._jvm.org.apache.kafka.clients.admin
        with self._connected() as admin:
            wanted = self._jvm.java.util.HashMap()
            for partition in partitions:
                wanted.put(self._named(partition), spec)
            committed = self._jvm.org.apache.kafka.common.IsolationLevel.READ_COMMITTED
            uncommitted = self._settings().get("isolation.level") == "read_uncommitted"
            options = admin_classes.ListOffsetsOptions() if uncommitted else admin_classes.ListOffsetsOptions(committed)
            listed = self._got(admin.listOffsets(wanted, options).all())
            return {p: int(listed.get(self._named(p)).offset()) for p in partitions}

    def _named(self, partition: int) -> Any:
        if partition not in self._names:
            self._names[partition] = self._jvm.org.apache.kafka.common.TopicPartition(self._topic, partition)
        return self._names[partition]

    def _got(self, future: Any) -> Any:
        return future.get(ASK_SECONDS, self._jvm.java.util.concurrent.TimeUnit.SECONDS)

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """The admin client. After a failure it is closed, and the next call makes a new one."""
        with self._explained():
            try:
                if self._admin is None:
                    self._admin = self._new_admin()
                yield self._admin
            except Exception:
                self.close()
                raise

    def _new_admin(self) -> Any:
        properties = self._jvm.java.util.HashMap()
        limits = {"default.api.timeout.ms": ASK_SECONDS * 1_000, "request.timeout.ms": ASK_SECONDS * 500}
        for name, value in {**limits, **self._settings()}.items():
            if name not in (*READING, "max.partition.fetch.bytes", "group.id"):
                properties.put(name, str(value))
        return self._jvm.org.apache.kafka.clients.admin.Admin.create(properties)

    def close(self) -> None:
        admin, self._admin = self._admin, None
        if isinstance(admin, JavaObject):
            admin.close(self._jvm.java.time.Duration.ofSeconds(1))

    def _settings(self) -> dict[str, str]:
        return client_settings(self._options, self._grant.resolve, self._servers)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raises failures of Kafka as an OSError whose type says whether a retry may help; secrets are masked."""
        try:
            yield
        except (Py4JJavaError, PySparkException) as failure:
            kind, message = kafka_error(failure)
            where = f"the topic '{self._topic}' on {self._servers}"
            if kind in _ABSENT:
                raise FileNotFoundError(f"{where} does not exist") from None
            if _REFUSED.fullmatch(kind):
                raise PermissionError(f"{where} cannot be read with these credentials ({message})") from None
            raise ConnectionError(f"{where} cannot be read now ({message})") from None
        except (Py4JNetworkError, OSError) as lost:  # Spark's JVM did not answer
            ended = f"{type(lost).__name__}: {lost}; if its JVM has ended, open the engine again"
            raise ConnectionError(f"the topic '{self._topic}' is not read: Spark does not answer ({ended})") from None


def write_kafka(spark: SparkSession, rows: pa.Table, options: Mapping[str, str]) -> None:
    """Write rows as messages of a topic, in order. On an exception some may have been written: a `ValueError` if the
    broker rejects a row for its size, an `OSError` if a retry may help.

    `rows`: `key` and `value`, texts or bytes, and optionally `headers`, a map from text to text. `options`: `topic`,
    `servers`, `user` and `password`, `kafka.*`, with secrets resolved.
    """
    require_connector(spark, f"writing to the topic '{options['topic']}'")
    # Acknowledged by all replicas: a message survives the loss of one broker, and a retry keeps the order.
    limits = {"acks": "all", "max.block.ms": str(WRITE_SECONDS * 1_000)}
    settings = {**limits, **client_settings(options, str, options.get("servers", KAFKA_SERVERS))}
    frame = spark.createDataFrame(rows).coalesce(1)  # one task, which keeps the order
    columns = [f"CAST({name} AS BINARY) AS {name}" for name in ("key", "value")]
    if "headers" in rows.column_names:
        columns.append(
            "transform(map_entries(headers), h -> struct(h.key AS key, CAST(h.value AS BINARY) AS value)) AS headers"
        )
    writer = frame.selectExpr(*columns).write.format("kafka").option("topic", options["topic"])
    for name, value in settings.items():
        writer = writer.option(f"kafka.{name}", value)
    if "headers" in rows.column_names:
        writer = writer.option("includeHeaders", "true")
    try:
        writer.save()
    except (Py4JJavaError, PySparkException) as failure:
        kind, message = kafka_error(failure)
        # A row that is too large is not to be retried.
        raised = ValueError if kind == "RecordTooLargeException" else ConnectionError
        raise raised(f"the topic '{options['topic']}' did not take the rows ({message})") from None


def require_connector(spark: SparkSession, owner: str) -> None:
    """Raise if a session has no connector to Kafka, with how to add it."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        fix = "give the engine a session of its own process, not one of Spark Connect"
        raise error("NO_CONNECTOR", owner=owner, where="a session of Spark Connect", fix=fix)
    if not isinstance(jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider, JavaClass):
        fix = (
            f"open it with Engine(settings={{'spark.jars.packages': '{CONNECTOR}'}}), or start your own session so; "
            "jars that lie on this machine are named with 'spark.jars'"
        )
        raise error("NO_CONNECTOR", owner=owner, where="the Spark session", fix=fix)


def client_settings(options: Mapping[str, str], resolve: Callable[[str], str], servers: str) -> dict[str, str]:
    """Settings of Kafka's clients from options; `resolve` resolves secrets."""
    given = {n.removeprefix("kafka."): resolve(v) for n, v in options.items() if n.startswith("kafka.")}
    settings = {"bootstrap.servers": servers, **given}
    if "user" in options:
        user, password = (resolve(options[name]) for name in ("user", "password"))
        mechanism = settings.setdefault("sasl.mechanism", "PLAIN")
        settings.setdefault("security.protocol", "SASL_SSL")
        kind = "scram.Scram" if mechanism.startswith("SCRAM") else "plain.Plain"
        settings["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{kind}LoginModule required "
            f'username="{_quoted(user)}" password="{_quoted(password)}";'
        )
    return settings


def kafka_error(failure: Exception) -> tuple[str, str]:
    """The name of the root cause of an exception of Spark or Kafka, and a message without secrets."""
    kind, text = root_cause(failure)
    return kind, masked(f"{kind}: {text}" if text else kind)


def root_cause(failure: Exception) -> tuple[str, str]:
    text = str(failure)
    if isinstance(failure, Py4JJavaError):
        cause = failure.java_exception
        while (deeper := cause.getCause()) is not None:
            cause = deeper
        kind, text = str(cause.getClass().getSimpleName()), str(cause.getMessage() or "")
        if kind not in _AROUND:
            return kind, text
    # An exception of a task may be in the text alone.
    raised: list[tuple[str, str]] = [pair for pair in _RAISED.findall(text) if pair[0] not in _AROUND]
    if raised:
        return raised[-1]
    return type(failure).__name__, text.strip().splitlines()[0] if text.strip() else ""


def masked(text: str) -> str:
    """A text of Kafka without secrets, quoted as in `client_settings` or not."""
    return without_secrets(text.replace('\\"', '"').replace("\\\\", "\\"))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
