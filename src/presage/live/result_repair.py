"""The repair of the results: rows in damaged files are computed again, and get the numbers that they had.

Rows that can still be read must be equal to those that are computed, or nothing is replaced.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from presage.live.job import Job
from presage.live.recomputation import (
    Computed,
    LostRows,
    NewJob,
    computed_again,
    damaged_files,
    not_repeatable,
    others_than_before,
    replaced,
    unpacked,
)
from presage.live.results import SCHEMA, to_bytes
from presage.live.statement import Statement
from presage.storage import SEQ, Log
from presage.storage.columns import EVENTS, TIME
from presage.storage.data_files import read_data
from presage.storage.delta import LiveFile
from presage.storage.home import RESULTS

_PLACES = pa.schema([field for field in SCHEMA if field.name in (SEQ, "statement", "first", "rows")])


@dataclass(frozen=True)
class _Gap:
    """Rows of a statement that no file holds that can be read: [first, end)."""

    number: str
    first: int
    end: int
    before: float = math.inf  # the record of the rows after them


def repair_results(log: Log, job: Job, new_job: NewJob) -> list[LostRows]:
    """Replace the damaged files of the results by ones with the same rows."""
    damaged = damaged_files(log, RESULTS)
    if not damaged:
        return []
    whole = [file for file in log.files(RESULTS, EVENTS) if file not in damaged]
    places = pa.concat_tables([_PLACES.empty_table(), *_tables(log, whole, _PLACES)])
    gaps = [gap for statement in job.statements.values() for gap in _gaps(statement, places)]
    computed, why_not = dict[str, Computed](), dict[str, str]()
    for number in {gap.number for gap in gaps}:
        why_not[number] = not_repeatable(job, number)
        if not why_not[number]:
            computed[number] = computed_again(log, job, new_job, number)
            if not _agrees(log, whole, job.statements[number], computed[number]):
                why_not[number] = others_than_before(job.statements[number])
    done = []
    for file in damaged:
        mine = [gap for gap in gaps if _file_of(gap, damaged) is file]
        names = tuple(sorted({job.statements[gap.number].name for gap in mine}))
        why = next((why_not[gap.number] for gap in mine if why_not[gap.number]), "")
        if not why:
            replaced(log, RESULTS, [file], _packed(mine, computed, file.last_seq or 0))
        done.append(LostRows(RESULTS, file.name, sum(gap.end - gap.first for gap in mine), names, why))
    return done


def _file_of(gap: _Gap, damaged: Sequence[LiveFile]) -> LiveFile:
    """The file that gets the rows: the last one that can have held any of them, because a sink that has rows of an
    earlier record still reads the later files."""
    return next((file for file in reversed(damaged) if (file.last_seq or 0) < gap.before), damaged[-1])


def _tables(log: Log, files: Sequence[LiveFile], schema: pa.Schema) -> Iterator[pa.Table]:
    folder = log.home.table_folder(RESULTS, EVENTS)
    return (read_data(log.home.store.address(folder / file.name), schema) for file in files)


def _gaps(statement: Statement, places: pa.Table) -> list[_Gap]:
    mine = places.filter(pc.equal(places["statement"], int(statement.number))).sort_by("first")
    gaps, position = list[_Gap](), statement.removed
    for first, rows, seq in zip(*(mine[name].to_pylist() for name in ("first", "rows", SEQ)), strict=True):
        if first > position:
            gaps.append(_Gap(statement.number, position, first, seq))
        position = max(position, first + rows)
    if position < statement.rows_out:
        gaps.append(_Gap(statement.number, position, statement.rows_out))
    return gaps


def _agrees(log: Log, whole: Sequence[LiveFile], statement: Statement, computed: Computed) -> bool:
    """Whether rows that can still be read are those that were computed again."""
    if computed.count < statement.rows_out:
        return False
    rows = computed.rows()
    return all(
        rows.slice(entry["first"], entry["rows"]).to_pylist() == unpacked(entry["payload"]).to_pylist()
        for table in _tables(log, whole, SCHEMA)
        for entry in table.filter(pc.equal(table["statement"], int(statement.number))).to_pylist()
    )


def _packed(gaps: Sequence[_Gap], computed: Mapping[str, Computed], record: int) -> pa.Table:
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
