"""The cache of closed graphs on disk.

A file is the SHA-256 of the rest, then two Arrow streams: the terms as in N-Triples, and the triples as numbers of
terms. A damaged file counts as missing. Files are written under another name and renamed, so that two processes may
close the same graph at once.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyoxigraph as ox

_VERSION = 1  # of the file and of the rules: a graph closed by other rules is closed again
_MOST_GRAPHS = 8  # the most recently used ones stay
_SUFFIX = ".graph"
_TRIPLES = pa.schema([(name, pa.uint32()) for name in ("subject", "predicate", "object")])


@dataclass(frozen=True)
class Numbered:
    """A graph as numbers: the spellings of its terms (large strings), and the terms of each triple."""

    terms: pa.Array
    subjects: npt.NDArray[np.uint32]
    predicates: npt.NDArray[np.uint32]
    objects: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.subjects)


def key_of(sources: Sequence[tuple[str, bytes]], reasoning: bool) -> str:
    """The name of the graph of these files: it depends on their contents and names, not on their folder."""
    digest = hashlib.sha256(f"{_VERSION} {ox.__version__} {reasoning}".encode())
    for path, data in sources:
        name = Path(path).name.encode()
        digest.update(b"%d %s %s" % (len(name), name, hashlib.sha256(data).digest()))
    return digest.hexdigest()


def load(cache: Path, key: str) -> Numbered | None:
    """The graph of that name; None if it is missing or damaged."""
    path = cache / f"{key}{_SUFFIX}"
    try:
        content = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        return None
    digest, payload = content[:32], memoryview(content)[32:]
    if hashlib.sha256(payload).digest() != digest:
        return None
    reader = pa.BufferReader(pa.py_buffer(payload))
    terms = pa.ipc.open_stream(reader).read_all().column(0)
    triples = pa.ipc.open_stream(reader).read_all()
    columns = (triples.column(name).to_numpy() for name in _TRIPLES.names)
    return Numbered(_whole(terms), *columns)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


def save(cache: Path, key: str, graph: Numbered) -> None:
    """Write a graph under its name, and drop the least recently used ones."""
    cache.mkdir(parents=True, exist_ok=True)
    sink = pa.BufferOutputStream()
    columns = [pa.array(column) for column in (graph.subjects, graph.predicates, graph.objects)]
    for table in (pa.table({"term": graph.terms}), pa.Table.from_arrays(columns, schema=_TRIPLES)):
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
    payload = sink.getvalue()
    part = cache / f"{uuid.uuid4().hex}.part"
    try:
        with part.open("wb") as file:
            file.write(hashlib.sha256(payload).digest())
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, cache / f"{key}{_SUFFIX}")
    finally:
        part.unlink(missing_ok=True)
    _drop_old(cache)


def _drop_old(cache: Path) -> None:
    used = []
    for path in cache.glob(f"*{_SUFFIX}"):
        try:
            used.append((path.stat().st_mtime_ns, path))
        except FileNotFoundError:  # another process dropped it
            continue
    for _, path in sorted(used)[:-_MOST_GRAPHS]:
        path.unlink(missing_ok=True)
