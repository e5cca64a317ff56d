"""Comparison of a home's tables and catalog with its journal, at opening.

A table that has lost the last entries of its Delta log, or a catalog that has lost entries, would open with fewer rows
or declarations. Records that the journal still has are applied again; anything else that is missing is HOME_CORRUPT.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from presage.errors import PresageError
from presage.storage.catalog_log import CatalogLog
from presage.storage.delta import Tables
from presage.storage.failures import REPAIR, corrupt
from presage.storage.home import Home, tables_of
from presage.storage.home_state import HomeState, StreamState, changed_tables
from presage.storage.journal import Record

Changes = Mapping[tuple[str, str], int]


def changes_of(state: HomeState) -> dict[tuple[str, str], int]:
    """By (stream, table): the last record that changed it, where known."""
    return {(name, table): n for name, stream in state.streams.items() for table, n in stream.changes.items()}


class Comparison:
    """`records`: since the head; `covered`: `changes_of` the head."""

    def __init__(
        self, home: Home, tables: Tables, catalog: CatalogLog, records: Sequence[Record], covered: Changes
    ) -> None:
        self._home = home
        self._tables = tables
        self._catalog = catalog
        self._records = records
        self._covered = covered

    def lost(self, state: HomeState) -> list[Record]:
        """The records whose changes are missing in tables or catalog, in order. HOME_CORRUPT if the journal has no such
        record any more."""
        numbers = self._of_catalog(state)
        self._tables.prefetch(state.streams)
        for name, stream in state.streams.items():
            n = self._tables.generation(name)
            if n != stream.generation:
                why = "is missing" if n < 0 else f"was made by record {n}, the journal says {stream.generation}"
                raise self._corrupt(f"the folder of stream '{name}'", f"it {why}")
            for table in tables_of(name):
                numbers |= self._of_table(state, name, stream, table)
        return [record for record in self._records if record.n in numbers]

    def _of_catalog(self, state: HomeState) -> set[int]:
        recorded = {record.catalog["version"]: record.n for record in self._records if record.catalog is not None}
        missing = self._catalog.missing(state.catalog_version)
        for version in missing:
            if version not in recorded:
                raise self._corrupt(f"catalog entry {version}", "it is missing")
        return {recorded[version] for version in missing}

    def _of_table(self, state: HomeState, name: str, stream: StreamState, table: str) -> set[int]:
        last = self._tables.last_change(name, table)
        if table not in stream.changes:
            self._adopt(state, name, stream, table, last)
        expected = stream.changes[table]
        # A stream that was created after the head is not the one of that name in the head.
        base = self._records[0].n - 1 if self._records else 2**62
        covered = self._covered.get((name, table), 0) if stream.generation <= base else 0
        if last > expected or last < covered:
            why = f"its Delta log ends with record {last}, the journal with record {expected}"
            raise self._corrupt(f"table '{table}' of '{name}'", why)
        return {r.n for r in self._records if r.n > last and (name, table) in changed_tables(r)}

    def _adopt(self, state: HomeState, name: str, stream: StreamState, table: str, last: int) -> None:
        """Homes of earlier versions do not say which record changed the table last; compare the count of rows."""
        rows, expected = sum(file.rows for file in self._tables.files(name, table)), stream.rows_of(name, table)
        if last > state.n or (expected is not None and rows != expected):
            end = f"record {state.n}" if expected is None else f"record {state.n} and {expected:,} rows"
            why = f"its Delta log ends with record {last} and {rows:,} rows, the journal with {end}"
            raise self._corrupt(f"table '{table}' of '{name}'", why)
        stream.changes[table] = last

    def _corrupt(self, what: str, why: str) -> PresageError:
        return corrupt(what, self._home.path, why, REPAIR)
