"""Arrivals in, batches out: a streaming query calls the live job whenever the log has grown."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from presage.errors import PresageError, error
from presage.live.job import Job
from presage.live.reading import Reader
from presage.log import Log
from presage.logging import DEBUG, WARNING, tell
from presage.spark.streaming import Ticker

# How often it is looked whether Spark has ended the query; how long one that could not be begun again is left alone.
LOOK_SECONDS, TRY_AGAIN_SECONDS = 2.0, 5.0


class Driver:
    """Begins with the first `go`. `start` begins a streaming query that calls a function after each tick; it may have
    to wait for the session."""

    def __init__(self, start: Callable[[Callable[[], None]], Ticker], log: Log, job: Job) -> None:
        self._start = start
        self._log = log
        self._job = job
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._told = -1
        self._following = False
        self._stopped = False
        self._wanted = False  # batches shall run, though there may be no query
        self._look_at = 0.0  # when it is looked again whether there is one
        self._ended: Exception | None = None  # why there is none
        self._early = threading.Lock()  # held while batches run without a streaming query
        job.reader = Reader(self._has_read)

    def catch_up(self) -> None:
        """Work off at once what has piled up: a session and its first streaming query take seconds to start.

        Leaves to the query what needs the session, and what goes wrong: it tries again, and tells.
        """
        if any(program.native for program in self._job.programs.values()):
            return
        with self._early:
            try:
                self._work()
            except (PresageError, OSError) as failure:
                tell(WARNING, "CATCH_UP_FAILED", "could not catch up at once: {why}", why=failure)

    def go(self) -> None:
        """See to it that batches run from now on."""
        with self._lock:
            if self._stopped:
                return
            if self._ticker is not None and not self._is_running(self._ticker):
                # Spark has ended the query, and perhaps begun again since: so do we.
                ended, self._ticker = self._ticker, None
                self._let_go(ended)
            if self._ticker is None:
                self._ticker = self._started()
                self._wanted, self._ended = True, None
                if not self._following:
                    self._log.follow(self._arrived)
                    self._following = True
            self._ticker.tick()

    def go_unless_closed(self) -> None:
        """For a thread of its own: the engine may be closed before the session is up."""
        try:
            self.go()
        except PresageError as problem:
            if problem.code != "ENGINE_CLOSED":
                raise

    def wake(self) -> None:
        """If batches run at all: one for what the wall clock alone has made to do. A query that Spark has ended, which
        tells nobody, is begun again."""
        if not self._wanted or self._stopped:
            return
        if self._job.overdue:
            self.go()
        elif time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_SECONDS
            ticker = self._ticker
            if ticker is None or not self._is_running(ticker):
                self._begin_again()

    def _begin_again(self) -> None:
        if self._ended is None:
            tell(WARNING, "QUERY_ENDED", "Spark has ended the streaming query that calls the live job: it begins again")
        try:
            self.go()
        except PresageError as failure:
            if str(failure) != str(self._ended):
                tell(WARNING, "BATCH_FAILED", "the live job cannot go on and will be tried again: {why}", why=failure)
            self._ended = failure
            self._look_at = time.monotonic() + TRY_AGAIN_SECONDS

    def _is_running(self, ticker: Ticker) -> bool:
        try:
            return ticker.running
        except Exception:
            # Spark's side of it is gone: whatever Py4J makes of that.
            return False

    def _let_go(self, ticker: Ticker) -> None:
        try:
            ticker.stop()
        except Exception as failure:
            # It has ended already, and its JVM may have, too.
            tell(DEBUG, "QUERY_ENDED", "the streaming query could not be stopped: {why}", why=failure)

    def _started(self) -> Ticker:
        try:
            return self._start(self._work)
        except PresageError:
            raise
        except Exception as failure:
            # A session that somebody has stopped, say. What Spark makes of that is no answer for a user.
            said = (str(failure).strip().splitlines() or [""])[0]
            why = f"no streaming query can be started ({type(failure).__name__}: {said})"
            raise error("LIVE_STOPPED", why=why) from failure

    def stop(self) -> None:
        """No batch will follow; the one that runs has a moment to end."""
        with self._lock:
            self._stopped = True
            ticker = self._ticker
        self._job.leave()
        with self._early:
            pass  # the batch that ran has ended
        if self._job.reader is not None:
            self._job.reader.close()
        if self._following:
            self._log.unfollow(self._arrived)
        if ticker is not None:
            self._let_go(ticker)

    def trouble(self) -> str | None:
        """Why batches fail, if they do."""
        failure = self._ticker.failure if self._ticker is not None else self._ended
        return None if failure is None else str(failure)

    def _arrived(self) -> None:
        # Called after every record, the job's own included: only arrivals are news.
        arrivals = self._log.point.arrivals
        ticker = self._ticker
        if arrivals != self._told and ticker is not None:
            self._told = arrivals
            ticker.tick()

    def _has_read(self) -> None:
        if not self._stopped:
            self.go_unless_closed()

    def _work(self) -> None:
        while not self._stopped and self._job.advance(wait=False):
            pass
