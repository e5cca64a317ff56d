"""The repair of a home: what is damaged is written again from what the rest of the home says, and the rest is named.

First what keeps the home from being opened (journal, catalog, logs of tables), under the lock; then, in an engine, the
states and rows of statements; then all of the home is read once. Events that are lost are named, and never removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from presage.declarations.contexts import read_context
from presage.errors import PresageError
from presage.functions.constant_arguments import patterns_of_older_homes
from presage.live import results
from presage.live.derived_repair import repair_derived
from presage.live.job import Job
from presage.live.recomputation import LostRows, NewJob
from presage.live.result_repair import repair_results
from presage.live.state_repair import LostState, compute_again, lost_states
from presage.operations.verification import Finding, Verification
from presage.operators.knowledge.library import Library
from presage.storage import Log
from presage.storage.catalog_codec import latest_knowledge, restore_declaration
from presage.storage.catalog_log import CatalogEntry, CatalogLog
from presage.storage.columns import EVENTS, table_schemas
from presage.storage.delta_schema import to_delta
from presage.storage.failures import storage
from presage.storage.home import (
    DERIVED,
    FORMAT_FILE,
    RESULTS,
    UNFINISHED,
    Home,
    HomeLayout,
    new_format,
    open_place,
    read_format,
)
from presage.storage.home_repair import HomeRepair, Repaired, Schemas, application_of
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import Record, read_journal
from presage.storage.lock import HomeLock
from presage.storage.sealed_json import seal
from presage.storage.store import Store
from presage.workspace import Workspace


class Repair:
    """`write`: False finds what would be repaired, and changes nothing."""

    def __init__(self, home: str | os.PathLike[str], write: bool = True) -> None:
        self._home = home
        self._write = write

    def files(self) -> list[Repaired]:
        """Repair what keeps the home from being opened. HOME_LOCKED if a process has it."""
        store, folder = open_place(self._home)
        with storage(store.address(folder), "and try again"):
            done = self._format(store, folder)
            if any(each.why_not for each in done) or (done and not self._write):
                return done
            application = read_format(store, folder).application
            if not self._write:
                return self._planned(HomeLayout(store, folder), application)
            home = Home.open(self._home)
            try:
                home.await_free("")
                done += self._repair(home, application).journal()
            finally:
                home.unlock()
        if any(each.why_not for each in done):
            return done

        def mend(home: Home, at_head: HomeState, state: HomeState, records: Sequence[Record]) -> None:
            done.extend(self._repair(home, application).tables(at_head, state, records))

        try:
            Log.open(self._home, mend=mend).close()
        except PresageError as refused:
            if refused.code != "HOME_CORRUPT":
                raise
            if not any(each.why_not for each in done):
                done.append(Repaired(".", refused.message, "it still cannot be opened"))
        return done

    def _format(self, store: Store, folder: PurePath) -> list[Repaired]:
        """Write the format file again, with the identity by which the tables know the home."""
        try:
            read_format(store, folder)
            return []
        except PresageError as problem:
            is_lost = problem.code == "NOT_A_HOME" and not store.exists(folder / UNFINISHED)
            if problem.code != "HOME_CORRUPT" and not (is_lost and store.names(folder / "journal")):
                raise
            what = f"the format file: {problem.message}"
        application = application_of(HomeLayout(store, folder))
        if application is None:
            return [Repaired(FORMAT_FILE, what, "no table tells the identity of the home")]
        if self._write:
            lock = HomeLock.take(Path(folder)) if store.is_local else None
            try:
                if store.is_folder(folder / FORMAT_FILE):
                    store.delete_folder(folder / FORMAT_FILE)
                store.put(folder / FORMAT_FILE, seal({**new_format(), "id": application}))
            finally:
                if lock is not None:
                    lock.release()
        return [Repaired(FORMAT_FILE, what)]

    def _planned(self, layout: HomeLayout, application: str) -> list[Repaired]:
        repair = self._repair(layout, application)
        done = [*repair.journal()]
        if done:
            return done  # without a head nothing tells what the tables should hold
        content = read_journal(layout.store, layout.journal)
        at_head = state_after(layout.journal, content.head, ())
        return [*repair.tables(at_head, state_after(layout.journal, content.head, content.records), content.records)]

    def _repair(self, layout: HomeLayout, application: str) -> HomeRepair:
        return HomeRepair(layout, application, lambda: _schemas(layout), self._write)

    def statements(self, log: Log, job: Job, new_job: NewJob) -> list[Repaired]:
        """Compute the rows and states again that cannot be read, in an open engine. `new_job`: see `Assembly`."""
        # First the events of derived streams, which other statements read.
        rows = [*repair_derived(log, job, new_job), *repair_results(log, job, new_job)]
        lost = list(lost_states(log, job))
        compute_again(job, lost)
        return [*map(_of_rows, rows), *map(_of_state, lost)]

    def remaining(self) -> list[Finding]:
        """What is damaged now; reads all of the home."""
        return list(Verification(self._home).findings())


def _of_rows(lost: LostRows) -> Repaired:
    what = f"{lost.rows:,} rows of statements {', '.join(lost.statements)}" if lost.rows else "rows of statements"
    place = "results" if lost.table == RESULTS else f"derived/{lost.table.removeprefix(DERIVED)}"
    return Repaired(f"{place}/{EVENTS}/{lost.file}", what, lost.why_not)


def _of_state(lost: LostState) -> Repaired:
    why_not = "its input is no longer in the log, or it cannot be repeated: deploy it again with replace=True"
    what = f"the state of statement '{lost.name}'"
    return Repaired(f"states/{lost.file}", what, "" if lost.repeats else why_not)


def _schemas(layout: HomeLayout) -> Schemas:
    """The schemas of declared streams, by the declarations that can be read."""
    found: dict[str, Mapping[str, str]] = {RESULTS: {EVENTS: to_delta(results.SCHEMA)}}
    log, entries = CatalogLog(layout.catalog, layout.store), list[CatalogEntry]()
    for name in layout.store.names(layout.catalog):
        try:
            entries.append(log.read(name))
        except PresageError:
            continue
    workspace = Workspace([], Path.cwd(), library=Library(layout.store, layout.path / "knowledge"))
    latest = latest_knowledge(entries)
    with patterns_of_older_homes():
        for entry in entries:
            for event_type in _declared(layout, workspace, entry, latest):
                found[event_type[0]] = event_type[1]
    return found


def _declared(
    layout: HomeLayout, workspace: Workspace, entry: CatalogEntry, latest: Mapping[str, Mapping[str, object]]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    if entry.kind == "statement":
        return
    try:
        for statement in workspace.parse(entry.text).statements:
            workspace.catalog = workspace.declare(statement, again=True)
        workspace.catalog, _ = restore_declaration(layout, workspace.catalog, entry, latest, read_context)
    except PresageError:
        return  # the schema of that stream stays unknown
    event_type = workspace.catalog.types.get(entry.name)
    if event_type is not None and event_type.kind == "stream":
        yield entry.name, {table: to_delta(schema) for table, schema in table_schemas(event_type).items()}
