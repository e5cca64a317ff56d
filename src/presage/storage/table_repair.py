"""The repair of a table's Delta log: which files are live, and a checkpoint that says so.

Where the journal still has the records of lost entries, these name the files. Where it has not, the files themselves
tell: each has the number of its record in its name, and the numbers of its rows inside. They are believed only if
they hold exactly as many rows as the journal says. Nothing of a log that can be read is written over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from presage.errors import PresageError
from presage.storage.columns import LATE, ORDER, REJECTED
from presage.storage.data_files import archived, digest_of
from presage.storage.delta import CONFIGURATION, created
from presage.storage.delta_log import Seal, entry, entry_path, is_sealed, seal_checkpoint
from presage.storage.delta_replay import checkpoint, new_metadata, replay
from presage.storage.delta_schema import to_delta
from presage.storage.home import HomeLayout
from presage.storage.home_state import StreamState, changed_tables
from presage.storage.journal import FileAdd, Part, Record
from presage.storage.staging import Statistics, staged_by
from presage.storage.store import Store


class NotRepairableError(Exception):
    """Why something cannot be repaired without losing rows."""


class TableRepair:
    """One table. `state`: of its stream, after all records; `records`: of the journal, after its head; `covered`: the
    last record up to the head that changed the table; `last`: that of the journal; `schema`: as declared, in Delta's
    JSON; None if it is not known."""

    def __init__(
        self,
        home: HomeLayout,
        application: str,
        stream: str,
        table: str,
        state: StreamState,
        records: Sequence[Record],
        covered: int,
        last: int,
        schema: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._store, self._folder = home.store, home.table_folder(stream, table)
        self._application, self._stream, self._table = application, stream, table
        self._state, self._covered, self._last, self._schema = state, covered, last, schema
        self._records = [record for record in records if record.n >= state.generation]
        try:
            made = created(self._store, self._folder)
        except PresageError:
            made = None  # the mark of the stream is damaged
        self._replay = replay(self._store, self._folder, application, made)
        self._unseen = [
            record
            for record in self._records
            if (stream, table) in changed_tables(record)
            and record.n > self._replay.base
            and record.n not in self._replay.records
        ]

    @property
    def is_whole(self) -> bool:
        """Whether every entry of the log can be read that the journal does not write again when the home is opened."""
        seen = self._replay
        covered = max((*seen.records, seen.base, *(r.n for r in self._unseen)))
        expected = self._state.changes.get(self._table, covered)
        return not seen.lost and not seen.holes and seen.metadata is not None and covered >= expected

    def files(self) -> dict[str, FileAdd]:
        """The live files; NotRepairableError if that cannot be told."""
        seen = self._replay
        if seen.is_foreign:
            raise NotRepairableError("another program has changed the table")
        for record in self._unseen:
            for change in record.changes():
                if change.stream == self._stream:
                    seen.adds.update({file.path: file for file in change.adds.get(self._table, ())})
                    seen.removes.update(change.removes.get(self._table, ()) if isinstance(change, Part) else ())
        expected = self._expected()
        if self._all_entries_are_known():
            return seen.live
        if expected is None:
            raise NotRepairableError("the journal does not count its rows, so files cannot be told to be all of them")
        chosen = self._chosen(expected)
        rows = sum(file.rows for file in chosen.values())
        if rows != expected:
            raise NotRepairableError(f"the files that are left hold {rows:,} rows, the journal says {expected:,}")
        return chosen

    def _expected(self) -> int | None:
        if self._table == REJECTED:
            return None if self._state.removed else self._state.rejected
        if self._table == LATE and self._state.removed:
            return None
        return self._state.rows_of(self._stream, self._table)

    def _all_entries_are_known(self) -> bool:
        """Whether the journal has the record of each entry that is lost."""
        if max((*self._replay.records, self._replay.base)) < self._covered:
            return False  # entries of records that the head covers are missing at the end
        between = {
            hole: [r for r in self._unseen if r.n > hole[0] and (hole[1] is None or r.n < hole[1])]
            for hole in self._replay.holes
        }
        return all(after is None or len(between[before, after, n]) == n for before, after, n in self._replay.holes)

    def _chosen(self, expected: int) -> dict[str, FileAdd]:
        """The newest files, without those whose rows are all in newer ones: they were compacted."""
        seen, chosen = self._replay, dict[str, FileAdd]()
        taken = _Taken()
        names = {*seen.live, *(n for n in self._store.names(self._folder) if n not in seen.removes)}
        staged = [(staged_by(name), name) for name in names]
        for _, name in sorted(((n, name) for n, name in staged if n is not None and n <= self._last), reverse=True):
            path = self._folder / name
            try:
                numbers = _numbers(self._store, path, ORDER[self._table])
            except PresageError as broken:
                if name in seen.live:
                    raise NotRepairableError(f"its data file '{name}' is damaged, too") from broken
                continue  # it may never have been committed; the count of rows decides
            overlap = taken.add(numbers)
            if overlap == "none":
                chosen[name] = seen.adds.get(name) or described(self._store, path)
            elif overlap == "some":
                raise NotRepairableError(f"its data file '{name}' has some of its rows in common with a later one")
        return chosen

    def write(self, files: Mapping[str, FileAdd], metadata: dict[str, Any]) -> None:
        """An entry after all others, and a checkpoint at it with these files, from which readers start."""
        seen, store = self._replay, self._store
        log = self._folder / "_delta_log"
        for name in seen.lost:
            if store.is_folder(log / name):
                store.delete_folder(log / name)
        last = self._state.changes.get(self._table, max((*seen.records, seen.base)))
        version = max(seen.version + 1, 1)  # version 0 is for a creation
        data = entry(Seal(version, last, 0), self._application, [], [], False)
        store.create(entry_path(self._folder, version), data)
        transactions = {**seen.transactions, self._application: last}
        content = checkpoint(metadata, transactions, list(files.values()))
        store.put(log / f"{version:020d}.checkpoint.parquet", content)
        seal_checkpoint(store, self._folder, version)
        mark = {"version": version, "size": len(files) + len(transactions) + 2, "sizeInBytes": len(content)}
        store.put(log / "_last_checkpoint", json.dumps({**mark, "numOfAddFiles": len(files)}).encode())
        assert is_sealed(store, log, version)
        for name in seen.lost:
            store.delete(log / name)

    def metadata(self, files: Iterable[str]) -> dict[str, Any]:
        """The table's columns and configuration; NotRepairableError if nothing tells them."""
        if self._replay.metadata is not None:
            return self._replay.metadata
        schema = self._schema()
        for name in files if schema is None else ():
            with archived(self._store.address(self._folder / name)) as data:
                schema = to_delta(data.schema_arrow)
            break
        if schema is None:
            raise NotRepairableError("nothing tells its columns: it has no files, and its declaration is lost")
        return new_metadata(schema, CONFIGURATION)


def described(store: Store, path: PurePath) -> FileAdd:
    """A data file with the statistics that its record had."""
    statistics = Statistics()
    with archived(store.address(path)) as data:
        for group in range(data.metadata.num_row_groups):
            statistics.add(data.read_row_group(group))
    return FileAdd(path.name, store.size(path), statistics.rows, statistics.text(), digest_of(store, path))


def _numbers(store: Store, path: PurePath, column: str) -> np.ndarray:
    with archived(store.address(path)) as data:
        return np.unique(data.read(columns=[column])[column].cast(pa.int64()).to_numpy())


class _Taken:
    """Numbers of rows, one bit each."""

    def __init__(self) -> None:
        self._bits = np.zeros(1 << 10, np.bool_)

    def add(self, numbers: np.ndarray) -> str:
        """How many of the numbers were there before: none, all or some. They are added if none were."""
        if not len(numbers):
            return "none"
        while numbers.max() >= len(self._bits):
            self._bits = np.concatenate([self._bits, np.zeros_like(self._bits)])
        known = self._bits[numbers]
        if not known.any():
            self._bits[numbers] = True
            return "none"
        return "all" if known.all() else "some"
