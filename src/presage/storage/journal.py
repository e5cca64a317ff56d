"""The journal of a home: numbered, durable records. Writing a record is the commit.

`journal/` contains a head (the state after record n), `head-<n>.json`, and the records after n, one file each. Records
are put if absent. Journals of earlier versions have a head without a number, and another suffix for records that are
applied to all tables.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import PurePath
from typing import Any

from presage.errors import PresageError, error
from presage.storage import failpoints
from presage.storage.failpoints import Failpoints
from presage.storage.failures import REPAIR, corrupt
from presage.storage.home import HomeLayout
from presage.storage.sealed_json import seal, unseal
from presage.storage.store import Store

_RECORD = re.compile(r"(\d{14,})\.(?:json|done)")
_HEAD = re.compile(r"head(?:-(\d{14,}))?\.json")


@dataclass(frozen=True)
class FileAdd:
    """A data file to add to a table: its name in the table's folder, Delta's statistics as JSON, and the digest of its
    bytes: see `data_files.digest`. Files of earlier versions have none."""

    path: str
    size: int
    rows: int
    stats: str
    digest: int | None = None


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

    def to_bytes(self) -> bytes:
        # Without default values: there are many records, and people read them.
        empty, own = vars(Record(self.n, self.kind, self.at)), vars(self)
        return seal({k: v for k, v in own.items() if k in ("n", "kind", "at") or v != empty[k]}, asdict)

    @classmethod
    def from_bytes(cls, data: bytes) -> Record:
        content = unseal(data)
        content["adds"] = _adds(content)
        content["parts"] = [Part(**{**part, "adds": _adds(part)}) for part in content.get("parts", [])]
        return cls(**content)


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

    @property
    def base(self) -> int:
        """The last record that the head covers."""
        return int(self.head["n"]) if self.head else 0


class Journal:
    def __init__(self, folder: PurePath, store: Store, points: Failpoints) -> None:
        self._folder = folder
        self._store = store
        self._points = points
        self._heads: list[str] = []  # the files of the present head
        self._covered: deque[str] = deque()  # names of files that the head covers and that are not deleted yet
        self._kept = 0  # of these, the last ones stay: the previous head and the records up to the present one

    def read(self) -> JournalContent:
        names = Names.of(self._store, self._folder)
        content = read_journal(self._store, self._folder, names)
        takeovers = {name_of(n) for n in (content.head["state"].get("takeovers", ()) if content.head else ())}
        self._covered = deque(name for name in names.up_to(content.base) if name not in takeovers)
        self._heads = [name for _, name in names.heads]
        previous = names.heads[-2][0] if len(names.heads) > 1 else 0
        self._kept = sum(name > name_of(previous) for name in self._covered)
        return content

    def write(self, record: Record) -> None:
        """Commit a record: it is durable when this returns. Two processes cannot write the same number."""
        path, data = self._folder / name_of(record.n), record.to_bytes()
        try:
            self._store.create(path, data, lambda: self._points.reach(failpoints.RECORD_WRITTEN))
        except FileExistsError as taken:
            if not self._holds(path, data):
                raise error("HOME_OVERTAKEN", what=f"record {record.n}", path=self._folder.parent) from taken
        except OSError:
            if not self._holds(path, data):
                raise
        self._points.reach(failpoints.COMMITTED)

    def _holds(self, path: PurePath, data: bytes) -> bool:
        """Whether the record is there, though its writing was reported to have failed: the reply may have been lost.
        Its nonce distinguishes it from the record of any other process."""
        try:
            return self._store.read(path) == data
        except FileNotFoundError:
            return False

    def holds(self, n: int) -> bool:
        return self._store.exists(self._folder / name_of(n))

    def compact(self, n: int, state: dict[str, Any], records: list[Record]) -> None:
        """Write a head with the state after record n, which replaces the records. All of them must be applied.

        Heads have numbers, too: that of a process that was paused does not replace a later one.
        """
        name = head_name(n)
        with suppress(FileExistsError):  # of an attempt whose reply was lost: it can have no other content
            self._store.create(self._folder / name, seal({"n": n, "state": state}))
        self._points.reach(failpoints.HEAD_WRITTEN)
        # The record of a takeover stays: it refuses the next record of the process that was overtaken.
        takeovers = set(state["takeovers"])
        covered = [name for name in self._heads if name != head_name(n)]
        covered += [name_of(record.n) for record in records if record.n not in takeovers]
        self._covered.extend(covered)
        self._kept = len(covered)
        self._heads = [name]

    def trim(self, most: int | None = None) -> None:
        """Delete files that the head covers, except those from which it can be computed again; `most` at a time, so
        that no commit waits for all of them."""
        old = len(self._covered) - self._kept
        for _ in range(old if most is None else min(most, old)):
            self._store.delete(self._folder / self._covered[0])
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
    head = read_head(store, folder, names.heads[-1][1]) if names.heads else None
    content = JournalContent(head, [])
    numbers = [n for n in sorted(names.records) if n > content.base]
    # Of the two names of a record of an earlier version, the last one counts.
    last = [folder / max(names.records[n], key=_is_done) for n in numbers]
    content.records = store.each(lambda path: read_record(store, path), last)
    _check_unbroken(store, folder, content)
    return content


def name_of(n: int) -> str:
    return f"{n:014d}.json"


def head_name(n: int) -> str:
    return f"head-{n:014d}.json"


def _is_done(name: str) -> bool:
    return name.endswith(".done")


def read_head(store: Store, folder: PurePath, name: str) -> dict[str, Any]:
    try:
        head = unseal(store.read(folder / name))
        return {"n": int(head["n"]), "state": head["state"]}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise corrupt_journal(folder, "the journal's head", str(broken)) from broken


def read_record(store: Store, path: PurePath) -> Record:
    try:
        return Record.from_bytes(store.read(path))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as broken:
        raise corrupt_journal(path.parent, f"record {path.stem}", str(broken)) from broken


def _check_unbroken(store: Store, folder: PurePath, content: JournalContent) -> None:
    """Raise an error unless the records follow the head without a gap, and an empty journal belongs to a new home."""
    base, records = content.base, content.records
    if not base and not records and store.names(HomeLayout(store, folder.parent).catalog):
        raise corrupt_journal(folder, "the journal", "it is empty, and there are declarations")
    for expected, record in enumerate(records, base + 1):
        if record.n != expected:
            raise corrupt_journal(folder, f"record {expected}", "it is missing")


def corrupt_journal(folder: PurePath, what: str, why: str) -> PresageError:
    return corrupt(what, folder.parent, why, f"{REPAIR}; else restore the journal folder from a copy of the home")
