"""The repair of derived streams: events in damaged files are computed again, and get the numbers that they had.

The numbers are those of the files' ranges that no other event has; the events are those that the statement makes and no
file holds. If the counts differ, or several statements may have made them, nothing is replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.live.derived import MAKER, is_derived_table
from presage.live.job import Job
from presage.live.recomputation import (
    LostRows,
    NewJob,
    computed_again,
    damaged_files,
    not_repeatable,
    others_than_before,
    replaced,
)
from presage.storage import SEQ, Log
from presage.storage.columns import EVENTS, LATE
from presage.storage.data_files import read_data
from presage.storage.delta import LiveFile
from presage.storage.home import DERIVED

_NUMBERS = pa.schema([(SEQ, pa.int64())])


def repair_derived(log: Log, job: Job, new_job: NewJob) -> list[LostRows]:
    """Replace the damaged files of derived streams by ones with the same events."""
    done = []
    for name, _ in log.tables():
        damaged = damaged_files(log, name) if is_derived_table(name) else []
        if damaged:
            rows, maker, why = _events(log, job, new_job, name, damaged)
            if not why:
                replaced(log, name, damaged, rows)
            names = (job.statements[maker].name,) if maker else ()
            done += [LostRows(name, file.name, file.rows, names, why) for file in damaged]
    return done


def _events(log: Log, job: Job, new_job: NewJob, name: str, damaged: Sequence[LiveFile]) -> tuple[pa.Table, str, str]:
    """The events that the damaged files held, the statement that makes them, and why they cannot be computed, if so."""
    schema, folder = log.schema(name, EVENTS), log.home.table_folder(name, EVENTS)
    whole = [file for file in log.files(name, EVENTS) if file not in damaged]
    parts = [read_data(log.home.store.address(folder / file.name), schema) for file in whole]
    intact = pa.concat_tables([schema.empty_table(), *parts])
    count, found = sum(file.rows for file in damaged), list[tuple[str, pa.Table]]()
    for number, program in job.programs.items():
        if program.insert_into != name.removeprefix(DERIVED):
            continue
        why = not_repeatable(job, number)
        if why:
            return intact, number, why
        missing = _missing(log, job, new_job, number, intact)
        if missing is None:
            return intact, number, others_than_before(job.statements[number])
        if missing.num_rows:
            found.append((number, missing))
    if len(found) != 1 or found[0][1].num_rows != count:
        return intact, "", "it cannot be told which statement made which of its events"
    ((number, events),) = found
    numbers = _free_numbers(log, damaged)
    if len(numbers) != count:
        return intact, number, "the numbers of its events cannot be told"
    return events.add_column(0, SEQ, pa.array(numbers)).cast(schema), number, ""


def _missing(log: Log, job: Job, new_job: NewJob, number: str, intact: pa.Table) -> pa.Table | None:
    """The events of a statement that no file holds; None if it does not make all that files hold."""
    computed = computed_again(log, job, new_job, number)
    statement = job.statements[number]
    made = pa.concat_tables([intact.schema.remove(0).empty_table(), *computed.events])
    if computed.count != statement.rows_out and computed.count != made.num_rows:
        return None  # rows without a time are no events, so where to cut is not known
    if computed.count < statement.rows_out:
        return None
    made = made.slice(0, made.num_rows - (computed.count - statement.rows_out))
    known = intact.filter(pc.equal(pc.abs(intact[MAKER]), int(number))).drop_columns([SEQ])
    held = Counter(map(repr, known.to_pylist()))
    wanted = np.ones(made.num_rows, np.bool_)
    for i, row in enumerate(map(repr, made.to_pylist())):
        if held[row]:
            held[row] -= 1
            wanted[i] = False
    return None if any(held.values()) else made.filter(pa.array(wanted))


def _free_numbers(log: Log, damaged: Sequence[LiveFile]) -> np.ndarray:
    """The sequence numbers in the ranges of damaged files that no event of another file has, in order."""
    free = np.unique(np.concatenate([np.arange(f.first_seq or 0, (f.last_seq or 0) + 1) for f in damaged]))
    for numbers in _taken(log, damaged, int(free[0]), int(free[-1])):
        free = free[~np.isin(free, numbers)]
    return free


def _taken(log: Log, damaged: Sequence[LiveFile], low: int, high: int) -> Iterator[np.ndarray]:
    for stream, table in log.tables():
        if table not in (EVENTS, LATE) or (stream.startswith("#") and not is_derived_table(stream)):
            continue
        for file in log.files(stream, table):
            if file not in damaged and (file.first_seq or 0) <= high and (file.last_seq or 0) >= low:
                path = log.home.store.address(log.home.table_folder(stream, table) / file.name)
                yield read_data(path, _NUMBERS)[SEQ].to_numpy()
