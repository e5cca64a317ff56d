"""Group commit: drafts of records gather while others are written, and are then written together.

There is no thread and no pause for it: of the threads that wait for their drafts, one writes all that have gathered,
and tells the others. A draft is made against the state after all drafts before it, so that a group equals its records
one after another. If a group cannot be written, all drafts on top of it are lost with it.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO, cast

from presage.storage import failpoints
from presage.storage.failpoints import Failpoints
from presage.storage.home import HomeLayout
from presage.storage.home_state import HomeState, StateAhead
from presage.storage.journal import FileAdd, Record
from presage.storage.store import Store, Writes

MOST_WAITING = 4 << 20  # bytes of rows whose file waits in memory; a larger one is written at once


class NewFiles:
    """Files that no record names yet. Small ones wait in memory until their group is written. `point`: the crash point
    that is passed when one is written."""

    def __init__(self, store: Store, point: str = failpoints.STAGED_ONE) -> None:
        self._store = store
        self.point = point
        self.waiting: dict[PurePath, bytes] = {}
        self.written: list[PurePath] = []

    def place(self, size: int) -> Writes:
        """Where to write files with about so many bytes in all."""
        return self if size <= MOST_WAITING else _AtOnce(self._store, self.written)

    @contextmanager
    def writer(self, path: PurePath) -> Iterator[BinaryIO]:
        file = io.BytesIO()
        yield cast(BinaryIO, file)
        self.waiting[path] = file.getvalue()

    @property
    def paths(self) -> list[PurePath]:
        return [*self.written, *self.waiting]


class _AtOnce:
    def __init__(self, store: Store, written: list[PurePath]) -> None:
        self._store = store
        self._written = written

    @contextmanager
    def writer(self, path: PurePath) -> Iterator[BinaryIO]:
        self._written.append(path)
        with self._store.writer(path) as file:
            yield file


@dataclass(eq=False)
class Draft:
    """A record that is about to be written, with its new files."""

    record: Record
    files: Sequence[NewFiles]
    committed: bool = False
    unknown: bool = False  # whether its writing failed and may still take effect
    done: bool = False
    failure: BaseException | None = None


class DraftQueue:
    """The drafts of a home. `state` is advanced by `write`, which writes a group; `discard` removes the files of drafts
    that were lost before anybody tried to write them."""

    def __init__(
        self, state: HomeState, write: Callable[[Sequence[Draft]], None], discard: Callable[[Sequence[Draft]], None]
    ) -> None:
        self._state = state
        self.ahead = state  # with all drafts
        self.lost = 0  # how many groups could not be written
        self._write, self._discard = write, discard
        self._waiting: list[Draft] = []
        self._writing: list[Draft] = []
        self._failure: BaseException | None = None  # of the last group that was lost
        self._changed = threading.Condition()

    def add(self, draft: Draft, lost: int) -> None:
        """Add a draft. `lost`: as it was when the drafting began."""
        with self._changed:
            self._check(lost)
            if self.ahead is self._state:
                self.ahead = StateAhead(self._state)
            self.ahead.advance(draft.record)
            self._waiting.append(draft)

    def last(self, lost: int) -> Draft | None:
        """The last draft that is not written yet."""
        with self._changed:
            self._check(lost)
            return next(reversed([*self._writing, *self._waiting]), None)

    def _check(self, lost: int) -> None:
        if self.lost != lost:
            assert self._failure is not None
            raise self._failure

    def settle(self, draft: Draft | None = None) -> None:
        """Wait until a draft is written, or all are. Raises the failure of the draft."""
        leading = False
        while True:
            with self._changed:
                while self._writing and not self._is_settled(draft):
                    self._changed.wait()
                if self._is_settled(draft):
                    break
                group = self._writing = self._waiting
                self._waiting = []
            leading = draft in group
            self._write_now(group)
        if draft is not None and draft.failure is not None:
            if not (leading or isinstance(draft.failure, Exception)):
                raise InterruptedError("the thread that wrote it was interrupted")  # not this one
            raise draft.failure

    def _is_settled(self, draft: Draft | None) -> bool:
        return not (self._writing or self._waiting) if draft is None else draft.done

    def _write_now(self, group: list[Draft]) -> None:
        failure: BaseException | None = None
        try:
            self._write(group)
        except BaseException as problem:  # each caller of the group gets it
            failure = problem
        dropped: list[Draft] = []
        with self._changed:
            if failure is not None and not group[0].committed:
                self.lost, self._failure = self.lost + 1, failure
                dropped, self._waiting = self._waiting, []
            waiting = [draft.record for draft in self._waiting]
            self.ahead = StateAhead(self._state, waiting) if waiting else self._state
            for draft in (*group, *dropped):
                draft.failure, draft.done = failure, True
            self._writing = []
            self._changed.notify_all()
        self._discard(dropped)


def added_files(record: Record) -> list[tuple[str, dict[str, list[FileAdd]]]]:
    """The files that a record adds, by stream."""
    own = [(record.stream, record.adds)] if record.stream is not None else []
    return [*own, *((part.stream, part.adds) for part in record.parts)]


def write_files(home: HomeLayout, passed: Failpoints, group: Sequence[Draft]) -> None:
    """Write the files of a group that wait in memory, and make all of its files durable."""
    points: dict[PurePath, str] = {}
    waiting: dict[PurePath, bytes] = {}
    folders = {home.table_folder(name, t): None for d in group for name, adds in added_files(d.record) for t in adds}
    for files in (files for draft in group for files in draft.files):
        waiting |= files.waiting
        points |= dict.fromkeys(files.waiting, files.point)
        folders |= dict.fromkeys(path.parent for path in files.paths)
        if files.point == failpoints.STATES_WRITTEN and not files.waiting:
            passed.reach(files.point)
    home.store.write_new(waiting, lambda path: passed.reach(points[path]))
    for folder in folders:
        home.store.flush(folder)
    passed.reach(failpoints.STAGED)


def discard_files(home: HomeLayout, group: Sequence[Draft]) -> None:
    """Delete the files of a group that is not committed."""
    for draft in group:
        named = [(home.table_folder(n, t), files) for n, adds in added_files(draft.record) for t, files in adds.items()]
        delete_files(home, {folder / file.path for folder, files in named for file in files})
        delete_files(home, (path for files in draft.files for path in files.paths))


def delete_files(home: HomeLayout, paths: Iterable[PurePath]) -> None:
    with suppress(OSError):  # the store may be down: maintenance, or the next opening, finds them
        for path in paths:
            home.store.delete(path)


def only_adds(record: Record) -> bool:
    """Whether a record changes tables only by adding files."""
    changed = record.creates or record.drops or record.catalog is not None
    return not changed and not any(part.removes or part.rewrites for part in record.parts)
