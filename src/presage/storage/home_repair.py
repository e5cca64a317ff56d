"""The repair of a home that cannot be opened: its journal's head, catalog, and the logs of its tables.

Each is written again from what the rest of the home says. What no other file says stays as it is.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath

from presage.errors import PresageError
from presage.storage.catalog_log import CatalogLog
from presage.storage.columns import EVENTS, TABLES
from presage.storage.consistency import changes_of
from presage.storage.delta import MARK, generation_of
from presage.storage.delta_log import entry_path
from presage.storage.delta_replay import replay
from presage.storage.home import HomeLayout, tables_of
from presage.storage.home_state import HomeState, state_after
from presage.storage.journal import Names, Record, head_name, read_head, read_journal, read_records
from presage.storage.sealed_json import seal
from presage.storage.table_repair import NotRepairableError, TableRepair

Schemas = Mapping[str, Mapping[str, str]]  # Delta's JSON, by stream and table


@dataclass(frozen=True)
class Repaired:
    """Something that was damaged. `where`: its path below the home. `why_not`: why it could not be repaired, if so."""

    where: str
    what: str
    why_not: str = ""

    def to_json(self) -> dict[str, str | bool]:
        return {"where": self.where, "what": self.what, "repaired": not self.why_not, "why_not": self.why_not}


class HomeRepair:
    """`write`: False finds what would be repaired and changes nothing. `schemas`: of declared streams, as far as the
    catalog can be read; called once the catalog is repaired."""

    def __init__(self, home: HomeLayout, application: str, schemas: Callable[[], Schemas], write: bool = True) -> None:
        self._home, self._store = home, home.store
        self._application, self._schemas, self._write = application, schemas, write
        self._declared: Schemas | None = None

    def journal(self) -> Iterator[Repaired]:
        """Write the head again if an earlier one and the records since then still exist."""
        names = Names.of(self._store, self._home.journal)
        try:
            read_journal(self._store, self._home.journal, names)
            return
        except PresageError as problem:
            damage = problem.message
        if not names.heads:
            yield Repaired("journal", damage, "no record is there twice")
            return
        base, newest = names.heads[-1]
        where, what = f"journal/{newest}", f"the journal's head: {damage}"
        try:
            read_head(self._store, self._home.journal, newest)
            yield Repaired("journal", damage, "no record is there twice")
            return
        except PresageError:
            pass
        state = self._state_at(names, base)
        if state is None:
            yield Repaired(where, what, "the records before it are gone")
            return
        if self._write:
            _clear(self._home, self._home.journal / newest)
            self._store.put(self._home.journal / head_name(base), seal({"n": base, "state": state.to_json()}))
        yield Repaired(where, what)

    def _state_at(self, names: Names, n: int) -> HomeState | None:
        """The state after record n from an earlier head and the records since; None if one of them is missing."""
        folder = self._home.journal
        heads = [(base, name) for base, name in names.heads[:-1]]
        for base, name in [*reversed(heads), (0, "")]:
            files = [number for number in sorted(names.records) if base < number <= n]
            try:
                head = read_head(self._store, folder, name) if name else None
                groups = [read_records(self._store, folder / max(names.records[number])) for number in files]
                records = [record for group in groups for record in group if record.n <= n]
                if [record.n for record in records] == [*range(base + 1, n + 1)]:
                    return state_after(folder, head, records)
            except (PresageError, FileNotFoundError):
                continue
        return None

    def tables(self, at_head: HomeState, state: HomeState, records: Sequence[Record]) -> Iterator[Repaired]:
        """Catalog, marks of streams, and logs of tables, after the journal has been read."""
        yield from self._catalog(state, records)
        covered = changes_of(at_head)
        created = {name for record in records for name in record.creates}
        for name, stream in state.streams.items():
            marks = [*self._mark(name, stream.generation, name in created)]
            yield from marks
            if any(each.why_not for each in marks):
                continue
            if name in created and not self._store.exists(self._home.stream_folder(name) / MARK):
                continue  # opening creates it
            for table in tables_of(name):
                before = 0 if name in created else covered.get((name, table), 0)
                schema = partial(self._schema_of, name, table)
                place = self._home, self._application, name, table
                yield from self._table(TableRepair(*place, stream, records, before, state.n, schema), name, table)

    def _schema_of(self, stream: str, table: str) -> str | None:
        if self._declared is None:
            self._declared = self._schemas()
        return self._declared.get(stream, {}).get(table)

    def _catalog(self, state: HomeState, records: Sequence[Record]) -> Iterator[Repaired]:
        log = CatalogLog(self._home.catalog, self._store)
        known = {record.catalog["version"]: record.catalog for record in records if record.catalog is not None}
        for version in range(1, state.catalog_version + 1):
            name = f"{version:014d}.json"
            try:
                log.read(name)
                continue
            except PresageError as problem:
                what = f"a declaration: {problem.message}"
            where = self._home.catalog / name
            if version not in known:
                yield Repaired(self._below(where), what, "its record is covered by the journal's head")
                continue
            if self._write:
                _clear(self._home, where)
                log.write(known[version])
            yield Repaired(self._below(where), what)

    def _mark(self, name: str, generation: int, is_recorded: bool) -> Iterator[Repaired]:
        folder = self._home.stream_folder(name)
        where, what = self._below(folder / MARK), f"the mark of stream '{name}'"
        try:
            found = generation_of(self._store, folder)
        except PresageError as problem:
            found, what = -1, f"{what}: {problem.message}"
        if found == generation or (found < 0 and is_recorded and not self._store.exists(folder / MARK)):
            return
        if found >= 0:
            yield Repaired(where, f"{what} is of record {found}", f"the journal says record {generation}")
            return
        if self._write:
            self._write_mark(name, generation)
        yield Repaired(where, what)

    def _write_mark(self, name: str, generation: int) -> None:
        folder, checks = self._home.stream_folder(name), {}
        for table in tables_of(name):
            try:
                data = self._store.read(entry_path(folder / table, 0))
                [json.loads(line) for line in data.splitlines()]
                checks[table] = zlib.crc32(data)
            except (OSError, ValueError):
                continue  # the table's repair writes it
        _clear(self._home, folder / MARK)
        self._store.put(folder / MARK, seal({"stream": name, "generation": generation, "tables": checks}))
        self._home.forget_folder(name)

    def _table(self, repair: TableRepair, name: str, table: str) -> Iterator[Repaired]:
        if repair.is_whole:
            return
        where, what = self._below(self._home.table_folder(name, table)), f"the log of table '{table}' of '{name}'"
        try:
            files = repair.files()
            metadata = repair.metadata(files)
        except NotRepairableError as reason:
            yield Repaired(where, what, str(reason))
            return
        if self._write:
            repair.write(files, metadata)
        yield Repaired(where, f"{what}: {len(files):,} files, {sum(file.rows for file in files.values()):,} rows")

    def _below(self, path: PurePath) -> str:
        return str(path.relative_to(self._home.path))


def application_of(home: HomeLayout) -> str | None:
    """The identity that the transactions of most tables name; None if no log can be read."""
    named = Counter[str]()
    for path in (home.streams, home.derived, home.path):
        for stream in home.store.names(path):
            for table in TABLES if home.store.is_folder(path / stream / EVENTS) else ():
                named.update(replay(home.store, path / stream / table, "").transactions)
    return next((name for name, _ in named.most_common(1)), None)


def _clear(home: HomeLayout, path: PurePath) -> None:
    """Remove a folder in the place of a file."""
    if home.store.is_folder(path):
        home.store.delete_folder(path)
