"""The examples of `presage demo`: the files, events, declarations and queries of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

Event = dict[str, Any]
QUERIES = "queries.epl"


class ExampleName(StrEnum):
    BUILDING = "building"
    KNOWLEDGE = "knowledge"
    CAMPUS = "campus"


@dataclass(frozen=True)
class Example:
    """`write` makes the files of an example in a folder; one of events is called as its stream is, in small letters.
    `ask` is a query on a home that has the example's events, `demo` what `presage demo` calls it."""

    name: str
    demo: ExampleName
    title: str
    ask: str
    write: Callable[[Path], object]

    @property
    def declarations(self) -> str:
        return f"{self.name}.epl"

    def events(self, folder: Path, streams: Iterable[str]) -> dict[str, list[Event]]:
        """What was written, by stream, in the order in which they are declared."""
        files = {stream: folder / f"{stream.lower()}.jsonl" for stream in streams}
        return {
            stream: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            for stream, path in files.items()
            if path.is_file()
        }


def example(name: ExampleName) -> Example:
    if name == ExampleName.BUILDING:
        from presage.demo.building import write_files

        return Example("building", name, "A smart building", "SELECT * FROM Smoke", write_files)
    from presage.demo.campus_events import write_example

    return Example("campus", name, "A campus", "SELECT * FROM MeterReport", write_example)
