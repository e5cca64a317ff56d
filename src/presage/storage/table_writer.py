"""The thread that applies records to the tables of a home in a bucket, behind their commits.

An append then waits for two round trips and not for its entries in Delta logs. Readers of this process see the new
files at once; opening applies what a dead process had not. The head of the journal waits its turn here: it replaces
only records that are applied.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from presage.logging import WARNING, tell
from presage.storage.delta import LiveFile, live_file
from presage.storage.journal import Head, Record

RETRY_SECONDS = 1.0
# Records that may wait; then commits wait, too.
MOST_BEHIND = 256

TableFiles = dict[tuple[str, str], list[LiveFile]]  # by stream and table


@dataclass(frozen=True)
class Task:
    """Records to apply, and the head to write when they are."""

    records: Sequence[Record]
    files: TableFiles
    head: Head | None


class TableWriter:
    """`apply` applies records that only add files, and then writes the head; `may_write`: whether this process still
    has the home. The thread lives as long as there is something to do."""

    def __init__(self, apply: Callable[[Sequence[Record], Head | None], None], may_write: Callable[[], bool]) -> None:
        self._apply = apply
        self._may_write = may_write
        self._tasks: deque[Task] = deque()
        self._thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._attempt = self._failed = 0  # the present or last attempt, the last one that failed
        self._failure: BaseException | None = None  # of the last attempt
        self._is_urgent = self._stopped = False

    def add(self, records: Sequence[Record], head: Head | None) -> None:
        task = Task(records, _files_of(records), head)
        with self._changed:
            self._tasks.append(task)
            if self._thread is None and not self._stopped:
                self._thread = threading.Thread(target=self._run, name="presage-tables", daemon=True)
                self._thread.start()

    def files(self, stream: str, table: str) -> list[LiveFile]:
        """The files of a table that may not be in its log yet."""
        with self._changed:
            return [file for task in self._tasks for file in task.files.get((stream, table), ())]

    @property
    def is_far_behind(self) -> bool:
        with self._changed:
            return sum(len(task.records) for task in self._tasks) > MOST_BEHIND

    def wait(self) -> bool:
        """Wait until all is done; False if the thread may not go on. Raises the failure of an attempt that begins
        meanwhile."""
        with self._changed:
            before, self._is_urgent = self._attempt, True
            self._changed.notify_all()
            while self._tasks and self._thread is not None and self._failed <= before:
                self._changed.wait()
            if self._tasks and self._failure is not None:
                raise self._failure
            return not self._tasks

    def stop(self) -> None:
        """Try no more, even if something is left."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _run(self) -> None:
        failure: BaseException | None = None
        while True:
            with self._changed:
                if failure is not None:
                    self._note(failure)
                    self._changed.wait_for(lambda: self._is_urgent or self._stopped, RETRY_SECONDS)
                mortal = failure is not None and not isinstance(failure, Exception)
                if not self._tasks or self._stopped or mortal or not self._may_write():
                    self._thread = None
                    self._changed.notify_all()
                    return
                tasks = self._next()
                self._attempt, self._is_urgent = self._attempt + 1, False
            failure = None
            try:
                self._apply([record for task in tasks for record in task.records], tasks[-1].head)
            except BaseException as problem:  # told, and raised by `wait`
                failure = problem
            else:
                with self._changed:
                    for _ in tasks:
                        self._tasks.popleft()
                    self._failure = None
                    self._changed.notify_all()

    def _note(self, failure: BaseException) -> None:
        if str(failure) != str(self._failure):
            text = "tables are behind the journal: readers of their Delta logs do not see the last rows: {why}"
            tell(WARNING, "TABLES_BEHIND", text, why=failure)
        self._failed, self._failure = self._attempt, failure
        self._changed.notify_all()

    def _next(self) -> list[Task]:
        """The tasks up to the first one with a head."""
        tasks: list[Task] = []
        for task in self._tasks:
            tasks.append(task)
            if task.head is not None:
                break
        return tasks


def _files_of(records: Sequence[Record]) -> TableFiles:
    files: TableFiles = {}
    for record in records:
        for change in record.changes():
            for table, adds in change.adds.items():
                files.setdefault((str(change.stream), table), []).extend(map(live_file, adds))
    return files
