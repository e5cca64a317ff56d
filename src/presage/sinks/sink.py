"""What a sink is made of: rows of a statement with their stable ids in, a target that takes them or says why not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

# The column with the stable id of a row, wherever rows leave us.
ID = "_id"


@dataclass(frozen=True)
class Batch:
    """Rows of one statement that go together, the first of them being its row number `first`."""

    statement: str
    number: int
    first: int
    rows: pa.Table

    @property
    def end(self) -> int:
        return int(self.first + self.rows.num_rows)

    @property
    def id(self) -> str:
        """The same whenever the same rows go together again."""
        return f"{self.statement}/{self.number}/{self.first}-{self.end - 1}"

    def ids(self) -> list[str]:
        return [f"{self.statement}/{self.number}/{row}" for row in range(self.first, self.end)]

    def with_ids(self) -> pa.Table:
        """The rows, each with its id in front: in `_id`, or `__id` if the statement has a column of that name."""
        name, taken = ID, {column.lower() for column in self.rows.column_names}
        while name in taken:
            name = f"_{name}"
        return self.rows.add_column(0, name, pa.array(self.ids(), pa.string()))


class NotTaken(Exception):  # noqa: N818 (what a target answers: the sink goes on)
    """A target did not take a batch, but for its first `done` rows.

    `poison`: because of what the rows hold, so that it will never take all of them. `pause`: seconds that it asked for.
    """

    def __init__(self, why: str, poison: bool = False, done: int = 0, pause: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.poison = poison
        self.done = done
        self.pause = pause


class Target(Protocol):
    """Where rows go. What it raises as `NotTaken`, as a `PresageError` or as an `OSError` is tried again.

    A batch is prepared, then the sink notes durably that it is about to go, then it is delivered. After a crash the
    same batch comes again, unless `was_delivered` knows that it need not.
    """

    most: int  # rows that go together
    every: float  # seconds that rows may wait until there are so many

    @property
    def why(self) -> str:
        """What it needs before it can take any row; empty if there is nothing."""

    def prepare(self, batch: Batch) -> None:
        """Whatever can be done before anybody sees it."""

    def deliver(self, batch: Batch) -> int:
        """Hand the rows over; how many of them, the first ones, were taken."""

    def was_delivered(self, number: int, first: int, end: int) -> bool:
        """Whether rows that were about to go, when an earlier life of the sink ended, are known to have gone."""

    def masked(self, text: str) -> str:
        """A text without secrets."""

    def close(self) -> None:
        """Nothing more will be delivered."""


class Followed(Protocol):
    """A statement at one moment: rows that it has made, how many of them, the first ones, retention has taken, and
    whether it will make no more."""

    @property
    def name(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def ended(self) -> bool: ...
    @property
    def removed(self) -> int: ...


class Statements(Protocol):
    """What a sink follows: `presage.live.result_feed`, which this room does not know."""

    @property
    def changed(self) -> threading.Condition: ...
    def latest(self, name: str) -> Followed | None: ...
    def statement(self, number: int) -> Followed: ...
    def heir(self, number: int) -> int | None: ...
    def rows(self, number: int, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]: ...
