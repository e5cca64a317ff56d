"""Tickers: a Structured Streaming query, or a thread, that calls a function on the driver in each micro-batch.

The query's source carries numbers only, which it reads from a small file. The function itself reads the log, so
statements are deployed and stopped without a restart, and the query has no state.

Over Spark Connect such a query would call its function on the server, which does not have the log open. There a thread
of this process calls it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from presage.errors import error
from presage.execution.spark.positions import SOURCE, register
from presage.execution.spark.session import is_remote
from presage.logging import WARNING, tell

RETRY_SECONDS = 1.0  # the pause after a batch that failed
ATTEMPTS = 3  # to run a bounded query to its end


class Ticker(Protocol):
    """Calls `work` after each `tick`, or once for several. An exception of `work` is its `failure`, and retried."""

    @property
    def failure(self) -> Exception | None: ...

    def tick(self) -> None:
        """Request a call. Cheap, from any thread."""

    def stop(self) -> None:
        """Wait for the running batch; none follows."""

    @property
    def running(self) -> bool: ...


def start_ticker(spark: SparkSession, work: Callable[[], None]) -> Ticker:
    """A streaming query where the session runs functions in this process, else a thread."""
    return ThreadTicker(work) if is_remote(spark) else QueryTicker(spark, work)


class _Retrying:
    """Calls `work`, and `tick` a second later if it fails."""

    def __init__(self, work: Callable[[], None], tick: Callable[[], None]) -> None:
        self._work = work
        self._tick = tick
        self.failure: Exception | None = None

    def __call__(self) -> None:
        try:
            self._work()
            self.failure = None
        except Exception as failure:
            # For example a full disk: nothing is lost, and the query must not end.
            if str(failure) != str(self.failure):
                tell(WARNING, "BATCH_FAILED", "a batch of the live job failed and will be retried: {why}", why=failure)
            self.failure = failure
            again = threading.Timer(RETRY_SECONDS, self._tick)
            again.daemon = True
            again.start()


class ThreadTicker:
    """A thread of this process; a batch may still use Spark's workers."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = _Retrying(work, self.tick)
        self._news = threading.Event()
        self._stopped = False
        self.tick()
        self._thread = threading.Thread(target=self._run, name="presage-batches", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> Exception | None:
        return self._work.failure

    def tick(self) -> None:
        self._news.set()

    def stop(self) -> None:
        self._stopped = True
        self._news.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        while True:
            self._news.wait()
            # Before the work: a tick during it causes another call.
            self._news.clear()
            if self._stopped:
                return
            self._work()


class QueryTicker:
    """A micro-batch of a streaming query for each call."""

    def __init__(self, spark: SparkSession, work: Callable[[], None]) -> None:
        self._work = _Retrying(work, self.tick)
        self._lock = threading.Lock()
        self._busy = threading.RLock()  # held while a batch runs
        self._ended = False
        self._number = 0
        # Temporary: progress is in the journal, never in Spark's checkpoint.
        self._folder = Path(tempfile.mkdtemp(prefix="presage-ticks-"))
        self._file = self._folder / "number"
        self.tick()
        self._query = start_positions(spark, self._folder, self._batch, each=False)

    @property
    def failure(self) -> Exception | None:
        return self._work.failure

    def tick(self) -> None:
        with self._lock:
            if self._folder.exists():
                self._number += 1
                write_number(self._file, self._number)

    def stop(self) -> None:
        self._ended = True
        # Stopping a query interrupts its thread, and the jobs that a batch has started there.
        with self._busy:
            pass
        self._query.stop()
        with self._lock:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def running(self) -> bool:
        return bool(self._query.isActive)

    def _batch(self, number: int) -> None:
        with self._busy:
            if not self._ended:
                self._work()


def start_positions(spark: SparkSession, folder: Path, work: Callable[[int], None], each: bool) -> StreamingQuery:
    """A query over the numbers in the folder's file `number`; `work` gets the last number of each micro-batch."""
    register(spark)
    numbers = spark.readStream.format(SOURCE).option("file", str(folder / "number"))
    frame = numbers.option("each", "true" if each else "false").load()
    done = 0

    def batch(frame: DataFrame, batch_id: int) -> None:
        nonlocal done
        done = done + 1 if each else batch_id
        work(done)

    writer = frame.writeStream.foreachBatch(batch).option("checkpointLocation", str(folder / "checkpoint"))
    return writer.start()


def run_each(spark: SparkSession, count: int, work: Callable[[int], None]) -> None:
    """Call `work` with 1, 2, … count, each in a micro-batch of its own, and wait for the last.

    A query that Spark ends, for example because a worker did not start in time, is restarted where it was.
    """
    if is_remote(spark):
        for number in range(1, count + 1):
            work(number)
        return
    done, failures = 0, list[Exception]()
    finished = threading.Event()

    def step(number: int) -> None:
        nonlocal done
        if finished.is_set() or number <= done:
            return
        try:
            work(number)
        except Exception as failure:
            failures.append(failure)
            finished.set()
        done = number
        if number >= count:
            finished.set()

    why: Exception | None = None
    for _ in range(ATTEMPTS):
        why = _run_until(spark, count, step, finished)
        if failures:
            raise failures[0]
        if finished.is_set():
            return
    reason = str(why).splitlines()[0] if str(why).strip() else "it gave no reason"
    raise error("JOB_FAILED", what=f"its streaming query ended early, {ATTEMPTS} times ({reason})") from why


def _run_until(
    spark: SparkSession, count: int, step: Callable[[int], None], finished: threading.Event
) -> Exception | None:
    """Run a query over 1, 2, … count until it is finished or ends; its exception."""
    with tempfile.TemporaryDirectory(prefix="presage-ticks-") as name:
        write_number(Path(name) / "number", count)
        query = start_positions(spark, Path(name), step, each=True)
        try:
            while not finished.wait(0.1):
                if not query.isActive:
                    break
        finally:
            query.stop()
        return query.exception()


def write_number(path: Path, number: int) -> None:
    """Replace the file atomically: its reader is another process."""
    temporary = path.with_name("number.new")
    temporary.write_text(str(number))
    os.replace(temporary, path)
