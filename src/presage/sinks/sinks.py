"""The running sinks of an engine, by name, and their status."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from presage.declarations.permissions import check_permitted
from presage.declarations.sinks import check_sink
from presage.errors import did_you_mean, error, placed
from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.model.catalog import Sink
from presage.model.permissions import Permissions
from presage.sinks.callback import CallbackTarget, Function, Subscribed
from presage.sinks.kafka import KafkaTarget, Writer, no_kafka
from presage.sinks.parquet import ParquetTarget
from presage.sinks.position import PositionFile, clear_positions
from presage.sinks.runner import ALL, SinkRunner
from presage.sinks.sink import COLUMNS, FAILED, STOPPED, SinkStatus, Statements, Target, show_row
from presage.sinks.webhook import WebhookTarget
from presage.storage import Log
from presage.storage.catalog_codec import BEGIN
from presage.workspace import Workspace

LOOK_SECONDS = 0.05
Shown = tuple[tuple[str, ...], list[tuple[Any, ...]]]


class Sinks(Mapping[str, SinkStatus]):
    """The sinks of an engine, by name. `declaring`: the lock of declarations; `kafka`: writes messages. Nothing runs
    before `start`."""

    def __init__(
        self,
        log: Log,
        workspace: Workspace,
        statements: Statements,
        declaring: threading.RLock,
        kafka: Writer = no_kafka,
    ) -> None:
        self._log = log
        self._workspace = workspace
        self._statements = statements
        self._declaring = declaring
        self._kafka = kafka
        self._permissions = workspace.permissions or Permissions()
        self._running: dict[str, SinkRunner] = {}
        self._functions: dict[str, Function] = {}
        self._lock = threading.Lock()
        self._started = self._closed = False
        self.follow()

    def create(self, statement: s.CreateSink, begin: tuple[int, int] | None = None) -> None:
        """Declare a sink. `begin`: the numbers of the statement and the row that it begins with; default: from its
        options."""
        settled = self._workspace.settle(statement)
        after = self._workspace.declare(settled)
        if after is self._workspace.catalog:  # an equal sink exists
            return
        sink = after.sinks[statement.name]
        with placed(statement.span):
            begin = self._begin(sink) if begin is None else begin
        text = print_statement(settled)
        entry = self._log.append_catalog("create", type(settled).__name__, sink.name, text, {BEGIN: list(begin)})
        self._workspace.catalog = after.with_sink(replace(sink, version=entry.version, begin=begin))
        self.follow()

    def _begin(self, sink: Sink) -> tuple[int, int]:
        """The numbers of the statement and the row with which a new sink begins."""
        statement = self._statements.latest(sink.statement)
        if statement is None:
            fix = "deploy it first: engine.deploy(text, name=…)"
            raise error("UNKNOWN_OBJECT", kind="statement", name=sink.statement, fix=fix)
        if sink.kind == "parquet":
            self._folder(sink.options["path"])
        return statement.number, statement.rows if sink.options.get("begin", "start") == "now" else 0

    def start(self) -> None:
        self._clear(sink.version for sink in self._workspace.catalog.sinks.values())
        self._started = True
        self.follow()

    def follow(self) -> None:
        """Start newly declared sinks, and stop dropped ones."""
        wanted = {sink.name: sink for sink in self._workspace.catalog.sinks.values()} if not self._closed else {}
        with self._lock:
            gone = [self._running.pop(n) for n, r in [*self._running.items()] if wanted.get(n) != r.sink]
            self._running |= {n: self._new(sink) for n, sink in wanted.items() if n not in self._running}
            fresh = [r for r in self._running.values() if self._started and not r.has_begun]
            for running in fresh:
                running.start()
        for running in gone:
            running.stop()
        if gone and not self._closed:
            self._clear(sink.version for sink in wanted.values())
            for running in gone:
                self._functions.pop(running.sink.name, None)

    def _clear(self, known: Iterable[int]) -> None:
        clear_positions(self._log.home, {*known}, self._log.catalog_version)

    def close(self) -> None:
        """Stop all sinks. Their positions and the undelivered rows are in the home."""
        self._closed = True
        self.follow()

    def taken(self, statement: str, number: int) -> int:
        """How many rows of a statement all of its sinks have delivered: retention may remove only those."""
        return min((r.taken(number) for r in [*self._running.values()] if r.sink.statement == statement), default=ALL)

    def flush(self, name: str | None = None, timeout: float | None = None) -> None:
        """Wait until the current rows are delivered, without waiting for full batches."""
        self._log.check_open()
        if self._closed:
            raise error("ENGINE_CLOSED")
        if name is not None and name not in self._running:
            raise error("UNKNOWN_OBJECT", kind="sink", name=name, fix=did_you_mean(name, list(self._running)))
        several = [r for n, r in self._running.items() if name in (None, n)]
        until = None if timeout is None else time.monotonic() + timeout
        goals = [(r, self._statements.latest(r.sink.statement)) for r in several]
        for running in several:
            running.hurry(retry=True)
        for running, goal in goals:
            while goal is not None and running.reached(goal.number) < goal.rows:
                self._check_going(running, until)
                time.sleep(LOOK_SECONDS)
                running.hurry()

    def _check_going(self, running: SinkRunner, until: float | None) -> None:
        if running.state in (FAILED, STOPPED):
            restart = "mend the cause, then open the home again"
            fix = "Engine.sinks.start() lets it run" if running.state == STOPPED else restart
            raise error("SINK_FAILED", name=running.sink.name, why=running.failure or "it does not run", fix=fix)
        if until is not None and time.monotonic() >= until:
            why = f"; it is waiting: {running.failure}" if running.failure else ""
            raise error("TIMEOUT", what=f"the sink '{running.sink.name}'", fix=f"look at its status{why}")

    # -- what a user sees ----------------------------------------------------------------------------

    def skipped(self, name: str) -> pa.Table:
        """The rows that a sink skipped because its target refused them: id, reason, at."""
        declared = self._workspace.catalog.sinks
        if name not in declared:
            raise error("UNKNOWN_OBJECT", kind="sink", name=name, fix=did_you_mean(name, list(declared)))
        return PositionFile(self._log.home, declared[name]).skipped()

    def describe(self, statement: s.Show | s.Describe) -> Shown | None:
        """SHOW SINKS, or DESCRIBE the name of one; None for anything else."""
        if isinstance(statement, s.Show):
            return (COLUMNS, [show_row(status) for status in self.values()]) if statement.what == "sinks" else None
        running = self._running.get(statement.name)
        if running is None:
            return None
        # Secrets in options are names of variables.
        rows: list[tuple[object, ...]] = [("kind", "sink"), ("statement", running.sink.statement)]
        rows += [(f"option {option}", value) for option, value in running.sink.options.items()]
        return ("property", "value"), [*rows, *running.status().described()]

    def __getitem__(self, name: str) -> SinkStatus:
        return self._running[name].status()

    def __iter__(self) -> Iterator[str]:
        return iter([*self._running])

    def __len__(self) -> int:
        return len(self._running)

    # -- functions -----------------------------------------------------------------------------------

    def subscribe(
        self, name: str, statement: str, number: int, function: Function, after: int, on_error: str
    ) -> Subscribed:
        """Call a function for the rows of a statement, by a sink, which is declared if it does not exist. A second
        function replaces the first."""
        with self._declaring:
            declared = self._workspace.catalog.sinks.get(name)
            if declared is None:
                options = (s.Option("sink", "callback"), s.Option("on_error", on_error))
                self.create(s.CreateSink(name, statement, options), (number, after))
            elif (declared.kind, declared.statement) != ("callback", statement):
                fix = f"choose another name: this one is {declared.kind} for '{declared.statement}'"
                raise error("ALREADY_DECLARED", name=name, kind="sink", difference="", fix=fix)
            subscribed, running = Subscribed(function, number), self._running[name]
            subscribed.attach(running, lambda: self._detach(name, subscribed))
            self._functions[name] = subscribed
            if not self._started:
                self.start()
        running.hurry(retry=True)
        return subscribed

    def _detach(self, name: str, function: Function) -> None:
        """Stop calling the function, unless another has replaced it."""
        if self._functions.get(name) is function:
            del self._functions[name]

    def _new(self, sink: Sink) -> SinkRunner:
        file = PositionFile(self._log.home, sink)
        return SinkRunner(sink, partial(self._create, sink), self._statements, file, self._log.reach)

    def _create(self, sink: Sink) -> Target:
        # Check again: the home may be of an earlier version, or opened with other permissions.
        check_sink(sink)
        check_permitted(f"sink '{sink.name}'", sink.options, self._permissions)
        if sink.kind == "parquet":
            return ParquetTarget(sink, self._log.home, self._folder)
        if sink.kind == "webhook":
            return WebhookTarget(sink, self._permissions)
        if sink.kind == "kafka":
            return KafkaTarget(sink, self._kafka, self._permissions, self._workspace.resolve_folder)
        return CallbackTarget(sink.name, sink.statement, lambda: self._function(sink.name))

    def _function(self, name: str) -> Function | None:
        """What is called; nothing in the middle of a batch, either, once another process has taken over."""
        return None if self._log.home.lease.lost else self._functions.get(name)

    def _folder(self, path: str) -> Path:
        """The real path of a folder for files: under the roots, and not in the home."""
        resolved, home = self._workspace.resolve_folder(path), self._log.home.path
        if resolved == home or home in resolved.parents:
            expected = "a folder outside of the home"
            raise error("BAD_VALUE", what="path", found=f"'{path}', in the home", expected=expected)
        return resolved
