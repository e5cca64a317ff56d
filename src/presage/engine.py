"""Engine and Result: text and events in, rows out. The composition root, the only file that knows all stages."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import SparkSession

from presage.analyze.declare_statement import read_retention
from presage.analyze.warnings import tell_warnings, warnings_in, warnings_of
from presage.bounded_queries import BoundedQueries
from presage.errors import QueryWarning, error, located
from presage.knowledge.answers import Tables
from presage.knowledge.library import Library
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.printer import print_statement
from presage.lang.recall_syntax import RecallCommand
from presage.live.acting import ACTS, act
from presage.live.bounded import check_mode
from presage.live.declaring import declare_again
from presage.live.deployment import Deployment
from presage.live.driving import Driver
from presage.live.dropping import drop
from presage.live.following import Following
from presage.live.job import ROWS_ON_DRIVER, ROWS_PER_BATCH
from presage.live.loading import Nulls, read_path, refuse_other_file
from presage.live.looking import look_at
from presage.live.recalling import say
from presage.live.rooms import Archive
from presage.live.row_retention import RowRetention
from presage.live.runner import STATE_BYTES
from presage.live.standing import Standing
from presage.live.stepping import SECONDS_PER_BATCH
from presage.live.upkeep import Upkeep
from presage.log import Gap, LoadReport, Log, MaintenanceReport, SourceOffsets, max_ahead
from presage.log.keeping import keep
from presage.model.catalog import Catalog
from presage.model.paths import Roots
from presage.model.permissions import Permissions
from presage.model.text import Source
from presage.model.time import parse_timestamp, to_micros
from presage.operations.browsing import Browse
from presage.operations.collecting import Collector
from presage.operations.metrics import Metrics
from presage.operations.watching import Watch
from presage.patterns.spark import OPERATORS as PATTERNS
from presage.prediction.spark import OPERATORS as PREDICTION
from presage.probability.spark import OPERATORS as PROBABILITY
from presage.recall.nodes import Recall
from presage.recall.spark import OPERATORS as RECALL
from presage.sinks import Sinks
from presage.sources import Sources, SourceStatus
from presage.spark.contexts import Contexts
from presage.spark.foreign import catalyst
from presage.spark.held import HeldSession
from presage.spark.kafka import KafkaTopic, write_kafka
from presage.spark.result import Result, TableResult, explained_as
from presage.spark.streaming import Ticker, start_ticker
from presage.spark.workers import call_on_workers
from presage.windows.spark import OPERATORS as WINDOWS
from presage.workspace import Workspace

# Rows that one partition may hold in a worker's memory before Spark sorts it on disk instead.
ROWS_IN_MEMORY = 20_000_000


class Engine:
    """Declares, loads and asks. A context manager; closing it stops the session that it started itself.

    `spark`: your own session (none of its settings is changed), else a local one is started when it is needed.
    `home`: the folder of the archive and the catalog; without it a temporary one is used and removed at the end.
    `roots`: folders that statements and loads may read files from, and nothing outside of them; without it all that
    the user of this process may read. Name them where statements come from others.
    `allow_env`: variables of the environment that options may name as `env:NAME`; none by default.
    `allow_hosts`: hosts that sources and sinks may connect to; by default all but this machine and its link.
    `seconds_per_batch`, `state_bytes`: what one standing statement may take, and keep, before it is set aside.
    `parallelism`: how many tasks share a large batch of standing statements; by default as this machine has cores.
    `live`: sources and standing statements of the home go on at once; False leaves them where they are until asked.
    `driven`: standing statements go on by themselves; False lets them go on when they are drained, without a session.
    `metrics_file`: a file that has the figures of `metrics`, in Prometheus' format, every five seconds.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        home: str | os.PathLike[str] | None = None,
        *,
        roots: Sequence[str | os.PathLike[str]] | Roots | None = None,
        allow_env: Sequence[str] = (),
        allow_hosts: Sequence[str] | None = None,
        settings: Mapping[str, str] | None = None,
        optimize: bool = True,
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
        permissions = Permissions(allow_env, allow_hosts)
        self._session = HeldSession(spark, settings)
        # Not through the property: its lock may be held by one who waits for the batch.
        rooms = {**WINDOWS, **PATTERNS, **PROBABILITY, **PREDICTION, **RECALL}
        contexts = Contexts(lambda: self._session.now or self.spark, rooms, rows_in_memory, rows_per_chunk)
        self._lock = threading.RLock()
        self._closed = False
        self._log = Log.open(home)
        base = Path.cwd()
        library = Library(self._log.home.path / "knowledge")
        within = Roots.of(roots, [base, self._log.home.path])
        self._workspace = Workspace(within, base, library=library, optimizing=optimize, permissions=permissions)
        self._relations: dict[str, pa.Table] = {}
        given = self._log, self._workspace, contexts, lambda: self.spark, self._tables, self._check_open
        self._bounded = BoundedQueries(*given, optimize=optimize, rows_in_memory=rows_in_memory)
        try:
            self._standing = Standing(
                self._log,
                self._workspace,
                relations=self._tables,
                result=lambda columns, table: TableResult(columns, table, lambda: self.spark),
                optimize=optimize,
                foreign=lambda: catalyst(self._session.now or self.spark, self._tables()),
                histories=self._history,
                workers=lambda function, shares: call_on_workers(self._session.now or self.spark, function, shares),
                shards=parallelism if rows_per_batch > rows_on_driver else 1,  # on the driver that would only cost
                parallelism=parallelism,
                refreshed=lambda: max((base.since for base in self.catalog.knowledge.values()), default=0),
                rows_per_batch=rows_per_batch,
                rows_on_driver=rows_on_driver,
                seconds_per_batch=seconds_per_batch,
                state_bytes=state_bytes,
            )
            declare_again(self._log, self._workspace, self._standing, self._relations)
            self._driver = Driver(self._start_ticker, self._log, self._standing.job)
            self._standing.drive = self._driver.go if driven else None
            self._standing.trouble = self._driver.trouble
        except BaseException:
            self._log.close()
            raise
        types, resolve = lambda: self.catalog.types.values(), self._workspace.resolve_folder
        topic = lambda of: KafkaTopic(self._session.get, of, permissions, resolve)  # noqa: E731
        taken, ahead = self._standing.taken_in, 2 * rows_per_batch
        self._sources = Sources(self._log, types, resolve, taken, ahead, topic, self, within, permissions)
        to_kafka = lambda rows, options: write_kafka(self._session.get(), rows, options)  # noqa: E731
        self._sinks = Sinks(self._log, self._workspace, Following(self._standing), self._lock, to_kafka)
        rows = RowRetention(self._log, self._standing, self._sinks.taken)
        kept = lambda: rows.of_streams(self.catalog.types.values())  # noqa: E731
        wake, quiet = self._driver.wake, self._sources.is_quiet
        self._upkeep = Upkeep(self._log, kept, self._standing.in_use, wake, quiet, rows.apply)
        self._standing.subscribe = self._sinks.subscribe
        metrics = Collector(self._log, self._standing, self._sources, self._sinks, self._driver.trouble)
        self._watch = Watch(self._log, metrics, len(self._standing), metrics_file)
        if live:
            self.start_sources()
            self._sinks.start()
        if live and self._standing.running:
            self.start()
            threading.Thread(target=self._driver.catch_up, name="presage-catch-up", daemon=True).start()
            threading.Thread(target=self._driver.go_unless_closed, name="presage-live", daemon=True).start()

    # -- public --------------------------------------------------------------------------------------

    @property
    def spark(self) -> SparkSession:
        """The Spark session; the engine's own is started by the first call that needs it."""
        self._check_open()
        # Without the lock: while Spark is starting, others declare, load and look.
        return self._session.get()

    def start(self) -> None:
        """Start the session in the background: declaring and loading need not wait for it."""
        self._session.start()

    @property
    def home(self) -> Path:
        return self._log.home.path

    @property
    def catalog(self) -> Catalog:
        return self._workspace.catalog

    def execute(self, text: str, name: str = "query") -> Result | None:
        """Carry out every statement in turn; the result of the last one that has rows, or None."""
        result = None
        for outcome in self.run(text, name):
            result = outcome if outcome is not None else result
        return result

    def run(self, text: str, name: str = "query") -> list[Result | None]:
        """Carry out every statement in turn: a result for each one, None where it has no rows."""
        script = self._workspace.parse(text, name)
        return [self.carry_out(statement, script) for statement in script.statements]

    def query(self, text: str, *, mode: str = "batch", batches: int | None = None, name: str = "query") -> Result:
        """The rows of a query over what is loaded; statements before the last one are carried out first."""
        check_mode(mode, batches)
        script = self._workspace.parse(text, name)
        if not script.statements:
            raise error(
                "SYNTAX", None, script.source, found="the end of the text", expected="a query", fix="write a SELECT"
            )
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
            raise error(
                "SYNTAX", last.span, script.source, found="a statement without rows", expected="a query",
                fix="use execute for declarations",
            )  # fmt: skip
        return outcome

    def deploy(
        self, text: str, name: str | None = None, *, replace: bool = False, retention: str | None = None
    ) -> Deployment:
        """Let the last query of the text stand: it goes on with every event that comes, until it is stopped.

        Deploying the same text under the same name again gives the statement that stands already; `replace` ends that
        one and begins anew. Statements before the last one are carried out first. `retention`: how long rows are kept,
        '30 days' for example; without it for ever, or as it was said before.
        """
        keep_for = read_retention(retention)
        script, query = self._query_of(text, name or "query", "deploy a SELECT")
        with self._lock, located(script.source):
            return self._standing.deploy(query, name, replace, keep_for, source=script.source)

    @property
    def deployments(self) -> Mapping[str, Deployment]:
        """The standing statements of the home, by name; those that have ended, too."""
        return self._standing

    @property
    def browse(self) -> Browse:
        """For people to look at: the newest events of a stream, and what is known."""
        return Browse(self._log, self._workspace)

    @property
    def sources(self) -> Mapping[str, SourceStatus]:
        """How the sources are that fill streams by themselves, by stream."""
        return self._sources

    def start_sources(self) -> None:
        """Let the sources of all streams run, those declared later too. An engine that is `live` does so by itself."""
        self._check_open()
        self._sources.start()

    @property
    def sinks(self) -> Sinks:
        """How the sinks are that take rows of standing statements away by themselves, by name."""
        return self._sinks

    def advance(self, stream: str, time: datetime | str) -> None:
        """Say that a stream has nothing more to tell from before `time`: silence, as a fact of the log. What still
        comes from before it is late; timers that were waiting for it fire."""
        self._check_open()
        micros = to_micros(time) if isinstance(time, datetime) else parse_timestamp(time)
        if micros is None:
            raise error("BAD_TIMESTAMP", found=time)
        event_type = self._workspace.loadable(stream)
        self._log.append_watermark(event_type.name, micros, max_ahead(event_type))

    def check(self, text: str, name: str = "query") -> tuple[QueryWarning, ...]:
        """Raise every mistake in a text, and carry out nothing of it; without one, what may not mean what it seems."""
        return warnings_in(self.checked(text, name))

    def checked(self, text: str, name: str = "query") -> s.Script:
        """The statements of a text without a mistake; nothing of it is carried out."""
        self._check_open()
        return replace(self._workspace).check(text, name)

    def explain(self, text: str, name: str = "query") -> str:
        """What EXPLAIN says of the last query of the text; declarations before it are carried out. With FORMAT svg in
        the text it is a picture."""
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
        nulls: Nulls = None,
    ) -> LoadReport:
        """Append events; durable when it returns. `once` makes a repeated call with the same key a no-op.

        `rows`: list of dicts, pandas or pyarrow table, Spark DataFrame, or the path of a CSV, JSON or Parquet file, of
        a folder of them or of a Delta table. Rows that do not fit the stream go to its rejected table and are counted.
        `source` says which columns hold the source's own numbering: what comes twice is one event, what has not come
        yet is waited for. `nulls`: texts of CSV fields that mean null, else as the stream's option of that name says.
        """
        self._check_open()
        event_type = self._workspace.loadable(stream)
        if isinstance(rows, str | os.PathLike):
            rows = read_path(self._workspace, event_type, rows, source, nulls)
        return self._log.append(event_type, rows, once, source)

    def gaps(self, stream: str) -> list[Gap]:
        """What a source has not delivered yet though later events of it are here, waiting."""
        return self._log.gaps(self._workspace.loadable(stream).name)

    def skip_gap(self, stream: str, source: str, up_to: int, partition: str = "") -> LoadReport:
        """Give up waiting for what a source has lost, up to an offset, and let in what waited behind it."""
        return self._log.skip_gap(self._workspace.loadable(stream), source, partition, up_to)

    def maintain(self, grace: float | None = None) -> MaintenanceReport:
        """Compact the archive, apply retention, delete what nobody reads. An open engine does so by itself, too.
        `grace`: for so many seconds files that have left their tables stay for readers that are not ours, 600."""
        self._check_open()
        return self._upkeep.maintain(grace)

    def metrics(self) -> Metrics:
        """Figures of streams, statements, sources, job and process: `.prometheus()`, `.json()`, `.values`."""
        self._check_open()
        return self._watch.metrics()

    def rejected(self, stream: str) -> pa.Table:
        """Records that were not loaded: reason, raw text, origin."""
        return self._log.archive.read_rejected(self._workspace.loadable(stream).name)

    def late(self, stream: str) -> pa.Table:
        """Events that came later than the stream's max_delay allows."""
        return self._log.archive.read_late(self._workspace.loadable(stream).name)

    def close(self) -> None:
        """End what runs and give up the home, whatever fails on the way; that is raised. In a fork it does nothing."""
        if not self._log.home.is_own:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._standing.job.leave()
        # Without the lock: the batch that runs may need the session. The last of them is called first.
        steps = (self._leave, self._standing.close, self._sinks.close, self._driver.stop)
        with ExitStack() as ending:
            for step in (*steps, self._watch.stop, self._sources.close, self._upkeep.stop):
                ending.callback(step)

    def _leave(self) -> None:
        with self._lock:
            try:
                self._log.close()
            finally:
                self._session.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    # -- statements ----------------------------------------------------------------------------------

    def _query_of(self, text: str, name: str, fix: str, explained: bool = False) -> tuple[s.Script, s.Query]:
        """The last query of a text; the statements before it are carried out. `explained`: EXPLAIN may stand there."""
        self._check_open()
        script = self._workspace.parse(text, name)
        *before, last = script.statements or (s.Show("streams"),)
        query = last.statement if explained and isinstance(last, s.Explain) else last
        if not isinstance(query, s.Query):
            raise error("SYNTAX", last.span, script.source, found="no query", expected="a query", fix=fix)
        for statement in before:
            self.carry_out(statement, script)
        return script, query

    def carry_out(self, statement: s.Statement, script: s.Script) -> Result | None:
        """One statement of a parsed text; None where it has no rows."""
        self._check_open()
        if isinstance(statement, s.Query):
            tell_warnings(warnings_of(statement, script.source))
        with self._lock, located(script.source):
            return self._dispatch(statement, script.source)

    def _dispatch(self, statement: s.Statement, source: Source) -> Result | None:
        if isinstance(statement, s.Query) and statement.insert_into is None:
            return self._bounded.answer(statement, source)
        if isinstance(statement, s.Explain):
            return explained_as(statement.format, self._bounded.explain(statement, source), lambda: self.spark)
        if isinstance(statement, s.Show | s.Describe):
            known = self._workspace, self._log.archive, self._relations, self._standing, self._sources.shown()
            shown = self._sinks.look_at(statement) or look_at(statement, *known)
            return TableResult.of_text(*shown, lambda: self.spark)
        if isinstance(statement, s.CreateSink):
            self._sinks.create(statement)
            return None
        if isinstance(statement, RecallCommand):
            say(self._standing.job, statement)
            return None
        if isinstance(statement, ACTS):
            act(statement, self._workspace, self._log, self._standing, source)
            return None
        if isinstance(statement, CreateKnowledge | RefreshKnowledge):
            self._know(statement)
            return None
        if isinstance(statement, s.Drop):
            gone = drop(statement, self._workspace, self._log.archive, self._standing, self._declare)
            return TableResult.of_text(*gone, lambda: self.spark) if gone is not None else None
        self._declare(statement)
        return None

    def _know(self, statement: CreateKnowledge | RefreshKnowledge) -> None:
        """Read the files of a knowledge base, again or for the first time; what stands goes on with what they say."""
        after = self._workspace.declare(statement)
        if after is not self.catalog:
            self._standing.know(after, lambda: self._declare(statement, after))

    def _declare(self, statement: s.Statement, after: Catalog | None = None) -> None:
        """Change the catalog: check first, then make it durable, then let it be seen."""
        statement = self._workspace.settle(statement)
        before, after = self.catalog, after or self._workspace.declare(statement)
        if after is before:
            return refuse_other_file(self._workspace, statement, self._relations)
        name = str(getattr(statement, "insert_into", None) or getattr(statement, "name", ""))
        tables, extra = keep(self.home, name, before, after, self._workspace.allowed)
        self._log.append_catalog(
            {s.Drop: "drop", RefreshKnowledge: "refresh"}.get(type(statement), "create"),
            type(statement).__name__,
            name,
            print_statement(statement),
            extra,
            creates=after.loadable(besides=before),
            drops=[t.name for t in before.loadable(besides=after)],
        )
        self._workspace.catalog = after
        self._relations = {**{n: t for n, t in self._relations.items() if n in after.relations}, **tables}
        self._sources.follow()
        self._sinks.follow()

    # -- for those below -----------------------------------------------------------------------------

    def _tables(self) -> Tables:
        """Relations, and what is known now."""
        return Tables(self._relations, self._workspace.library, self.catalog.knowledge.values())

    def _history(self, node: Recall) -> Archive:
        return self._bounded.history(node)

    def _start_ticker(self, work: Callable[[], None]) -> Ticker:
        # Not through the property: who deploys holds its lock, and waits for the driver, which waits for this.
        self._check_open()
        return start_ticker(self._session.get(), work)

    def _check_open(self) -> None:
        self._log.home.check_owner()
        if self._closed:
            raise error("ENGINE_CLOSED")
