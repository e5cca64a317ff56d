"""Delta tables as other programs leave them: written by `deltalake`, their logs edited where it cannot write a form."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

START = datetime(2024, 1, 1, tzinfo=UTC)
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def rows(*numbers: int) -> pa.Table:
    times = pa.array([START + timedelta(seconds=x) for x in numbers], pa.timestamp("us", "UTC"))
    return pa.table({"x": pa.array(numbers, pa.int64()), "s": [f"s{x % 2}" for x in numbers], "at": times})


def write(folder: Path, *numbers: int, **more: Any) -> DeltaTable:
    """One version with these rows."""
    write_deltalake(str(folder), rows(*numbers), mode="append", **more)
    return DeltaTable(str(folder))


def compact(folder: Path) -> None:
    DeltaTable(str(folder)).optimize.compact()


def vacuum(folder: Path) -> None:
    DeltaTable(str(folder)).vacuum(0, enforce_retention_duration=False, dry_run=False)


def edit(folder: Path, change: Callable[[dict[str, Any]], None], version: int = 0) -> None:
    """Change the actions of a version in place."""
    path = folder / "_delta_log" / f"{version:020d}.json"
    actions = [json.loads(line) for line in path.read_text().splitlines()]
    for action in actions:
        change(action)
    path.write_text("".join(json.dumps(action) + "\n" for action in actions))


def delete_by_vector(folder: Path, *deleted: int) -> None:
    """Let the first version's file have a deletion vector for these of its rows."""
    vector = _bitmap(deleted)

    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            features = ["deletionVectors"]
            action["protocol"] = {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": features,
            }
        if "add" in action:
            action["add"]["deletionVector"] = {
                "storageType": "i",
                "pathOrInlineDv": _z85(vector),
                "sizeInBytes": len(vector),
                "cardinality": len(deleted),
            }

    edit(folder, change)


def map_columns(folder: Path, mode: str, names: dict[str, str]) -> None:
    """Let columns have other names than in the files."""

    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": mode}
            schema = json.loads(action["metaData"]["schemaString"])
            for number, column in enumerate(schema["fields"], 1):
                inside = column["name"]
                column["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": inside}
                column["name"] = names.get(inside, inside)
            action["metaData"]["schemaString"] = json.dumps(schema)

    edit(folder, change)


def _bitmap(numbers: tuple[int, ...]) -> bytes:
    """A 64-bit Roaring bitmap of one small container, as deletion vectors are."""
    inner = struct.pack("<IIHHI", 12_346, 1, 0, len(numbers) - 1, 16) + struct.pack(f"<{len(numbers)}H", *numbers)
    return struct.pack("<IQI", 1_681_511_377, 1, 0) + inner


def _z85(data: bytes) -> str:
    words = struct.iter_unpack(">I", data + bytes(-len(data) % 4))
    return "".join(_Z85[word // 85**power % 85] for (word,) in words for power in (4, 3, 2, 1, 0))
