"""Records in, numbered durable files out, and back: the one place where it is decided whether an append has happened.

`journal/` holds `head.json` (the state after record n) and the records after n, one file each: `<number>.json`, or
`<number>.done` once all that the record says has been carried out.
"""

from __future__ import annotations

import os
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from presage.errors import PresageError, error
from presage.storage import failpoints
from presage.storage.disk import Disk
from presage.storage.failpoints import Failpoints
from presage.storage.home import HomeLayout
from presage.storage.sealed_json import seal, unseal

HEAD = "head.json"
PENDING, DONE = ".json", ".done"


@dataclass(frozen=True)
class FileAdd:
    """A data file that becomes part of a table: its name in the table's folder and Delta's statistics as JSON."""

    path: str
    size: int
    rows: int
    stats: str


@dataclass(frozen=True)
class Part:
    """What a record does to one more stream: rows that a statement made, or files that take the place of others."""

    stream: str
    first_seq: int = 0
    seqs: int = 0
    adds: dict[str, list[FileAdd]] = field(default_factory=dict)
    removes: dict[str, list[str]] = field(default_factory=dict)  # names of files, by table
    rewrites: bool = False  # the files added hold the rows of those removed
    removed: int = 0  # events that retention takes away
    key: list[str] | None = None  # the columns by which old files of the stream are bucketed
    accepted: int = 0
    first_time: int | None = None
    last_time: int | None = None
    watermark: int | None = None


@dataclass(frozen=True)
class Record:
    """One step of the home's history. A record may do several things; they happen together or not at all."""

    n: int
    kind: str  # append, watermark, catalog, batch, compaction …: for the reader; the parts below say what happens
    at: int  # wall time, microseconds
    stream: str | None = None
    once: str | None = None
    first_seq: int = 0
    seqs: int = 0  # how many sequence numbers, from first_seq on, belong to this record
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
    # Source -> partition -> how far its offsets are: see `offsets.PartitionOffsets`. What is not named stays as it is.
    sources: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    # Source that fills the stream by itself -> how far it is after this record: see `delivery.SourceState`.
    cursors: dict[str, dict[str, Any]] = field(default_factory=dict)
    live: dict[str, Any] | None = None  # what becomes of the standing statements: see `home_state.LiveState`

    def to_bytes(self) -> bytes:
        # Parts that say nothing are left out: records are many, and people read them.
        empty, own = vars(Record(self.n, self.kind, self.at)), vars(self)
        kept = {k: v for k, v in own.items() if k in ("n", "kind", "at") or v != empty[k]}
        return seal(kept, asdict)

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
    """The right to publish the next record: its number, and a token for the names of its data files."""

    n: int
    token: str
    at: int


@dataclass
class JournalContent:
    """What a journal holds when a home is opened."""

    head: dict[str, Any] | None
    records: list[Record]
    pending: set[int]  # numbers of the records that are not marked


class Journal:
    def __init__(self, folder: Path, disk: Disk, points: Failpoints) -> None:
        self._folder = folder
        self._disk = disk
        self._points = points
        self._head: tuple[int, int] | None = None  # which file is the head, as far as this process knows
        self._covered: deque[int] = deque()  # records that the head has taken in and that are still there

    def read(self) -> JournalContent:
        """Head and records, in order; leftovers of a crash are cleared away, a gap is an error."""
        head = read_head(self._folder)
        self._head = _identity(self._folder / HEAD)
        base = int(head["n"]) if head else 0
        records, pending = [], set()
        names = set(os.listdir(self._folder)) - {HEAD}
        for name in sorted(names):
            path = self._folder / name
            if name.startswith("."):
                path.unlink()  # a file that never got its name
            elif number_of(path) <= base:
                path.unlink()  # the head has taken it in
            elif path.suffix == PENDING and f"{path.stem}{DONE}" in names:
                path.unlink()  # of a second writer that was refused, and died before it could take it back
            else:
                records.append(read_record(path))
                if path.suffix == PENDING:
                    pending.add(records[-1].n)
        check_unbroken(self._folder, base, records)
        return JournalContent(head, records, pending)

    def write(self, record: Record) -> None:
        """The commit: when this returns, the record has happened."""
        path = self._path(record.n, PENDING)
        try:
            self._disk.write_new(path, record.to_bytes(), lambda: self._points.reach(failpoints.RECORD_WRITTEN))
        except FileExistsError as taken:
            raise self._overtaken(record.n) from taken
        # A second writer may have had the number, and have marked its record, or taken it into a head.
        if self._path(record.n, DONE).exists() or self._head_is_foreign():
            path.unlink()
            raise self._overtaken(record.n)
        self._points.reach(failpoints.COMMITTED)

    def _head_is_foreign(self) -> bool:
        return _identity(self._folder / HEAD) != self._head

    def _overtaken(self, n: int) -> PresageError:
        return error("HOME_OVERTAKEN", what=f"record {n}", path=self._folder.parent)

    def holds(self, n: int) -> bool:
        return self._path(n, PENDING).exists()

    def mark(self, n: int) -> None:
        """Note that a record is carried out. Not flushed: carrying it out again changes nothing."""
        os.replace(self._path(n, PENDING), self._path(n, DONE))
        self._points.reach(failpoints.MARKED)

    def compact(self, n: int, state: dict[str, Any], records: list[Record]) -> None:
        """Put the state after record n, all of whose predecessors are carried out, in the place of the records."""
        if self._head_is_foreign() or any(self._path(n + 1, suffix).exists() for suffix in (PENDING, DONE)):
            raise self._overtaken(n + 1)
        self._disk.write_atomically(self._folder / HEAD, seal({"n": n, "state": state}))
        self._head = _identity(self._folder / HEAD)
        self._points.reach(failpoints.HEAD_WRITTEN)
        self._covered.extend(record.n for record in records)

    def trim(self, most: int | None = None) -> None:
        """Delete records that the head has taken in, some at a time: so that no commit waits for all of them."""
        for _ in range(len(self._covered) if most is None else min(most, len(self._covered))):
            self._path(self._covered[0], DONE).unlink(missing_ok=True)
            self._covered.popleft()

    def _path(self, n: int, suffix: str) -> Path:
        return record_path(self._folder, n, suffix)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def number_of(path: Path) -> int:
    """The number of the record in a file; a name that is none of ours is an error."""
    if path.suffix not in (PENDING, DONE) or not path.stem.isdecimal():
        raise corrupt_journal(path.parent, "the journal", f"'{path.name}' is no record")
    return int(path.stem)


def record_path(folder: Path, n: int, suffix: str) -> Path:
    return folder / f"{n:014d}{suffix}"


def read_head(folder: Path) -> dict[str, Any] | None:
    """The head of a journal: `n` and `state`; None before the first one."""
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
    """Records follow the head, and each other, without a gap; a home of which the journal knows nothing is new."""
    if not base and not records and any(HomeLayout(folder.parent).catalog.glob("*.json")):
        raise corrupt_journal(folder, "the journal", "it is empty, and there are declarations")
    for expected, record in enumerate(records, base + 1):
        if record.n != expected:
            raise corrupt_journal(folder, f"record {expected}", "it is missing")


def corrupt_journal(folder: Path, what: str, why: str) -> PresageError:
    """The error for a journal, in its folder, that cannot be followed."""
    fix = "restore the journal folder from a copy of the home"
    return error("HOME_CORRUPT", what=what, path=folder.parent, why=why, fix=fix)
