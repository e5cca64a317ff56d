"""Kafka through Spark's connector: reads ranges of offsets as Arrow, writes rows to a topic.

Where a topic begins and ends is asked of Kafka's own admin client, which lives in Spark's JVM: the connector brings it
along. The messages are read by a batch job whose first and last offsets are given, one task for each partition.
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
READ_SECONDS = 20  # that a task waits for messages which the broker has said to have
# That a producer waits for a broker, or a topic, that is not there: it is tried again anyway, and whoever closes the
# engine meanwhile waits as well. Kafka's default is 60.
WRITE_SECONDS = 10
# Kafka's defaults are made for many small consumers; a job of Spark's reads a range as fast as it can.
READING = {
    "max.poll.records": "20000",
    # What is asked for is there. Only a look beyond the end waits, and with it whatever is asked next: 500 by default.
    "fetch.max.wait.ms": "10",
    # What was never committed is no event. It makes no difference to topics without transactions.
    "isolation.level": "read_committed",
}
# Spark keeps a consumer for each partition, and each of them what it has fetched: all of them together about so much,
# one not less than Kafka's default, nor more than makes it quicker.
FETCHED_BYTES, LEAST_FETCHED, MOST_FETCHED = 64 << 20, 1 << 20, 16 << 20
# Together the messages are a text then, with no work left for whoever reads them.
LINE = "concat(value, X'0A') AS line"
_RAISED = re.compile(r"(?:[a-z0-9_]+\.)+([A-Z]\w*(?:Exception|Error))(?:: ([^\n]*))?")
_REFUSED = re.compile(r"Sasl\w*Exception|\w*Authenticat\w*Exception|\w*Authoriz\w*Exception|SslAuth\w*|LoginException")
_AROUND = ("SparkException", "ExecutionException", "Py4JJavaError")  # exceptions that carry others
_ABSENT = ("UnknownTopicOrPartitionException", "UnknownTopicIdException", "InvalidTopicException")


class KafkaTopic:
    """The topic of a stream. `session` gives the Spark session, and waits while it is starting; it may not take the
    engine's lock, which is held by whoever drops the stream and waits for its source."""

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
        # Spark keeps consumers by this name: one that is opened again goes on with those that are there.
        self._group = f"presage-{stream}"
        self._admin: Any = None
        self._names: dict[int, Any] = {}

    def identify(self) -> tuple[str, list[int]]:
        with self._asking() as admin:
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
        found = self._offsets(partitions, spec)
        ends = self.ends(partitions)
        return {partition: offset if offset >= 0 else ends[partition] for partition, offset in found.items()}

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

    # -- asking the broker ---------------------------------------------------------------------------

    def _offsets(self, partitions: list[int], spec: Any) -> dict[int, int]:
        admin_classes = self._jvm.org.apache.kafka.clients.admin
        with self._asking() as admin:
            wanted = self._jvm.java.util.HashMap()
            for partition in partitions:
                wanted.put(self._named(partition), spec)
            committed = self._jvm.org.apache.kafka.common.IsolationLevel.READ_COMMITTED
            uncommitted = self._settings().get("isolation.level") == "read_uncommitted"
            options = admin_classes.ListOffsetsOptions() if uncommitted else admin_classes.ListOffsetsOptions(committed)
            found = self._got(admin.listOffsets(wanted, options).all())
            return {p: int(found.get(self._named(p)).offset()) for p in partitions}

    def _named(self, partition: int) -> Any:
        if partition not in self._names:
            made = self._jvm.org.apache.kafka.common.TopicPartition(self._topic, partition)
            self._names[partition] = made
        return self._names[partition]

    def _got(self, future: Any) -> Any:
        return future.get(ASK_SECONDS, self._jvm.java.util.concurrent.TimeUnit.SECONDS)

    @contextmanager
    def _asking(self) -> Iterator[Any]:
        """The admin client. One that met trouble is closed: the next is made anew, with what the servers are then."""
        with self._explained():
            try:
                if self._admin is None:
                    self._admin = self._made()
                yield self._admin
            except Exception:
                self.close()
                raise

    def _made(self) -> Any:
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
        """What Kafka says, as an exception that tells whether and how it may pass, without any secret."""
        try:
            yield
        except (Py4JJavaError, PySparkException) as failure:
            kind, said = kafka_says(failure)
            where = f"the topic '{self._topic}' on {self._servers}"
            told = masked(f"{kind}: {said}" if said else kind)
            if kind in _ABSENT:
                raise FileNotFoundError(f"{where} does not exist") from None
            if _REFUSED.fullmatch(kind):
                raise PermissionError(f"{where} cannot be read with these credentials ({told})") from None
            raise ConnectionError(f"{where} cannot be read now ({told})") from None
        except (Py4JNetworkError, OSError) as lost:  # no word of Kafka: it was not asked
            ended = f"{type(lost).__name__}: {lost}; if its JVM has ended, open the engine again"
            raise ConnectionError(f"the topic '{self._topic}' is not read: Spark does not answer ({ended})") from None


def write_kafka(spark: SparkSession, rows: pa.Table, options: Mapping[str, str]) -> None:
    """Rows as messages of a topic, in order: all, or an exception, after which some may have gone.
    It is a `ValueError` if a row is larger than the broker ever takes, an `OSError` if it may pass.

    `rows`: `key` and `value`, texts or bytes, and if there is one `headers`, a map from text to text. `options`:
    `topic`, `servers`, `user` and `password`, `kafka.*`, with secrets looked up.
    """
    require_connector(spark, f"writing to the topic '{options['topic']}'")
    # What was written once must not be lost with one broker, nor change its order when it is sent again.
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
        kind, said = kafka_says(failure)
        told = masked(f"{kind}: {said}" if said else kind)
        # What no broker will ever take is not to be sent again as it is.
        raised = ValueError if kind == "RecordTooLargeException" else ConnectionError
        raise raised(f"the topic '{options['topic']}' did not take the rows ({told})") from None


def require_connector(spark: SparkSession, owner: str) -> None:
    """Refuse a session that cannot speak with Kafka, and say what it lacks."""
    jvm: Any = getattr(spark, "_jvm", None)
    if jvm is None:
        fix = "give the engine a session of its own process, not one of Spark Connect"
        raise error("NO_CONNECTOR", owner=owner, where="a session of Spark Connect", fix=fix)
    found = jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider
    if not isinstance(found, JavaClass):
        fix = (
            f"open it with Engine(settings={{'spark.jars.packages': '{CONNECTOR}'}}), or start your own session so; "
            "jars that lie on this machine are named with 'spark.jars'"
        )
        raise error("NO_CONNECTOR", owner=owner, where="the Spark session", fix=fix)


def client_settings(options: Mapping[str, str], resolve: Callable[[str], str], servers: str) -> dict[str, str]:
    """Settings of Kafka's clients, as options say; `resolve` looks secrets up."""
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


def kafka_says(failure: Exception) -> tuple[str, str]:
    """Name and message of the exception at the bottom of what Spark or Kafka has raised."""
    text = str(failure)
    if isinstance(failure, Py4JJavaError):
        cause = failure.java_exception
        while (deeper := cause.getCause()) is not None:
            cause = deeper
        kind, text = str(cause.getClass().getSimpleName()), str(cause.getMessage() or "")
        if kind not in _AROUND:
            return kind, text
    # What a task has raised may be there as text alone.
    told = [found for found in _RAISED.findall(text) if found[0] not in _AROUND]
    if told:
        kind, said = told[-1]
        return str(kind), str(said)
    return type(failure).__name__, text.strip().splitlines()[0] if text.strip() else ""


def masked(text: str) -> str:
    """What Kafka says without any secret, quoted as in `client_settings` or not."""
    return without_secrets(text.replace('\\"', '"').replace("\\\\", "\\"))


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
