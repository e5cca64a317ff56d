"""The feed of result rows that sinks read: the rows of the statements of a name, in order.

Several statements may have had the name, one after the other. Published files are read one at a time, so that memory is
bounded however far behind a sink is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from presage.live.job import Job
from presage.live.results import unpack
from presage.storage import Archive


@dataclass(frozen=True)
class FeedStatement:
    """A statement at one moment. `ended`: no more rows follow; `removed`: how many of its first rows are removed."""

    name: str
    number: int
    rows: int
    ended: bool
    removed: int = 0


@dataclass(frozen=True)
class ResultFeed:
    _job: Job
    _archive: Archive

    @property
    def changed(self) -> threading.Condition:
        """Notified after every batch, and when statements are deployed or stopped."""
        return self._job.changed

    def latest(self, name: str) -> FeedStatement | None:
        """The latest statement of that name."""
        statement = self._job.find(name)
        return None if statement is None else self.statement(int(statement.number))

    def statement(self, number: int) -> FeedStatement:
        known = self._job.statements[str(number)]
        return FeedStatement(known.name, number, known.rows_out, not known.deployed, known.removed)

    def successor(self, number: int) -> int | None:
        """The next statement with the name of a statement, if there is one."""
        several = [*self._job.statements.values()]
        name = self._job.statements[str(number)].name
        return min((int(s.number) for s in several if s.name == name and int(s.number) > number), default=None)

    def rows(self, number: int, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]:
        """(record, number of the first row, rows) of a statement from a row on, which no record before `record`
        holds."""
        columns = self._job.programs[str(number)].columns
        yield from unpack(self._archive, number, columns, record - 1, row, lambda: self.statement(number).removed)
