"""Parquet files: how those of a home are written so that damage is noticed, and how files are opened to be read.

Pages carry Parquet's own checksums. The footer, which says where pages are and what lies in them, has none in the
format: its checksum stands in front of it, in bytes that no reader looks at, and covers the name of the file too, so
that a file in the place of another is noticed. Files of earlier versions have neither and are read as they are.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from presage.errors import PresageError, error
from presage.storage.disk import first_line

MAGIC = b"PAR1"
_SEAL = struct.Struct("<4sI")  # in front of the footer: a mark, and the checksum
_END = struct.Struct("<I4s")  # after the footer: its length, and Parquet's mark
_MARK = b"PrSl"


def open_data(path: str | os.PathLike[str] | BinaryIO, **more: Any) -> pq.ParquetFile:
    """Any Parquet file, opened to be read by the thread that asks for it. `path`: or a file that is open already;
    `more`: see `ParquetFile`."""
    # Arrow would fetch ahead with threads of its own. From a disk nothing comes sooner for that, and such a thread
    # keeps the memory that it once took for others: a process grew by a hundred megabytes in an hour.
    return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True, **more)


@contextmanager
def archived(path: str | os.PathLike[str], **more: Any) -> Iterator[pq.ParquetFile]:
    """A data file of a home. What cannot be read of it inside the block is HOME_CORRUPT, and names the file."""
    try:
        check_seal(path)
        with open_data(path, **more) as file:
            yield file
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, OverflowError) as broken:
        raise damaged(path, broken) from broken


def read_data(path: str | os.PathLike[str], schema: pa.Schema, use_threads: bool = False) -> pa.Table:
    """The columns of a schema, of a data file of a home."""
    with archived(path) as file:
        return file.read(columns=schema.names, use_threads=use_threads).select(schema.names).cast(schema)


def damaged(path: str | os.PathLike[str], broken: Exception) -> PresageError:
    folder, name = os.path.split(path)
    why = "it is missing" if isinstance(broken, FileNotFoundError) else first_line(broken)
    fix = "restore the file from a copy of the home; presage log HOME verify names all that is damaged"
    return error("HOME_CORRUPT", what=f"the data file '{name}'", path=folder, why=why, fix=fix)


def is_missing(problem: PresageError) -> bool:
    """Whether an error of `archived` says that there is no such file."""
    return isinstance(problem.__cause__, FileNotFoundError)


@contextmanager
def data_writer(file: BinaryIO, schema: pa.Schema, **options: Any) -> Iterator[pq.ParquetWriter]:
    """Writes a data file of a home; `file` is open to be written and read, under its final name."""
    with pq.ParquetWriter(file, schema, write_page_checksum=True, **options) as writer:
        yield writer
    size, magic = _END.unpack(_read(file, -_END.size, _END.size))
    assert magic == MAGIC
    tail = _read(file, -_END.size - size, size + _END.size)
    file.seek(-len(tail), os.SEEK_END)
    file.write(_SEAL.pack(_MARK, _checksum(file.name, tail)) + tail)


def check_seal(path: str | os.PathLike[str]) -> None:
    """Raise ArrowInvalid if a file is not what was written under its name. Costs a read of its footer."""
    with open(path, "rb", buffering=0) as file:
        length = os.fstat(file.fileno()).st_size
        size, _ = _END.unpack(_read(file, -_END.size, _END.size)) if length >= _END.size else (length, b"")
        whole = _SEAL.size + size + _END.size
        if whole > length:
            return  # Arrow says what is wrong with it
        seal, tail = (data := _read(file, -whole, whole))[: _SEAL.size], data[_SEAL.size :]
    mark, check = _SEAL.unpack(seal)
    if mark == _MARK and check != _checksum(path, tail):
        raise pa.ArrowInvalid("its footer is damaged, or the file has the place of another")


def check_seals(paths: Iterable[str]) -> None:
    """Raise HOME_CORRUPT if one of the files, which others will read, is not what was written under its name."""
    for path in paths:
        try:
            check_seal(path)
        except (pa.ArrowException, OSError) as broken:
            raise damaged(path, broken) from broken


def _checksum(path: str | os.PathLike[str], tail: bytes) -> int:
    return zlib.crc32(tail, zlib.crc32(os.path.basename(path).encode()))


def _read(file: Any, start: int, count: int) -> bytes:
    file.seek(start, os.SEEK_END)
    return bytes(file.read(count))
