"""Files of events over HTTP: what to declare for one, and its events into a stream. The body is the file as it is."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query

from presage.console.query_routes import EngineDep
from presage.errors import PresageError
from presage.storage import read_files
from presage.storage.suggestion import declaration, named_after, remarks, suggest
from presage.storage.text_csv import read_nulls

router = APIRouter(prefix="/api", tags=["streams"])
# As the browser calls it; its ending tells the format, and it stands in the reasons of rejected rows.
FileName = Annotated[str, Query(alias="file", max_length=255, description="The file's name, such as doors.csv.")]
LONGEST = 60  # characters of it that are kept: no file system takes fewer
Content = Annotated[bytes, Body(media_type="application/octet-stream")]


@contextmanager
def _kept(name: str, content: bytes) -> Iterator[Path]:
    """A temporary file while it is read. The name is untrusted: only its last part is used."""
    with tempfile.TemporaryDirectory(prefix="presage-file-") as folder:
        last = PurePosixPath(name.replace("\\", "/").replace("\0", "")).name[-LONGEST:]
        path = Path(folder) / ("file" if last in ("", ".", "..") else last)
        path.write_bytes(content)
        try:
            yield path
        except PresageError as problem:
            # Show the user's name of the file, not the temporary path.
            problem.message = problem.message.replace(f"{folder}/", "")
            raise


@router.post("/declare")
def declare(engine: EngineDep, file: FileName, content: Content = b"") -> dict[str, Any]:
    """A CREATE STREAM that fits the events of a file, the stream's name in it, and remarks on rows that do not fit."""
    with _kept(file, content) as path:
        found, stream = suggest(path), named_after(path)
        known = engine.catalog.types
        while stream in known or stream in engine.catalog.relations:
            stream += "_2"
        return {"name": stream, "text": declaration(stream, found), "remarks": list(remarks(path.name, found))}


@router.post("/streams/{name}/file", status_code=201)
def load_file(
    name: str, engine: EngineDep, file: FileName, content: Content = b"", once: str | None = None
) -> dict[str, Any]:
    """Append the events of a CSV, JSON or Parquet file; they are durable when this answers."""
    event_type = engine.catalog.types.get(name)
    if event_type is None or event_type.kind != "stream":
        return asdict(engine.load(name, []))  # names what is wrong with the name
    with _kept(file, content) as path:
        nulls = read_nulls(event_type.options.get("nulls"))
        rows = read_files(path, event_type.attributes, event_type.event_time, nulls=nulls)
        return asdict(engine.load(name, rows, once))
