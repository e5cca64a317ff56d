"""The interfaces of sinks: batches of rows with stable ids, targets, followed statements, and the status for users."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from presage.model.json_values import plain_column

# The column with the stable id of a row.
ID = "_id"


@dataclass(frozen=True)
class Batch:
    """Rows of one statement that are delivered together, from its row number `first` on. `by`: the opening of the home
    that announced them."""

    statement: str
    number: int
    first: int
    rows: pa.Table
    by: int = 0

    @property
    def end(self) -> int:
        return int(self.first + self.rows.num_rows)

    @property
    def id(self) -> str:
        """Stable: the same for the same rows."""
        return f"{self.statement}/{self.number}/{self.first}-{self.end - 1}"

    def ids(self) -> list[str]:
        return [f"{self.statement}/{self.number}/{row}" for row in range(self.first, self.end)]

    def with_ids(self) -> pa.Table:
        """The rows with their ids in a first column: `_id`, or `__id` if the statement has a column of that name."""
        name, taken = ID, {column.lower() for column in self.rows.column_names}
        while name in taken:
            name = f"_{name}"
        return self.rows.add_column(0, name, pa.array(self.ids(), pa.string()))


class NotTaken(Exception):  # noqa: N818 (the sink retries)
    """A target refused a batch, except for its first `done` rows.

    `poison`: because of the content of the rows, so that a retry is useless. `pause`: seconds that the target asks for.
    """

    def __init__(self, why: str, poison: bool = False, done: int = 0, pause: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.poison = poison
        self.done = done
        self.pause = pause


class Target:
    """The destination of rows. `NotTaken`, `PresageError` and `OSError` are retried.

    A batch is prepared, then the sink's position durably announces its delivery, then it is delivered. After a crash
    the same batch is delivered again, unless `was_delivered` returns true; it is not prepared again. A process that was
    paused may deliver the batch that it had announced at the same time as its successor.
    """

    most: int  # rows in a batch
    every = 0.0  # seconds that rows may wait for a full batch

    @property
    def why(self) -> str:
        """What it needs before it can accept rows; empty if nothing."""
        return ""

    def prepare(self, batch: Batch) -> None:
        """Do what is possible before the rows become visible."""

    def deliver(self, batch: Batch) -> int:
        """Deliver the rows; how many of them, from the first on, were accepted."""
        raise NotImplementedError

    def was_delivered(self, number: int, first: int, end: int, by: int) -> bool:
        """Whether an announced batch is known to be delivered, after a restart. Most targets cannot know."""
        return False

    def masked(self, text: str) -> str:
        """A text without secrets."""
        return text

    def close(self) -> None:
        """Release resources."""


class FollowedStatement(Protocol):
    """A statement at one moment: the number of its rows, how many of the first ones retention has removed, and whether
    it has ended."""

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
    """The statements that sinks follow. `presage.live.result_feed` implements it, which sinks must not import."""

    @property
    def changed(self) -> threading.Condition: ...
    def latest(self, name: str) -> FollowedStatement | None: ...
    def statement(self, number: int) -> FollowedStatement: ...
    def successor(self, number: int) -> int | None: ...
    def rows(self, number: int, record: int, row: int) -> Iterator[tuple[int, int, pa.Table]]: ...


RUNNING, WAITING, FAILED, FINISHED, STOPPED = "running", "waiting", "failed", "finished", "stopped"


@dataclass(frozen=True)
class SinkStatus:
    """A sink at one moment. `why`: what it waits for, or why it failed. `rows`: delivered since it was declared;
    `skipped`: rows that its target refused. `position`: the id of the next row. `left`: rows of the statement that are
    not delivered yet. `retries` and `last_error`: since the engine was opened."""

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
    values = (status.name, status.sink, status.statement, str(status), status.rows, status.skipped, status.left)
    return (*values, status.position, status.retries, status.last_error or "")


def rows_as_json(batch: Batch) -> list[str]:
    """One JSON object for each row, its id first. Times in ISO 8601; NaN and infinities as texts."""
    table = batch.with_ids()
    columns = [plain_column(column) for column in table.columns]
    names = table.column_names
    return [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in zip(*columns, strict=True)]
