"""The engine: the API of a home. Its parts are composed in `presage.assembly`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from presage.assembly import Assembly, Options
from presage.declarations.options import check_duration
from presage.errors import QueryWarning, error, located
from presage.execution.result import Result
from presage.execution.spark.session_handle import SessionHandle
from presage.lang import syntax as s
from presage.live.deployment import Deployment
from presage.live.job import ROWS_ON_DRIVER, ROWS_PER_BATCH
from presage.live.replay import check_mode
from presage.live.runner import STATE_BYTES
from presage.live.step_thread import SECONDS_PER_BATCH
from presage.model.catalog import Catalog
from presage.model.paths import Roots
from presage.model.permissions import Permissions
from presage.model.time import parse_timestamp, to_micros
from presage.operations.browse import Browse
from presage.operations.metrics import Metrics
from presage.select.warnings import tell_warnings, warnings_in, warnings_of
from presage.sinks import Sinks
from presage.sources import SourceStatus
from presage.storage import (
    Gap,
    Leader,
    LoadReport,
    MaintenanceReport,
    SourceOffsets,
    Standby,
    attributes_with_offsets,
    max_ahead,
)
from presage.storage.files import read_files
from presage.storage.text_csv import read_nulls

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from presage.operations.repair import Repair
    from presage.storage.home_repair import Repaired

# Rows that one partition may hold in a worker's memory before Spark sorts it on disk instead.
ROWS_IN_MEMORY = 20_000_000


class Engine:
    """Declares, loads, queries and deploys. A context manager; closing it stops the session that it started itself.

    `spark`: your own session (its settings are not changed), else a local one is started when it is needed.
    `home`: the folder of the archive and the catalog, or its address in a bucket; without it a temporary one is used
    and removed at the end. `storage_options`: of the bucket; secrets as `env:NAME`.
    `standby`: if another process has the home, wait until it ends, and take over; a `Standby` tells who leads, and
    ends the waiting. `address`: where clients reach this process, for those who ask a standby.
    `roots`: the only folders that statements and loads may read files from; by default all that the user of this
    process may read. Set it where others write statements.
    `allow_env`: variables of the environment that options may name as `env:NAME`; none by default.
    `allow_hosts`: hosts that sources and sinks may connect to; by default all but this machine and its link.
    `allow_formats`: formats of Spark that sources may read with, besides files and generated rows.
    `placement`: where bounded queries run: 'local' in this process, 'spark', or 'auto', by their size.
    `seconds_per_batch`, `state_bytes`: limits of one deployed statement, for a batch and its state, before it fails.
    `parallelism`: the number of tasks of a large batch of deployed statements; by default one for each core.
    `live`: sources, sinks and deployed statements of the home start at once; False: when they are started.
    `driven`: deployed statements run by themselves; False: only in `drain`, without a session.
    `metrics_file`: a file with the values of `metrics`, in Prometheus' format, written every five seconds.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        home: str | os.PathLike[str] | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        standby: bool | Standby = False,
        address: str = "",
        roots: Sequence[str | os.PathLike[str]] | Roots | None = None,
        allow_env: Sequence[str] = (),
        allow_hosts: Sequence[str] | None = None,
        allow_formats: Sequence[str] = (),
        settings: Mapping[str, str] | None = None,
        optimize: bool = True,
        placement: str = "auto",
        rows_in_memory: int = ROWS_IN_MEMORY,
        rows_per_batch: int = ROWS_PER_BATCH,
        rows_on_driver: int = ROWS_ON_DRIVER,
        seconds_per_batch: float = SECONDS_PER_BATCH,
        state_bytes: int = STATE_BYTES,
        parallelism: int = os.cpu_count() or 1,
        rows_per_chunk: int | None = None,
        live: bool = True,
        driven: bool = True,
        metrics_file: str | os.PathLike[str] | None = None,
    ) -> None:
        options = Options(
            roots=roots,
            permissions=Permissions(allow_env, allow_hosts, formats=allow_formats),
            storage_options=storage_options,
            standby=Standby() if standby is True else standby or None,
            address=address,
            optimize=optimize,
            placement=placement,
            rows_in_memory=rows_in_memory,
            rows_per_batch=rows_per_batch,
            rows_on_driver=rows_on_driver,
            seconds_per_batch=seconds_per_batch,
            state_bytes=state_bytes,
            parallelism=parallelism,
            rows_per_chunk=rows_per_chunk,
            driven=driven,
            metrics_file=metrics_file,
        )
        self._parts = Assembly(SessionHandle(spark, settings), home, options)
        self._log, self._workspace = self._parts.log, self._parts.workspace
        self._deployments, self._bounded = self._parts.deployments, self._parts.bounded
        # By these names checks against peers step queries by themselves.
        self._tables, self._history = self._parts.tables.now, self._bounded.history
        if live:
            self._parts.start()

    # -- public --------------------------------------------------------------------------------------

    @property
    def spark(self) -> SparkSession:
        """The Spark session; the engine's own is started by the first call that needs it."""
        return self._parts.spark()

    def start(self) -> None:
        """Start the session in the background; declaring and loading do not wait for it."""
        self._parts.session.start()

    @property
    def home(self) -> Path | str:
        """The home's folder, or its address in an object store."""
        home = self._log.home
        return home.folder if home.store.is_local else home.address

    @property
    def leader(self) -> Leader | None:
        """The process that has the home: this one, unless another has taken over (HOME_OVERTAKEN)."""
        return self._parts.leader

    def when_overtaken(self, function: Callable[[], None]) -> None:
        """Call a function once if another process takes over the home; it must not block. This engine stops then: every
        call but `close` raises HOME_OVERTAKEN."""
        self._log.home.lease.follow(function)

    @property
    def catalog(self) -> Catalog:
        return self._workspace.catalog

    def execute(self, text: str, name: str = "query") -> Result | None:
        """Execute every statement in turn; the result of the last one that has rows, or None."""
        result = None
        for outcome in self.run(text, name):
            result = outcome if outcome is not None else result
        return result

    def run(self, text: str, name: str = "query") -> list[Result | None]:
        """Execute every statement in turn: a result for each one, None if it has no rows."""
        script = self._workspace.parse(text, name)
        return [self.carry_out(statement, script) for statement in script.statements]

    def query(self, text: str, *, mode: str = "batch", batches: int | None = None, name: str = "query") -> Result:
        """The rows of a query over the loaded events; statements before the last one are executed first."""
        check_mode(mode, batches)
        script = self._workspace.parse(text, name)
        if not script.statements:
            found, fix = "the end of the text", "write a SELECT"
            raise error("SYNTAX", None, script.source, found=found, expected="a query", fix=fix)
        *before, last = script.statements
        for statement in before:
            self.carry_out(statement, script)
        if mode == "stream" and isinstance(last, s.Query):
            if last.insert_into is not None:
                self.carry_out(last, script)
            with located(script.source):
                return self._bounded.replay(last, script.source, batches)
        outcome = self.carry_out(last, script)
        if isinstance(last, s.Query) and last.insert_into is not None:
            return self._bounded.answer(last, script.source)
        if outcome is None:
            found, fix = "a statement without rows", "use execute for declarations"
            raise error("SYNTAX", last.span, script.source, found=found, expected="a query", fix=fix)
        return outcome

    def deploy(
        self, text: str, name: str | None = None, *, replace: bool = False, retention: str | None = None
    ) -> Deployment:
        """Deploy the last query of the text: it reads every event that arrives, until it is stopped.

        Deploying the same text under the same name again gives the deployed statement; `replace` stops it and deploys
        a new one. Statements before the last one are executed first. `retention`: how long rows are kept, for example
        '30 days'; by default for ever, or as set before.
        """
        keep_for = None if retention is None else check_duration(retention, None)
        script, query = self._query_of(text, name or "query", "deploy a SELECT")
        with self._parts.lock, located(script.source):
            return self._deployments.deploy(query, name, replace, keep_for, source=script.source)

    @property
    def deployments(self) -> Mapping[str, Deployment]:
        """The deployed statements of the home, by name, with those that have ended."""
        return self._deployments

    @property
    def browse(self) -> Browse:
        """A browser of the newest events of a stream, and of the knowledge bases."""
        return Browse(self._log, self._workspace)

    @property
    def sources(self) -> Mapping[str, SourceStatus]:
        """The status of the sources, by stream."""
        return self._parts.sources

    def start_sources(self) -> None:
        """Start the sources of all streams, also of those declared later. A `live` engine does so by itself."""
        self._parts.check_open()
        self._parts.sources.start()

    def follow(self, stream: str, frame: DataFrame, checkpoint: str | os.PathLike[str] | None = None) -> None:
        """Append what a streaming DataFrame of Spark delivers, each micro-batch once, until `unfollow` or `close`.

        Spark's executors write the rows. `checkpoint`: the folder in which Spark notes how far it has read; in the
        home by default. Called again after a restart, with the same frame, it continues there.
        """
        self._parts.check_open()
        self._parts.follow(self._workspace.loadable(stream), frame, checkpoint)

    def unfollow(self, stream: str) -> None:
        """Stop following the streaming DataFrame of a stream."""
        self._parts.check_open()
        self._parts.sources.detach(self._workspace.loadable(stream).name)

    @property
    def sinks(self) -> Sinks:
        """The status of the sinks, by name."""
        return self._parts.sinks

    def advance(self, stream: str, time: datetime | str) -> None:
        """Append a watermark: the stream has no more events before `time`. Those that arrive later are late; timers up
        to it fire."""
        self._parts.check_open()
        micros = to_micros(time) if isinstance(time, datetime) else parse_timestamp(time)
        if micros is None:
            raise error("BAD_TIMESTAMP", found=time)
        event_type = self._workspace.loadable(stream)
        self._log.append_watermark(event_type.name, micros, max_ahead(event_type))

    def check(self, text: str, name: str = "query") -> tuple[QueryWarning, ...]:
        """Raise all errors of a text, without executing it; if there are none, its warnings."""
        return warnings_in(self.checked(text, name))

    def checked(self, text: str, name: str = "query") -> s.Script:
        """The statements of a text without errors; nothing is executed."""
        self._parts.check_open()
        return replace(self._workspace, statements=frozenset(self._deployments)).check(text, name)

    def explain(self, text: str, name: str = "query") -> str:
        """EXPLAIN of the last query of the text; declarations before it are executed. With FORMAT svg it is a
        picture."""
        script, query = self._query_of(text, name, "EXPLAIN takes a SELECT", explained=True)
        last = script.statements[-1]
        with located(script.source):
            explained = last if isinstance(last, s.Explain) else s.Explain(query, span=query.span)
            return self._bounded.explain(explained, script.source)

    def load(
        self,
        stream: str,
        rows: Any,
        once: str | None = None,
        source: SourceOffsets | None = None,
        nulls: str | Sequence[str] | None = None,
    ) -> LoadReport:
        """Append events; durable when it returns. `once`: a key that makes a repeated call a no-op.

        `rows`: list of dicts, pandas or pyarrow table, Spark DataFrame, or the path of a CSV, JSON or Parquet file, of
        a folder of them or of a Delta table. Rows that do not fit the stream go to its rejected table and are counted.
        `source` names the columns of the source's own offsets: duplicates are dropped, and events after a gap wait.
        `nulls`: texts of CSV fields that mean null; by default those of the stream's option.
        """
        self._parts.check_open()
        event_type = self._workspace.loadable(stream)
        if isinstance(rows, str | os.PathLike):
            allowed = self._workspace.allowed
            attributes = event_type.attributes if source is None else attributes_with_offsets(event_type, source, None)
            texts = read_nulls(event_type.options.get("nulls") if nulls is None else nulls)
            path = allowed.resolve(os.fspath(rows), self._workspace.base)
            rows = read_files(path, attributes, event_type.event_time, allowed, texts)
        return self._log.append(event_type, rows, once, source)

    def gaps(self, stream: str) -> list[Gap]:
        """Offsets that a source has not delivered, for which later events of it wait."""
        self._parts.check_open()
        return self._log.gaps(self._workspace.loadable(stream).name)

    def skip_gap(self, stream: str, source: str, up_to: int, partition: str = "") -> LoadReport:
        """Skip the missing offsets of a source, up to one, and load the events that waited for them."""
        return self._log.skip_gap(self._workspace.loadable(stream), source, partition, up_to)

    def maintain(self, grace: float | None = None) -> MaintenanceReport:
        """Compact the archive, apply retention, delete unused files. An open engine also does so by itself.
        `grace`: for how many seconds removed files stay for readers in other programs; 600 by default."""
        self._parts.check_open()
        return self._parts.maintenance.maintain(grace)

    def repair(self, work: Repair) -> list[Repaired]:
        """Compute damaged states and rows of statements again, for `presage log HOME repair`."""
        self._parts.check_open()
        return work.statements(self._log, self._deployments.job, self._parts.new_job)

    def metrics(self) -> Metrics:
        """Metrics of streams, statements, sources, job and process: `.prometheus()`, `.json()`, `.values`."""
        self._parts.check_open()
        return self._parts.report.metrics()

    def rejected(self, stream: str) -> pa.Table:
        """Records that were not loaded: reason, raw text, origin."""
        return self._log.archive.read_rejected(self._workspace.loadable(stream).name)

    def late(self, stream: str) -> pa.Table:
        """Events that came later than the stream's max_delay allows."""
        return self._log.archive.read_late(self._workspace.loadable(stream).name)

    def close(self) -> None:
        """Stop all parts and release the home, even if one fails; the failure is raised. No effect in a fork."""
        self._parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # -- statements ----------------------------------------------------------------------------------

    def _query_of(self, text: str, name: str, fix: str, explained: bool = False) -> tuple[s.Script, s.Query]:
        """The last query of a text; the statements before it are executed. `explained`: it may be an EXPLAIN."""
        self._parts.check_open()
        script = self._workspace.parse(text, name)
        *before, last = script.statements or (s.Show("streams"),)
        query = last.statement if explained and isinstance(last, s.Explain) else last
        if not isinstance(query, s.Query):
            raise error("SYNTAX", last.span, script.source, found="no query", expected="a query", fix=fix)
        for statement in before:
            self.carry_out(statement, script)
        return script, query

    def carry_out(self, statement: s.Statement, script: s.Script) -> Result | None:
        """Execute one statement of a parsed text; None where it has no rows."""
        self._parts.check_open()
        if isinstance(statement, s.Query):
            tell_warnings(warnings_of(statement, script.source))
        with self._parts.lock, located(script.source):
            return self._parts.executor.execute(statement, script.source)
