"""The verification of a home against its journal. Reads all of it, changes nothing.

It needs no lock: it verifies a snapshot. Files that an engine has removed from their tables since then may be missing.
Memory is bounded by a row group, and by one bit for each event that the home has ever had. Files of knowledge bases are
read through their library, which alone knows how they are stored.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.errors import PresageError
from presage.live.state_files import Chain, chains_from_json, read_chain
from presage.live.statement import Statement
from presage.model.time import format_timestamp
from presage.operators.knowledge.library import Library
from presage.storage.catalog_codec import SOURCES, damaged_copies
from presage.storage.catalog_log import CatalogEntry, CatalogLog
from presage.storage.columns import EVENTS, LATE, SEQ, TIME
from presage.storage.data_files import archived, digest_of
from presage.storage.delta import LiveFile, Table
from presage.storage.delta_replay import replay
from presage.storage.failures import first_line, storage
from presage.storage.home import DERIVED, RESULTS, open_place, read_format
from presage.storage.home_state import LiveState, changed_tables
from presage.storage.snapshot_reader import HomeSnapshot, read_snapshot
from presage.storage.store import Store

FROM_COPY = "restore it from a copy of the home"
FROM_INPUT = "presage log HOME repair computes the rows again, if the log still holds all that was read"
BY_ITSELF = "nothing: the engine computes the state again from the log, if the log still holds all that was read"


@dataclass(frozen=True)
class Finding:
    """A problem. `where`: a path below the home; `fix`: what can be done."""

    where: str
    what: str
    fix: str = FROM_COPY


@dataclass
class VerifiedCounts:
    tables: int = 0
    files: int = 0
    rows: int = 0
    states: int = 0


class Verification:
    """`findings` yields problems as they are found; `checked` counts what was verified so far. `quick` does not read
    all columns of data files."""

    def __init__(self, home: str | os.PathLike[str], quick: bool = False) -> None:
        self._home = home
        self._root = PurePath()
        self._quick = quick
        self.checked = VerifiedCounts()

    def findings(self) -> Iterator[Finding]:
        store, folder = open_place(self._home)
        try:
            with storage(store.address(folder), "and try again"):
                read_format(store, folder)
        except PresageError as problem:
            if problem.code != "HOME_CORRUPT":
                raise
        try:
            snapshot = read_snapshot(self._home)
        except PresageError as problem:
            yield Finding(".", problem.message, problem.fix)
            return
        self._root = snapshot.layout.path
        damaged = list(self._catalog(snapshot))
        entries: list[CatalogEntry] = []
        if not damaged:
            try:
                entries = CatalogLog(snapshot.layout.catalog, snapshot.layout.store).entries()
            except PresageError as problem:  # an entry that the journal does not name
                damaged = [Finding(self._below(snapshot.layout.catalog), problem.message, problem.fix)]
        yield from damaged
        yield from self._copies(snapshot, entries)
        numbers = Numbers(snapshot.state.position)
        for stream in snapshot.state.streams:
            yield from self._stream(snapshot, stream, numbers)
        if not damaged and _never_removed(snapshot, entries):
            yield from numbers.missing()
        yield from self._states(snapshot)

    # -- declarations ----------------------------------------------------------------------------------

    def _catalog(self, snapshot: HomeSnapshot) -> Iterator[Finding]:
        """Each version of the catalog exists and is readable."""
        entries = CatalogLog(snapshot.layout.catalog, snapshot.layout.store)
        for version in range(1, snapshot.state.catalog_version + 1):
            path = snapshot.layout.catalog / f"{version:014d}.json"
            try:
                entries.read(path.name)
            except PresageError as problem:
                if snapshot.layout.store.exists(path):
                    yield Finding(self._below(path), f"a declaration cannot be read: {problem.__cause__ or problem}")
                # The next opening applies a pending record.
                elif not any(
                    r.catalog and r.catalog["version"] == version and r.n in snapshot.pending for r in snapshot.records
                ):
                    yield Finding(self._below(path), "a declaration is missing")

    def _copies(self, snapshot: HomeSnapshot, entries: list[CatalogEntry]) -> Iterator[Finding]:
        """The copies of the files of declarations, which opening or the first query reads."""
        home = snapshot.layout
        bases: dict[str, list[list[str]]] = {}
        for relative, problem in damaged_copies(home, entries):
            yield Finding(relative, problem.message, problem.fix)
        for entry in entries:
            if SOURCES in entry.extra:
                bases[entry.name] = entry.extra[SOURCES]
            elif entry.action == "drop":
                bases.pop(entry.name, None)
        for name, sources in bases.items():
            for _, digest in sources:
                try:
                    Library(home.store, home.path / "knowledge", keeps=False).source(name, digest)
                except PresageError as problem:
                    yield Finding(f"knowledge/files/{digest}", problem.message, problem.fix)

    # -- tables ------------------------------------------------------------------------------------------

    def _stream(self, snapshot: HomeSnapshot, stream: str, numbers: Numbers) -> Iterator[Finding]:
        folder, state = snapshot.layout.stream_folder(stream), snapshot.state.streams[stream]
        if state.generation in snapshot.pending:
            return  # not created yet
        store, generation = snapshot.layout.store, snapshot.generation(stream)
        if not store.is_folder(folder):
            yield Finding(self._below(folder), f"the folder of stream '{stream}' is missing")
            return
        if generation != state.generation:
            by = f"record {generation}, the journal says record {state.generation}"
            yield Finding(self._below(folder), f"the folder of stream '{stream}' was made by {by}")
        for table in state.changes:
            if not store.is_folder(snapshot.layout.table_folder(stream, table)):
                yield Finding(self._below(folder / table), f"table '{table}' of '{stream}' is missing")
        for name, table in [pair for pair in snapshot.tables() if pair[0] == stream]:
            yield from self._table(snapshot, name, table, numbers)

    def _table(self, snapshot: HomeSnapshot, stream: str, table: str, numbers: Numbers) -> Iterator[Finding]:
        folder = snapshot.layout.table_folder(stream, table)
        try:
            state = snapshot.table(stream, table)
        except PresageError as problem:
            yield Finding(self._below(folder), problem.message, problem.fix)
            return
        self.checked.tables += 1
        applied = [
            r.n for r in snapshot.records if r.n not in snapshot.pending and (stream, table) in changed_tables(r)
        ]
        if applied and state.transaction < max(applied):
            what = f"its Delta log ends with record {state.transaction}, the journal has applied {max(applied)}"
            yield Finding(self._below(folder), what)
        rows, counted = 0, numbers if _is_numbered(stream, table) else None
        said = replay(snapshot.layout.store, folder, snapshot.application).adds
        digests = {name: file.digest for name, file in said.items()}
        for file in list(state.files.values()):
            rows += file.rows
            digest = digests.get(file.name)
            for finding in self._file(snapshot.layout.store, folder / file.name, file, digest, state, counted):
                # An engine may have compacted the table since, and deleted the file.
                if snapshot.layout.store.exists(folder / file.name) or file.name in snapshot.table(stream, table).files:
                    what = f"{finding.what}; {_contents(stream, table, file)}"
                    yield Finding(
                        finding.where,
                        what,
                        FROM_INPUT if stream.startswith((RESULTS, DERIVED)) else FROM_COPY,
                    )
        expected = None if snapshot.pending else snapshot.state.streams[stream].rows_of(stream, table)
        if expected is not None and state.transaction <= snapshot.state.n and rows != expected:
            yield Finding(self._below(folder), f"its files hold {rows:,} rows, the journal says {expected:,}")

    def _file(
        self,
        store: Store,
        path: PurePath,
        file: LiveFile,
        digest: int | None,
        table: Table,
        numbers: Numbers | None,
    ) -> Iterator[Finding]:
        """`digest`: of all its bytes, as they were written; then their values need not be read. None: unknown."""
        self.checked.files += 1
        where = self._below(path)
        try:
            size = store.size(path)
            if size != file.size:
                yield Finding(where, f"it has {size:,} bytes, its table says {file.size:,}")
            elif digest is not None and not self._quick and digest_of(store, path) != digest:
                yield Finding(where, "its bytes are not those that were written")
            with archived(store.address(path)) as data:
                if data.metadata.num_rows != file.rows:
                    yield Finding(where, f"it holds {data.metadata.num_rows:,} rows, its table says {file.rows:,}")
                    return
                missing = [name for name in table.schema.names if name not in data.schema_arrow.names]
                if missing:
                    yield Finding(where, f"it has no column '{missing[0]}'")
                    return
                self.checked.rows += file.rows
                columns = [name for name in (SEQ, TIME) if name in data.schema_arrow.names]
                for group in range(data.metadata.num_row_groups):
                    rows = data.read_row_group(group, columns=columns if self._quick or digest is not None else None)
                    yield from self._rows(where, rows, file)
                    if numbers is not None:
                        yield from numbers.add(where, rows[SEQ].to_numpy())
        except FileNotFoundError:
            yield Finding(where, "a file that its table names is missing")
        except PresageError as problem:
            yield Finding(where, f"it cannot be read: {first_line(problem.__cause__ or problem)}")

    def _rows(self, where: str, rows: pa.Table, file: LiveFile) -> Iterator[Finding]:
        """Rows must lie inside the statistics of the file, by which queries choose files."""
        for name, low, high in ((SEQ, file.first_seq, file.last_seq), (TIME, file.first_time, file.last_time)):
            if name in rows.column_names and rows.num_rows and low is not None and high is not None:
                values = rows[name].cast(pa.int64()).to_numpy()
                if values.min() < low or values.max() > high:
                    yield Finding(where, f"its column {name} has values outside of the statistics of the file")

    # -- states ------------------------------------------------------------------------------------------

    def _states(self, snapshot: HomeSnapshot) -> Iterator[Finding]:
        for owner, chain in _chains(snapshot.state.live, ("running", "failed")):
            self.checked.states += 1
            try:
                read_chain(snapshot.layout.store, snapshot.layout.states, chain)
            except PresageError as problem:
                # A batch may have replaced it by a newer one since.
                if chain in [chain for _, chain in _chains(read_snapshot(self._home).state.live)]:
                    where = self._below(snapshot.layout.states / chain[0].file)
                    yield Finding(where, f"the state of {owner}: {problem.message}", BY_ITSELF)

    def _below(self, path: PurePath) -> str:
        return str(path.relative_to(self._root))


class Numbers:
    """The sequence numbers found so far, one bit each. They are unique, from 1 to the position."""

    def __init__(self, position: int) -> None:
        self._position = position
        self._bits = np.zeros(position // 8 + 1, np.uint8)
        self._bits[0] = 1  # the number 0 is not used

    def add(self, where: str, numbers: npt.NDArray[np.int64]) -> Iterator[Finding]:
        # Greater numbers arrived after the snapshot.
        numbers = numbers[numbers <= self._position]
        if len(numbers) and numbers.min() < 1:
            yield Finding(where, f"it holds the number {numbers.min()}; the first of a home is 1")
            numbers = numbers[numbers >= 1]
        fresh = np.unique(numbers)
        places, bits = fresh >> 3, (1 << (fresh & 7)).astype(np.uint8)
        twice = len(numbers) - len(fresh) + int(np.count_nonzero(self._bits[places] & bits))
        if twice:
            yield Finding(where, f"{twice:,} of its numbers ({SEQ}) are those of other events, too")
        np.bitwise_or.at(self._bits, places, bits)

    def missing(self) -> Iterator[Finding]:
        """Findings for a home in which no event was ever removed."""
        missing = self._position + 1 - int(np.bitwise_count(self._bits).sum())
        if missing:
            byte = int(np.argmax(self._bits != 255))
            first = 8 * byte + next(bit for bit in range(8) if not self._bits[byte] >> bit & 1)
            what = f"the numbers of events are broken: {missing:,} are missing, {first:,} is the first"
            yield Finding("streams", what)


def _contents(stream: str, table: str, file: LiveFile) -> str:
    """What a data file holds, for people: its rows are lost if it is."""
    times = [format_timestamp(time) for time in (file.first_time, file.last_time) if time is not None]
    span = f", {' to '.join(times)}" if times else ""
    return f"it holds {file.rows:,} rows of {table} of '{stream.removeprefix(DERIVED)}'{span}"


def _is_numbered(stream: str, table: str) -> bool:
    """Whether rows of a table have unique sequence numbers."""
    return table in (EVENTS, LATE) and (not stream.startswith("#") or stream.startswith(DERIVED))


def _never_removed(snapshot: HomeSnapshot, entries: list[CatalogEntry]) -> bool:
    """Whether all events of the home still exist: no stream was dropped, and retention has removed nothing."""
    if any(stream.removed for stream in snapshot.state.streams.values()):
        return False
    return not any(entry.action == "drop" and entry.kind != "statement" for entry in entries)


def _chains(live: LiveState, statuses: Collection[str] = ()) -> list[tuple[str, Chain]]:
    """Owners and chains of states: of statements with these statuses (default: all), and of shared execution."""
    found = []
    for content in live.statements.values():
        if not statuses or content.get("status", "running") in statuses:
            states = Statement.from_json(content).states.values()
            found += [(f"statement '{content['name']}'", chain) for chain in states]
    for number, places in live.shared_states.items():
        found += [(f"family {number}", chain) for chain in chains_from_json(places).values()]
    return found
