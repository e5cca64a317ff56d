"""The retention of result rows: the first rows of a statement are removed once they are old and delivered.

A record hides the rows from readers first. Files are rewritten after that, once half of their rows are hidden; after a
crash in between the next round does it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.deployments import DeploymentRegistry
from presage.live.results import FileRemainder, remainders_in
from presage.live.statement import Statement
from presage.model.catalog import EventType
from presage.model.time import format_duration
from presage.storage import Log
from presage.storage.home import RESULTS

SPARSE = 2  # a file is thinned when it holds this many times what is wanted of it


@dataclass
class RowRetention:
    """`taken`: how many rows of a statement, by its name and number, all sinks have that follow it."""

    log: Log
    deployments: DeploymentRegistry
    taken: Callable[[str, int], int]
    _known: dict[str, dict[int, FileRemainder]] = field(
        default_factory=dict
    )  # by file, which never changes, and statement

    def apply(self, now: int | None = None) -> int:
        """Let rows go; how many. `now`: microseconds, the wall clock if None."""
        now = time.time_ns() // 1_000 if now is None else now
        # Those of which rows went once: a crash may have left their files as they were.
        statements = [s for s in [*self.deployments.job.statements.values()] if s.retention is not None or s.removed]
        if not statements or not self.log.archive.holds(RESULTS):
            return 0
        files = self.log.archive.snapshot(RESULTS)
        paths = [files.paths[i] for i in np.argsort(files.arrivals, kind="stable")]
        self._known = {path: self._known.get(path) or _rests(path) for path in paths}
        gone = {s.number: max(self._past(s, paths, now), s.removed) for s in statements}
        more = {s.number: gone[s.number] for s in statements if gone[s.number] > s.removed}
        went = sum(gone[s.number] - s.removed for s in statements)
        if more:
            self.deployments.job.remove_rows(more)
        self._thin(paths, {int(number): count for number, count in gone.items() if count})
        return went

    def of_streams(self, types: Iterable[EventType]) -> list[EventType]:
        """The types, those of derived streams with the retention of the statements that fill them: the longest."""
        job, keeps = self.deployments.job, dict[str, list[int | None]]()
        for statement in [*job.statements.values()]:
            program = job.programs.get(statement.number)
            if program is not None and program.insert_into is not None:
                keeps.setdefault(program.insert_into, []).append(statement.retention)
        return [_kept_for(each, keeps[each.name]) if each.name in keeps else each for each in types]

    def _past(self, statement: Statement, paths: list[str], now: int) -> int:
        """How many of a statement's first rows are past its retention and wanted by nobody."""
        clock = self.deployments.job.position_of(statement).watermark
        if statement.retention is None or clock == NOTHING_KNOWN:
            return 0
        # What has ended has no clock of its own any more: it goes on with that on the wall.
        since = 0 if statement.deployed else max(0, now - statement.changed)
        oldest = min(clock + since, now) - statement.retention
        number, gone = int(statement.number), statement.removed
        most = min(self.taken(statement.name, number), self.deployments.delivered(statement.number))
        for path in paths:
            rest = self._known[path].get(number)
            if rest is None or rest.end <= gone:
                continue
            if rest.last < oldest and rest.end <= most:
                gone = rest.end
                continue
            # Somewhere in this file, and in none after it.
            table = remainders_in(path, number)
            kept = pc.or_(pc.greater_equal(table["last"], oldest), pc.greater(table["end"], most)).to_numpy()
            first = int(np.argmax(kept)) if kept.any() else len(kept)
            return max(gone, int(table["end"][first - 1].as_py())) if first else gone
        return gone

    def _thin(self, paths: list[str], gone: dict[int, int]) -> None:
        whole, sparse = list[str](), list[str]()
        for path in paths:
            rests = self._known[path].items()
            held = sum(rest.rows for _, rest in rests)
            # The rows of a statement in a file follow each other.
            wanted = sum(min(rest.rows, max(0, rest.end - gone.get(number, 0))) for number, rest in rests)
            if wanted < held and wanted * SPARSE <= held:
                (sparse if wanted else whole).append(os.path.basename(path))
        if whole or sparse:
            self.log.maintenance.thin(RESULTS, whole, sparse, lambda rows: _wanted(rows, gone))


def _kept_for(event_type: EventType, keeps: list[int | None]) -> EventType:
    known = [keep for keep in keeps if keep is not None]
    if len(known) < len(keeps):
        return event_type  # one of them keeps its rows for ever
    return replace(event_type, options={**event_type.options, "retention": format_duration(max(known))})


def _rests(path: str) -> dict[int, FileRemainder]:
    """What a file holds, by statement."""
    held = (
        remainders_in(path)
        .group_by("statement", use_threads=False)
        .aggregate([("end", "max"), ("last", "max"), ("rows", "sum")])
    )
    return {
        row["statement"]: FileRemainder(row["end_max"], row["last_max"], row["rows_sum"]) for row in held.to_pylist()
    }


def _wanted(rows: pa.Table, gone: dict[int, int]) -> pa.Table:
    """Those of the results that hold a row of a statement that is not gone."""
    known = pa.array(list(gone), pa.int64()), pa.array(list(gone.values()), pa.int64())
    counts = pc.fill_null(pc.take(known[1], pc.index_in(rows["statement"], known[0])), 0)
    return rows.filter(pc.greater(pc.add(rows["first"], rows["rows"]), counts))
