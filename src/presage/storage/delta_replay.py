"""A Delta log read entry by entry, also where some of it is damaged: what is left, and what is lost.

delta-rs reads sound tables; it gives up at the first damage, and does not tell our digests. The names of data files are
never used again, so the live files are those that were added and not removed, in whichever order entries are read.
"""

from __future__ import annotations

import io
import json
import time
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from presage.storage.delta_log import CHECKPOINT, DIGEST, ENGINE, entries_of, is_sealed, sealed
from presage.storage.journal import FileAdd
from presage.storage.store import Store

SOME = -1


@dataclass
class Replay:
    """What a log says. `lost`: names of entries and checkpoints that cannot be read; `holes`: runs of versions without
    an entry that can be read, each with the record before it, the record after it (None: none is), and its length, or
    `SOME` where an entry has been replaced by one of another program."""

    version: int = -1  # the newest, readable or not
    base: int = 0  # the record up to which a checkpoint covers everything
    adds: dict[str, FileAdd] = field(default_factory=dict)
    removes: set[str] = field(default_factory=set)
    records: set[int] = field(default_factory=set)
    transactions: dict[str, int] = field(default_factory=dict)  # by application
    metadata: dict[str, Any] | None = None
    lost: list[str] = field(default_factory=list)
    holes: list[tuple[int, int | None, int]] = field(default_factory=list)
    is_foreign: bool = False  # another program has written what we cannot write again

    @property
    def live(self) -> dict[str, FileAdd]:
        return {name: file for name, file in self.adds.items() if name not in self.removes}

    def take(self, action: dict[str, Any]) -> None:
        add, remove, metadata, txn = (action.get(kind) for kind in ("add", "remove", "metaData", "txn"))
        if add:
            stats = add.get("stats") or "{}"
            tags = dict(add.get("tags") or {})
            rows = int(json.loads(stats).get("numRecords", -1))
            check = int(tags[DIGEST]) if DIGEST in tags else None
            self.adds[add["path"]] = FileAdd(add["path"], add["size"], rows, stats, check)
            self.is_foreign |= bool(add.get("deletionVector") or add.get("partitionValues"))
        if remove:
            self.removes.add(remove["path"])
        if metadata:
            self.metadata = metadata
        if txn:
            self.transactions[txn["appId"]] = max(txn["version"], self.transactions.get(txn["appId"], 0))
        protocol = action.get("protocol")
        self.is_foreign |= protocol is not None and protocol["minReaderVersion"] > 1


def replay(store: Store, folder: PurePath, application: str, made: int | None = None) -> Replay:
    """Read all of a log that can be read, from the newest checkpoint that can be. `made`: the checksum of the creation
    of the table, if known."""
    found, log = Replay(), folder / "_delta_log"
    entries = entries_of(store, folder)
    start = -1
    for version, name in reversed([each for each in entries if each[1].endswith(CHECKPOINT)]):
        try:
            actions = _checkpoint(store, log, version, name)
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            found.lost.append(name)
            continue
        for action in actions:
            found.take(action)
        start, found.base = version, found.transactions.get(application, 0)
        break
    # The creation changes no files: without it only the columns are unknown.
    last, expected = found.base, max(start + 1, 1)
    for version, name in entries:
        found.version = max(found.version, version)
        if version <= start or name.endswith(CHECKPOINT):
            continue
        begun = False
        try:
            data = store.read(log / name)
            seal = sealed(data) if version else None
            if (seal is not None and seal.version != version) or (not version and made not in (None, zlib.crc32(data))):
                raise ValueError("it has the place of another")
            actions = [json.loads(line) for line in data.splitlines() if line.strip()]
            if version and seal is None and any(action.get("metaData") for action in actions):
                if any(action.get("commitInfo", {}).get("engineInfo") == ENGINE for action in actions):
                    raise ValueError("it is the creation of a table")
                found.is_foreign = True
            for action in actions:
                begun = True
                found.take(action)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            found.lost.append(name)
            found.is_foreign |= begun  # half of what another program wrote
            continue
        if version:
            ours = [each["txn"]["version"] for each in actions if each.get("txn", {}).get("appId") == application]
            if version > expected:
                found.holes.append((last, max(ours, default=last), version - expected))
            elif seal is not None and seal.previous != last:
                found.holes.append((last, seal.record, SOME))
            found.records.update(ours)
            last, expected = max([last, *ours]), version + 1
    if found.version >= expected:
        found.holes.append((last, None, found.version + 1 - expected))
    return found


def _checkpoint(store: Store, log: PurePath, version: int, name: str) -> list[dict[str, Any]]:
    if not is_sealed(store, log, version):
        raise ValueError("its checksum is wrong")
    table = pq.read_table(io.BytesIO(store.read(log / name)))
    wanted = [name for name in ("add", "metaData", "txn", "protocol") if name in table.column_names]
    return list(_actions(table.select(wanted)))


def _actions(table: pa.Table) -> Iterator[dict[str, Any]]:
    for row in table.to_pylist():
        metadata = row.get("metaData")
        if metadata:
            metadata["configuration"] = dict(metadata.get("configuration") or {})
            metadata["format"] = {**metadata["format"], "options": dict(metadata["format"].get("options") or {})}
        yield row


_MAP = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("partitionValues", _MAP, nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modificationTime", pa.int64(), nullable=False),
        pa.field("dataChange", pa.bool_(), nullable=False),
        ("stats", pa.string()),
        ("tags", _MAP),
    ]
)
_METADATA = pa.struct(
    [
        pa.field("id", pa.string(), nullable=False),
        ("name", pa.string()),
        ("description", pa.string()),
        pa.field(
            "format",
            pa.struct([pa.field("provider", pa.string(), nullable=False), pa.field("options", _MAP, nullable=False)]),
            nullable=False,
        ),
        pa.field("schemaString", pa.string(), nullable=False),
        pa.field("partitionColumns", pa.list_(pa.string()), nullable=False),
        ("createdTime", pa.int64()),
        pa.field("configuration", _MAP, nullable=False),
    ]
)
_SCHEMA = pa.schema(
    [
        ("txn", pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])),
        ("add", _ADD),
        ("metaData", _METADATA),
        ("protocol", pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])),
    ]
)


def checkpoint(metadata: dict[str, Any], transactions: dict[str, int], files: list[FileAdd]) -> bytes:
    """A checkpoint with these files alone, as any Delta reader takes it."""
    now = time.time_ns() // 1_000_000
    rows: list[dict[str, Any]] = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}]
    rows.append({"metaData": {name: metadata.get(name) for name in _METADATA_NAMES}})
    rows += [{"txn": {"appId": name, "version": n, "lastUpdated": now}} for name, n in transactions.items()]
    for file in files:
        tags = None if file.digest is None else {DIGEST: str(file.digest)}
        common = {"partitionValues": {}, "modificationTime": now, "dataChange": False, "tags": tags}
        rows.append({"add": {"path": file.path, "size": file.size, "stats": file.stats, **common}})
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([_with_maps(row) for row in rows], _SCHEMA), sink)
    return sink.getvalue()


_METADATA_NAMES = [field.name for field in _METADATA]


def new_metadata(schema: str, configuration: dict[str, str]) -> dict[str, Any]:
    """Of a table whose creation is lost. `schema`: Delta's JSON."""
    return {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": configuration,
        "createdTime": time.time_ns() // 1_000_000,
    }


def _with_maps(value: Any) -> Any:
    """Maps as PyArrow takes them: lists of pairs."""
    maps = ("partitionValues", "tags", "options", "configuration")
    if not isinstance(value, dict):
        return value
    return {
        key: [*each.items()] if key in maps and isinstance(each, dict) else _with_maps(each)
        for key, each in value.items()
    }
