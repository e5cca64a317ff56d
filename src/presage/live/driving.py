"""Arrivals in, batches out: a streaming query calls the live job whenever the log has grown."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from presage.live.job import Job
from presage.log import Log
from presage.spark.streaming import Ticker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Driver:
    """Begins with the first `go`, which may have to wait for the session."""

    def __init__(self, spark: Callable[[], SparkSession], log: Log, job: Job) -> None:
        self._spark = spark
        self._log = log
        self._job = job
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._told = -1
        self._stopped = False

    def go(self) -> None:
        """See to it that batches run from now on."""
        spark = self._spark()
        with self._lock:
            if self._stopped:
                return
            if self._ticker is None:
                self._ticker = Ticker(spark, self._work)
                self._log.follow(self._arrived)
            elif not self._ticker.running:
                # Spark has ended the query, and perhaps begun again since: so do we.
                self._ticker.stop()
                self._ticker = Ticker(spark, self._work)
            self._ticker.tick()

    def stop(self) -> None:
        """Wait for the batch that runs; none will follow."""
        with self._lock:
            self._stopped = True
            ticker = self._ticker
        if ticker is not None:
            self._log.unfollow(self._arrived)
            ticker.stop()

    def trouble(self) -> str | None:
        """Why batches fail, if they do."""
        failure = self._ticker.failure if self._ticker is not None else None
        return None if failure is None else str(failure)

    def _arrived(self) -> None:
        # Called after every record, the job's own included: only arrivals are news.
        arrivals = self._log.point.arrivals
        ticker = self._ticker
        if arrivals != self._told and ticker is not None:
            self._told = arrivals
            ticker.tick()

    def _work(self) -> None:
        while not self._stopped and self._job.advance():
            pass
