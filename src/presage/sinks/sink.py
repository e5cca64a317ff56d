"""What a sink is made of: rows of a statement with their stable ids in, a target that takes them or says why not."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from presage.model.json_values import plain_column

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


class FollowedStatement(Protocol):
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
    def latest(self, name: str) -> FollowedStatement | None: ...
    def statement(self, number: int) -> FollowedStatement: ...
    def successor(self, number: int) -> int | None: ...
    def rows(self, number: int, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]: ...


RUNNING, WAITING, FAILED, FINISHED, STOPPED = "running", "waiting", "failed", "finished", "stopped"


@dataclass(frozen=True)
class SinkStatus:
    """A sink at one moment. `why`: what it waits for, or why it has failed. `rows`: delivered since it was declared;
    `skipped`: those that its target refused and that it left out. `position`: the id of the next row. `left`: rows of
    the statement that are made and not delivered. `retries` and `last_error`: since the engine was opened."""

    name: str
    sink: str
    statement: str
    state: str  # running, waiting, failed, finished (its statement has ended), stopped
    why: str
    position: str
    rows: int
    skipped: int
    left: int
    retries: int = 0
    last_error: str | None = None

    def __str__(self) -> str:
        return f"{self.state}: {self.why}" if self.why else self.state

    def described(self) -> list[tuple[str, str]]:
        """Properties and values, for DESCRIBE."""
        figures = [("rows", self.rows), ("skipped", self.skipped), ("left", self.left), ("retries", self.retries)]
        shown = [(name, str(figure)) for name, figure in figures]
        return [("state", str(self)), ("position", self.position), *shown, ("last error", self.last_error or "")]


COLUMNS = ("name", "sink", "statement", "state", "rows", "skipped", "left", "position", "retries", "last_error")


def show_row(status: SinkStatus) -> tuple[object, ...]:
    """A row of SHOW SINKS."""
    known = (status.name, status.sink, status.statement, str(status), status.rows, status.skipped, status.left)
    return (*known, status.position, status.retries, status.last_error or "")


def rows_as_json(batch: Batch) -> list[str]:
    """Times in ISO 8601; NaN and infinities as texts, since JSON has no numbers for them."""
    table = batch.with_ids()
    columns = [plain_column(column) for column in table.columns]
    names = table.column_names
    return [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in zip(*columns, strict=True)]
