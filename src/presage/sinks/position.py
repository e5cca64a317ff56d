"""The durable position of a sink, in numbered files of the home; and the rows that it has skipped.

Two files are written for each batch: first `end` announces which rows are about to be delivered, then `row` says that
they were. No other writer of the home waits for them. A number is written once, as in the journal: a process that opens
the home takes the next number, and that file stays. So the next announcement of a process that was overtaken is
refused, and it begins no further delivery, however long it was paused.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from presage.errors import PresageError, error
from presage.model.catalog import Sink
from presage.model.time import wall_clock
from presage.storage.failures import corrupt
from presage.storage.home import Home
from presage.storage.sealed_json import seal, unseal
from presage.storage.store import create_own

FOLDER = "sinks"
SKIPPED_SCHEMA = pa.schema([("id", pa.string()), ("reason", pa.string()), ("at", pa.timestamp("us", "UTC"))])
MOST_REASON = 1_000  # characters
# Files of openings that stay. A process that was overtaken this many times while it was paused is not refused.
MOST_TAKEN = 100
TRIES = 20  # while another process writes or deletes the last file
_FILE = re.compile(r"(\d{14,})(?:\.(\d{14,}))?\.json")


@dataclass(frozen=True)
class SinkPosition:
    """The next row is row `row` of statement `number`, in record `record` of the log or a later one. If `end` is set,
    the rows before it may already be delivered; `by`: the opening of the home that announced them."""

    number: int
    row: int
    record: int = 1
    end: int | None = None
    delivered: int = 0
    skipped: int = 0
    by: int = 0


class PositionFile:
    """The files with the position of one sink. A sink that is created again under the same name has others."""

    def __init__(self, home: Home, sink: Sink) -> None:
        self._home = home
        self._sink = sink
        self._folder = home.path / FOLDER
        self._stem = f"{sink.version:014d}"
        self._skipped = f"{self._stem}.skipped"
        self._number = 0  # of the last file; earlier versions had one without a number
        self._taken = 0  # the number that this opening has taken

    @property
    def generation(self) -> int:
        """The number of this opening of the home."""
        return self._home.generation

    def read(self) -> SinkPosition:
        """The position; for a sink that has not begun, the start from its declaration."""
        return self._last()[2]

    def take(self) -> SinkPosition:
        """The position, from now on of this opening: announcements of earlier ones are refused."""
        for tries in range(TRIES, 0, -1):
            self._number, generation, position = self._last()
            if generation > self.generation:
                raise self._overtaken()
            try:
                self._create(position)
            except PresageError as quicker:  # the process that had the home before has announced a batch meanwhile
                if quicker.code != "HOME_OVERTAKEN" or tries == 1:
                    raise
                continue
            self._taken = self._number
            with suppress(OSError):  # the next opening deletes them
                for number in self._numbers()[: -MOST_TAKEN - 1]:
                    self._home.store.delete(self._path(number))
            return position
        raise AssertionError("the last try returns or raises")

    def write(self, position: SinkPosition) -> None:
        """Write the position under the next number; HOME_OVERTAKEN if another process has written that."""
        before = self._number
        self._create(position)
        if before != self._taken:
            with suppress(OSError):  # the last one counts; the next opening deletes it
                self._home.store.delete(self._path(before))

    def _create(self, position: SinkPosition) -> None:
        content = {**asdict(position), "generation": self.generation, "nonce": uuid.uuid4().hex}
        while True:
            number = self._number + 1
            try:
                create_own(self._home.store, self._path(number), seal(content))
            except FileExistsError as taken:
                if self._content(number).get("generation") != self.generation:
                    raise self._overtaken() from taken
                self._number = number  # an earlier attempt of this opening took effect after all
                continue
            self._number = number
            return

    def _last(self) -> tuple[int, int, SinkPosition]:
        """The last file: its number, the opening that wrote it, and the position."""
        number = 0
        try:
            for _ in range(TRIES):
                number = max(self._numbers(), default=0)
                try:
                    content = self._content(number)
                except FileNotFoundError:
                    if not self._numbers():
                        return 0, 0, SinkPosition(*self._sink.begin)
                    continue  # a later one has replaced it
                generation = int(content.pop("generation", 0))
                content.pop("nonce", None)
                return number, generation, SinkPosition(**content)
            raise FileNotFoundError(f"{self._stem}*.json")
        except (OSError, ValueError, TypeError) as broken:
            fix = "restore the file from a copy of the home, or drop the sink and create it again"
            path = self._path(number)
            raise corrupt(f"the position of sink '{self._sink.name}'", path, broken, fix) from broken

    def _content(self, number: int) -> dict[str, Any]:
        content: dict[str, Any] = unseal(self._home.store.read(self._path(number)))
        return content

    def _numbers(self) -> list[int]:
        found = map(_FILE.fullmatch, self._home.store.names(self._folder))
        return sorted(int(file[2] or 0) for file in found if file and file[1] == self._stem)

    def _path(self, number: int) -> Any:
        return self._folder / (f"{self._stem}.{number:014d}.json" if number else f"{self._stem}.json")

    def _overtaken(self) -> PresageError:
        what = f"the position of sink '{self._sink.name}'"
        return error("HOME_OVERTAKEN", what=what, path=self._home.address)

    def skip(self, row: str, reason: str) -> None:
        """Store which row is skipped, and why; once, also if the row comes again after a crash."""
        entry = {"id": row, "reason": reason[:MOST_REASON], "at": wall_clock()}
        name = f"{self._skipped}.{hashlib.sha256(row.encode()).hexdigest()[:16]}"
        with suppress(FileExistsError):
            self._home.store.create(self._folder / name, json.dumps(entry).encode())

    def skipped(self) -> pa.Table:
        """The skipped rows, each once, in order."""
        store, folder = self._home.store, self._folder
        entries: dict[str, dict[str, Any]] = {}
        # Earlier versions wrote all of them into one file.
        for name in [name for name in store.names(folder) if name.startswith(self._skipped)]:
            for entry in filter(None, map(_entry, store.read(folder / name).split(b"\n"))):
                entries.setdefault(entry["id"], entry)
        ordered = sorted(entries.values(), key=lambda entry: int(entry["at"]))
        # Arrow converts integers to timestamps as microseconds.
        return pa.Table.from_pylist(ordered, schema=SKIPPED_SCHEMA)


def clear_positions(home: Home, known: set[int], last: int) -> None:
    """Remove the files of dropped sinks. `known`: versions of the declared ones. `last`: of the catalog; later ones are
    of a process that has taken over the home meanwhile."""
    folder = home.path / FOLDER
    for name in home.store.names(folder):
        version = name.split(".")[0]
        if not version.isdigit() or (int(version) not in known and int(version) <= last):
            home.store.delete(folder / name)


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None  # cut by a crash, or the end of the file
    return entry if isinstance(entry, dict) else None
