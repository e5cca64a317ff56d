"""Metrics of a home that no engine has open, from its journal and tables."""

from __future__ import annotations

import time

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import InputPosition
from presage.live.statement import Statement
from presage.operations.figures import latest, results_figures, state_sizes, statement_figures, stream_figures
from presage.operations.metrics import Metrics
from presage.storage import SourceState
from presage.storage.archive import stream_info
from presage.storage.columns import EVENTS
from presage.storage.home import DERIVED, RESULTS
from presage.storage.snapshot_reader import Glance


def closed_home_metrics(seen: Glance) -> Metrics:
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
        place = statement.own_position or InputPosition(live.job.get("position", 0), clock)
        behind = statement.deployed and not (statement.own_position is None and caught_up)
        lag = max(0, state.position - place.offset) if behind else 0
        statements[statement.name] = statement_figures(statement, place, lag, False, sizes[statement.number], None)
    sources = {}
    for name, stream in state.streams.items():
        for kind, cursor in stream.cursors.items():
            known = SourceState.of(cursor)
            sources[name] = {"source": kind, "state": "stopped", "rows": known.rows, "rejected": known.rejected}
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
