"""The collector of a running engine's metrics: streams, statements, sources, sinks, job, process.

It does not wait for batches and reads no data files: the state of the journal, the tables and the job is in memory. The
lag of statements at the same position is computed once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from presage.errors import PresageError
from presage.live.deployments import DeploymentRegistry
from presage.live.derived import derived_table
from presage.live.meters import StatementCost
from presage.live.statement import FAILED
from presage.operations.figures import (
    Figures,
    latest,
    results_figures,
    sink_figures,
    source_figures,
    state_sizes,
    statement_figures,
    stream_figures,
    trouble_figures,
)
from presage.operations.metrics import Metrics
from presage.sinks.sink import SinkStatus
from presage.sources import SourceStatus
from presage.storage import Log, StreamInfo
from presage.storage.home import DERIVED, RESULTS


class MetricsCollector:
    def __init__(
        self,
        log: Log,
        deployments: DeploymentRegistry,
        sources: Mapping[str, SourceStatus],
        sinks: Mapping[str, SinkStatus],
        trouble: Callable[[], str | None],
    ) -> None:
        self._log = log
        self._deployments = deployments
        self._sources = sources
        self._sinks = sinks
        self._trouble = trouble
        self._started = time.time()

    def __call__(self) -> Metrics:
        job, live = self._deployments.job, self._log.live
        of_statements = {name: info for name in self._log.archive.made() if (info := self._info(name)) is not None}
        streams = {n: info for n in self._log.archive.streams() if (info := self._info(n)) is not None}
        streams |= {name.removeprefix(DERIVED): info for name, info in of_statements.items() if name != RESULTS}
        values: Figures = {
            "at": time.time(),
            "streams": {name: stream_figures(info) for name, info in streams.items()},
            "statements": self._statements(),
            "sources": {name: source_figures(status) for name, status in self._sources.items()},
            "sinks": {name: sink_figures(status) for name, status in self._sinks.items()},
            "job": {
                "batch_seconds": job.meters.batches(),
                "commit_seconds": job.meters.commits(),
                "position": self._log.position,
                "reached": live.job.get("position"),
                "records": self._log.records,
                **trouble_figures(self._trouble()),
                **results_figures(of_statements.get(RESULTS)),
            },
            "process": {**process_figures(), "started": self._started},
        }
        return Metrics(values)

    def _info(self, stream: str) -> StreamInfo | None:
        try:
            return self._log.archive.describe(stream)
        except PresageError as problem:
            if problem.code == "UNKNOWN_STREAM":
                return None  # dropped in the meantime
            raise

    def _statements(self) -> dict[str, Figures]:
        job = self._deployments.job
        every = list(job.statements.values())
        sizes, costs = state_sizes(every, self._log.live.shared_states), job.meters.worked()
        failed = {derived_table(job.programs[s.number].insert_into or "") for s in every if s.status == FAILED}
        lags: dict[object, int] = {}
        figures = {}
        for statement in latest(every):
            program = job.programs.get(statement.number)
            position, lag, waits = job.position_of(statement), 0, False
            if program is not None and statement.deployed:
                key = position, tuple(scan.extent for scan in program.scans)
                lag = lags[key] = lags[key] if key in lags else job.lag(statement)
                waits = not failed.isdisjoint(program.streams)
            cost = costs.get(statement.number, StatementCost())
            figures[statement.name] = statement_figures(statement, position, lag, waits, sizes[statement.number], cost)
        return figures


def process_figures() -> Figures:
    """Resident memory, where the system reports it, and processor time."""
    pages = Path("/proc/self/statm")
    resident = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else None
    return {"resident_bytes": resident, "cpu_seconds": time.process_time(), "pid": os.getpid()}
