"""The repair of rows of statements: what a damaged file of the results held is computed again from the log.

Each statement runs once more from its beginning in a job of its own, which publishes nothing. Its rows have the
same numbers as before; those that can still be read must be equal, or nothing is replaced.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from presage.errors import PresageError
from presage.live.input_range import InputPosition
from presage.live.job import Job
from presage.live.results import SCHEMA, to_bytes
from presage.live.statement import RUNNING, Statement
from presage.live.statement_update import NO_STATE
from presage.storage import SEQ, Log
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
    """A damaged file of the results. `why_not`: why its rows cannot be computed again, if so."""

    file: str
    rows: int = 0
    statements: tuple[str, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class _Gap:
    """Rows of a statement that no file holds that can be read: [first, end)."""

    number: str
    first: int
    end: int
    before: float = math.inf  # the record of the rows after them


@dataclass
class _Computed:
    """The rows of a statement, from its first one on, and the last times of its batches."""

    tables: list[pa.Table] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

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


def damaged_results(log: Log) -> list[LiveFile]:
    """The files of the results whose bytes are not those that were written."""
    folder, store = log.home.table_folder(RESULTS, EVENTS), log.home.store
    files = log.files(RESULTS, EVENTS)
    digests = {name: file.digest for name, file in replay(store, folder, log.home.application).live.items()}
    damaged = []
    for file in files:
        digest = digests.get(file.name)
        try:
            if digest is None:
                read_data(store.address(folder / file.name), SCHEMA)
            elif digest_of(store, folder / file.name) != digest:
                damaged.append(file)
        except (PresageError, OSError):
            damaged.append(file)
    return sorted(damaged, key=lambda file: file.first_seq or 0)


def repair_results(log: Log, job: Job, new_job: NewJob) -> list[LostRows]:
    """Replace the damaged files of the results by ones with the same rows."""
    damaged = damaged_results(log)
    if not damaged:
        return []
    folder = log.home.table_folder(RESULTS, EVENTS)
    bad = {file.name for file in damaged}
    parts = [
        read_data(log.home.store.address(folder / file.name), SCHEMA)
        for file in log.files(RESULTS, EVENTS)
        if file.name not in bad
    ]
    intact = pa.concat_tables([SCHEMA.empty_table(), *parts])
    gaps = [gap for statement in job.statements.values() for gap in _gaps(statement, intact)]
    names = {gap.number: job.statements[gap.number].name for gap in gaps}
    stuck = sorted(names[n] for n in names if not job.can_repeat(job.statements[n]))
    if stuck:
        why = f"statement '{stuck[0]}' cannot be repeated: its input is no longer in the log, or has changed"
        return [LostRows(file.name, why_not=why) for file in damaged]
    computed = {number: _computed(log, job, new_job, number) for number in names}
    for number, statement_rows in computed.items():
        known = job.statements[number]
        short = sum(table.num_rows for table in statement_rows.tables) < known.rows_out
        if short or not _agrees(intact, number, statement_rows):
            why = f"the rows of statement '{known.name}' are others when they are computed again"
            return [LostRows(file.name, why_not=why) for file in damaged]
    done = []
    for file in damaged:
        mine = [gap for gap in gaps if _file_of(gap, damaged) is file]
        log.replace_files(RESULTS, [file.name], _packed(mine, computed, file.last_seq or 0))
        if log.home.store.is_folder(folder / file.name):  # maintenance would not delete it
            log.home.store.delete_folder(folder / file.name)
        statements = tuple(sorted({names[gap.number] for gap in mine}))
        done.append(LostRows(file.name, sum(gap.end - gap.first for gap in mine), statements))
    return done


def _file_of(gap: _Gap, damaged: Sequence[LiveFile]) -> LiveFile:
    """The file that gets the rows: the last one that can have held any of them, because a sink that has rows of an
    earlier record still reads the later files."""
    return next((file for file in reversed(damaged) if (file.last_seq or 0) < gap.before), damaged[-1])


def _gaps(statement: Statement, intact: pa.Table) -> list[_Gap]:
    mine = intact.filter(pc.equal(intact["statement"], int(statement.number))).sort_by("first")
    gaps, position = list[_Gap](), statement.removed
    for first, rows, seq in zip(*(mine[name].to_pylist() for name in ("first", "rows", SEQ)), strict=True):
        if first > position:
            gaps.append(_Gap(statement.number, position, first, seq))
        position = max(position, first + rows)
    if position < statement.rows_out:
        gaps.append(_Gap(statement.number, position, statement.rows_out))
    return gaps


class _ScratchLog:
    """The log, for a job that publishes nothing: it reads the same events, and keeps its own statements."""

    def __init__(self, log: Log, statement: Statement) -> None:
        self._log = log
        self.home = copy.copy(log.home)
        self.home.states = log.home.path / SCRATCH
        job = {name: value for name, value in log.live.job.items() if name != "families"}
        self.live = LiveState(job, {statement.number: statement.to_json()})
        self.computed = _Computed()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def publish(
        self, kind: str, live: dict[str, Any], *, tables: Mapping[str, pa.Table] | None = None, **_: Any
    ) -> None:
        self.live.advance(live)
        rows = (tables or {}).get(RESULTS, SCHEMA.empty_table())
        for row in rows.set_column(rows.column_names.index(TIME), TIME, rows[TIME].cast(pa.int64())).to_pylist():
            self.computed.tables.append(_unpacked(row["payload"]))
            self.computed.times.append(row[TIME])

    def reach(self, point: str) -> None:
        """No crash points."""

    def settle(self) -> None:
        """Nothing is pending."""


def _computed(log: Log, job: Job, new_job: NewJob, number: str) -> _Computed:
    """The rows of one statement. Alone: rows of other statements that it reads are in the archive."""
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


def _agrees(intact: pa.Table, number: str, computed: _Computed) -> bool:
    """Whether rows that can still be read are those that were computed again."""
    mine = intact.filter(pc.equal(intact["statement"], int(number)))
    if not computed.tables:
        return not mine.num_rows
    rows = computed.rows()
    return all(
        rows.slice(entry["first"], entry["rows"]).to_pylist() == _unpacked(entry["payload"]).to_pylist()
        for entry in mine.to_pylist()
    )


def _packed(gaps: Sequence[_Gap], computed: Mapping[str, _Computed], record: int) -> pa.Table:
    entries = [
        {
            SEQ: record,
            TIME: computed[gap.number].last_time(gap.end),
            "statement": int(gap.number),
            "first": gap.first,
            "rows": gap.end - gap.first,
            "payload": to_bytes(computed[gap.number].rows().slice(gap.first, gap.end - gap.first)),
        }
        for gap in gaps
    ]
    plain = pa.schema([pa.field(f.name, pa.int64()) if f.name == TIME else f for f in SCHEMA])
    return pa.Table.from_pylist(entries, plain).cast(SCHEMA)


def _unpacked(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as reader:
        return reader.read_all()
