"""Entries of Delta logs: written with a checksum, verified, and found when they are obsolete.

The format: https://github.com/delta-io/delta/blob/master/PROTOCOL.md (reader version 1, writer version 2).
"""

from __future__ import annotations

import json
import re
import time
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from presage.storage.journal import FileAdd
from presage.storage.store import Store

_ENTRY = re.compile(r"(\d{20})(\.json|\.checkpoint\.parquet)")
CHECKPOINT = ".checkpoint.parquet"
SEAL = "presage"  # our key in commitInfo, whose content is free
ENGINE = "presage"
DIGEST = "presage.crc32"  # our tag of a data file


def creation(schema: str, configuration: Mapping[str, str], name: str, at: int) -> bytes:
    """The first entry of a table. `schema`: Delta's JSON; `at`: microseconds. A table of the same name, which no other
    table of any home has, gets the same entry: a request to write it may be repeated, and arrive late."""
    now = at // 1_000
    info = {"timestamp": now, "operation": "CREATE TABLE", "operationParameters": {}, "engineInfo": ENGINE}
    table = {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, name)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": dict(configuration),
        "createdTime": now,
    }
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    actions = ({"commitInfo": info}, {"protocol": protocol}, {"metaData": table})
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def entry(
    seal: Seal, application: str, adds: Sequence[FileAdd], removes: Sequence[tuple[str, int]], data_change: bool
) -> bytes:
    """The log entry of a record, as a transaction of an application. `removes`: names and sizes."""
    now = time.time_ns() // 1_000_000
    operation = "WRITE" if adds and not removes else "DELETE" if data_change else "OPTIMIZE"
    actions: list[dict[str, Any]] = [{"txn": {"appId": application, "version": seal.record, "lastUpdated": now}}]
    common = {"partitionValues": {}, "dataChange": data_change}
    actions += [
        {
            "add": {
                "path": file.path,
                "size": file.size,
                "modificationTime": now,
                "stats": file.stats,
                **common,
                **({} if file.digest is None else {"tags": {DIGEST: str(file.digest)}}),
            }
        }
        for file in adds
    ]
    actions += [
        {"remove": {"path": name, "size": size, "deletionTimestamp": now, "extendedFileMetadata": True, **common}}
        for name, size in removes
    ]
    body = "".join(json.dumps(action) + "\n" for action in actions).encode()
    info = {"timestamp": now, "operation": operation, "operationParameters": {}, "engineInfo": ENGINE}
    first = {"commitInfo": {**info, SEAL: [*seal, seal.checksum(body)]}}
    return json.dumps(first).encode() + b"\n" + body


class Seal(NamedTuple):
    """Identifies an entry of ours: its version, its record, and the record of our entry before it."""

    version: int
    record: int
    previous: int  # the record of our entry before it, 0 if it is the first

    def checksum(self, body: bytes) -> int:
        """Of the entry without its first line, which holds the seal."""
        return zlib.crc32(body, zlib.crc32(repr(tuple(self)).encode()))


def check_log(store: Store, folder: PurePath, made: int | None) -> None:
    """Raise ValueError if the last checkpoint or an entry after it is damaged or swapped, as far as checksums tell, or
    if one of our entries is missing. `made`: the checksum of the table's creation."""
    entries = entries_of(store, folder)
    log, start = folder / "_delta_log", _newest_checkpoint(entries)
    if start and not is_sealed(store, log, start):
        raise ValueError(f"checkpoint {start} is damaged")
    last = None if start or made is None else 0
    after = [(version, name) for version, name in entries if version >= start and name.endswith(".json")]
    contents = store.each(lambda each: store.read(log / each[1]), after)
    for (version, _), data in zip(after, contents, strict=True):
        if not version:
            if made is not None and zlib.crc32(data) != made:
                raise ValueError("the creation of the table is damaged")
            continue
        seal = sealed(data)
        if seal is None:
            continue  # written by another program, or by an earlier version
        if seal.version != version or last not in (None, seal.previous):
            raise ValueError(f"entry {version} has the place of another, or one before it is missing")
        last = seal.record


def sealed(data: bytes) -> Seal | None:
    """The seal of an entry, if it has one; ValueError if the checksum is wrong."""
    first, _, body = data.partition(b"\n")
    stored = json.loads(first).get("commitInfo", {}).get(SEAL)
    if stored is None:
        return None
    *fields, checksum = stored
    seal = Seal(*fields)
    if seal.checksum(body) != checksum:
        raise ValueError(f"entry {seal.version} is damaged")
    return seal


def seal_checkpoint(store: Store, folder: PurePath, version: int) -> None:
    """Write the checksum of a checkpoint into a file."""
    log = folder / "_delta_log"
    store.put(log / seal_name(version), str(_checkpoint_checksum(store, log, version)).encode())


def is_sealed(store: Store, log: PurePath, version: int) -> bool:
    """Whether a checkpoint has its checksum, or none: of an earlier version, or another program."""
    try:
        seal = store.read(log / seal_name(version))
    except FileNotFoundError:
        return True
    return int(seal) == _checkpoint_checksum(store, log, version)


def _checkpoint_checksum(store: Store, log: PurePath, version: int) -> int:
    return zlib.crc32(store.read(log / f"{version:020d}{CHECKPOINT}"))


def seal_of(checkpoint: PurePath) -> PurePath:
    """The file with the checksum of a checkpoint."""
    return checkpoint.with_name(seal_name(int(checkpoint.name.removesuffix(CHECKPOINT))))


def seal_name(version: int) -> str:
    return f".{version:020d}.checkpoint.crc"  # Delta readers ignore names with a dot


def entry_path(folder: PurePath, version: int) -> PurePath:
    return folder / "_delta_log" / f"{version:020d}.json"


def checkpoint_path(folder: PurePath, version: int) -> PurePath:
    return folder / "_delta_log" / f"{version:020d}{CHECKPOINT}"


def checkpoint_of(store: Store, folder: PurePath) -> int:
    """The version of the newest checkpoint; 0 if there is none."""
    return _newest_checkpoint(entries_of(store, folder))


def _newest_checkpoint(entries: Sequence[tuple[int, str]]) -> int:
    return max((version for version, name in entries if name.endswith(CHECKPOINT)), default=0)


def obsolete(store: Store, folder: PurePath, seen: dict[PurePath, float], before: float) -> list[PurePath]:
    """Entries and checkpoints that only readers need that started before a time. `seen`: when this process first saw
    each checkpoint, by its monotonic clock: the clock of a store may be wrong.

    Later readers start from the checkpoint that was the newest then. Files before it are returned, the oldest first,
    so that deleting them leaves no gaps. The checkpoint's own entry stays: writers look for it.
    """
    entries, log = entries_of(store, folder), folder / "_delta_log"
    present = {log / name: version for version, name in entries if name.endswith(CHECKPOINT)}
    for path in [path for path in list(seen) if path.parent == log and path not in present]:
        del seen[path]
    now = time.monotonic()
    checkpoints = [version for path, version in present.items() if seen.setdefault(path, now) < before]
    first_kept = max(checkpoints, default=0)
    gone = [(version, log / name) for version, name in entries if version < first_kept]
    seals = [log / seal_name(version) for version, path in gone if path.name.endswith(CHECKPOINT)]
    return [*(path for _, path in gone), *(seal for seal in seals if store.exists(seal))]


def entries_of(store: Store, folder: PurePath) -> list[tuple[int, str]]:
    """Versions and names of the entries and checkpoints of a table's log, in order."""
    # Names, not paths: there may be ten thousand, and this is called often.
    matches = ((_ENTRY.fullmatch(name), name) for name in store.names(folder / "_delta_log"))
    return sorted((int(match[1]), name) for match, name in matches if match)
