"""A streaming DataFrame whose micro-batches are handed over, one at a time, to the thread that commits them.

Spark calls back with a micro-batch and waits. It notes the batch in its checkpoint when the callback returns, which is
after `settle`: a batch that was not committed comes again when the query is started again.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from presage.errors import error
from presage.execution.spark.failures import explain_failure, first_line, is_of_spark
from presage.execution.spark.session import is_remote
from presage.execution.spark.types import to_spark
from presage.model.catalog import EventType
from presage.storage.spark_ingest import check_shape

WITH_SCHEMA = ("csv", "json", "parquet", "orc")  # formats whose columns are those of the stream
START_SECONDS = 30


@dataclass(frozen=True)
class MicroBatch:
    """`query` is the identity of the checkpoint, `number` that of the batch in it: together they name its rows."""

    frame: DataFrame
    query: str
    number: int


class StreamedFrame:
    """`checkpoint`: the folder in which Spark notes how far it has read."""

    def __init__(self, frame: DataFrame, checkpoint: str) -> None:
        self._frame = frame
        self._checkpoint = checkpoint
        self._query: StreamingQuery | None = None
        self._changed = threading.Condition()
        self._offered: MicroBatch | None = None
        self._started = threading.Event()
        self._stopped = False

    def next_batch(self, seconds: float) -> MicroBatch | None:
        """The micro-batch that waits for `settle`, or None if none comes in time. ConnectionError if the query has
        ended: the next call starts it again."""
        self._ensure_running()
        with self._changed:
            self._changed.wait_for(lambda: self._offered is not None, seconds)
            return self._offered

    def settle(self) -> None:
        """The batch is committed."""
        with self._changed:
            self._offered = None
            self._changed.notify_all()

    @property
    def has_more(self) -> bool:
        """Whether a batch is being read or waits."""
        query = self._query
        return query is not None and bool(query.isActive and query.status["isDataAvailable"])

    def stop(self) -> None:
        """End the query. A batch that is not settled will come again."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._query is not None:
            self._query.stop()  # returns when its thread has ended

    def _ensure_running(self) -> None:
        if self._query is not None and self._query.isActive:
            return
        if self._query is not None:
            failure, self._query = self._query.exception(), None
            self._started.clear()
            self.settle()
            why = explain_failure(failure).message if failure is not None else "it was stopped"
            raise ConnectionError(f"the streaming query has ended, and is started again: {why}")
        # Weak: Spark holds the callback for as long as the query runs.
        this = weakref.ref(self)

        def offer(frame: DataFrame, number: int) -> None:
            alive = this()
            if alive is None:
                raise RuntimeError("nobody takes the rows any more")
            alive._offer(frame, number)

        try:
            writer = self._frame.writeStream.foreachBatch(offer).option("checkpointLocation", self._checkpoint)
            self._query = writer.start()
            self._started.set()
        except Exception as failure:
            if not is_of_spark(failure):
                raise
            raise ConnectionError(f"the streaming query does not start: {first_line(str(failure))}") from failure

    def _offer(self, frame: DataFrame, number: int) -> None:
        """Called by Spark, in a thread of its own, perhaps before `start` has returned."""
        self._started.wait(START_SECONDS)
        query = self._query
        with self._changed:
            self._offered = None if query is None else MicroBatch(frame, str(query.id), number)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._offered is None or self._stopped)
            if query is None or self._offered is not None:
                # Spark must not note a batch that is not committed.
                raise RuntimeError("the rows are not committed: the engine stops")


def check_frame(event_type: EventType, frame: Any, what: str) -> None:
    """Refuse a frame that cannot be followed, or whose columns do not fit the stream."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        refuse_connect(what)
    if not isinstance(frame, DataFrame):
        found = f"{type(frame).__name__}, not a DataFrame"
        raise error("DATA_SHAPE", what=what, found=found, fix="give spark.readStream.format(…)…load()")
    if not frame.isStreaming:
        fix = "load it once, with Engine.load; or read it with spark.readStream"
        raise error("DATA_SHAPE", what=what, found="a DataFrame that is not streaming", fix=fix)
    time = event_type.event_time
    if time not in frame.columns:
        fix = f"rename the column with the time: frame.withColumnRenamed(…, '{time}')"
        found = f"no column '{time}', the event time of '{event_type.name}'; there are {', '.join(frame.columns)}"
        raise error("DATA_SHAPE", what=what, found=found, fix=fix)
    check_shape(event_type, frame)


def refuse_connect(what: str) -> None:
    fix = "give the engine a session of its own process"
    raise error(
        "UNSUPPORTED", what=what, where="over Spark Connect, whose micro-batches do not reach this process", fix=fix
    )


def declared_frame(spark: SparkSession, event_type: EventType, options: Mapping[str, str]) -> DataFrame:
    """The frame of a stream with `source = 'spark'`."""
    what = f"source = 'spark' of stream '{event_type.name}'"
    if is_remote(spark):
        refuse_connect(what)
    reader = spark.readStream.format(options["format"])
    for name, value in options.items():
        if name.startswith("option."):
            reader = reader.option(name.removeprefix("option."), value)
    if options["format"].lower() in WITH_SCHEMA:
        fields = ", ".join(f"`{a.name}` {to_spark(a.type).simpleString()}" for a in event_type.attributes)
        reader = reader.schema(fields)
    try:
        frame = reader.load(options["path"]) if "path" in options else reader.load()
    except Exception as failure:
        if not is_of_spark(failure):
            raise
        raise error("JOB_FAILED", what=f"{what}: {first_line(str(failure))}") from failure
    check_frame(event_type, frame, what)
    return frame
