"""The name of a statement in, the rows of those that had it out, in order: what a sink follows.

A name may be that of several statements, one after the other. Rows are read from what is published, a file at a time,
so that one who is far behind holds no more of them than one who is not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from presage.live.results import unpack
from presage.live.standing import Standing


@dataclass(frozen=True)
class Followed:
    """A statement at one moment. `ended`: it makes no more rows; `removed`: its first rows, so many, are gone."""

    name: str
    number: int
    rows: int
    ended: bool
    removed: int = 0


class Following:
    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    @property
    def changed(self) -> threading.Condition:
        """Told after every batch, and when statements come and go."""
        return self._standing.job.changed

    def latest(self, name: str) -> Followed | None:
        """The latest statement of that name."""
        found = self._standing.job.find(name)
        return None if found is None else self.statement(int(found.number))

    def statement(self, number: int) -> Followed:
        known = self._standing.job.statements[str(number)]
        return Followed(known.name, number, known.rows_out, not known.stands, known.removed)

    def heir(self, number: int) -> int | None:
        """The next statement that had the name of one, if there is one."""
        several = [*self._standing.job.statements.values()]
        name = self._standing.job.statements[str(number)].name
        return min((int(s.number) for s in several if s.name == name and int(s.number) > number), default=None)

    def rows(self, number: int, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]:
        """(record, number of the first row, rows) of a statement from a row on, which no record before `record` holds
        any of."""
        archive, columns = self._standing.archive, self._standing.columns(str(number))
        yield from unpack(archive, number, columns, record - 1, row, lambda: self.statement(number).removed)
