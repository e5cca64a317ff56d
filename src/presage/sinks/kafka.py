"""`sink = 'kafka'`: writes rows as messages of a topic, with a Spark writer of the engine.

The key of a message is the id of its row, by which readers recognize duplicates; its value is the row as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa

from presage.declarations.permissions import reachable
from presage.errors import PresageError, error
from presage.model.catalog import Sink
from presage.model.permissions import Permissions
from presage.sinks.sink import Batch, NotTaken, Target, rows_as_json
from presage.storage.failures import first_line

ROWS = 10_000
# Writes all keys and values, both texts, or raises. Options: servers, topic, user, password, kafka.*
Writer = Callable[[pa.Table, Mapping[str, str]], None]
CLIENT = ("sink", "servers", "topic", "user", "password")
# Kafka's error for a message that no broker will ever accept.
TOO_LARGE = "RecordTooLarge"


def no_kafka(rows: pa.Table, options: Mapping[str, str]) -> None:
    """The writer of an engine without Kafka."""
    fix = "use a sink of another kind, 'webhook' or 'parquet' for example"
    raise error("UNSUPPORTED", what="sink = 'kafka'", where="in this version", fix=fix)


class KafkaTarget(Target):
    def __init__(self, sink: Sink, write: Writer, permissions: Permissions, file: Callable[[str], Path]) -> None:
        options = sink.options
        self.most = int(options.get("rows", ROWS))
        self._write = write
        self._options = {n: v for n, v in options.items() if n in CLIENT or n.startswith("kafka.")}
        self._file = file
        self._grant = permissions.of(f"sink '{sink.name}'")

    def deliver(self, batch: Batch) -> int:
        messages = pa.table({"key": pa.array(batch.ids()), "value": pa.array(rows_as_json(batch))})
        usable = reachable(self._options, self._grant, self._file)
        options = {name: self._grant.resolve(value) for name, value in usable.items() if name != "sink"}
        try:
            self._write(messages, options)
        except PresageError:
            raise
        except Exception as failure:
            # Retry after any failure of Spark or Kafka.
            if isinstance(failure, OSError) and TOO_LARGE not in str(failure):
                raise
            why = f"Kafka did not take the rows: {first_line(failure)}"
            raise NotTaken(why, TOO_LARGE in str(failure)) from failure
        return int(batch.rows.num_rows)

    def masked(self, text: str) -> str:
        return self._grant.masked(text)
