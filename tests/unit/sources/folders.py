"""A home, a folder that grows, and the source between them, stepped by hand: no thread, no waiting."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from presage.model.catalog import Attribute, EventType
from presage.model.paths import Roots
from presage.model.types import LONG, STRING, TIMESTAMP
from presage.sources.files import FilesSource
from presage.storage import LoadReport, Log
from presage.storage.offset_dedup import offsets_table

ATTRIBUTES = (Attribute("x", LONG), Attribute("s", STRING), Attribute("at", TIMESTAMP))
START = 1_704_067_200  # 2024-01-01


def stream(folder: Path, max_delay: int = 0, **options: str) -> EventType:
    options = {"source": "files", "path": str(folder), "settle": "0 sec", **options}
    return EventType("Tick", "stream", ATTRIBUTES, event_time="at", max_delay=max_delay, options=options)


def event(x: int, second: int | None = None, **more: Any) -> dict[str, Any]:
    second = x if second is None else second
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + second))
    return {"x": x, "s": f"s{x}", "at": stamp, **more}


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(e, ensure_ascii=False) + "\n" for e in events)


def put(folder: Path, name: str, text: str | bytes) -> Path:
    """Rename into place, as writers should."""
    folder.mkdir(exist_ok=True)
    path = folder / f".{name}"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.replace(path, folder / name)
    return folder / name


class Stepped:
    """A files source and its log. `roots`: what it may read; the folder by default."""

    def __init__(self, log: Log, event_type: EventType, roots: list[Path] | None = None, **given: Any) -> None:
        self.log, self.type = log, event_type
        folder = Path(event_type.options["path"])
        self._resolve: Callable[[str], Path] = lambda path: Roots.of(roots or [folder.parent]).resolve(
            path, folder.parent, must_exist=False
        )
        self._given = given
        self.begin()

    def begin(self) -> None:
        """As after a restart."""
        taken = self.log.deliveries.taken(self.type.name, "files")
        self.source = FilesSource(self.type, self._resolve, taken, **self._given)

    def step(self) -> LoadReport | None:
        delivery = self.source.read(self.log.deliveries.state(self.type.name, "files").cursor)
        if delivery is None:
            return None
        report = self.log.deliver(self.type, delivery)
        self.source.settle(delivery)
        return report

    def drain(self) -> None:
        while self.step() is not None:
            pass

    def events(self) -> list[int]:
        archive = self.log.archive
        return [e["x"] for e in archive.read_arrow(archive.snapshot(self.type.name)).to_pylist()]

    def rejected(self) -> list[dict[str, Any]]:
        return self.log.archive.read_rejected(self.type.name).to_pylist()

    def positions(self) -> dict[int, tuple[str, int]]:
        """By sequence number: file and row."""
        found = {}
        folder = self.log.home.table_folder(offsets_table(self.type.name), "events")
        for file in self.log._committer.files(offsets_table(self.type.name), "events"):
            for row in pq.ParquetFile(folder / file.name).read().to_pylist():
                found[row["_seq"]] = (row["partition"], row["offset"])
        return found
