"""The retention of result rows: the first rows of a statement are removed once they are old and delivered.

A record of the journal hides the rows from readers. Files are rewritten after that, once half of their rows are hidden;
after a crash in between, by the next round.
"""

from __future__ import annotations

import os
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
from presage.model.time import format_duration, wall_clock
from presage.storage import Log
from presage.storage.home import RESULTS

SPARSE = 2  # a file is rewritten when it holds this many times its visible rows


@dataclass
class RowRetention:
    """`taken`: how many rows of a statement, by name and number, all of its sinks have taken."""

    log: Log
    deployments: DeploymentRegistry
    taken: Callable[[str, int], int]
    # By file and statement; files are immutable.
    _remainders: dict[str, dict[int, FileRemainder]] = field(default_factory=dict)

    def apply(self, now: int | None = None) -> int:
        """Remove rows; returns how many. `now`: microseconds, the wall clock if None."""
        now = wall_clock() if now is None else now
        # With statements whose rows were removed before: a crash may have left their files as they were.
        statements = [s for s in [*self.deployments.job.statements.values()] if s.retention is not None or s.removed]
        if not statements or not self.log.archive.holds(RESULTS):
            return 0
        files = self.log.archive.snapshot(RESULTS)
        paths = [files.paths[i] for i in np.argsort(files.arrivals, kind="stable")]
        self._remainders = {path: self._remainders.get(path) or _remainders_of(path) for path in paths}
        removed = {s.number: max(self._expired(s, paths, now), s.removed) for s in statements}
        newly = {s.number: removed[s.number] - s.removed for s in statements if removed[s.number] > s.removed}
        if newly:
            self.deployments.job.remove_rows({number: removed[number] for number in newly})
        self._rewrite(paths, {int(number): count for number, count in removed.items() if count})
        return sum(newly.values())

    def of_streams(self, types: Iterable[EventType]) -> list[EventType]:
        """The types; those of derived streams with the longest retention of their producers."""
        job, retentions = self.deployments.job, dict[str, list[int | None]]()
        for statement in [*job.statements.values()]:
            program = job.programs.get(statement.number)
            if program is not None and program.insert_into is not None:
                retentions.setdefault(program.insert_into, []).append(statement.retention)
        return [_retained(each, retentions[each.name]) if each.name in retentions else each for each in types]

    def _expired(self, statement: Statement, paths: list[str], now: int) -> int:
        """How many of a statement's first rows are past its retention, and delivered to all sinks and subscribers."""
        watermark = self.deployments.job.position_of(statement).watermark
        if statement.retention is None or watermark == NOTHING_KNOWN:
            return 0
        # The watermark of a statement that has ended advances with the wall clock.
        since = 0 if statement.deployed else max(0, now - statement.changed)
        oldest = min(watermark + since, now) - statement.retention
        number, expired = int(statement.number), statement.removed
        most = min(self.taken(statement.name, number), self.deployments.delivered(statement.number))
        for path in paths:
            rest = self._remainders[path].get(number)
            if rest is None or rest.end <= expired:
                continue
            if rest.last < oldest and rest.end <= most:
                expired = rest.end
                continue
            # The first row to keep is in this file.
            table = remainders_in(path, number)
            kept = pc.or_(pc.greater_equal(table["last"], oldest), pc.greater(table["end"], most)).to_numpy()
            first = int(np.argmax(kept)) if kept.any() else len(kept)
            return max(expired, int(table["end"][first - 1].as_py())) if first else expired
        return expired

    def _rewrite(self, paths: list[str], removed: dict[int, int]) -> None:
        whole, sparse = list[str](), list[str]()
        for path in paths:
            rests = self._remainders[path].items()
            held = sum(rest.rows for _, rest in rests)
            # The rows of a statement in a file are consecutive.
            visible = sum(min(rest.rows, max(0, rest.end - removed.get(number, 0))) for number, rest in rests)
            if visible < held and visible * SPARSE <= held:
                (sparse if visible else whole).append(os.path.basename(path))
        if whole or sparse:
            self.log.maintenance.thin(RESULTS, whole, sparse, lambda rows: _visible(rows, removed))


def _retained(event_type: EventType, retentions: list[int | None]) -> EventType:
    finite = [retention for retention in retentions if retention is not None]
    if len(finite) < len(retentions):
        return event_type  # a producer keeps its rows for ever
    return replace(event_type, options={**event_type.options, "retention": format_duration(max(finite))})


def _remainders_of(path: str) -> dict[int, FileRemainder]:
    by_statement = remainders_in(path).group_by("statement", use_threads=False)
    held = by_statement.aggregate([("end", "max"), ("last", "max"), ("rows", "sum")]).to_pylist()
    return {row["statement"]: FileRemainder(row["end_max"], row["last_max"], row["rows_sum"]) for row in held}


def _visible(rows: pa.Table, removed: dict[int, int]) -> pa.Table:
    """The entries of the results with a row that is not removed."""
    numbers, counts = pa.array(list(removed), pa.int64()), pa.array(list(removed.values()), pa.int64())
    hidden = pc.fill_null(pc.take(counts, pc.index_in(rows["statement"], numbers)), 0)
    return rows.filter(pc.greater(pc.add(rows["first"], rows["rows"]), hidden))
