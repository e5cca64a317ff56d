"""`source = 'files'`: the files of a growing folder, each once; and Delta tables, version by version.

The names of finished files are in the log, and here in one Arrow array. A folder is listed only when it has changed,
and for at most a tenth of the time.
"""

from __future__ import annotations

import fnmatch
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import asdict
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import PresageError
from presage.model.catalog import EventType
from presage.model.paths import ANYWHERE, Roots
from presage.model.time import parse_duration
from presage.sources.file_reader import PARQUET, PIECE_BYTES, PIECE_ROWS, SUFFIXES, FilePosition, FileReader, Piece
from presage.sources.followed_tables import FollowedTable, Position
from presage.sources.source import PAUSE, Source
from presage.storage import Arrival, Cursor, Delivery, Taken
from presage.storage.delta_folder import is_delta, not_a_part

SETTLE = "1 sec"
# A file whose last change is this old (plus `settle`) is read at once: clocks of file servers deviate by less.
LONG_AGO = 60.0
FILES_AT_ONCE = 1_000
LISTING_SHARE = 10  # listing takes at most 1/10 of the time
LIST_ANYWAY_SECONDS = 60.0  # for file systems that do not update the time of a folder
RECENT = 1_000  # finished files that are watched for changes
TRY_AGAIN_SECONDS = 5.0
MOST_SHOWN = 100
IGNORED_STARTS, IGNORED_ENDS = (".", "_"), (".tmp", ".part")


class FilesSource(Source):
    """`resolve` returns the real path of one in a statement, or refuses it; `taken`: the finished files."""

    name = "files"

    def __init__(
        self,
        event_type: EventType,
        resolve: Callable[[str], Path],
        taken: pa.Table,
        clock: Callable[[], float] = time.monotonic,
        roots: Roots = ANYWHERE,
    ) -> None:
        super().__init__()
        options = event_type.options
        self._path = options["path"]
        self._format = options.get("format")
        self._pattern = options.get("pattern", "*")
        self._by_time = options.get("order", "name") == "time"
        self._settle = (parse_duration(options.get("settle", SETTLE)) or 0) / 1e6
        # One at a time for a probabilistic stream: rows are checked against those of earlier arrivals.
        self._arrivals = FILES_AT_ONCE if event_type.probabilistic is None else 1
        self._resolve = resolve
        self._clock = clock
        self._roots = roots
        self._reader = FileReader(event_type, roots)
        self._tables: dict[str, FollowedTable] = {}  # by folder below this one
        self._taken = [pa.array([], pa.string()), *taken["partition"].chunks]
        last = taken.slice(max(0, taken.num_rows - RECENT))
        modified = last["modified"].cast(pa.int64()).to_pylist()
        states = zip(last["size"].to_pylist(), modified, strict=True)
        self._recent = dict(zip(last["partition"].to_pylist(), states, strict=True))
        self._ready: deque[FilePosition] = deque()
        self._is_within = False  # a file is partly delivered
        # Files that may still grow: size and time of the last change, and since when they are the same.
        self._growing: dict[str, tuple[int, int, float]] = {}
        self._refused: dict[str, float] = {}  # when to retry files that could not be opened
        self._listed: tuple[int, float] | None = None  # the folder's last change, and when it was listed

    def read(self, cursor: Cursor | None) -> Delivery | None:
        begun = cursor["file"] if cursor is not None else None
        place = FilePosition(**begun) if begun is not None else None
        positions = (cursor or {}).get("tables", {})
        if place is None and not self._ready:
            self._look(positions)
        elif place is not None and not self._tables:
            self._restore_tables(positions, place)
        waiting = iter(list(islice(self._ready, self._arrivals)))
        arrivals: list[Arrival] = []
        taken: list[Taken] = []
        size = rows = 0
        while size < PIECE_BYTES and rows < PIECE_ROWS and len(taken) < self._arrivals:
            fresh = place is None
            place = place or next(waiting, None)
            if place is None:
                break
            try:
                piece = self._piece(place)
            except OSError as failure:
                if not fresh:
                    raise
                self._refuse(place, failure)
                place = None
                continue
            if piece.arrival.checked.table.num_rows or piece.arrival.checked.rejected:
                arrivals.append(piece.arrival)
            size, rows = size + piece.place.at - place.at, rows + piece.place.rows - place.rows
            if piece.done:
                taken.append(piece.place.taken(piece.note))
            place = None if piece.done else piece.place
            if len(arrivals) >= self._arrivals:
                break
        names = {part.partition for part in taken}
        tables = {name: table.after(positions.get(name), names) for name, table in self._tables.items()}
        tables = {**positions, **{name: position for name, position in tables.items() if position is not None}}
        # A version that only rewrites files advances the cursor, too: its log entry will be deleted one day.
        if not taken and place is None and tables == positions:
            return None
        done = (cursor["files"] if cursor is not None else 0) + len(taken)
        after = {"files": done, "file": asdict(place) if place is not None else None}
        return Delivery(self.name, cursor, after | ({"tables": tables} if tables else {}), arrivals, taken)

    def settle(self, delivery: Delivery) -> None:
        names = [part.partition for part in delivery.taken]
        for table in self._tables.values():
            table.settle(names)
        begun = delivery.cursor["file"]
        self._is_within = begun is not None
        gone = {*names, begun["file"]} if begun is not None else set(names)
        while self._ready and self._ready[0].file in gone:
            self._ready.popleft()
        self._taken.append(pa.array(names, pa.string()))
        for part in delivery.taken:
            self._recent[part.partition] = (part.size, part.modified)
        while len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]

    @property
    def left(self) -> int:
        return len(self._ready) + len(self._growing) + self._is_within

    def close(self) -> None:
        self._reader.close()

    def position(self, cursor: Cursor | None) -> str:
        if cursor is None:
            return "not begun"
        begun = cursor["file"]
        inside = f", row {begun['rows']} of '{begun['file']}'" if begun is not None else ""
        tables = [
            f", version {position['version']}{f' of {name}' if name else ''}"
            for name, position in cursor.get("tables", {}).items()
        ]
        return f"{cursor['files']} files{inside}{''.join(tables)}"

    def _piece(self, place: FilePosition) -> Piece:
        table = self._table_of(place.file)
        if table is None:
            return self._reader.read(self._folder() / place.file, self._kind(place.file), place)
        path = table.path(place.file)
        if not path.exists():
            raise table.gap(place.file)
        return self._reader.read(path, PARQUET, place, table.pending[place.file])

    def _table_of(self, name: str) -> FollowedTable | None:
        return next((table for table in self._tables.values() if name in table.pending), None)

    # -- the folder ----------------------------------------------------------------------------------

    def _folder(self) -> Path:
        return self._resolve(self._path)

    def _kind(self, name: str) -> str:
        return self._format or SUFFIXES[os.path.splitext(name)[1].lower()]

    def _look(self, positions: dict[str, Position]) -> None:
        """Find files to read."""
        now, folder = self._clock(), self._folder()
        self.pause = max(PAUSE, min(self._settle, 1.0) / 2) if self._growing else PAUSE
        try:
            changed = os.stat(folder).st_mtime_ns
            self.why = ""
            if is_delta(folder):
                self._tables.setdefault("", FollowedTable("", folder, self._roots))
            elif self._must_list(changed, now):
                self._list(folder, changed, now)
        except OSError as failure:
            self._listed = None
            self.why = _not_there(folder, failure)
            return
        self._look_at_tables(positions)
        ready = [place for name in [*self._growing] if (place := self._settled(folder, name, now)) is not None]
        ready.sort(key=lambda p: (p.modified, p.file) if self._by_time else p.file)
        self._ready.extend(ready)
        self._watch(folder)

    def _look_at_tables(self, positions: dict[str, Position], begun: str | None = None) -> None:
        """Find files of tables, except the one that is partly read."""
        taken: set[str] = set()

        def is_taken(name: str) -> bool:
            taken.update(*(names.to_pylist() for names in self._taken) if not taken else ())
            return name in taken

        for name, table in self._tables.items():
            table.look(positions.get(name), is_taken)
            self._ready.extend(table.place(each) for each in table.pending if each != begun)

    def _restore_tables(self, positions: dict[str, Position], begun: FilePosition) -> None:
        """After a restart inside a file of a table: how to read the file is in the table's log."""
        if any(not name or begun.file.startswith(f"{name}/") for name in positions):
            folder = self._folder()
            self._tables = {name: FollowedTable(name, folder / name, self._roots) for name in positions}
            self._look_at_tables(positions, begun.file)

    def _must_list(self, changed: int, now: float) -> bool:
        if self._listed is None or changed != self._listed[0] or now - self._listed[1] > LIST_ANYWAY_SECONDS:
            return True
        # Two changes within the resolution of the file system's clock have the same time.
        return time.time_ns() - changed < 2_000_000_000 or any(again <= now for again in self._refused.values())

    def _list(self, folder: Path, changed: int, now: float) -> None:
        """Find all unfinished files; each is polled until it is stable for `settle`."""
        not_a_part(folder)
        with os.scandir(folder) as entries:
            wanted = [entry for entry in entries if self._is_wanted(entry.name)]
        below = {entry.name for entry in wanted if entry.is_dir(follow_symlinks=False)}
        for name in [name for name in below if _is_text(name) and is_delta(folder / name)]:
            below.remove(name)
            self._tables.setdefault(name, FollowedTable(name, folder / name, self._roots))
        names = [entry.name for entry in wanted if entry.name not in below and entry.name not in self._tables]
        odd = [name for name in names if not _is_text(name)]
        unknown = [] if self._format else [n for n in names if os.path.splitext(n)[1].lower() not in SUFFIXES]
        self._note_left("of no known format (name one with format = …)", unknown)
        self._note_left("with names that are not UTF-8", odd)
        self._note_left("in subfolders", below)
        left = {*odd, *unknown}
        listed = pa.array([name for name in names if name not in left], pa.string())
        self._taken = [pa.concat_arrays(self._taken)]
        for name in listed.filter(pc.invert(pc.is_in(listed, self._taken[0]))).to_pylist():
            if self._refused.get(name, now) <= now:
                self._growing.setdefault(name, (-1, -1, now))
        self._listed = (changed, now)
        self.pause = max(self.pause, LISTING_SHARE * (self._clock() - now))

    def _is_wanted(self, name: str) -> bool:
        if name.startswith(IGNORED_STARTS) or name.endswith(IGNORED_ENDS):
            return False
        return self._pattern == "*" or fnmatch.fnmatchcase(name, self._pattern)

    def _settled(self, folder: Path, name: str, now: float) -> FilePosition | None:
        """The beginning of a file, if it has been stable for long enough."""
        try:
            status = os.lstat(folder / name)
            if stat.S_ISLNK(status.st_mode):
                status = os.stat(self._resolve(str(folder / name)))
        except (OSError, PresageError) as failure:
            del self._growing[name]
            if not isinstance(failure, FileNotFoundError):
                self.note(f"'{_shown(name)}' is left alone: {_text_of(failure)}")
            return None
        if not stat.S_ISREG(status.st_mode):
            del self._growing[name]
            return None
        size, modified, since = self._growing[name]
        if (size, modified) != (status.st_size, status.st_mtime_ns):
            self._growing[name] = (status.st_size, status.st_mtime_ns, now)
            since = now
        old = time.time() - status.st_mtime_ns / 1e9 > LONG_AGO + self._settle
        if now - since < self._settle and not old:
            return None
        del self._growing[name]
        self._refused.pop(name, None)
        return FilePosition(name, status.st_size, status.st_mtime_ns)

    def _refuse(self, place: FilePosition, failure: OSError) -> None:
        """Retry later a file that cannot be opened now."""
        self._ready.remove(place)
        self._listed = None
        if not isinstance(failure, FileNotFoundError):
            self._refused[place.file] = self._clock() + TRY_AGAIN_SECONDS
            self.note(f"'{_shown(place.file)}' cannot be read and is tried again: {_text_of(failure)}")

    def _watch(self, folder: Path) -> None:
        """Note finished files that have changed."""
        for name, (size, modified) in [*self._recent.items()]:
            try:
                status = os.stat(folder / name)
            except OSError:
                continue  # finished files may be moved away
            if (status.st_size, status.st_mtime_ns // 1_000) != (size, modified):
                del self._recent[name]
                self.note(f"'{_shown(name)}' was changed after it was taken; it is not read again")

    def _note_left(self, what: str, names: Collection[str]) -> None:
        if names:
            self.note(f"files {what} are left alone, '{_shown(min(names))}' for example")


def _is_text(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= c <= "\udfff" for c in name)


def _shown(name: str) -> str:
    return name.encode("utf-8", errors="replace").decode()[:MOST_SHOWN]


def _not_there(folder: Path, failure: OSError) -> str:
    if isinstance(failure, FileNotFoundError):
        return f"the folder '{folder}' does not exist"
    if isinstance(failure, NotADirectoryError):
        return f"'{folder}' is not a folder"
    return f"the folder '{folder}' cannot be read: {_text_of(failure)}"


def _text_of(failure: Exception) -> str:
    return failure.message if isinstance(failure, PresageError) else getattr(failure, "strerror", None) or str(failure)
