"""A Structured Streaming query that calls a function on the driver in each micro-batch.

The query carries numbers only; the function itself reads the log. Over Spark Connect such a query would call its
function on the server, which does not have the log open: there this process calls it.
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from presage.errors import error
from presage.execution.spark.positions import SOURCE, register
from presage.execution.spark.session import is_remote

ATTEMPTS = 3  # to run a bounded query to its end


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


def start_numbers(spark: SparkSession, count: int, step: Callable[[int], None], checkpoint: str) -> StreamingQuery:
    """A query that calls `step` with 1, 2, … count, each in a micro-batch of its own."""
    register(spark)
    numbers = spark.readStream.format(SOURCE).option("count", str(count)).load()
    writer = numbers.writeStream.foreachBatch(lambda frame, number: step(number + 1))
    return writer.option("checkpointLocation", checkpoint).start()


def _run_until(
    spark: SparkSession, count: int, step: Callable[[int], None], finished: threading.Event
) -> Exception | None:
    """Run a query over 1, 2, … count until it is finished or ends; its exception."""
    with tempfile.TemporaryDirectory(prefix="presage-steps-") as folder:
        query = start_numbers(spark, count, step, folder)
        try:
            while not finished.wait(0.1):
                if not query.isActive:
                    break
        finally:
            query.stop()
        return query.exception()
