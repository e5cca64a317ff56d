"""Metrics of one stream, statement, source or sink as plain values; and all metrics of a home without an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import InputPosition
from presage.live.statement import RUNNING, Statement
from presage.model.redaction import masked
from presage.storage import StreamInfo

if TYPE_CHECKING:
    from presage.live.meters import StatementCost
    from presage.sinks.sink import SinkStatus
    from presage.sources import SourceStatus
import time

from presage.operations.metrics import Metrics
from presage.storage import SourceState
from presage.storage.archive import stream_info
from presage.storage.columns import EVENTS
from presage.storage.home import DERIVED, RESULTS
from presage.storage.snapshot_reader import HomeSnapshot

Figures = dict[str, Any]


def latest(statements: Iterable[Statement]) -> list[Statement]:
    """The last statement of each name."""
    return list({s.name: s for s in sorted(statements, key=lambda s: int(s.number))}.values())


def position_of(statement: Statement, job: Mapping[str, Any]) -> InputPosition:
    """The input position of a statement: its own, or that of the live job in its stored state."""
    marks = job.get("marks", {})
    watermark = min((marks.get(s, NOTHING_KNOWN) for s in statement.streams or marks), default=NOTHING_KNOWN)
    return statement.own_position or InputPosition(job.get("position", 0), watermark)


def state_sizes(statements: Sequence[Statement], shared: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """By statement: bytes of its own states, and its share of the states of shared execution."""
    members = Counter(pair for s in statements for pair in s.shared.items())
    sizes = {name: sum(int(ref[2]) for chain in places.values() for ref in chain) for name, places in shared.items()}
    return {
        s.number: s.state_size + sum(sizes.get(name, 0) // members[shard, name] for shard, name in s.shared.items())
        for s in statements
    }


def stream_figures(info: StreamInfo) -> Figures:
    return {
        "events": info.rows,
        "late": info.late,
        "rejected": info.rejected,
        "retained": info.retained,
        "watermark": seconds(info.watermark),
        "bytes": info.bytes,
        "files": info.files,
        "chunk_files": {age: files for age, (files, _) in info.chunks.items()},
        "chunk_events": {age: rows for age, (_, rows) in info.chunks.items()},
    }


def statement_figures(
    statement: Statement, position: InputPosition, lag: int, waits: bool, size: int, worked: StatementCost | None
) -> Figures:
    behind = statement.status == RUNNING and statement.own_position is not None
    state = "waiting" if waits and statement.status == RUNNING else "catching up" if behind else statement.status
    figures: Figures = {
        "state": state,
        "rows_in": statement.rows_in,
        "rows_out": statement.rows_out,
        "rows_kept": statement.rows_out - statement.removed,
        "lag": lag,
        "watermark": None if position.watermark == NOTHING_KNOWN else seconds(position.watermark),
        "state_bytes": size,
        "partial_matches": statement.partial_matches,
        "recalls": {"ready": statement.recalls_ready, "suspended": statement.recalls_suspended},
        "unknown_entities": statement.unknown_entities,
        "particle_restarts": statement.particle_restarts,
        "readings_ignored": statement.readings_ignored,
        "position": position.offset,
        "error": masked(statement.error) or None,
    }
    if worked is not None:
        figures |= {"batch_seconds_last": worked.last, "batch_seconds": worked.total, "failures": worked.failures}
    return figures


def source_figures(status: SourceStatus) -> Figures:
    names = ("source", "state", "why", "position", "rows", "rejected", "left")
    notes = [masked(note) for note in status.notes]
    return {**{n: getattr(status, n) for n in names}, "why": masked(status.why) or None, "notes": notes}


def sink_figures(status: SinkStatus) -> Figures:
    names = ("statement", "state", "why", "position", "rows", "skipped", "left", "retries")
    figures = {"kind": status.sink, **{n: getattr(status, n) for n in names}}
    return {**figures, "why": masked(status.why) or None, "last_error": masked(status.last_error or "") or None}


def trouble_figures(why: str | None) -> Figures:
    return {"failing": int(why is not None), "error": None if why is None else masked(why)}


def results_figures(info: StreamInfo | None) -> Figures:
    return {} if info is None else {"results_bytes": info.bytes, "results_files": info.files}


def seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6


def closed_home_metrics(snapshot: HomeSnapshot) -> Metrics:
    """The metrics of a home that no engine has open, from its journal and tables."""
    state, live = snapshot.state, snapshot.state.live
    tables = {
        name: stream_info(name, state.streams[name], tuple(snapshot.table(name, EVENTS).files.values()))
        for name in state.streams
        if not name.startswith("#") or name == RESULTS or name.startswith(DERIVED)
    }
    every = [Statement.from_json(content) for content in live.statements.values()]
    sizes = state_sizes(every, live.shared_states)
    caught_up = live.job.get("arrivals") == state.arrivals
    statements = {}
    for statement in latest(every):
        position = position_of(statement, live.job)
        behind = statement.deployed and not (statement.own_position is None and caught_up)
        lag = max(0, state.position - position.offset) if behind else 0
        statements[statement.name] = statement_figures(statement, position, lag, False, sizes[statement.number], None)
    sources = {}
    for name, stream in state.streams.items():
        for kind, cursor in stream.cursors.items():
            source = SourceState.of(cursor)
            sources[name] = {"source": kind, "state": "stopped", "rows": source.rows, "rejected": source.rejected}
    shown = {name.removeprefix(DERIVED): info for name, info in tables.items() if name != RESULTS}
    values = {
        "at": time.time(),
        "streams": {name: stream_figures(info) for name, info in shown.items()},
        "statements": statements,
        "sources": sources,
        "job": {
            "position": state.position,
            "reached": live.job.get("position"),
            "records": state.n,
            **results_figures(tables.get(RESULTS)),
        },
    }
    return Metrics(values)
