"""The inspection of a home: tables, files, chunks, journal, and the positions of readers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from presage.execution.watermark_buffer import NOTHING_KNOWN
from presage.live.input_range import InputPosition
from presage.live.statement import Statement
from presage.storage.archive import stream_info
from presage.storage.columns import EVENTS
from presage.storage.delta import LiveFile
from presage.storage.journal import Part, Record
from presage.storage.snapshot_reader import HomeSnapshot

Figures = dict[str, Any]


def inspect_home(snapshot: HomeSnapshot, records: int = 10) -> Figures:
    """Plain values; `records`: how many of the last records of the journal to tell."""
    live = snapshot.state.live
    return {
        "home": str(snapshot.layout.path),
        "id": snapshot.id,
        "owner": snapshot.owner(),
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
        "states": _states(snapshot.layout.states),
        "records": [_record(record) for record in snapshot.records[-records:]] if records else [],
    }


def _table(snapshot: HomeSnapshot, stream: str, table: str) -> Figures:
    known = snapshot.table(stream, table)
    files = list(known.files.values())
    chunks = stream_info(stream, snapshot.state.streams[stream], files).chunks if table == EVENTS else {}
    return {
        "stream": stream,
        "table": table,
        "version": known.version,
        "transaction": known.transaction,
        "checkpoint": known.checkpoint,
        "files": len(files),
        "rows": sum(file.rows for file in files),
        "bytes": sum(file.size for file in files),
        "first_seq": _least(files, "first_seq"),
        "last_seq": _most(files, "last_seq"),
        "first_time": _seconds(_least(files, "first_time")),
        "last_time": _seconds(_most(files, "last_time")),
        "chunks": {age: {"files": count, "rows": rows} for age, (count, rows) in chunks.items()},
    }


def _readers(statements: list[Statement], job: dict[str, Any]) -> list[Figures]:
    """Deployed statements: retention keeps what lies after their positions."""
    marks = job.get("marks", {})
    found = []
    for statement in statements:
        if statement.deployed:
            watermark = min((marks.get(s, NOTHING_KNOWN) for s in statement.streams or marks), default=NOTHING_KNOWN)
            position = statement.own_position or InputPosition(job.get("position", 0), watermark)
            known = None if position.watermark == NOTHING_KNOWN else position.watermark
            found.append(
                {
                    "statement": statement.name,
                    "status": statement.status,
                    "streams": statement.streams,
                    "position": position.offset,
                    "clock": _seconds(known),
                }
            )
    return found


def _states(folder: Path) -> Figures:
    sizes = [path.stat().st_size for path in folder.iterdir() if path.suffix == ".states"] if folder.is_dir() else []
    return {"files": len(sizes), "bytes": sum(sizes)}


def _record(record: Record) -> Figures:
    """A record in short: what it did, not what is in it."""
    added = Counter[str]()
    changes: list[Record | Part] = [record, *record.parts]
    for change in changes:
        for files in change.adds.values():
            added[change.stream or ""] += sum(file.rows for file in files)
    removed = sum(len(names) for part in record.parts for names in part.removes.values())
    return {
        "n": record.n,
        "kind": record.kind,
        "at": _seconds(record.at),
        "stream": record.stream,
        "rows": dict(added),
        "removed_files": removed,
        "statements": len((record.live or {}).get("statements", {})),
    }


def _least(files: list[LiveFile], name: str) -> int | None:
    return min((value for file in files if (value := getattr(file, name)) is not None), default=None)


def _most(files: list[LiveFile], name: str) -> int | None:
    return max((value for file in files if (value := getattr(file, name)) is not None), default=None)


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6
