"""The journal of a home: numbered, durable records. Writing a record is the commit.

`journal/` contains a head (the state after record n), `head-<n>.json`, and the records after n. A file holds one
record, or a group of consecutive records that were committed together, under the number of its first one. Files are put
if absent. Journals of earlier versions have a head without a number, and another suffix for records that are applied to
all tables.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import PurePath
from typing import Any

from presage.errors import PresageError, error
from presage.storage import failpoints
from presage.storage.failpoints import Failpoints
from presage.storage.failures import corrupt
from presage.storage.home import HomeLayout
from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store, StoreError

_RECORD = re.compile(r"(\d{14,})\.(?:json|done)")
_HEAD = re.compile(r"head(?:-(\d{14,}))?\.json")
GROUP = "records"  # the key of a group's records
TRIES = 20  # to read a journal while another process covers records by new heads


class UnknownOutcomeError(StoreError):
    """A record was put, and the store does not say whether it is there."""


@dataclass(frozen=True)
class FileAdd:
    """A data file to add to a table: its name in the table's folder, and Delta's statistics as JSON."""

    path: str
    size: int
    rows: int
    stats: str


@dataclass(frozen=True)
class Part:
    """The changes of a record to one more stream: rows of a statement, or files that replace others."""

    stream: str
    first_seq: int = 0
    seqs: int = 0
    adds: dict[str, list[FileAdd]] = field(default_factory=dict)
    removes: dict[str, list[str]] = field(default_factory=dict)  # names of files, by table
    rewrites: bool = False  # the added files hold the rows of the removed ones
    removed: int = 0  # events that retention removes
    key: list[str] | None = None  # the columns by which old files of the stream are bucketed
    accepted: int = 0
    first_time: int | None = None
    last_time: int | None = None
    watermark: int | None = None


@dataclass(frozen=True)
class Record:
    """One atomic change of the home, which may change several tables."""

    n: int
    kind: str  # append, watermark, catalog, batch, compaction …: for people; the other fields define the change
    at: int  # wall time, microseconds
    stream: str | None = None
    once: str | None = None
    first_seq: int = 0
    seqs: int = 0  # number of sequence numbers, from first_seq on
    adds: dict[str, list[FileAdd]] = field(default_factory=dict)  # by table of the stream
    accepted: int = 0
    late: int = 0
    rejected: int = 0
    ignored: dict[str, int] = field(default_factory=dict)
    first_time: int | None = None  # least and greatest event time among the accepted rows
    last_time: int | None = None
    watermark: int | None = None  # of the stream, after this record
    drops: list[str] = field(default_factory=list)
    creates: dict[str, dict[str, str]] = field(default_factory=dict)  # stream -> table -> Delta schema
    catalog: dict[str, Any] | None = None
    parts: list[Part] = field(default_factory=list)
    # Source -> partition -> the offsets that have arrived: see `offsets.PartitionOffsets`. Others stay unchanged.
    sources: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    # Declared source -> its progress after this record: see `delivery.SourceState`.
    cursors: dict[str, dict[str, Any]] = field(default_factory=dict)
    live: dict[str, Any] | None = None  # changes of the deployed statements: see `home_state.LiveState`
    nonce: str = ""  # distinguishes it from a record that another process writes under this number
    takeover: str = ""  # the lease of a process that took over the home

    def changes(self) -> list[Record | Part]:
        return [self, *self.parts]

    def content(self) -> dict[str, Any]:
        """Its fields without default values: there are many records, and people read them."""
        empty, own = vars(Record(self.n, self.kind, self.at)), vars(self)
        return {k: v for k, v in own.items() if k in ("n", "kind", "at") or v != empty[k]}

    @classmethod
    def of(cls, content: dict[str, Any]) -> Record:
        parts = [Part(**{**part, "adds": _adds(part)}) for part in content.get("parts", [])]
        return cls(**{**content, "adds": _adds(content), "parts": parts})


def to_bytes(records: Sequence[Record]) -> bytes:
    """The content of a file of the journal."""
    contents = [record.content() for record in records]
    return seal(contents[0] if len(contents) == 1 else {GROUP: contents}, asdict)


def from_bytes(data: bytes) -> list[Record]:
    content = unseal(data)
    return [Record.of(each) for each in content.get(GROUP, [content])]


def _adds(content: dict[str, Any]) -> dict[str, list[FileAdd]]:
    return {table: [FileAdd(**add) for add in adds] for table, adds in content.get("adds", {}).items()}


@dataclass(frozen=True)
class Turn:
    """The exclusive right to publish the next record: its number, and a token for the names of its data files."""

    n: int
    token: str
    at: int


@dataclass
class JournalContent:
    """The content of a journal: the head, and the records after it, in order."""

    head: dict[str, Any] | None
    records: list[Record]
    files: list[tuple[int, str]] = field(default_factory=list)  # those of the records: first number and name

    @property
    def base(self) -> int:
        """The last record that the head covers."""
        return int(self.head["n"]) if self.head else 0


@dataclass(frozen=True)
class Head:
    """The state after record n as bytes, whatever happens to the state meanwhile."""

    n: int
    data: bytes
    takeovers: frozenset[int]

    @classmethod
    def of(cls, state: dict[str, Any]) -> Head:
        return cls(state["n"], seal({"n": state["n"], "state": state}), frozenset(state["takeovers"]))


class Journal:
    def __init__(self, folder: PurePath, store: Store, points: Failpoints) -> None:
        self._folder = folder
        self._store = store
        self._points = points
        self._base = 0  # the last record that the head covers, as far as this process knows
        self._heads: list[str] = []  # the files of the present head
        self._files: deque[tuple[int, str]] = deque()  # of the records after it: first number and name
        self._covered: deque[str] = deque()  # names of files that the head covers and that are not deleted yet

    def read(self) -> JournalContent:
        for left in reversed(range(TRIES)):
            names = Names.of(self._store, self._folder)
            try:
                content = read_journal(self._store, self._folder, names)
                break
            except FileNotFoundError:  # another process is alive and has covered it by a new head
                if not left:
                    raise
        self._base = content.base
        takeovers = {name_of(n) for n in (content.head["state"].get("takeovers", ()) if content.head else ())}
        self._covered.extend(name for name in names.up_to(content.base) if name not in takeovers)
        self._heads = [name for _, name in names.heads]
        self._files = deque(content.files)
        return content

    def write(self, *records: Record) -> None:
        """Commit consecutive records, all or none: they are durable when this returns. Two processes cannot write the
        same number."""
        n = records[0].n
        path, data = self._folder / name_of(n), to_bytes(records)
        try:
            self._store.create(path, data, lambda: self._points.reach(failpoints.RECORD_WRITTEN))
        except OSError as failure:
            try:
                found, taken = self._found(path), isinstance(failure, FileExistsError)
            except StoreError as silence:
                raise UnknownOutcomeError(*silence.args) from failure
            if found is not None and found != data:
                raise self._overtaken(f"record {n}") from failure
            # In a folder it may be there and not be durable.
            if found is None or (self._store.is_local and not taken):
                raise
        self._files.append((n, path.name))
        self._points.reach(failpoints.COMMITTED)

    def take_over(self, record: Record) -> Record:
        """Commit the record of a takeover. The record that is there, if an earlier attempt of this process put it.

        A head that is new to this process may cover this number, or one that it has read: such records are deleted, so
        that their numbers can be put again. It then knows nothing, and must not go on.
        """
        try:
            self.write(record)
        except PresageError:
            found = self.find(record.n)
            if found is None or found.takeover != record.takeover:
                raise
            record = found
        heads = Names.of(self._store, self._folder).heads
        if heads and heads[-1][0] > self._base:
            raise self._overtaken(f"a head after record {heads[-1][0]}")
        return record

    def _found(self, path: PurePath) -> bytes | None:
        """What is there after a writing was reported to have failed: the reply may have been lost. A nonce
        distinguishes a record from that of any other process."""
        try:
            return self._store.read(path)
        except FileNotFoundError:
            return None

    def _overtaken(self, what: str) -> PresageError:
        return error("HOME_OVERTAKEN", what=what, path=self._store.address(self._folder.parent))

    def find(self, n: int) -> Record | None:
        """The first record of the file of a number; it may be in the way of a record of this process."""
        data = self._found(self._folder / name_of(n))
        return None if data is None else from_bytes(data)[0]

    def compact(self, head: Head) -> None:
        """Write a head, which replaces the records up to its own. All of them must be applied.

        Heads have numbers, too: that of a process that was paused does not replace a later one.
        """
        name = head_name(head.n)
        self._base = head.n
        with suppress(FileExistsError):  # of an attempt whose reply was lost: it can have no other content
            self._store.create(self._folder / name, head.data)
        self._points.reach(failpoints.HEAD_WRITTEN)
        self._covered.extend(old for old in self._heads if old != name)
        while self._files and self._files[0][0] <= head.n:
            first, file = self._files.popleft()
            # The record of a takeover stays: it refuses the next record of the process that was overtaken.
            if first not in head.takeovers:
                self._covered.append(file)
        self._heads = [name]

    def trim(self, most: int | None = None) -> None:
        """Delete files that the head covers; `most` at a time, so that no commit waits for all of them."""
        names = list(islice(self._covered, most))
        self._store.delete_all([self._folder / name for name in names])
        for _ in names:
            self._covered.popleft()


@dataclass(frozen=True)
class Names:
    """The names in the folder of a journal. `records`: by number; a record of an earlier version may have two."""

    records: Mapping[int, list[str]]
    heads: list[tuple[int, str]]  # the last one counts

    @classmethod
    def of(cls, store: Store, folder: PurePath) -> Names:
        """Any other name is an error."""
        records: dict[int, list[str]] = {}
        heads = []
        for name in store.names(folder):
            head, record = _HEAD.fullmatch(name), _RECORD.fullmatch(name)
            if head:
                heads.append((int(head[1] or 0), name))
            elif record:
                records.setdefault(int(record[1]), []).append(name)
            else:
                raise corrupt_journal(folder, "the journal", f"'{name}' is no record")
        return cls(records, sorted(heads))

    def up_to(self, base: int) -> list[str]:
        return [name for n in sorted(self.records) if n <= base for name in self.records[n]]


def read_journal(store: Store, folder: PurePath, names: Names | None = None) -> JournalContent:
    """Head and records; a gap is an error. FileNotFoundError if a head was replaced meanwhile."""
    names = names or Names.of(store, folder)
    head = _read_head(store, folder, names.heads[-1][1]) if names.heads else None
    content = JournalContent(head, [])
    numbers = [n for n in sorted(names.records) if n > content.base]
    # Of the two names of a record of an earlier version, the last one counts.
    content.files = [(n, max(names.records[n], key=_is_done)) for n in numbers]
    content.records = [record for _, name in content.files for record in read_records(store, folder / name)]
    _check_unbroken(store, folder, content)
    return content


def name_of(n: int) -> str:
    return f"{n:014d}.json"


def head_name(n: int) -> str:
    return f"head-{n:014d}.json"


def _is_done(name: str) -> bool:
    return name.endswith(".done")


def _read_head(store: Store, folder: PurePath, name: str) -> dict[str, Any]:
    try:
        head = unseal(store.read(folder / name))
        return {"n": int(head["n"]), "state": head["state"]}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise corrupt_journal(folder, "the journal's head", broken) from broken


def read_records(store: Store, path: PurePath) -> list[Record]:
    try:
        return from_bytes(store.read(path))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as broken:
        raise corrupt_journal(path.parent, f"record {path.stem}", broken) from broken


def _check_unbroken(store: Store, folder: PurePath, content: JournalContent) -> None:
    """Raise an error unless the records follow the head without a gap, and an empty journal belongs to a new home."""
    base, records = content.base, content.records
    if not base and not records and store.names(HomeLayout(store, folder.parent).catalog):
        raise corrupt_journal(folder, "the journal", "it is empty, and there are declarations")
    for expected, record in enumerate(records, base + 1):
        if record.n != expected:
            raise corrupt_journal(folder, f"record {expected}", "it is missing")


def corrupt_journal(folder: PurePath, what: str, why: object) -> PresageError:
    return corrupt(what, folder.parent, why, "restore the journal folder from a copy of the home")
