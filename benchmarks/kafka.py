"""Kafka to row, against Spark's connector reading the same messages into its noop sink, in one session and one run.

A broker on the loopback, two partitions of JSON. Ours: messages into a durable home with offsets and cursor, and a
deployed statement over them, to its last row: a filter, and a sliding average. The turns alternate; processor time is
that of this process, Spark's JVM and the broker together. Needs what `make integration` installs, and fetches it.
Run as: python benchmarks/kafka.py [messages]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from integration.install import connector
from integration.kafka_broker import Broker, Topics
from presage import Engine
from presage.execution.spark.session import own_session

MESSAGES = 2_000_000
TURNS = 7
VALUE = """to_json(named_struct('sym', concat('s', id % 1000), 'price', (id * 7919) % 1000 / 10D, 'volume', id % 977,
    'at', date_format(timestamp_micros(1704067200000000 + id * 1000), "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")))"""
STREAM = "CREATE STREAM Tick (sym STRING, price DOUBLE, volume LONG, at TIMESTAMP) EVENT TIME at"
STATEMENTS = {
    "a filter that passes 0.5 %": "SELECT sym, price FROM Tick WHERE price > 99.4",
    "the sliding average": "SELECT sym, avg(price) AS mean FROM Tick#time(1 min) GROUP BY sym",
}


class Clock:
    """Wall and processor time of everything that takes part."""

    def __init__(self, others: list[int]) -> None:
        self._others = others
        self._begin = self._now()

    def taken(self) -> tuple[float, float]:
        return tuple(now - then for now, then in zip(self._now(), self._begin, strict=True))  # type: ignore[return-value]

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time() + sum(map(_processor_time, self._others))


def _processor_time(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill(spark: SparkSession, servers: str, topic: str, count: int) -> None:
    """Each partition in the order of time, as two producers would write it."""
    rows = spark.range(0, count, 1, 1).selectExpr(
        f"CAST({VALUE} AS BINARY) AS value", "CAST(id % 2 AS INT) AS partition"
    )
    rows.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", topic).save()


def read_into_nothing(spark: SparkSession, servers: str, topic: str) -> None:
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers).option("subscribe", topic)
    reader.load().write.format("noop").mode("overwrite").save()


def read_to_rows(
    spark: SparkSession, servers: str, topic: str, statement: str, count: int, others: list[int]
) -> tuple[tuple[float, float], int]:
    """From the first look at the topic to the last row of a statement that stands already."""
    with tempfile.TemporaryDirectory() as home, Engine(spark, home, live=False, allow_hosts=["localhost"]) as engine:
        engine.execute(f"{STREAM} WITH (source = 'kafka', servers = '{servers}', topic = '{topic}')")
        deployment = engine.deploy(statement, name="deployed")
        deployment.drain()
        clock = Clock(others)
        engine.start_sources()
        while (status := engine.sources["Tick"]).rows < count:
            assert status.state != "failed", status
            time.sleep(0.01)
        deployment.drain()
        taken = clock.taken()
        assert engine.late("Tick").num_rows == 0
        return taken, int(deployment.status.rows_out)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MESSAGES
    try:
        jars = connector()
    except RuntimeError as failure:
        sys.exit(f"{failure}\nthis benchmark needs them")
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder))
        broker.start()
        spark = own_session({"spark.jars": jars})
        try:
            topic = Topics(spark, broker.servers).create(2)
            fill(spark, broker.servers, topic, count)
            jvm = spark._jvm
            assert jvm is not None
            others = [int(jvm.java.lang.ProcessHandle.current().pid()), broker.process]
            print(f"{count:,} messages of JSON in two partitions")
            for name, statement in STATEMENTS.items():
                read_to_rows(spark, broker.servers, topic, statement, count, others)  # both warm
                read_into_nothing(spark, broker.servers, topic)
                nothing, ours, rows = [], [], 0
                for _ in range(TURNS):
                    clock = Clock(others)
                    read_into_nothing(spark, broker.servers, topic)
                    nothing.append(clock.taken())
                    taken, rows = read_to_rows(spark, broker.servers, topic, statement, count, others)
                    ours.append(taken)
                # The least of each: the only honest clock on a machine that does other things too.
                wall, processor = ([min(turn[i] for turn in turns) for turns in (nothing, ours)] for i in range(2))
                print(
                    f"{name}, {rows:,} rows: {wall[0] / wall[1]:.2f} times the throughput of reading into nothing "
                    f"({wall[1]:.1f} s against {wall[0]:.1f} s; processor time {processor[1]:.1f} s against "
                    f"{processor[0]:.1f} s); target at least 0.5",
                    flush=True,
                )
        finally:
            spark.stop()
            broker.stop()


if __name__ == "__main__":
    main()
