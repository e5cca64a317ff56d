"""A topic in memory, which can do what brokers do: grow, lose its oldest messages, go away, be made again."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from presage.model.catalog import EventType
from presage.sources.kafka import KafkaSource, Offsets
from presage.storage import LoadReport, Log
from unit.sources.folders import ATTRIBUTES, Stepped, event


def kafka_stream(**options: str) -> EventType:
    options = {"source": "kafka", "topic": "faults", **options}
    return EventType("Tick", "stream", ATTRIBUTES, event_time="at", options=options)


class FakeTopic:
    def __init__(self, partitions: int = 1) -> None:
        self.make(partitions, "first")
        self.trouble: OSError | None = None
        self.reads: list[dict[int, tuple[int, int]]] = []

    def make(self, partitions: int, identity: str) -> None:
        self.identity = identity
        self.logs: list[list[bytes | None]] = [[] for _ in range(partitions)]
        self.firsts = [0] * partitions

    def put(self, partition: int, *messages: dict[str, Any] | bytes | None) -> None:
        values = [json.dumps(m).encode() if isinstance(m, dict) else m for m in messages]
        self.logs[partition].extend(values)

    def identify(self) -> tuple[str, list[int]]:
        if self.trouble is not None:
            raise self.trouble
        return self.identity, list(range(len(self.logs)))

    def ends(self, partitions: list[int]) -> Offsets:
        self.identify()
        return {p: len(self.logs[p]) for p in partitions}

    def begins(self, partitions: list[int]) -> Offsets:
        return {p: self.firsts[p] for p in partitions}

    def since(self, partitions: list[int], micros: int) -> Offsets:
        return {p: min(2, len(self.logs[p])) for p in partitions}

    def read(self, ranges: dict[int, tuple[int, int]]) -> pa.Table:
        self.identify()
        self.reads.append(ranges)
        values = [(p, o, self.logs[p][o]) for p in reversed(ranges) for o in range(*ranges[p])]
        rows = [(p, o, None if value is None else value + b"\n") for p, o, value in values]
        columns = zip(*rows, strict=True) if rows else ([], [], [])
        kinds = (pa.int32(), pa.int64(), pa.binary())
        arrays = [pa.array(c, k) for c, k in zip(columns, kinds, strict=True)]
        return pa.table(arrays, names=["partition", "offset", "line"])

    def close(self) -> None:
        """Nothing is open."""


class SteppedTopic(Stepped):
    """The source of a topic and its log, stepped by hand."""

    def __init__(self, log: Log, topic: FakeTopic, **options: str) -> None:
        self.log, self.type, self.topic = log, kafka_stream(**options), topic
        log.create_stream(self.type)
        self.begin()

    def begin(self) -> None:
        self.now = 0.0
        self.source = KafkaSource(self.type, self.topic, lambda: self.now)  # type: ignore[assignment]

    def step(self) -> LoadReport | None:
        self.now += 10
        delivery = self.source.read(self.cursor)
        if delivery is None:
            return None
        return self.log.deliver(self.type, delivery)

    @property
    def cursor(self) -> dict[str, Any] | None:
        return self.log.deliveries.state("Tick", "kafka").cursor


__all__ = ["FakeTopic", "SteppedTopic", "event", "kafka_stream"]
