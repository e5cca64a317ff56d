"""The registry of deployed statements: between their names and texts in the catalog, and the live job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from presage.declarations.derived_streams import reads
from presage.errors import PresageError, QueryWarning, did_you_mean, error
from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.live.catalog_replay import KIND, CatalogReplay
from presage.live.deployment import Deployment, Subscriber
from presage.live.derived import derived_table, is_derived_table
from presage.live.job import Job
from presage.live.missed_events import missed_events
from presage.live.program import Program
from presage.live.statement import FINISHED, RUNNING, Statement
from presage.live.statement_compiler import StatementCompiler
from presage.live.statement_inspector import StatementInspector
from presage.model.catalog import Catalog, Moment
from presage.model.text import Source, Span
from presage.plan.nodes import Field, Node
from presage.select.warnings import tell_warnings, warnings_of
from presage.storage import Archive, InUse, Log
from presage.storage.catalog_views import not_seen
from presage.workspace import Workspace

RETRY_SECONDS = 2.0
MOST_CHARACTERS = 200


class DeploymentRegistry(Mapping[str, Deployment]):
    """The deployments of an engine, by name.

    `result` makes the result of `Deployment.results`, from columns, rows and remarks. `drive` lets batches run; without
    it `drain` runs them. `trouble`: why batches fail. `subscribe`: makes a durable subscription, where there are sinks.
    """

    def __init__(
        self,
        log: Log,
        job: Job,
        compiler: StatementCompiler,
        relations: Callable[[], Mapping[str, pa.Table]],
        result: Callable[[tuple[Field, ...], pa.Table, tuple[str, ...]], Any],
        drive: Callable[[], None] | None = None,
        trouble: Callable[[], str | None] = lambda: None,
        subscribe: Callable[..., Subscriber] | None = None,
    ) -> None:
        self._log = log
        self._compiler, self._workspace = compiler, compiler.workspace
        self._drive = drive
        self.job = job
        self.result = result
        self.trouble = trouble
        self.subscribe = subscribe
        self.subscriptions: dict[str, list[Subscriber]] = {}
        self.warnings: dict[str, tuple[QueryWarning, ...]] = {}  # of statements deployed since the home was opened
        self.inspector = StatementInspector(log, job, compiler, relations, self.warnings)
        self._closed = False

    def close(self) -> None:
        """End the subscriptions, and calls of `drain`."""
        self._closed = True
        with self.job.changed:
            self.job.changed.notify_all()
        for several in self.subscriptions.values():
            for subscription in several:
                subscription.cancel()

    # -- a mapping of names --------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Deployment:
        statement = self.job.find(name)
        if statement is None:
            fix = did_you_mean(name, list(self), "deploy it first")
            raise error("UNKNOWN_OBJECT", kind="statement", name=name, fix=fix)
        return Deployment(self, statement.number)

    def get(self, name: str, default: Any = None) -> Any:
        """Without an error for an unknown name."""
        statement = self.job.find(name)
        return default if statement is None else Deployment(self, statement.number)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.job.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(st.name for st in self.job.statements.values()))

    def __len__(self) -> int:
        return len({st.name for st in self.job.statements.values()})

    @property
    def archive(self) -> Archive:
        return self._log.archive

    @property
    def running(self) -> bool:
        return any(st.status == RUNNING for st in self.job.statements.values())

    def read_arrivals(self) -> int | None:
        """The last record whose arrivals the running statements have read; None if none of them runs."""
        return int(self._log.live.job.get("arrivals", 0)) if self.running else None

    def columns(self, number: str) -> tuple[Field, ...]:
        return self.job.programs[number].columns

    def not_seen(self, number: str) -> tuple[str, ...]:
        """Late and rejected records of the streams that a statement reads."""
        streams = self.job.programs[number].streams
        return not_seen(self._log.archive, sorted(name for name in streams if not is_derived_table(name)))

    def delivered(self, number: str) -> int:
        """How many rows of a statement all of its subscribers have received."""
        several = self.subscriptions.get(number, [])
        return min((s.delivered for s in several if s.goes_on), default=self.job.statements[number].rows_out)

    def in_use(self) -> InUse:
        """The positions from which the deployed statements still read."""
        return InUse(self.job.in_use())

    # -- deploy, stop, resume ------------------------------------------------------------------------

    def deploy(
        self,
        query: s.Query,
        name: str | None,
        replaces: bool = False,
        retention: int | None = None,
        if_absent: bool = False,
        source: Source | None = None,
    ) -> Deployment:
        """Deploy a query. The same text under the same name gives the deployed statement; with `if_absent` any text
        does. `retention`: microseconds for which its rows are kept; None: for ever, or as set before. `source`: the
        text of the query, for warnings."""
        self._log.check_open()
        with self.job.between_batches():
            deployment = self._deploy(query, name, replaces, retention, if_absent, source)
        self._run_batches()
        return deployment

    def _deploy(
        self,
        query: s.Query,
        name: str | None,
        replaces: bool,
        retention: int | None,
        if_absent: bool,
        source: Source | None,
    ) -> Deployment:
        now = self.job.moment
        settled, since = self._compiler.settle(query, now)
        text = print_statement(settled)
        known = self.job.find(name) if name is not None else None
        if known is not None and known.status == FINISHED and known.text == text and not replaces:
            return Deployment(self, known.number)  # it has its rows: the same bounds would give the same
        known = known if known is not None and known.deployed else None
        if known is not None and if_absent:
            return Deployment(self, known.number)
        if known is not None and not replaces:
            if known.written == print_statement(query):
                if retention not in (None, known.retention):
                    self.job.retain(known.number, retention)
                return Deployment(self, known.number)
            raise _other_text(name, known.written, print_statement(query), query.span)
        chosen = _checked(name) if name is not None else self._fresh_name()
        before, numbers = self._workspace.catalog, set(self.job.statements)
        extra: dict[str, Any] = {"since": since.to_json() if since else None}
        if known is not None:
            self.job.finish(known.number)
            known = self.job.statements[known.number]
            until = self.job.reached(known)
            extra["replaces"] = {"number": known.number, "until": until.to_json()}
            self._end_producer(known, until)
        try:
            if settled.insert_into is not None:
                self._workspace.catalog = self._workspace.declare_producer(settled, since, int(self.job.next_number))
            program = self._compiler.compile(settled, since)
            extra["shards"] = program.shards
            entry = {"action": "create", "kind": KIND, "name": chosen, "text": text, "extra": extra}
            draft = Statement("", chosen, text, since, print_statement(query), retention=retention)
            statement = self.job.deploy(draft, now, program, entry, known)
        except BaseException:
            if set(self.job.statements) == numbers:  # else it is deployed, and something failed after that
                self._workspace.catalog = before
            raise
        self._warn(statement, query, source, program.plan)
        return Deployment(self, statement.number)

    def _warn(self, statement: Statement, query: s.Query, source: Source | None, plan: Node) -> None:
        """Keep and log the warnings of a statement that was just deployed."""
        warnings = [*warnings_of(query, source, deployed=True)] if source is not None else []
        if statement.since is not None and query.within is None:  # WITHIN [now, ) is explicit
            missed = missed_events(plan, self.archive, statement.since.position, statement.name, query.span)
            warnings += [missed] if missed is not None else []
        self.warnings[statement.number] = tuple(each.in_source(source or Source("")) for each in warnings)
        tell_warnings(self.warnings[statement.number])

    def stop(self, number: str) -> None:
        self._log.check_open()
        with self.job.between_batches():
            statement = self.job.statements[number]
            if not statement.deployed:
                return
            self.job.finish(number)
            statement = self.job.statements[number]
            until = self.job.reached(statement)
            extra = {"number": number, "until": until.to_json()}
            entry = {"action": "drop", "kind": KIND, "name": statement.name, "text": statement.text, "extra": extra}
            try:
                self.job.stop(number, entry)
            finally:
                if not self.job.statements[number].deployed:
                    self._end_producer(statement, until)
        # Readers of its rows no longer wait for it.
        self._run_batches()

    def resume(self, number: str) -> None:
        self._log.check_open()
        self.job.resume(number)
        self._run_batches()

    @property
    def compiler(self) -> StatementCompiler:
        return self._compiler

    def restore(self, replay: CatalogReplay) -> None:
        """Set the programs of the statements. Those that are rejected now fail where they are, the others continue."""
        statements = self.job.statements
        for number in [number for number in replay.programs if number in statements]:
            self.job.restore(number, replay.programs[number])
        running = {n: why for n, why in replay.refused.items() if n in statements and statements[n].status == RUNNING}
        if running:
            self.job.fail(running)

    # -- changes of the catalog ----------------------------------------------------------------------

    def change_knowledge(self, after: Catalog, change: Callable[[], None]) -> None:
        """Change knowledge between two batches: events that have arrived are read with the old knowledge.

        `after` is the new catalog, `change` makes it durable and visible. Raises without effect if a deployed statement
        would become invalid.
        """
        with self.job.between_batches():
            affected = [
                st for st in self.job.statements.values() if st.deployed and self.job.programs[st.number].uses_knowledge
            ]
            programs = self._compile_with(affected, after)
            for statement in affected:
                if statement.status == RUNNING:
                    self.job.catch_up(statement.number)
            change()
            fails = {}
            for statement in affected:
                why = self._cannot_continue(statement, programs[statement.number])
                if statement.status == RUNNING and why:
                    fails[statement.number] = error("KNOWLEDGE_CHANGED", name=statement.name, why=why).render()
            self.job.change_programs({n: program for n, program in programs.items() if n not in fails}, fails)
        if affected:
            self._run_batches()

    def _cannot_continue(self, statement: Statement, program: Program) -> str:
        """Why a statement cannot continue from its state with the new knowledge; empty if it can."""
        if program.fingerprint != self.job.programs[statement.number].fingerprint:
            return "it needs other attributes now"
        return "its windows hold pairs that were joined by the old knowledge" if program.joins_knowledge else ""

    def _compile_with(self, affected: list[Statement], after: Catalog) -> dict[str, Program]:
        """The programs of statements against another catalog."""
        workspace = replace(self._workspace, catalog=after)
        compiler = replace(self._compiler, workspace=workspace)
        programs = {}
        for statement in affected:
            try:
                programs[statement.number] = compiler.compile_again(statement)
            except PresageError as problem:
                raise error("KNOWLEDGE_NEEDED", name=statement.name, why=problem.message) from problem
        workspace.check_producers()
        return programs

    def refuse_if_used(self, statement: s.Drop) -> None:
        """Raise if a deployed statement uses what is dropped."""
        users = self.users(statement.name) if statement.kind != "statement" else []
        if users:
            raise error("IN_USE", statement.span, name=statement.name, users=", ".join(f"'{u}'" for u in users))

    def users(self, name: str) -> list[str]:
        """Deployed statements that read a stream, relation or knowledge base of that name, or fill the stream."""
        deployed = [st for st in self.job.statements.values() if st.deployed]
        return [st.name for st in deployed if self._uses(st, self.job.programs[st.number], name)]

    def _uses(self, statement: Statement, program: Program, name: str) -> bool:
        if name in self._workspace.catalog.knowledge and program.uses_knowledge:
            return True
        named = {name, derived_table(name)} & (program.streams | program.relations)
        return program.insert_into == name or bool(named) or reads(self._compiler.parse(statement), name)

    # -- batches -------------------------------------------------------------------------------------

    def drain(self, number: str, timeout: float | None) -> None:
        """Wait until a statement has read all that has arrived."""
        self._log.check_open()
        arrivals = self._log.point.arrivals
        until = None if timeout is None else time.monotonic() + timeout
        if not self.job.caught_up(number, arrivals):
            self._run_batches()
        while not self.job.caught_up(number, arrivals):
            again = False
            self._log.check_open()
            if self._closed:
                raise error("ENGINE_CLOSED")
            if self._drive is None:
                self.job.advance()
                continue
            trouble = self.trouble()
            if trouble:
                raise error("LIVE_STOPPED", why=trouble)
            if until is not None and time.monotonic() >= until:
                name = self.job.statements[number].name
                raise error("TIMEOUT", what=f"statement '{name}'", fix="wait longer, or look at its status")
            with self.job.changed:
                wait = RETRY_SECONDS if until is None else min(RETRY_SECONDS, max(0.01, until - time.monotonic()))
                if not self.job.caught_up(number, arrivals) and not self.job.changed.wait(wait):
                    # Spark may have ended the streaming query.
                    again = True
            if again:
                self._run_batches()

    def _run_batches(self) -> None:
        if self._drive is not None:
            self._drive()

    def _end_producer(self, statement: Statement, until: Moment) -> None:
        program = self.job.programs.get(statement.number)
        if program is not None and program.insert_into is not None:
            number = int(statement.number)
            self._workspace.catalog = self._workspace.end_producer(program.insert_into, number, until)

    def _fresh_name(self) -> str:
        number = 1 + len(self.job.statements)
        while f"statement-{number}" in self:
            number += 1
        return f"statement-{number}"


def restore_catalog(
    log: Log,
    workspace: Workspace,
    deployments: DeploymentRegistry,
    relations: dict[str, pa.Table],
    replay: CatalogReplay | None = None,
) -> None:
    """Replay the catalog's log of a home: its declarations and statements; fills `relations`. `replay`: of a standby,
    of the same workspace."""
    replay = replay or CatalogReplay(log.home, deployments.compiler)
    assert replay.compiler.workspace is workspace
    replay.advance(log.catalog_entries(), deployments.job.statements)
    relations |= replay.relations
    deployments.restore(replay)


def _other_text(name: str | None, deployed: str, new: str, span: Span) -> PresageError:
    """The error for a name that is deployed with another text; shows the first line in which they differ."""
    lines = zip_longest(deployed.splitlines(), new.splitlines(), fillvalue="")
    before, here = next((pair for pair in lines if pair[0] != pair[1]), (deployed, new))
    difference = f" with another text: it has '{before or 'nothing'}' where this has '{here or 'nothing'}'"
    fix = "choose another name, stop it, or deploy with replace=True, which ends it and keeps its rows"
    return error("ALREADY_DECLARED", span, name=name, kind="statement", difference=difference, fix=fix)


def _checked(name: object) -> str:
    """A name that can be displayed, typed and stored."""
    valid = isinstance(name, str) and name.strip() == name and 0 < len(name) <= MOST_CHARACTERS and name.isprintable()
    if not valid:
        shown = repr(name) if len(repr(name)) <= MOST_CHARACTERS else f"{repr(name)[:40]}…"
        expected = f"a text of 1 to {MOST_CHARACTERS} printable characters, without blanks at its ends"
        raise error("BAD_VALUE", what="the name of a statement", found=shown, expected=expected)
    return str(name)
