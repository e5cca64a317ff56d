"""The inspection of a home: tables, files, chunks, journal, and the positions of readers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.statement import Statement
from presage.operations.figures import Figures, position_of, seconds
from presage.storage.archive import stream_info
from presage.storage.columns import EVENTS
from presage.storage.home import HomeLayout
from presage.storage.home_lease import read_lease
from presage.storage.home_state import greatest, least
from presage.storage.journal import Record
from presage.storage.lock import owner_line
from presage.storage.snapshot_reader import HomeSnapshot


def inspect_home(snapshot: HomeSnapshot, records: int = 10) -> Figures:
    """The inspection as plain values. `records`: how many of the journal's last records to include."""
    live = snapshot.state.live
    return {
        "home": snapshot.layout.address,
        "id": snapshot.id,
        "owner": _owner(snapshot.layout),
        "position": snapshot.state.position,
        "journal": {
            "records": snapshot.state.n,
            "head": snapshot.base,
            "since_head": len(snapshot.records),
            "pending": sorted(snapshot.pending),
            "once_keys": snapshot.state.keys(),
            "catalog_version": snapshot.state.catalog_version,
        },
        "tables": [_table(snapshot, stream, table) for stream, table in snapshot.tables()],
        "readers": _readers([Statement.from_json(content) for content in live.statements.values()], live.job),
        "states": _states(snapshot.layout),
        "records": [_record(record) for record in snapshot.records[-records:]] if records else [],
    }


def _table(snapshot: HomeSnapshot, stream: str, table: str) -> Figures:
    state = snapshot.table(stream, table)
    files = list(state.files.values())
    chunks = stream_info(stream, snapshot.state.streams[stream], files).chunks if table == EVENTS else {}
    return {
        "stream": stream,
        "table": table,
        "version": state.version,
        "transaction": state.transaction,
        "checkpoint": state.checkpoint,
        "files": len(files),
        "rows": sum(file.rows for file in files),
        "bytes": sum(file.size for file in files),
        "first_seq": least(file.first_seq for file in files),
        "last_seq": greatest(file.last_seq for file in files),
        "first_time": seconds(least(file.first_time for file in files)),
        "last_time": seconds(greatest(file.last_time for file in files)),
        "chunks": {age: {"files": count, "rows": rows} for age, (count, rows) in chunks.items()},
    }


def _readers(statements: list[Statement], job: dict[str, Any]) -> list[Figures]:
    """Deployed statements: retention keeps the events after their positions."""
    readers = []
    for statement in [statement for statement in statements if statement.deployed]:
        position = position_of(statement, job)
        names = {"statement": statement.name, "status": statement.status, "streams": statement.streams}
        watermark = None if position.watermark == NOTHING_KNOWN else seconds(position.watermark)
        readers.append({**names, "position": position.offset, "clock": watermark})
    return readers


def _owner(layout: HomeLayout) -> str:
    """The process that opened the home last."""
    if layout.store.is_local:
        return owner_line(Path(layout.path))
    lease = read_lease(layout.store, layout.path)
    return "" if lease is None else lease.owner


def _states(layout: HomeLayout) -> Figures:
    names = [name for name in layout.store.names(layout.states) if name.endswith(".states")]
    sizes = [layout.store.size(layout.states / name) for name in names]
    return {"files": len(sizes), "bytes": sum(sizes)}


def _record(record: Record) -> Figures:
    """A summary of a record."""
    added = Counter[str]()
    for change in record.changes():
        for files in change.adds.values():
            added[change.stream or ""] += sum(file.rows for file in files)
    removed = sum(len(names) for part in record.parts for names in part.removes.values())
    return {
        "n": record.n,
        "kind": record.kind,
        "at": seconds(record.at),
        "stream": record.stream,
        "rows": dict(added),
        "removed_files": removed,
        "statements": len((record.live or {}).get("statements", {})),
    }
