"""The journal of a home: numbered, durable records. Writing a record is the commit.

`journal/` contains head.json (the state after record n) and the records after n, one file each: `<number>.json`, or
`<number>.done` once the record is applied to all tables.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from presage.errors import PresageError, error
from presage.storage import failpoints
from presage.storage.disk import Disk, corrupt
from presage.storage.failpoints import Failpoints
from presage.storage.home import HomeLayout
from presage.storage.sealed_json import seal, unseal

HEAD = "head.json"
PENDING, DONE = ".json", ".done"


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
    """The content of a journal when a home is opened."""

    head: dict[str, Any] | None
    records: list[Record]
    pending: set[int]  # numbers of the records that are not marked as applied


class Journal:
    def __init__(self, folder: Path, disk: Disk, points: Failpoints) -> None:
        self._folder = folder
        self._disk = disk
        self._points = points
        self._head: tuple[int, int] | None = None  # identity of the head's file as this process wrote or read it
        self._covered: deque[int] = deque()  # records that the head covers and that are not deleted yet

    def read(self) -> JournalContent:
        """Head and records, in order. Removes leftovers of a crash; a gap is an error."""
        head = read_head(self._folder)
        self._head = _identity(self._folder / HEAD)
        base = int(head["n"]) if head else 0
        records, pending = [], set()
        names = set(os.listdir(self._folder)) - {HEAD}
        for name in sorted(names):
            path = self._folder / name
            if name.startswith("."):
                path.unlink()  # a temporary file
            elif number_of(path) <= base:
                path.unlink()  # covered by the head
            elif path.suffix == PENDING and f"{path.stem}{DONE}" in names:
                path.unlink()  # of a second writer that was refused, and died before it could remove it
            else:
                records.append(read_record(path))
                if path.suffix == PENDING:
                    pending.add(records[-1].n)
        check_unbroken(self._folder, base, records)
        return JournalContent(head, records, pending)

    def write(self, record: Record) -> None:
        """Commit a record: it is durable when this returns."""
        path = record_path(self._folder, record.n, PENDING)
        try:
            self._disk.write_new(path, record.to_bytes(), lambda: self._points.reach(failpoints.RECORD_WRITTEN))
        except FileExistsError as taken:
            raise self._overtaken(record.n) from taken
        # A second writer may have used the number, and have marked its record or covered it by a head.
        if record_path(self._folder, record.n, DONE).exists() or self._head_was_replaced():
            path.unlink()
            raise self._overtaken(record.n)
        self._points.reach(failpoints.COMMITTED)

    def _head_was_replaced(self) -> bool:
        return _identity(self._folder / HEAD) != self._head

    def _overtaken(self, n: int) -> PresageError:
        return error("HOME_OVERTAKEN", what=f"record {n}", path=self._folder.parent)

    def holds(self, n: int) -> bool:
        return record_path(self._folder, n, PENDING).exists()

    def mark(self, n: int) -> None:
        """Mark a record as applied. Not flushed: applying it again changes nothing."""
        os.replace(record_path(self._folder, n, PENDING), record_path(self._folder, n, DONE))
        self._points.reach(failpoints.MARKED)

    def compact(self, n: int, state: dict[str, Any], records: list[Record]) -> None:
        """Replace the records by a head with the state after record n. All of them must be applied."""
        following = [record_path(self._folder, n + 1, suffix) for suffix in (PENDING, DONE)]
        if self._head_was_replaced() or any(path.exists() for path in following):
            raise self._overtaken(n + 1)
        self._disk.write_atomically(self._folder / HEAD, seal({"n": n, "state": state}))
        self._head = _identity(self._folder / HEAD)
        self._points.reach(failpoints.HEAD_WRITTEN)
        self._covered.extend(record.n for record in records)

    def trim(self, most: int | None = None) -> None:
        """Delete records that the head covers; `most` at a time, so that no commit waits for all of them."""
        for _ in range(len(self._covered) if most is None else min(most, len(self._covered))):
            record_path(self._folder, self._covered[0], DONE).unlink(missing_ok=True)
            self._covered.popleft()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def number_of(path: Path) -> int:
    """The number of the record in a file; any other name is an error."""
    if path.suffix not in (PENDING, DONE) or not path.stem.isdecimal():
        raise corrupt_journal(path.parent, "the journal", f"'{path.name}' is no record")
    return int(path.stem)


def record_path(folder: Path, n: int, suffix: str) -> Path:
    return folder / f"{n:014d}{suffix}"


def read_head(folder: Path) -> dict[str, Any] | None:
    """The head of a journal, `n` and `state`; None if there is none yet."""
    path = folder / HEAD
    if not path.exists():
        return None
    try:
        head = unseal(path.read_bytes())
        return {"n": int(head["n"]), "state": head["state"]}
    except (OSError, ValueError, KeyError, TypeError) as broken:
        raise corrupt_journal(folder, "the journal's head", str(broken)) from broken


def read_record(path: Path) -> Record:
    try:
        return Record.from_bytes(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as broken:
        raise corrupt_journal(path.parent, f"record {path.stem}", str(broken)) from broken


def check_unbroken(folder: Path, base: int, records: list[Record]) -> None:
    """Raise an error unless the records follow the head without a gap, and an empty journal belongs to a new home."""
    if not base and not records and any(HomeLayout(folder.parent).catalog.glob("*.json")):
        raise corrupt_journal(folder, "the journal", "it is empty, and there are declarations")
    for expected, record in enumerate(records, base + 1):
        if record.n != expected:
            raise corrupt_journal(folder, f"record {expected}", "it is missing")


def corrupt_journal(folder: Path, what: str, why: str) -> PresageError:
    return corrupt(what, folder.parent, why, "restore the journal folder from a copy of the home")
