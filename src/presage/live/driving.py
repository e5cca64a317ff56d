"""Arrivals in, batches out: a streaming query calls the live job whenever the log has grown."""

from __future__ import annotations

import threading
from collections.abc import Callable

from presage.errors import PresageError, error
from presage.live.job import Job
from presage.log import Log
from presage.logging import WARNING, tell
from presage.spark.streaming import Ticker


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
        self._early = threading.Lock()  # held while batches run without a streaming query

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
            if self._ticker is not None and not self._ticker.running:
                # Spark has ended the query, and perhaps begun again since: so do we.
                self._ticker.stop()
                self._ticker = None
            if self._ticker is None:
                self._ticker = self._started()
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
        """If batches run at all: one for what the wall clock alone has made to do."""
        if self._ticker is not None and self._job.overdue:
            self.go()

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
        """Wait for the batch that runs; none will follow."""
        with self._lock:
            self._stopped = True
            ticker = self._ticker
        with self._early:
            pass  # the batch that runs has ended
        if self._following:
            self._log.unfollow(self._arrived)
        if ticker is not None:
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
