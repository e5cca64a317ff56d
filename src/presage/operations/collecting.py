"""An engine's parts, or a look at a home, in; the figures of all streams, statements and sources out.

Nothing here waits for a batch or reads a data file: what the journal, the logs of the tables and the running job know
is in memory. Of many statements in step with each other the same is asked once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from presage.columnar.holding import NOTHING_KNOWN
from presage.errors import PresageError
from presage.live.derived import derived_table
from presage.live.meters import Worked
from presage.live.spans import Place
from presage.live.standing import Standing
from presage.live.statement import FAILED, RUNNING, Statement
from presage.log import Log, SourceState, StreamInfo
from presage.log.archive import stream_info
from presage.log.columns import EVENTS
from presage.log.glance import Glance
from presage.log.home import DERIVED, RESULTS
from presage.model.masking import masked
from presage.operations.metrics import Metrics
from presage.sources import SourceStatus

Figures = dict[str, Any]


class Collector:
    """The figures of a running engine."""

    def __init__(
        self, log: Log, standing: Standing, sources: Mapping[str, SourceStatus], trouble: Callable[[], str | None]
    ) -> None:
        self._log = log
        self._standing = standing
        self._sources = sources
        self._trouble = trouble
        self._started = time.time()

    def __call__(self) -> Metrics:
        job, live = self._standing.job, self._log.live
        made = {name: info for name in self._log.archive.made() if (info := self._info(name)) is not None}
        streams = {n: info for n in self._log.archive.streams() if (info := self._info(n)) is not None}
        streams |= {name.removeprefix(DERIVED): info for name, info in made.items() if name != RESULTS}
        values: Figures = {
            "at": time.time(),
            "streams": {name: _stream(info) for name, info in streams.items()},
            "statements": self._statements(),
            "sources": {name: _source(status) for name, status in self._sources.items()},
            "job": {
                "batch_seconds": job.meters.batches(),
                "commit_seconds": job.meters.commits(),
                "position": self._log.position,
                "reached": live.job.get("position"),
                "records": self._log.records,
                **_trouble(self._trouble()),
                **_results(made.get(RESULTS)),
            },
            "process": {**process_figures(), "started": self._started},
        }
        return Metrics(values)

    def _info(self, stream: str) -> StreamInfo | None:
        try:
            return self._log.archive.describe(stream)
        except PresageError as problem:
            if problem.code == "UNKNOWN_STREAM":
                return None  # it has just been dropped
            raise

    def _statements(self) -> dict[str, Figures]:
        job = self._standing.job
        every = list(job.statements.values())
        sizes, worked = state_sizes(every, self._log.live.job.get("families", {})), job.meters.worked()
        failed = {derived_table(job.programs[s.number].insert_into or "") for s in every if s.status == FAILED}
        lags: dict[object, int] = {}
        found = {}
        for statement in latest(every):
            program = job.programs.get(statement.number)
            place, lag, waits = job.place(statement), 0, False
            if program is not None and statement.stands:
                asked = place, tuple(scan.extent for scan in program.scans)
                lag = lags[asked] = lags[asked] if asked in lags else job.lag(statement)
                waits = not failed.isdisjoint(program.streams)
            figures = worked.get(statement.number, Worked())
            found[statement.name] = _statement(statement, place, lag, waits, sizes[statement.number], figures)
        return found


def of_home(seen: Glance) -> Metrics:
    """The figures of a home that no engine has open, as the journal and the tables keep them."""
    state, live = seen.state, seen.state.live
    tables = {
        name: stream_info(name, state.streams[name], tuple(seen.table(name, EVENTS).files.values()))
        for name in state.streams
        if not name.startswith("#") or name == RESULTS or name.startswith(DERIVED)
    }
    every = [Statement.from_json(content) for content in live.statements.values()]
    sizes, marks = state_sizes(every, live.job.get("families", {})), live.job.get("marks", {})
    caught_up = live.job.get("arrivals") == state.arrivals
    statements = {}
    for statement in latest(every):
        streams = statement.streams or list(marks)
        clock = min((marks.get(stream, NOTHING_KNOWN) for stream in streams), default=NOTHING_KNOWN)
        place = statement.place or Place(live.job.get("position", 0), clock)
        behind = statement.stands and not (statement.place is None and caught_up)
        lag = max(0, state.position - place.position) if behind else 0
        statements[statement.name] = _statement(statement, place, lag, False, sizes[statement.number], None)
    sources = {}
    for name, stream in state.streams.items():
        for kind, cursor in stream.cursors.items():
            known = SourceState.of(cursor)
            sources[name] = {"source": kind, "state": "stopped", "rows": known.rows, "rejected": known.rejected}
    values = {
        "at": time.time(),
        "streams": {name.removeprefix(DERIVED): _stream(info) for name, info in tables.items() if name != RESULTS},
        "statements": statements,
        "sources": sources,
        "job": {
            "position": state.position,
            "reached": live.job.get("position"),
            "records": state.n,
            **_results(tables.get(RESULTS)),
        },
    }
    return Metrics(values)


def latest(statements: Iterable[Statement]) -> list[Statement]:
    """Of each name the last statement that had it."""
    return list({s.name: s for s in sorted(statements, key=lambda s: int(s.number))}.values())


def state_sizes(statements: Sequence[Statement], families: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """By statement: bytes of its own states, and its share of those that it has in common with others."""
    members = Counter(pair for s in statements for pair in s.shared.items())
    shared = {name: sum(int(ref[2]) for chain in places.values() for ref in chain) for name, places in families.items()}
    return {
        s.number: s.state_size + sum(shared.get(name, 0) // members[shard, name] for shard, name in s.shared.items())
        for s in statements
    }


def process_figures() -> Figures:
    """Resident memory, where the system tells it, and processor time."""
    pages = Path("/proc/self/statm")
    resident = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else None
    return {"resident_bytes": resident, "cpu_seconds": time.process_time(), "pid": os.getpid()}


def _stream(info: StreamInfo) -> Figures:
    return {
        "events": info.rows,
        "late": info.late,
        "rejected": info.rejected,
        "retained": info.retained,
        "watermark": _seconds(info.watermark),
        "bytes": info.bytes,
        "files": info.files,
        "chunk_files": {age: files for age, (files, _) in info.chunks.items()},
        "chunk_events": {age: rows for age, (_, rows) in info.chunks.items()},
    }


def _statement(
    statement: Statement, place: Place, lag: int, waits: bool, size: int, worked: Worked | None
) -> Figures:  # fmt: skip
    behind = statement.status == RUNNING and statement.place is not None
    state = "waiting" if waits and statement.status == RUNNING else "catching up" if behind else statement.status
    figures: Figures = {
        "state": state,
        "rows_in": statement.rows_in,
        "rows_out": statement.rows_out,
        "lag": lag,
        "watermark": None if place.clock == NOTHING_KNOWN else _seconds(place.clock),
        "state_bytes": size,
        "partial_matches": statement.partial_matches,
        "recalls": {"ready": statement.recalls_ready, "suspended": statement.recalls_suspended},
        "unknown_entities": statement.unknown_entities,
        "position": place.position,
        "error": masked(statement.error) or None,
    }
    if worked is not None:
        figures |= {"batch_seconds_last": worked.last, "batch_seconds": worked.total, "failures": worked.failures}
    return figures


def _source(status: SourceStatus) -> Figures:
    return {
        "source": status.source,
        "state": status.state,
        "why": masked(status.why) or None,
        "position": status.position,
        "rows": status.rows,
        "rejected": status.rejected,
        "left": status.left,
        "notes": [masked(note) for note in status.notes],
    }


def _trouble(said: str | None) -> Figures:
    return {"failing": int(said is not None), "error": None if said is None else masked(said)}


def _results(info: StreamInfo | None) -> Figures:
    return {} if info is None else {"results_bytes": info.bytes, "results_files": info.files}


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6
