"""A change of files in, a Delta log entry out; and which files of a Delta log nobody needs any more.

The format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (reader version 1, writer version 2).
"""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from presage.storage.journal import FileAdd

_ENTRY = re.compile(r"(\d{20})(\.json|\.checkpoint\.parquet)")
_CHECKPOINT = ".checkpoint.parquet"
SEAL = "presage"  # in the commitInfo of our entries, which holds whatever its writer wants to say


def entry(
    seal: Seal, application: str, adds: Sequence[FileAdd], removes: Sequence[tuple[str, int]], data_change: bool
) -> bytes:
    """The log entry of a record, which is a transaction of an application. `removes`: names and sizes."""
    now = time.time_ns() // 1_000_000
    operation = "WRITE" if adds and not removes else "DELETE" if data_change else "OPTIMIZE"
    actions: list[dict[str, Any]] = [{"txn": {"appId": application, "version": seal.record, "lastUpdated": now}}]
    kept = {"partitionValues": {}, "dataChange": data_change}
    actions += [
        {"add": {"path": file.path, "size": file.size, "modificationTime": now, "stats": file.stats, **kept}}
        for file in adds
    ]
    actions += [
        {"remove": {"path": name, "size": size, "deletionTimestamp": now, "extendedFileMetadata": True, **kept}}
        for name, size in removes
    ]
    said = "".join(json.dumps(action) + "\n" for action in actions).encode()
    told = {"timestamp": now, "operation": operation, "operationParameters": {}, "engineInfo": "presage"}
    info = {"commitInfo": {**told, SEAL: [*seal, seal.checksum(said)]}}
    return json.dumps(info).encode() + b"\n" + said


class Seal(NamedTuple):
    """By which an entry of ours is known to be the one that was written as that version, after another of ours."""

    version: int
    record: int
    previous: int  # the record of our entry before it, 0 if it is the first

    def checksum(self, said: bytes) -> int:
        """Of the entry without its first line, which holds the seal."""
        return zlib.crc32(said, zlib.crc32(repr(tuple(self)).encode()))


def check_log(folder: Path, made: int | None) -> None:
    """ValueError if an entry or a checkpoint that readers start from is not what was written under its name, as far as
    it has a checksum, or if one of our entries is missing among them. `made`: the checksum of the table's creation."""
    log, start = folder / "_delta_log", checkpoint_of(folder)
    seal = log / _seal_of(start)
    if (
        start
        and seal.exists()
        and int(seal.read_text()) != zlib.crc32((log / f"{start:020d}{_CHECKPOINT}").read_bytes())
    ):
        raise ValueError(f"checkpoint {start} is damaged")
    last = None if start or made is None else 0
    for version, name in _entries(folder):
        if version < start or not name.endswith(".json"):
            continue
        data = (log / name).read_bytes()
        if not version:
            if made is not None and zlib.crc32(data) != made:
                raise ValueError("the creation of the table is damaged")
            continue
        found = _sealed(data)
        if found is None:
            continue  # of another program, or of an earlier version
        if found.version != version or last not in (None, found.previous):
            raise ValueError(f"entry {version} has the place of another, or one before it is missing")
        last = found.record


def _sealed(data: bytes) -> Seal | None:
    """The seal of an entry, if it has one; ValueError if it is not that of the entry."""
    first, _, said = data.partition(b"\n")
    found = json.loads(first).get("commitInfo", {}).get(SEAL)
    if found is None:
        return None
    *named, checksum = found
    seal = Seal(*named)
    if seal.checksum(said) != checksum:
        raise ValueError(f"entry {seal.version} is damaged")
    return seal


def seal_checkpoint(folder: Path, version: int) -> Path:
    """Keep the checksum of a checkpoint beside it; the file that holds it."""
    log = folder / "_delta_log"
    seal = log / _seal_of(version)
    seal.write_text(str(zlib.crc32((log / f"{version:020d}{_CHECKPOINT}").read_bytes())))
    return seal


def _seal_of(version: int) -> str:
    return f".{version:020d}.checkpoint.crc"  # with a dot: readers of Delta pass over it


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
    gone = [(version, log / name) for version, name in entries if version < first_kept]
    seals = [log / _seal_of(version) for version, path in gone if path.name.endswith(_CHECKPOINT)]
    return [*(path for _, path in gone), *(seal for seal in seals if seal.exists())]


def _entries(folder: Path) -> list[tuple[int, str]]:
    # Names and not paths: there may be ten thousand of them, and this is asked again and again.
    found = ((_ENTRY.fullmatch(name), name) for name in os.listdir(folder / "_delta_log"))
    return sorted((int(match[1]), name) for match, name in found if match)
