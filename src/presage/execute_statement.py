"""The executor of statements: what an engine does with each kind, and how a declaration becomes durable.

Apart from the engine, which parses texts and locks, and from `bounded_queries`, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from presage.bounded_queries import BoundedQueries
from presage.declarations.options import retention_option
from presage.execution.spark.result import Result, TableResult, explained_as
from presage.lang import syntax as s
from presage.lang.command_syntax import Advance, CreateStatement, InsertValues
from presage.lang.knowledge_syntax import CreateKnowledge, RefreshKnowledge
from presage.lang.printer import print_statement
from presage.lang.recall_syntax import RecallCommand
from presage.live.deployments import DeploymentRegistry
from presage.live.drop import execute_drop
from presage.live.file_rows import refuse_other_file
from presage.live.recall_commands import execute_recall_command
from presage.live.show import execute_show
from presage.model.catalog import Catalog
from presage.model.text import Source
from presage.operators.knowledge.answers import Tables
from presage.sinks import Sinks
from presage.sources import Sources
from presage.storage import Log, attributes_schema, max_ahead
from presage.storage.catalog_codec import save_declaration
from presage.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How the catalog's log names what a statement did; all others create.
_ACTIONS = {s.Drop: "drop", RefreshKnowledge: "refresh"}


@dataclass
class DeclaredTables:
    """The rows of declared relations, and the answers of knowledge bases."""

    workspace: Workspace
    relations: dict[str, pa.Table] = field(default_factory=dict)

    def now(self) -> Tables:
        return Tables(self.relations, self.workspace.library, self.workspace.catalog.knowledge.values())


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
                return self._show(statement)
            case s.CreateSink():
                self.sinks.create(statement)
            case RecallCommand():
                execute_recall_command(self.deployments.job, statement)
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
                archive = self.log.archive
                dropped = execute_drop(statement, self.workspace, archive, self.deployments, self.declare)
                return TableResult.of_text(*dropped, self.session) if dropped is not None else None
            case _:
                self.declare(statement)
        return None

    def _show(self, statement: s.Show | s.Describe) -> Result:
        shown = self.sinks.describe(statement) or execute_show(
            statement,
            self.workspace,
            self.log.archive,
            self.tables.relations,
            self.deployments,
            self.sources.shown(),
        )
        return TableResult.of_text(*shown, self.session)

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
        """Change the catalog: check first, then make it durable, then visible."""
        workspace = self.workspace
        statement = workspace.settle(statement)
        before, after = workspace.catalog, after or workspace.declare(statement)
        if after is before:
            return refuse_other_file(workspace, statement, self.tables.relations)
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
        kept = {name: table for name, table in self.tables.relations.items() if name in after.relations}
        self.tables.relations = kept | tables
        self.sources.follow()
        self.sinks.follow()
