"""Engine and Result: text and events in, rows out. The composition root, the only file that knows all stages."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from presage.errors import did_you_mean, error, located
from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.log import FileSet, LoadReport, Log
from presage.log.files import read_files
from presage.log.looking import describe, show
from presage.log.relations import read_copy, relation_table, write_copy
from presage.model.catalog import Catalog, EventType
from presage.model.paths import resolve_under_roots
from presage.model.time import TimeRange
from presage.plan.nodes import Node
from presage.plan.query import BoundQuery
from presage.spark.archive import last_event, read_archive
from presage.spark.batch import NO_EVENTS, BatchContext, run_root
from presage.spark.result import Result, TableResult
from presage.spark.session import running_session, start_session
from presage.windows.nodes import Windowed
from presage.windows.spark import OPERATORS
from presage.workspace import Workspace

Files = Mapping[tuple[str, TimeRange], FileSet]

# Rows that one partition may hold in a worker's memory before Spark sorts it on disk instead.
ROWS_IN_MEMORY = 20_000_000
# Below this a task costs more than it saves.
ROWS_PER_TASK = 50_000


class Engine:
    """Declares, loads and asks. A context manager; closing it stops the session that it started itself.

    `spark`: your own session (none of its settings is changed), else a local one is started when it is first needed.
    `home`: the folder of the archive and the catalog; without it a temporary one is used and removed at the end.
    `roots`: folders that statements may read files from; the working folder and the home by default.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        home: str | os.PathLike[str] | None = None,
        *,
        roots: list[str | os.PathLike[str]] | None = None,
        settings: Mapping[str, str] | None = None,
        optimize: bool = True,
        rows_in_memory: int = ROWS_IN_MEMORY,
    ) -> None:
        self._spark = spark
        self._settings = dict(settings or {})
        self._optimize = optimize
        self._rows_in_memory = rows_in_memory
        self._lock = threading.RLock()
        self._starting: Future[SparkSession] | None = None
        self._closed = False
        self._log = Log.open(Path(home) if home is not None else None)
        base = Path.cwd()
        self._workspace = Workspace(roots if roots is not None else [base, self._log.home.path], base)
        self._relations: dict[str, pa.Table] = {}
        try:
            self._replay()
        except BaseException:
            self._log.close()
            raise

    # -- public --------------------------------------------------------------------------------------

    @property
    def spark(self) -> SparkSession:
        """The Spark session; the engine's own is started by the first call that needs it."""
        with self._lock:
            self._check_open()
            if self._spark is None:
                running = running_session() if self._starting is None else None
                self._spark = running or self._starting_session().result()
            return self._spark

    def start(self) -> None:
        """Start the session in the background: declaring and loading need not wait for it."""
        with self._lock:
            # A session that runs already is known to this thread, and perhaps not to the one that would start it.
            if self._spark is None and running_session() is None:
                self._starting_session()

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
        if mode != "batch" or batches is not None:
            asked = f"mode='{mode}'" if mode != "batch" else f"batches={batches}"
            raise error("UNSUPPORTED", what=asked, where="in this version", fix="leave it out: the rows are the same")
        script = self._workspace.parse(text, name)
        if not script.statements:
            raise error(
                "SYNTAX", None, script.source, found="the end of the text", expected="a query", fix="write a SELECT"
            )
        outcomes = [self.carry_out(statement, script) for statement in script.statements]
        last = script.statements[-1]
        if isinstance(last, s.Query) and last.insert_into is not None:
            return self._answer(last)
        if outcomes[-1] is None:
            raise error(
                "SYNTAX", last.span, script.source, found="a statement without rows", expected="a query",
                fix="use execute for declarations",
            )  # fmt: skip
        return outcomes[-1]

    def explain(self, text: str, name: str = "query") -> str:
        """What EXPLAIN says of the last query of the text; declarations before it are carried out."""
        script = self._workspace.parse(text, name)
        *before, last = script.statements or (s.Show("streams"),)
        for statement in before:
            self.carry_out(statement, script)
        query = last.statement if isinstance(last, s.Explain) else last
        if not isinstance(query, s.Query):
            raise error(
                "SYNTAX", last.span, script.source, found="no query", expected="a query", fix="EXPLAIN takes a SELECT"
            )
        with located(script.source):
            return self._workspace.explain(self._workspace.bind(query))

    def load(self, stream: str, rows: Any, once: str | None = None) -> LoadReport:
        """Append events; durable when it returns. `once` makes a repeated call with the same key a no-op.

        `rows`: list of dicts, pandas or pyarrow table, Spark DataFrame, or the path of a CSV, JSON or Parquet file or
        folder. Rows that do not fit the stream go to its rejected table and are counted.
        """
        self._check_open()
        event_type = self._stream(stream)
        if isinstance(rows, str | os.PathLike):
            path = resolve_under_roots(str(rows), self._workspace.roots, self._workspace.base)
            rows = read_files(path, event_type.attributes, event_type.event_time)
        return self._log.append(event_type, rows, once)

    def rejected(self, stream: str) -> pa.Table:
        """Records that were not loaded: reason, raw text, origin."""
        return self._log.archive.read_rejected(self._stream(stream).name)

    def late(self, stream: str) -> pa.Table:
        """Events that came later than the stream's max_delay allows."""
        return self._log.archive.read_late(self._stream(stream).name)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._log.close()
            # A session that is still starting is waited for: it would outlive the engine.
            if self._starting is not None and self._starting.exception() is None:
                self._starting.result().stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- statements ----------------------------------------------------------------------------------

    def carry_out(self, statement: s.Statement, script: s.Script) -> Result | None:
        """One statement of a parsed text; None where it has no rows."""
        self._check_open()
        with self._lock, located(script.source):
            return self._dispatch(statement)

    def _dispatch(self, statement: s.Statement) -> Result | None:
        if isinstance(statement, s.Query) and statement.insert_into is None:
            return self._answer(statement)
        if isinstance(statement, s.Explain):
            text = self._workspace.explain(self._workspace.bind(statement.statement))
            return self._table(("plan",), [(line,) for line in text.splitlines()])
        if isinstance(statement, s.Show):
            return self._table(*show(statement.what, self.catalog, self._log.archive))
        if isinstance(statement, s.Describe):
            self._workspace.named(statement.name, statement)
            return self._table(*describe(statement.name, self.catalog, self._log.archive, self._relations))
        self._declare(statement)
        return None

    def _declare(self, statement: s.Statement) -> None:
        """Change the catalog: check first, then make it durable, then let it be seen."""
        statement = self._workspace.settle(statement)
        before, after = self.catalog, self._workspace.declare(statement)
        if after is before:
            return
        tables = {n: relation_table(r) for n, r in after.relations.items() if n not in before.relations}
        # The rows of a file are copied into the home: it must open again when the file has moved or changed.
        copies = {n: write_copy(self.home, t) for n, t in tables.items() if after.relations[n].path is not None}
        name = str(getattr(statement, "insert_into", None) or getattr(statement, "name", ""))
        self._log.append_catalog(
            "drop" if isinstance(statement, s.Drop) else "create",
            type(statement).__name__,
            name,
            print_statement(statement),
            {"rows": copies[name]} if name in copies else {},
            creates=_loadable(after, besides=before),
            drops=[t.name for t in _loadable(before, besides=after)],
        )
        self._workspace.catalog = after
        self._relations = {**{n: t for n, t in self._relations.items() if n in after.relations}, **tables}

    def _replay(self) -> None:
        """Declare again what the home's catalog holds."""
        for entry in self._log.catalog_entries():
            script = self._workspace.parse(entry.text, f"catalog of {self.home}")
            with located(script.source):
                for statement in script.statements:
                    self._workspace.catalog = self._workspace.declare(statement, again=True)
            copy = entry.extra.get("rows")
            for name, relation in self.catalog.relations.items():
                if name == entry.name:
                    self._relations[name] = read_copy(self.home, copy) if copy else relation_table(relation)

    # -- answers -------------------------------------------------------------------------------------

    def _answer(self, statement: s.Query) -> Result:
        bound = self._workspace.bind(statement)
        plan = self._workspace.optimize(bound).plan if self._optimize else bound.plan
        # What the query sees is fixed now, though it runs when its rows are asked for.
        position, archive = self._log.position, self._log.archive
        files = {
            (scan.stream, scan.time): archive.snapshot(scan.stream, position, scan.time.low, scan.time.high)
            for scan in bound.scans()
        }
        relations = dict(self._relations)
        return Result(
            bound.columns,
            lambda: run_root(plan, self._context(bound, plan, files, relations)),
            plan.depth,
            lambda: self._workspace.explain(bound),
            lambda: self._partitions(_rows(files.values())),
            lambda: _span(files.values()),
        )

    def _context(self, bound: BoundQuery, plan: Node, files: Files, relations: dict[str, pa.Table]) -> BatchContext:
        def read(stream: str, time: TimeRange) -> DataFrame | None:
            found = files[stream, time]
            return read_archive(self.spark, found) if found.paths else None

        # Only a timer asks for the exact time of the last event; elsewhere the files' statistics will do.
        if any(isinstance(n, Windowed) and n.window.kind == "time_batch" for n in plan.walk()):
            times = [last_event(self.spark, f) for f in files.values()]
        else:
            times = [f.max_time for f in files.values()]
        last = max((t for t in times if t is not None), default=NO_EVENTS)
        clock = bound.upper if bound.upper is not None else last
        return BatchContext(
            spark=self.spark,
            read=read,
            relations=relations,
            operators=OPERATORS,
            clock=clock,
            inner_clock=max(last, clock),
            partitions=self._partitions(_rows(files.values())),
            rows_in_memory=self._rows_in_memory,
            estimated_rows=_rows(files.values()),
        )

    def _partitions(self, rows: int) -> int:
        """How many tasks share a shuffle: as many as the session is set to use, fewer where there is little to do."""
        most = int(self.spark.conf.get("spark.sql.shuffle.partitions") or 1)
        return max(1, min(most, -(-rows // ROWS_PER_TASK)))

    def _table(self, columns: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Result:
        return TableResult.of_text(columns, rows, lambda: self.spark)

    # -- parts ---------------------------------------------------------------------------------------

    def _stream(self, name: str) -> EventType:
        found = self.catalog.types.get(name)
        if found is None:
            kind = "relation" if name in self.catalog.relations else None
            if kind:
                raise error(
                    "NOT_A_STREAM", name=name, kind=kind, fix="a relation is given its rows where it is declared"
                )
            known = [t.name for t in self.catalog.types.values() if t.kind == "stream"]
            raise error(
                "UNKNOWN_STREAM", name=name, fix=did_you_mean(name, known, "declare it first with CREATE STREAM")
            )
        if found.kind != "stream":
            kind = "schema" if found.kind == "schema" else "derived stream"
            raise error("NOT_A_STREAM", name=name, kind=kind, fix="load a stream that CREATE STREAM declares")
        return found

    def _starting_session(self) -> Future[SparkSession]:
        if self._starting is None:
            self._starting = start_session(self._settings)
        return self._starting

    def _check_open(self) -> None:
        if self._closed:
            raise error("ENGINE_CLOSED")


def _rows(files: Iterable[FileSet]) -> int:
    return sum(f.rows for f in files)


def _span(files: Iterable[FileSet]) -> tuple[int, int]:
    """The first and last event time of the files."""
    times = [t for f in files for t in (f.min_time, f.max_time) if t is not None]
    return (min(times), max(times)) if times else (0, 0)


def _loadable(catalog: Catalog, besides: Catalog) -> list[EventType]:
    """Streams with an archive of their own that the other catalog does not have."""
    return [t for n, t in catalog.types.items() if t.kind == "stream" and n not in besides.types]
