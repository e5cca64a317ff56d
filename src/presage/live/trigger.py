"""The trigger of batches: a thread that runs the live job whenever the log has grown.

It needs no Spark session: a batch asks for one if it has work for executors.
"""

from __future__ import annotations

import threading

from presage.live.history_reader import HistoryReader
from presage.live.job import Job
from presage.logging import WARNING, tell
from presage.storage import Log

RETRY_SECONDS = 1.0  # the pause after a batch that failed


class Trigger:
    """Starts with the first `ensure_running`. A batch that fails, on a full disk for example, is told and retried."""

    def __init__(self, log: Log, job: Job) -> None:
        self._log = log
        self._job = job
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._arrivals = -1  # of the last wake-up
        self._failure: Exception | None = None
        self._history = HistoryReader(self._news.set)

    def ensure_running(self) -> None:
        """Run a batch soon."""
        with self._lock:
            if self._stopped:
                return
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="presage-batches", daemon=True)
                self._thread.start()
                self._log.follow(self._arrived)
        self._news.set()

    def wake(self) -> None:
        """If batches run at all: run one for deadlines of the wall clock."""
        if self._thread is not None and self._job.overdue:
            self._news.set()

    def stop(self) -> None:
        """Run no more batches; a running batch that takes long is interrupted."""
        with self._lock:
            following, self._stopped = self._thread is not None and not self._stopped, True
        if following:
            self._log.unfollow(self._arrived)
        self._job.leave()
        self._news.set()
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        self._history.close()

    def trouble(self) -> str | None:
        """Why batches fail, if they do."""
        return None if self._failure is None else str(self._failure)

    def _arrived(self) -> None:
        # Called after every record, the job's own included: only arrivals need a batch.
        arrivals = self._log.point.arrivals
        if arrivals != self._arrivals:
            self._arrivals = arrivals
            self._news.set()

    def _run(self) -> None:
        while True:
            self._news.wait(None if self._failure is None else RETRY_SECONDS)
            # Before the batches: what arrives during them causes another round.
            self._news.clear()
            if self._stopped:
                return
            self._failure = self._round()

    def _round(self) -> Exception | None:
        """Run batches until there is nothing to do; the failure that ended it."""
        try:
            while not self._stopped and self._job.advance(self._history):
                pass
        except Exception as failure:
            if str(failure) != str(self._failure):
                tell(WARNING, "BATCH_FAILED", "a batch of the live job failed and will be retried: {why}", why=failure)
            return failure
        return None
