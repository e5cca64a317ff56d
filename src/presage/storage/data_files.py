"""Parquet files with checksums: how the data files of a home are written and read.

Pages have Parquet's own checksums. The format has none for the footer: ours precedes the footer, in bytes that readers
ignore. It covers the name of the file too, so that a file in the place of another is detected. Files of earlier
versions have no checksums and are read without them.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from presage.errors import PresageError
from presage.model.paths import is_address
from presage.storage.failures import REPAIR, corrupt

if TYPE_CHECKING:
    from presage.storage.store import Store

MAGIC = b"PAR1"
_SEAL = struct.Struct("<4sI")  # before the footer: our mark, and the checksum
_END = struct.Struct("<I4s")  # after the footer: its length, and Parquet's mark
_MARK = b"PrSl"
PIECE = 1 << 20  # bytes of a file that are read at once for its digest


def open_data(path: str | os.PathLike[str] | BinaryIO, **more: Any) -> pq.ParquetFile:
    """Open any Parquet file. `path`: or an open file; `more`: see `ParquetFile`."""
    # No prefetching by Arrow's threads: on a disk it gains nothing, and these threads keep the memory that they
    # allocated: a process grew by a hundred megabytes in an hour.
    return pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True, **more)


@contextmanager
def archived(path: str | os.PathLike[str], **more: Any) -> Iterator[pq.ParquetFile]:
    """Open a data file of a home, by its path or address. A failure to read it inside the block becomes HOME_CORRUPT
    with its name."""
    try:
        with _opened(path) as source:
            _check_seal(source, path)
            # Arrow reads local files by itself, without a lock on the interpreter.
            with open_data(source if is_address(os.fspath(path)) else path, **more) as file:
                yield file
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, OverflowError) as broken:
        raise damaged(path, broken) from broken


def read_data(path: str | os.PathLike[str], schema: pa.Schema, use_threads: bool = False) -> pa.Table:
    """The columns of a schema from a data file of a home."""
    with archived(path) as file:
        return file.read(columns=schema.names, use_threads=use_threads).select(schema.names).cast(schema)


def damaged(path: str | os.PathLike[str], broken: Exception) -> PresageError:
    folder, name = os.path.split(path)
    why = "it is missing" if isinstance(broken, FileNotFoundError) else broken
    fix = f"restore the file from a copy of the home, or {REPAIR}"
    return corrupt(f"the data file '{name}'", folder, why, fix)


def is_missing(problem: PresageError) -> bool:
    """Whether an error of `archived` means that the file does not exist."""
    return isinstance(problem.__cause__, FileNotFoundError)


def digest(file: BinaryIO) -> int:
    """The CRC-32 of all bytes of a file, which its record and its table's log keep. With the length it finds any
    accident; it is three times as fast as the quickest digest against intent, whose journal would have to be signed."""
    check = 0
    file.seek(0)
    while piece := file.read(PIECE):
        check = zlib.crc32(piece, check)
    return check


def digest_of(store: Store, path: PurePath) -> int:
    """The digest of a file of a home."""
    with store.reader(path) as file:
        return digest(file)


@contextmanager
def data_writer(file: BinaryIO, name: str, schema: pa.Schema, **options: Any) -> Iterator[pq.ParquetWriter]:
    """Write a data file of a home; `file` is open for reading and writing, `name` is its final one."""
    with pq.ParquetWriter(file, schema, write_page_checksum=True, **options) as writer:
        yield writer
    size, magic = _END.unpack(_read(file, -_END.size, _END.size))
    assert magic == MAGIC
    tail = _read(file, -_END.size - size, size + _END.size)
    file.seek(-len(tail), os.SEEK_END)
    file.write(_SEAL.pack(_MARK, _checksum(name, tail)) + tail)


def check_seal(path: str | os.PathLike[str]) -> None:
    """Raise ArrowInvalid if a file is not what was written under its name. Reads its footer."""
    with _opened(path) as file:
        _check_seal(file, path)


def _check_seal(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    length = file.seek(0, os.SEEK_END)
    size, _ = _END.unpack(_read(file, -_END.size, _END.size)) if length >= _END.size else (length, b"")
    whole = _SEAL.size + size + _END.size
    if whole > length:
        return  # Arrow will report the damage
    seal, tail = (data := _read(file, -whole, whole))[: _SEAL.size], data[_SEAL.size :]
    mark, check = _SEAL.unpack(seal)
    if mark == _MARK and check != _checksum(path, tail):
        raise pa.ArrowInvalid("its footer is damaged, or the file has the place of another")


def check_seals(paths: Iterable[str]) -> None:
    """Raise HOME_CORRUPT if one of the files, which Spark will read, is not what was written under its name."""
    for path in paths:
        try:
            check_seal(path)
        except (pa.ArrowException, OSError) as broken:
            raise damaged(path, broken) from broken


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    if is_address(address := os.fspath(path)):
        from presage.storage.object_store import opened_at  # loads obstore, which a local home does not need

        store, name = opened_at(address)
        with store.reader(name) as file:
            yield file
    else:
        with open(path, "rb", buffering=0) as file:
            yield cast(BinaryIO, file)


def _checksum(path: str | os.PathLike[str], tail: bytes) -> int:
    return zlib.crc32(tail, zlib.crc32(os.path.basename(path).encode()))


def _read(file: Any, start: int, count: int) -> bytes:
    file.seek(start, os.SEEK_END)
    return bytes(file.read(count))
