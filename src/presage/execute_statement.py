"""The executor of statements: what an engine does for each kind, and how a declaration becomes durable.

The engine parses texts and locks; `bounded_queries` changes nothing. Knowledge bases are named here, unlike other
capabilities: a change of theirs is a change of all statements that use them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.bounded_queries import BoundedQueries
from presage.declarations.options import retention_option
from presage.errors import did_you_mean, error
from presage.execution.result import Result, TableResult, explained_as
from presage.execution.stage import EventCommand, OpenEvent
from presage.lang import syntax as s
from presage.lang.command_syntax import Advance, CreateStatement, EventStatement, InsertValues
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.printer import print_statement
from presage.live.deployment import Shown, describe_statement, show_statements
from presage.live.deployments import DeploymentRegistry
from presage.live.derived import derived_table
from presage.live.job import Job
from presage.model.catalog import Catalog
from presage.model.text import Source
from presage.operators.running import event_columns
from presage.sinks import Sinks
from presage.sources import Sources
from presage.storage import Log, attributes_schema, max_ahead
from presage.storage.catalog_codec import save_declaration
from presage.storage.catalog_views import describe, show
from presage.storage.relations import refuse_other_rows
from presage.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How the catalog's log names what a statement did; all others create.
_ACTIONS = {s.Drop: "drop", RefreshKnowledge: "refresh"}


DROPPED = ("kind", "name", "events", "late", "rejected", "held")


@dataclass(frozen=True)
class _Held:
    """What DROP deletes or stops."""

    kind: str
    name: str
    events: int = 0
    late: int = 0
    rejected: int = 0
    held: int = 0  # events that wait for missing offsets of their source

    def __str__(self) -> str:
        counts = (("late", self.late), ("rejected", self.rejected), ("held back", self.held))
        others = [f"{count:,} {what}" for what, count in counts if count]
        more = f", {', '.join(others[:-1])}{' and ' if others[1:] else ''}{others[-1]}" if others else ""
        return f"{self.kind} '{self.name}'" + (f" ({self.events:,} events{more})" if self.events or others else "")


@dataclass
class DeclaredTables:
    """The rows of declared relations, and the answers of knowledge bases."""

    workspace: Workspace
    relations: dict[str, pa.Table] = field(default_factory=dict)

    def now(self) -> Mapping[str, pa.Table]:
        return self.workspace.library.relations(self.relations, self.workspace.catalog.knowledge.values())

    def update(self, tables: dict[str, pa.Table]) -> None:
        """Add tables, and drop those of relations that are no longer declared. Readers keep the old mapping."""
        declared = self.workspace.catalog.relations
        self.relations = {name: rows for name, rows in self.relations.items() if name in declared} | tables


@dataclass(frozen=True)
class StatementExecutor:
    """Called under the engine's lock."""

    log: Log
    workspace: Workspace
    tables: DeclaredTables
    bounded: BoundedQueries
    deployments: DeploymentRegistry
    sources: Sources
    sinks: Sinks
    session: Callable[[], SparkSession]

    def execute(self, statement: s.Statement, source: Source) -> Result | None:
        """None where the statement has no rows."""
        match statement:
            case s.Query(insert_into=None):
                return self.bounded.answer(statement, source)
            case s.Explain():
                return explained_as(statement.format, self.bounded.explain(statement, source), self.session)
            case s.Show() | s.Describe():
                return TableResult.of_text(*(self.sinks.describe(statement) or self._show(statement)), self.session)
            case s.CreateSink():
                self.sinks.create(statement)
            case EventStatement():
                command_event(self.deployments.job, statement)
            case CreateStatement(query=query, name=name, replace=replaces, if_not_exists=if_absent):
                self.deployments.deploy(query, name, replaces, retention_option(statement), if_absent, source)
            case InsertValues():
                self._insert(statement)
            case Advance():
                streams, micros = self.workspace.advanced(statement)
                for stream in streams:
                    self.log.append_watermark(stream.name, micros, max_ahead(stream))
            case CreateKnowledge() | RefreshKnowledge():
                self._change_knowledge(statement)
            case s.Drop():
                dropped = self._drop(statement)
                return TableResult.of_text(*dropped, self.session) if dropped is not None else None
            case _:
                self.declare(statement)
        return None

    def _show(self, statement: s.Show | s.Describe) -> Shown:
        """Names of columns, and rows."""
        catalog, archive, sources = self.workspace.catalog, self.log.archive, self.sources.shown()
        if isinstance(statement, s.Show):
            if statement.what == "statements":
                return show_statements(self.deployments)
            if statement.what == "recalls":
                return show_open_events(self.deployments.job)
            return show(statement.what, catalog, archive, {name: state for name, (state, _) in sources.items()})
        if statement.name not in catalog.taken() and statement.name in self.deployments:
            return describe_statement(self.deployments[statement.name])
        self.workspace.named(statement.name, statement)
        names, rows = describe(statement.name, catalog, archive, self.tables.relations)
        return names, [*rows, *sources.get(statement.name, ("", []))[1]]

    def _drop(self, statement: s.Drop) -> Shown | None:
        """Execute a DROP; with CASCADE returns names of columns, and a row for each thing that was dropped."""
        if statement.kind == "statement":
            # Without waiting for subscribers: one of them may wait for the engine's lock.
            self.deployments[statement.name].stop(patience=0)
            return None
        self.workspace.declare(replace(statement, cascade=True))  # rejects an unknown name, before anything is dropped
        names = [*self.workspace.dependents(statement), statement.name]
        held = [self._held(name) for name in names]
        users = [*dict.fromkeys(user for name in names for user in self.deployments.users(name))]
        if not statement.cascade:
            if held[-1].events or held[-1].late or held[-1].held:
                others = [*(f"statement '{user}'" for user in users), *map(str, held[:-1])]
                more, kind = f"; with it would go {', '.join(others)}" if others else "", statement.kind.upper()
                raise error("HOLDS_EVENTS", statement.span, what=held[-1], kind=kind, name=statement.name, more=more)
            self.deployments.refuse_if_used(statement)
            self.declare(statement)
            return None
        for user in users:
            self.deployments[user].stop(patience=0)
        for each in held:
            kind = "stream" if each.kind == "derived stream" else each.kind.split()[0]
            self.declare(s.Drop(kind, each.name, span=statement.span))
        dropped = [*(_Held("statement", user) for user in users), *held]
        return DROPPED, [astuple(one) for one in dropped]

    def _held(self, name: str) -> _Held:
        event_type = self.workspace.catalog.types.get(name)
        if event_type is None:
            return _Held(self.workspace.catalog.kind(name), name)
        derived = event_type.kind == "derived"
        table, kind = (derived_table(name), "derived stream") if derived else (name, event_type.kind)
        if not self.log.archive.holds(table):
            return _Held(kind, name)
        info = self.log.archive.describe(table)
        return _Held(kind, name, info.retained, info.late, info.rejected, self.log.archive.held(table))

    def _insert(self, statement: InsertValues) -> None:
        stream, (attributes, rows) = self.workspace.inserted(statement)
        schema = attributes_schema(attributes)
        columns = zip(zip(*rows, strict=True), schema, strict=True)
        self.log.append(stream, pa.table([pa.array(values, f.type) for values, f in columns], schema=schema))

    def _change_knowledge(self, statement: CreateKnowledge | RefreshKnowledge) -> None:
        """Read the files of a knowledge base; deployed statements continue with their new content."""
        after = self.workspace.declare(statement)
        if after is not self.workspace.catalog:
            self.deployments.change_knowledge(after, partial(self.declare, statement, after))

    def declare(self, statement: s.Statement, after: Catalog | None = None) -> None:
        """Change the catalog: checked first, then durable, then visible."""
        workspace = self.workspace
        statement = workspace.settle(statement)
        before, after = workspace.catalog, after or workspace.declare(statement)
        if after is before:
            if isinstance(statement, s.CreateRelation) and not statement.if_not_exists:
                # A relation is not the same if its file holds other rows now.
                relation, rows = before.relations[statement.name], self.tables.relations[statement.name]
                refuse_other_rows(relation, rows, workspace.allowed, statement.span)
            return
        name = str(getattr(statement, "insert_into", None) or getattr(statement, "name", ""))
        tables, extra = save_declaration(self.log.home.path, name, before, after, workspace.allowed)
        self.log.append_catalog(
            _ACTIONS.get(type(statement), "create"),
            type(statement).__name__,
            name,
            print_statement(statement),
            extra,
            creates=after.loadable(besides=before),
            drops=[t.name for t in before.loadable(besides=after)],
        )
        workspace.catalog = after
        self.tables.update(tables)
        self.sources.follow()
        self.sinks.follow()


def command_event(job: Job, command: EventStatement) -> None:
    """Cancel, accelerate or continue an open event, in all statements or in one."""
    with job.between_batches():
        events = [event.event for name, event in _open_events(job) if command.of in (None, name)]
        if command.event_id not in events:
            fix = did_you_mean(command.event_id, events, "SHOW RECALLS lists the open ones")
            raise error("UNKNOWN_OBJECT", command.span, kind="open recall", name=command.event_id, fix=fix)
        job.command_events(((command.of, EventCommand(command.action, command.event_id)),))


def show_open_events(job: Job) -> Shown:
    """SHOW RECALLS: the open events with their progress and priority."""
    return ("statement", *event_columns()), [(name, *event.shown) for name, event in _open_events(job)]


def _open_events(job: Job) -> list[tuple[str, OpenEvent]]:
    """The open events, each with the name of its statement."""
    with job.between_batches():
        return [(st.name, event) for st in list(job.statements.values()) for event in job.open_events(st.number)]
