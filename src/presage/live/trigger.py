"""The trigger of batches: a streaming query that calls the live job whenever the log has grown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from presage.errors import PresageError, error
from presage.execution.spark.streaming import Ticker
from presage.live.history_reader import HistoryReader
from presage.live.job import Job
from presage.logging import DEBUG, WARNING, tell
from presage.storage import Log

# How often it is checked whether Spark has ended the query; the pause after a restart that failed.
LOOK_SECONDS, TRY_AGAIN_SECONDS = 2.0, 5.0


class Trigger:
    """Starts with the first `ensure_running`. `start` starts a streaming query that calls a function after each tick,
    and may wait for the session."""

    def __init__(self, start: Callable[[Callable[[], None]], Ticker], log: Log, job: Job) -> None:
        self._start = start
        self._log = log
        self._job = job
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._ticked = -1  # the arrivals of the last tick
        self._following = False
        self._stopped = False
        self._wanted = False  # batches shall run, with or without a query
        self._check_at = 0.0  # when to check again whether there is one
        self._ended: Exception | None = None  # why there is none
        self._early = threading.Lock()  # held while batches run without a streaming query
        self._history = HistoryReader(self._history_read)

    def catch_up(self) -> None:
        """Run the batches of a backlog at once, without the session and its query, which take seconds to start.

        Statements that need the session are left to the query, as are failures, which it retries and reports.
        """
        if any(program.native for program in self._job.programs.values()):
            return
        with self._early:
            try:
                self._work()
            except (PresageError, OSError) as failure:
                tell(WARNING, "CATCH_UP_FAILED", "could not catch up at once: {why}", why=failure)

    def ensure_running(self) -> None:
        """Start the streaming query if it does not run, and let it run a batch."""
        with self._lock:
            if self._stopped:
                return
            if self._ticker is not None and not self._is_running(self._ticker):
                # Spark has ended the query, and may have restarted since.
                ended, self._ticker = self._ticker, None
                self._stop_query(ended)
            if self._ticker is None:
                self._ticker = self._start_query()
                self._wanted, self._ended = True, None
                if not self._following:
                    self._log.follow(self._arrived)
                    self._following = True
            self._ticker.tick()

    def ensure_running_unless_closed(self) -> None:
        """For a thread of its own: the engine may be closed before the session is up."""
        try:
            self.ensure_running()
        except PresageError as problem:
            if problem.code != "ENGINE_CLOSED":
                raise

    def wake(self) -> None:
        """If batches run at all: run one for deadlines of the wall clock; restart a query that Spark has ended."""
        if not self._wanted or self._stopped:
            return
        if self._job.overdue:
            self.ensure_running()
        elif time.monotonic() >= self._check_at:
            self._check_at = time.monotonic() + LOOK_SECONDS
            ticker = self._ticker
            if ticker is None or not self._is_running(ticker):
                self._restart()

    def _restart(self) -> None:
        if self._ended is None:
            tell(WARNING, "QUERY_ENDED", "Spark has ended the streaming query of the live job: it is restarted")
        try:
            self.ensure_running()
        except PresageError as failure:
            if str(failure) != str(self._ended):
                tell(WARNING, "BATCH_FAILED", "the live job cannot continue and will be retried: {why}", why=failure)
            self._ended = failure
            self._check_at = time.monotonic() + TRY_AGAIN_SECONDS

    def _is_running(self, ticker: Ticker) -> bool:
        try:
            return ticker.running
        except Exception:
            # The JVM has ended: Py4J raises many kinds of errors.
            return False

    def _stop_query(self, ticker: Ticker) -> None:
        try:
            ticker.stop()
        except Exception as failure:
            # The query has ended already, and perhaps its JVM.
            tell(DEBUG, "QUERY_ENDED", "the streaming query could not be stopped: {why}", why=failure)

    def _start_query(self) -> Ticker:
        try:
            return self._start(self._work)
        except PresageError:
            raise
        except Exception as failure:
            # For example, the user has stopped the session. A user needs no Py4J traceback.
            line = (str(failure).strip().splitlines() or [""])[0]
            why = f"no streaming query can be started ({type(failure).__name__}: {line})"
            raise error("LIVE_STOPPED", why=why) from failure

    def stop(self) -> None:
        """Run no more batches; a running batch that takes long is interrupted."""
        with self._lock:
            self._stopped = True
            ticker = self._ticker
        self._job.leave()
        with self._early:
            pass  # the batch that ran has ended
        self._history.close()
        if self._following:
            self._log.unfollow(self._arrived)
        if ticker is not None:
            self._stop_query(ticker)

    def trouble(self) -> str | None:
        """Why batches fail, if they do."""
        failure = self._ticker.failure if self._ticker is not None else self._ended
        return None if failure is None else str(failure)

    def _arrived(self) -> None:
        # Called after every record, the job's own included: only arrivals need a batch.
        arrivals = self._log.point.arrivals
        ticker = self._ticker
        if arrivals != self._ticked and ticker is not None:
            self._ticked = arrivals
            ticker.tick()

    def _history_read(self) -> None:
        if not self._stopped:
            self.ensure_running_unless_closed()

    def _work(self) -> None:
        while not self._stopped and self._job.advance(self._history):
            pass
