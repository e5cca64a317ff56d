"""Local Spark sessions of engines: their settings, their start, and how many engines use each."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING, TypeVar

from presage.errors import error
from presage.execution.spark.jvm import launch, launch_now_if_wanted, launched, prepare_environment
from presage.logging import INFO, tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUIET_SECONDS = 1.0
NOTICE = "starting Spark: the first query that needs it waits a few seconds"

T = TypeVar("T")

# Settings without a comment are defaults that were measured with PySpark 4.3.
PROFILE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Nothing listens on the network.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    # Plans are small; re-planning between stages costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.python.worker.reuse": "true",
    "spark.log.level": "ERROR",
    "spark.sql.artifact.isolation.enabled": "false",
    # Spark's default forks a process for every file of a checkpoint. The checkpoint is that of one run of one engine.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.metricsEnabled": "false",
}


# Settings that take effect only if PySpark starts the JVM itself.
OF_THE_JVM = ("spark.driver.", "spark.jars", "spark.submit.")


def is_remote(session: SparkSession) -> bool:
    """Whether it is a session of Spark Connect. By the module's name: the client may not be installed."""
    return type(session).__module__.startswith("pyspark.sql.connect")


# By application: how many engines use a session that an engine has started.
_users: dict[str, int] = {}
_users_lock = threading.Lock()


def use_session(session: SparkSession, ours: bool = False) -> str | None:
    """Count one more engine for a session; the name for `leave_session`. None: no engine started it, none stops it."""
    with _users_lock:
        name = str(session.conf.get("spark.app.id"))
        if not ours and name not in _users:
            return None
        _users[name] = _users.get(name, 0) + 1
        return name


def leave_session(session: SparkSession, name: str) -> None:
    """Count one engine less for a session; the last one stops it."""
    with _users_lock:
        _users[name] -= 1
        last = _users[name] == 0
        if last:
            del _users[name]
    if last:
        session.stop()


def start_session(settings: dict[str, str]) -> Future[SparkSession]:
    """A local session that starts in the background; the future holds its error."""
    started: Future[SparkSession] = Future()

    def start() -> None:
        try:
            started.set_result(own_session(settings))
        except BaseException as failure:
            started.set_exception(failure)

    # A daemon: an interrupted program does not wait for the session.
    threading.Thread(target=start, name="presage-session", daemon=True).start()
    return started


def own_session(settings: dict[str, str] | None = None) -> SparkSession:
    """A local session with the profile; `settings` override it."""
    if os.environ.get("SPARK_REMOTE"):
        fix = "pass the session: Engine(spark=SparkSession.builder.getOrCreate()), or unset the variable"
        what, where = "a local session of the engine's own", "while SPARK_REMOTE is set"
        raise error("UNSUPPORTED", what=what, where=where, fix=fix)
    from pyspark.sql import SparkSession

    jvm = launched() or launch_now_if_wanted()
    if jvm is None and in_notebook() and not any(name.startswith(OF_THE_JVM) for name in settings or {}):
        # Quiet: the JVM's messages at its start would fill the first cell.
        jvm = launch(quiet=True)
    if jvm is None:
        prepare_environment()
    else:
        jvm.connect()
    builder = SparkSession.builder.master("local[*]").appName("presage")
    for name, value in {**PROFILE, **(settings or {})}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if jvm is not None:
        jvm.connected()
    return session


def wait_for(starting: Future[T]) -> T:
    """The result of a start. If it takes long, the notice is logged, and shown on stderr in a terminal or notebook."""
    try:
        return starting.result(QUIET_SECONDS)
    except NotYet:
        if starting.done():
            raise  # the start itself timed out
    tell(INFO, "SPARK_STARTING", NOTICE)
    # Only for the main thread: no user waits for the others.
    if threading.current_thread() is threading.main_thread() and (in_notebook() or _is_terminal()):
        sys.stderr.write(f"presage: {NOTICE} …\n")
        sys.stderr.flush()
    return starting.result()


def in_notebook() -> bool:
    """Whether this process runs the cells of a notebook, or of an IPython shell."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def _is_terminal() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()
