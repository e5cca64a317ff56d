"""`sink = 'kafka'`: rows in, messages of a topic out, by a writer that knows Spark and is given by the engine.

A message's key is the id of its row, its value the row as JSON: whoever reads it twice can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from presage.declarations.permissions import reachable
from presage.errors import PresageError, error
from presage.model.catalog import Sink
from presage.model.permissions import Permissions
from presage.sinks.sink import Batch, NotTaken, rows_as_json

ROWS = 10_000
# Writes keys and values, both texts: all of them, or it raises. Options: servers, topic, user, password, kafka.*
Writer = Callable[[pa.Table, Mapping[str, str]], None]
CLIENT = ("sink", "servers", "topic", "user", "password")
# What Kafka calls a message that no broker will ever take.
TOO_LARGE = "RecordTooLarge"


def no_kafka(rows: pa.Table, options: Mapping[str, str]) -> None:
    """The writer of an engine that has none."""
    fix = "use a sink of another kind, 'webhook' or 'parquet' for example"
    raise error("UNSUPPORTED", what="sink = 'kafka'", where="in this version", fix=fix)


class KafkaTarget:
    every = 0.0
    why = ""

    def __init__(self, sink: Sink, write: Writer, permissions: Permissions, file: Callable[[str], Path]) -> None:
        options = sink.options
        self.most = int(options.get("rows", ROWS))
        self._write = write
        self._options = {n: v for n, v in options.items() if n in CLIENT or n.startswith("kafka.")}
        self._file = file
        self._grant = permissions.of(f"sink '{sink.name}'")

    def prepare(self, batch: Batch) -> None:
        """A message is nothing before it is sent."""

    def deliver(self, batch: Batch) -> int:
        messages = pa.table({"key": pa.array(batch.ids()), "value": pa.array(rows_as_json(batch))})
        usable = reachable(self._options, self._grant, self._file)
        options = {name: self._grant.resolve(value) for name, value in usable.items() if name != "sink"}
        try:
            self._write(messages, options)
        except PresageError:
            raise
        except Exception as failure:
            # Whatever Spark and Kafka throw, the rows are still ours.
            if isinstance(failure, OSError) and TOO_LARGE not in str(failure):
                raise
            told = str(failure).strip().splitlines() or [type(failure).__name__]
            raise NotTaken(f"Kafka did not take the rows: {told[0]}", TOO_LARGE in str(failure)) from failure
        return int(batch.rows.num_rows)

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        return False  # some of them may have gone: that is for the reader of the topic to see

    def close(self) -> None:
        """The writer keeps nothing open."""

    def masked(self, text: str) -> str:
        return self._grant.masked(text)
