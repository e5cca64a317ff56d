"""The session handle of an engine: a user's own session, one that runs already, or one started on first use."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from presage.errors import error
from presage.execution.spark.session import leave_session, start_session, use_session, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SessionHandle:
    """`now` is the session if there is one already; reading it does not wait."""

    def __init__(self, spark: SparkSession | None, settings: Mapping[str, str] | None) -> None:
        self.now = spark
        self._name: str | None = None  # for `leave_session`, if an engine has started the session
        self._settings = dict(settings or {})
        self._starting: Future[SparkSession] | None = None
        self._left = False
        self._lock = threading.RLock()

    def get(self) -> SparkSession:
        """The session; the engine's own is started by the first call."""
        with self._lock:
            if self._left:
                raise error("ENGINE_CLOSED")
            if self.now is None and self._starting is None:
                self._use_running()
            if self.now is not None:
                return self.now
            starting = self._started()
        # Without the lock: every waiting thread shows the notice.
        started = wait_for(starting)
        with self._lock:
            if self._left:
                raise error("ENGINE_CLOSED")
            if self.now is None:
                self.now, self._name = started, use_session(started, ours=True)
            return self.now

    def start(self) -> None:
        """Start it in the background."""
        with self._lock:
            if self.now is None and self._starting is None:
                self._use_running()
            if self.now is None:
                self._started()

    def _use_running(self) -> None:
        """Use the session that runs already; the engine does not stop it."""
        self.now = _running_session()
        if self.now is not None:
            self._name = use_session(self.now)

    def leave(self) -> None:
        """Release it; the last engine stops a session that an engine has started."""
        with self._lock:
            self._left = True
            # Wait for a session that is still starting: it would outlive the engine.
            if self.now is None and self._starting is not None and self._starting.exception() is None:
                self.now = self._starting.result()
                self._name = use_session(self.now, ours=True)
            if self.now is not None and self._name is not None:
                leave_session(self.now, self._name)

    def _started(self) -> Future[SparkSession]:
        if self._starting is None:
            self._starting = start_session(self._settings)
        return self._starting


def _running_session() -> SparkSession | None:
    if "pyspark.sql" not in sys.modules:
        return None
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        # Not `getActiveSession`: the first statement to need it may run in a thread that Spark does not know.
        return SparkSession.active()
    except PySparkRuntimeError:
        return None
