"""A change of files in, a Delta log entry out; and which files of a Delta log nobody needs any more.

The format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (reader version 1, writer version 2).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from presage.log.journal import FileAdd

_ENTRY = re.compile(r"(\d{20})(\.json|\.checkpoint\.parquet)")
_CHECKPOINT = ".checkpoint.parquet"


def entry(
    application: str, n: int, adds: Sequence[FileAdd], removes: Sequence[tuple[str, int]], data_change: bool
) -> bytes:
    """The log entry of transaction n of an application. `removes`: names and sizes."""
    now = time.time_ns() // 1_000_000
    operation = "WRITE" if adds and not removes else "DELETE" if data_change else "OPTIMIZE"
    actions: list[dict[str, Any]] = [
        {"commitInfo": {"timestamp": now, "operation": operation, "operationParameters": {}, "engineInfo": "presage"}},
        {"txn": {"appId": application, "version": n, "lastUpdated": now}},
    ]
    kept = {"partitionValues": {}, "dataChange": data_change}
    actions += [
        {"add": {"path": file.path, "size": file.size, "modificationTime": now, "stats": file.stats, **kept}}
        for file in adds
    ]
    actions += [
        {"remove": {"path": name, "size": size, "deletionTimestamp": now, "extendedFileMetadata": True, **kept}}
        for name, size in removes
    ]
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def entry_path(folder: Path, version: int) -> Path:
    return folder / "_delta_log" / f"{version:020d}.json"


def checkpoint_of(folder: Path) -> int:
    """The version of the newest checkpoint; 0, the creation of the table, if there is none."""
    return max((version for version, name in _entries(folder) if name.endswith(_CHECKPOINT)), default=0)


def obsolete(folder: Path, before: float) -> list[Path]:
    """Entries and checkpoints that only a reader could miss that started before a moment (seconds of wall time).

    Such a reader starts from a checkpoint that was the newest at that moment; what precedes it can go, the oldest
    first, so that what remains has no gaps. The checkpoint's own entry stays: writers look for it.
    """
    entries, log = _entries(folder), folder / "_delta_log"
    checkpoints = [
        version for version, name in entries if name.endswith(_CHECKPOINT) and (log / name).stat().st_mtime < before
    ]
    first_kept = max(checkpoints, default=0)
    return [log / name for version, name in entries if version < first_kept]


def _entries(folder: Path) -> list[tuple[int, str]]:
    # Names and not paths: there may be ten thousand of them, and this is asked again and again.
    found = ((_ENTRY.fullmatch(name), name) for name in os.listdir(folder / "_delta_log"))
    return sorted((int(match[1]), name) for match, name in found if match)
