"""The composition of an engine: its parts, their wiring by constructors, and the order in which they start and stop.

The engine is the API over it; nothing here parses a text. Knowledge bases are a part like the log, so
this module names them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from presage.bounded_queries import BoundedQueries, check_chunk
from presage.columnar.evaluate import Fallback
from presage.errors import error
from presage.execute_statement import DeclaredTables, StatementExecutor
from presage.execution.placement import check_placement
from presage.execution.result import TableResult
from presage.execution.spark.session_handle import SessionHandle
from presage.live.deployments import DeploymentRegistry, restore_catalog
from presage.live.job import Job
from presage.live.maintenance_thread import MaintenanceThread
from presage.live.result_feed import ResultFeed
from presage.live.row_retention import RowRetention
from presage.live.statement_compiler import StatementCompiler
from presage.live.trigger import Trigger
from presage.live.warm_copy import WarmCopy
from presage.logging import ERROR, tell
from presage.model.catalog import EventType
from presage.model.paths import Roots
from presage.model.permissions import Permissions
from presage.operations.engine_report import EngineReport
from presage.operations.metrics_collector import MetricsCollector
from presage.operators.knowledge.library import Library
from presage.plan.nodes import Field
from presage.sinks import Sinks
from presage.sources import CHECKPOINTS, Sources
from presage.sources.sources import ON_SPARK
from presage.storage import Leader, Log, Standby
from presage.storage.home import HomeLayout, open_place
from presage.storage.home_lease import read_lease
from presage.storage.standby import leader_of
from presage.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from presage.execution.spark.kafka import KafkaTopic
    from presage.execution.spark.streamed_frame import StreamedFrame


@dataclass(frozen=True)
class Options:
    """See `Engine`."""

    roots: Sequence[str | os.PathLike[str]] | Roots | None
    permissions: Permissions
    storage_options: Mapping[str, str] | None
    standby: Standby | None
    address: str
    optimize: bool
    placement: str
    rows_in_memory: int
    rows_per_batch: int
    rows_on_driver: int
    seconds_per_batch: float
    state_bytes: int
    parallelism: int
    rows_per_chunk: int | None
    driven: bool
    metrics_file: str | os.PathLike[str] | None


class Assembly:
    """The parts of one engine. `lock`: held while a statement is executed."""

    def __init__(self, session: SessionHandle, home: str | os.PathLike[str] | None, options: Options) -> None:
        self.session = session
        self.lock = threading.RLock()
        self._closed = False
        self._permissions, self._options = options.permissions, options
        # Before the home is opened.
        check_placement(options.placement)
        check_chunk(options.rows_per_chunk)
        # On the driver shards would only cost.
        shards = options.parallelism if options.rows_per_batch > options.rows_on_driver else 1
        waiting = options.standby if home is not None else None
        if home is None or waiting is None:
            self.log = Log.open(home, options=options.storage_options)
            compiler, warm = self._new_compiler(self.log.home, options, shards), None
        else:
            layout = HomeLayout(*open_place(home, options.storage_options))
            compiler = self._new_compiler(layout, options, shards)
            warm = WarmCopy(layout, waiting, compiler, session.start, ON_SPARK)
            waiting.begun = warm.start
            try:
                self.log = Log.open(home, options=options.storage_options, standby=waiting)
            finally:
                warm.stop()
        self.workspace, roots = compiler.workspace, Roots.of(compiler.workspace.roots)
        self._stopping: threading.Thread | None = None  # after another process has taken over
        self.log.home.lease.tell(options.address)
        self.tables = DeclaredTables(self.workspace)
        self.bounded = BoundedQueries(
            self.log,
            self.workspace,
            self._started_session,
            self.tables.now,
            self.check_open,
            options.optimize,
            options.placement,
            options.rows_in_memory,
            options.rows_per_chunk,
        )
        try:
            job = self.new_job(self.log, warm)
            self.trigger = Trigger(self.log, job)
            feed = ResultFeed(job, self.log.archive)
            self.sinks = Sinks(self.log, self.workspace, feed, self.lock, self._write_kafka)
            self.deployments = DeploymentRegistry(
                self.log,
                job,
                compiler,
                self.tables.now,
                self._result,
                drive=self.trigger.ensure_running if options.driven else None,
                trouble=self.trigger.trouble,
                subscribe=self.sinks.subscribe,
            )
            replay = None if warm is None else warm.replay
            restore_catalog(self.log, self.workspace, self.deployments, self.tables.relations, replay)
        except BaseException:
            self.log.close()
            raise
        self.sinks.follow()
        self.sources = Sources(
            self.log,
            lambda: [*self.workspace.catalog.types.values()],
            self.workspace.resolve_folder,
            self.deployments.read_arrivals,
            2 * options.rows_per_batch,
            self._kafka_topic,
            self._declared_frame,
            session,
            roots,
            options.permissions,
        )
        connectors = self.sources, self.sinks
        self.executor = StatementExecutor(
            self.log, self.workspace, self.tables, self.bounded, self.deployments, *connectors, self.spark
        )
        retention = RowRetention(self.log, self.deployments, self.sinks.taken)
        self.maintenance = MaintenanceThread(
            self.log,
            lambda: retention.of_streams(self.workspace.catalog.types.values()),
            self.deployments.in_use,
            self.trigger.wake,
            self.sources.is_quiet,
            retention.apply,
        )
        collect = MetricsCollector(self.log, self.deployments, self.sources, self.sinks, self.trigger.trouble)
        self.report = EngineReport(self.log, collect, len(self.deployments), options.metrics_file)
        self._follow_lease()

    def _new_compiler(self, home: HomeLayout, options: Options, shards: int) -> StatementCompiler:
        base, store = Path.cwd(), home.store
        roots = Roots.of(options.roots, [base, *([home.path] if store.is_local else [])])
        library = Library(store, home.path / "knowledge")
        workspace = Workspace(
            roots, base, library=library, optimizing=options.optimize, permissions=options.permissions
        )
        return StatementCompiler(workspace, options.optimize, shards)

    def new_job(self, log: Log, warm: WarmCopy | None = None) -> Job:
        """A job of the log, without statements' programs."""
        options = self._options
        return Job(
            log,
            self.tables.now,
            lambda name: self.workspace.catalog.types[name],
            fallback=self._catalyst,
            histories=self.bounded.history,
            workers=self._run_on_executors,
            rows_per_batch=options.rows_per_batch,
            rows_on_driver=options.rows_on_driver,
            parallelism=options.parallelism,
            refreshed=self._knowledge_refreshed,
            seconds_per_batch=options.seconds_per_batch,
            state_bytes=options.state_bytes,
            states=None if warm is None else warm.states,
        )

    # -- life ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start sources, sinks and deployed statements."""
        self.sources.start()
        self.sinks.start()
        if self.deployments.running:
            self.trigger.ensure_running()

    def check_open(self) -> None:
        self.log.home.check_owner()
        if self._closed:
            raise error("ENGINE_CLOSED")
        self.log.check_open()

    @property
    def leader(self) -> Leader | None:
        """Who has the home: this process, or the one that has taken over."""
        home = self.log.home
        return leader_of(read_lease(home.store, home.path) if home.lease.lost else home.lease.state)

    def _follow_lease(self) -> None:
        weak = weakref.ref(self)  # the lease's thread does not keep an engine alive that nobody closed

        def lost() -> None:
            parts = weak()
            if parts is not None:
                parts._overtaken()

        self.log.home.lease.follow(lost)

    def _overtaken(self) -> None:
        """Another process has taken over: stop what runs. The home is left at `close`."""
        if not self._closed:
            tell(ERROR, "OVERTAKEN", "another process has taken over the home '{home}'", home=self.log.home.address)
            # The caller may be one of the threads that are to end.
            self._stopping = threading.Thread(target=self._stop_parts, name="presage-overtaken", daemon=True)
            self._stopping.start()

    def _stop_parts(self, *more: Callable[[], None]) -> None:
        """Stop all parts, even if one fails, in the reverse of this order, after `more`."""
        steps = (*more, self.deployments.close, self.sinks.close, self.trigger.stop)
        with ExitStack() as closing:
            for step in (*steps, self.report.stop, self.sources.close, self.maintenance.stop):
                closing.callback(step)

    def close(self) -> None:
        """Stop all parts and release the home, even if one fails; the failure is raised. No effect in a fork."""
        if not self.log.home.is_own:
            return
        with self.lock:
            if self._closed:
                return
            self._closed = True
        if self._stopping is not None:
            self._stopping.join()
        self.deployments.job.leave()
        # Without the lock: a running batch may need the session.
        self._stop_parts(self._close_home)

    def _close_home(self) -> None:
        with self.lock:
            try:
                self.log.close()
            finally:
                self.session.leave()

    # -- the session ---------------------------------------------------------------------------------

    def spark(self) -> SparkSession:
        """The session; the engine's own is started by the first call that needs it."""
        self.check_open()
        # Without the lock: other calls do not wait while Spark is starting.
        return self.session.get()

    def _started_session(self) -> SparkSession:
        """Without the session's lock if it has started: the holder of the lock may wait for the calling batch."""
        return self.session.now or self.spark()

    def _run_on_executors(self, function: Callable[[Any], Any], arguments: Sequence[Any]) -> list[Any]:
        from presage.execution.spark.executor_tasks import run_on_executors

        return run_on_executors(self._started_session(), function, arguments)

    def _catalyst(self) -> Fallback:
        from presage.execution.spark.catalyst_fallback import catalyst

        return catalyst(self._started_session(), self.tables.now())

    def _write_kafka(self, rows: pa.Table, options: Mapping[str, str]) -> None:
        from presage.execution.spark.kafka import write_kafka

        write_kafka(self.session.get(), rows, options)

    def _kafka_topic(self, event_type: EventType) -> KafkaTopic:
        from presage.execution.spark.kafka import KafkaTopic

        return KafkaTopic(self.session.get, event_type, self._permissions, self.workspace.resolve_folder)

    def _declared_frame(self, event_type: EventType) -> StreamedFrame:
        """The frame of a stream with `source = 'spark'`."""
        from presage.execution.spark.streamed_frame import StreamedFrame, declared_frame

        options = event_type.options
        grant = self._permissions.of(f"stream '{event_type.name}'")
        resolved = {name: grant.resolve(value) for name, value in options.items()}
        if "path" in resolved:
            resolved["path"] = str(self.workspace.resolve_folder(resolved["path"]))
        frame = declared_frame(self.session.get(), event_type, resolved)
        return StreamedFrame(frame, self._checkpoint(event_type, resolved.get("checkpoint")))

    def follow(self, event_type: EventType, frame: DataFrame, checkpoint: str | os.PathLike[str] | None) -> None:
        """Append what a streaming DataFrame of a program delivers."""
        from presage.execution.spark.streamed_frame import StreamedFrame, check_frame

        check_frame(event_type, frame, f"follow('{event_type.name}')")
        if event_type.probabilistic is not None:
            fix = "follow readings, and infer the stream from them"
            raise error("UNSUPPORTED", what="follow", where="for a probabilistic stream", fix=fix)
        place = self._checkpoint(event_type, None if checkpoint is None else os.fspath(checkpoint))
        self.sources.attach(event_type, partial(StreamedFrame, frame, place))

    def _checkpoint(self, event_type: EventType, given: str | None) -> str:
        """The folder in which Spark notes how far it has read for a stream: in the home, unless one is given."""
        if given is not None:
            return given
        home = self.log.home
        if not home.store.is_local:
            owner, fix = f"stream '{event_type.name}' in a bucket", "name a folder that the driver and executors share"
            raise error("MISSING_OPTION", owner=owner, name="checkpoint", fix=fix)
        return str(home.folder / CHECKPOINTS / f"{self.log.deliveries.generation(event_type.name):014d}")

    def _result(self, columns: tuple[Field, ...], table: pa.Table, remarks: tuple[str, ...]) -> TableResult:
        return TableResult(columns, table, self.spark).noted(remarks)

    def _knowledge_refreshed(self) -> int:
        """Wall time of the last change of a knowledge base."""
        return max((base.since for base in self.workspace.catalog.knowledge.values()), default=0)
