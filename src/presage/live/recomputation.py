"""Rows of a statement computed again: it runs once more from its beginning, in a job of its own that publishes nothing.

Rows of other statements that it reads are in the archive.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa

from presage.errors import PresageError
from presage.live.derived import is_derived_table
from presage.live.input_range import InputPosition
from presage.live.job import Job
from presage.live.statement import RUNNING, Statement
from presage.live.statement_update import NO_STATE
from presage.storage import Log
from presage.storage.columns import EVENTS, TIME
from presage.storage.data_files import digest_of, read_data
from presage.storage.delta import LiveFile
from presage.storage.delta_replay import replay
from presage.storage.home import RESULTS
from presage.storage.home_state import LiveState

SCRATCH = "repair"  # folder of the states of the statements that are computed again
NewJob = Callable[[Log], Job]


@dataclass(frozen=True)
class LostRows:
    """A damaged file of rows of statements. `why_not`: why they cannot be computed again, if so."""

    table: str
    file: str
    rows: int = 0
    statements: tuple[str, ...] = ()
    why_not: str = ""


@dataclass
class Computed:
    """The rows of a statement, from its first one on: by batch, with the last time of each; and its rows as events, if
    it fills a derived stream."""

    tables: list[pa.Table] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    events: list[pa.Table] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(table.num_rows for table in self.tables)

    def rows(self) -> pa.Table:
        return pa.concat_tables(self.tables)

    def last_time(self, end: int) -> int:
        """Of the batch with the row before `end`."""
        count = 0
        for table, time in zip(self.tables, self.times, strict=True):
            count += table.num_rows
            if count >= end:
                return time
        return self.times[-1]


class _ScratchLog:
    """The log, for a job that publishes nothing: it reads the same events, and keeps its own statement."""

    def __init__(self, log: Log, statement: Statement) -> None:
        self._log = log
        self.home = copy.copy(log.home)
        self.home.states = log.home.path / SCRATCH  # a job removes states that it does not know
        job = {name: value for name, value in log.live.job.items() if name != "families"}
        self.live = LiveState(job, {statement.number: statement.to_json()})
        self.computed = Computed()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def publish(
        self, kind: str, live: dict[str, Any], *, tables: Mapping[str, pa.Table] | None = None, **_: Any
    ) -> None:
        self.live.advance(live)
        for name, rows in (tables or {}).items():
            if name == RESULTS:
                times = rows[TIME].cast(pa.int64()).to_pylist()
                self.computed.tables += map(unpacked, rows["payload"].to_pylist())
                self.computed.times += times
            elif is_derived_table(name):
                self.computed.events.append(rows)

    def reach(self, point: str) -> None:
        """No crash points."""

    def settle(self) -> None:
        """Nothing is pending."""


def computed_again(log: Log, job: Job, new_job: NewJob, number: str) -> Computed:
    """All rows that the statement has published, and perhaps some more."""
    begin: dict[str, Any] = {"own_position": InputPosition(), "status": RUNNING, "error": "", **NO_STATE}
    begin |= {"rows_in": 0, "rows_out": 0, "to_skip": 0, "removed": 0, "unknown_entities": 0, "counters": {}}
    scratch = _ScratchLog(log, replace(job.statements[number], **begin))
    try:
        again = new_job(cast(Log, scratch))
        again.restore(number, job.programs[number])
        while again.statements[number].rows_out < job.statements[number].rows_out and again.advance():
            pass
    finally:
        log.home.store.delete_folder(scratch.home.states)
    return scratch.computed


def not_repeatable(job: Job, number: str) -> str:
    """Why the rows of a statement cannot be computed again; empty if they can."""
    statement = job.statements[number]
    if job.can_repeat(statement):
        return ""
    return f"statement '{statement.name}' cannot be repeated: its input is no longer in the log, or has changed"


def others_than_before(statement: Statement) -> str:
    return f"the rows of statement '{statement.name}' are others when they are computed again"


def damaged_files(log: Log, table: str) -> list[LiveFile]:
    """The files of an internal table whose bytes are not those that were written, in the order of their rows."""
    folder, store = log.home.table_folder(table, EVENTS), log.home.store
    files = log.files(table, EVENTS)
    digests = {name: file.digest for name, file in replay(store, folder, log.home.application).live.items()}
    damaged = []
    for file in files:
        digest = digests.get(file.name)
        try:
            if digest is None:
                read_data(store.address(folder / file.name), log.schema(table, EVENTS))
            elif digest_of(store, folder / file.name) != digest:
                damaged.append(file)
        except (PresageError, OSError):
            damaged.append(file)
    return sorted(damaged, key=lambda file: file.first_seq or 0)


def replaced(log: Log, table: str, damaged: list[LiveFile], rows: pa.Table) -> None:
    """Publish rows in the place of damaged files."""
    log.replace_files(table, [file.name for file in damaged], rows)
    folder, store = log.home.table_folder(table, EVENTS), log.home.store
    for file in damaged:
        if store.is_folder(folder / file.name):  # maintenance would not delete it
            store.delete_folder(folder / file.name)


def unpacked(payload: bytes) -> pa.Table:
    """Rows of a statement, as the results table has them."""
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()
