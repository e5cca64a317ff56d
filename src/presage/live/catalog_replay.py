"""The replay of a home's catalog: declarations and programs of statements, from the entries of the catalog's log.

It needs no lock and writes nothing: a standby replays while it waits, and the opening goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from presage.declarations.contexts import read_context
from presage.errors import located
from presage.functions.constant_arguments import patterns_of_older_homes
from presage.lang import syntax as s
from presage.live.program import Program
from presage.live.statement_compiler import StatementCompiler
from presage.model.catalog import Catalog, Moment
from presage.storage import CatalogEntry
from presage.storage.catalog_codec import latest_knowledge, restore_declaration
from presage.storage.home import HomeLayout

KIND = "statement"  # of entries in the catalog's log


@dataclass
class CatalogReplay:
    """The catalog of the compiler's workspace, and what else the entries so far amount to. `refused`: statements of an
    older version by number, and why they are rejected now."""

    home: HomeLayout
    compiler: StatementCompiler
    entries: list[CatalogEntry] = field(default_factory=list)
    relations: dict[str, pa.Table] = field(default_factory=dict)
    programs: dict[str, Program] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def advance(
        self,
        entries: Sequence[CatalogEntry],
        numbers: Container[str],
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Replay the entries of a home. `numbers`: the statements that need a program. `is_over`: stop before the next
        entry."""
        latest = latest_knowledge(entries)
        known = len(self.entries)
        # An entry is bound against the last content of its knowledge base, which a later entry may have changed.
        before = latest_knowledge(self.entries)
        if self.entries != [*entries[:known]] or any(latest.get(name) != before[name] for name in before):
            self._begin_again()
        # Declarations of older versions are accepted, even if new ones like them are rejected.
        with patterns_of_older_homes():
            for entry in entries[len(self.entries) :]:
                if is_over():
                    return
                self._replay(entry, numbers, latest)
                self.entries.append(entry)

    def _begin_again(self) -> None:
        self.compiler.workspace.catalog = Catalog()
        for part in (self.entries, self.relations, self.programs, self.refused):
            part.clear()

    def _replay(self, entry: CatalogEntry, numbers: Container[str], latest: Any) -> None:
        workspace = self.compiler.workspace
        if entry.kind == KIND:
            self._replay_statement(entry, numbers)
            return
        script = workspace.parse(entry.text, f"catalog of {self.home.path}")
        with located(script.source):
            for statement in script.statements:
                workspace.catalog = workspace.declare(statement, again=True)
        workspace.catalog, tables = restore_declaration(self.home, workspace.catalog, entry, latest, read_context)
        self.relations |= tables

    def _replay_statement(self, entry: CatalogEntry, numbers: Container[str]) -> None:
        """The statement is bound against the catalog as it was then."""
        workspace, number = self.compiler.workspace, entry.extra["number"]
        statement = workspace.parse(entry.text, entry.name).statements[0]
        assert isinstance(statement, s.Query)
        if entry.action == "drop":
            self._end_producer(number, entry.extra["until"])
            return
        since = Moment.from_json(entry.extra["since"])
        replaced = entry.extra.get("replaces")
        if replaced is not None:
            self._end_producer(replaced["number"], replaced["until"])
        if statement.insert_into is not None:
            workspace.catalog = workspace.declare_producer(statement, since, int(number))
        if number in numbers:
            with patterns_of_older_homes() as refused:
                self.programs[number] = self.compiler.compile(statement, since, entry.extra["shards"])
            if refused:
                self.refused[number] = refused[0].render()

    def _end_producer(self, number: str, until: Any) -> None:
        program, moment = self.programs.get(number), Moment.from_json(until)
        assert moment is not None
        if program is not None and program.insert_into is not None:
            workspace = self.compiler.workspace
            workspace.catalog = workspace.end_producer(program.insert_into, int(number), moment)
