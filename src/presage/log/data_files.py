"""The path of a Parquet file in, the file, opened to be read by the thread that asks for it, out."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import pyarrow.parquet as pq


def open_data(path: str | os.PathLike[str] | BinaryIO, **more: Any) -> pq.ParquetFile:
    """`path`: or a file that is open already; `more`: see `ParquetFile`."""
    # Arrow would fetch ahead with threads of its own. From a disk nothing comes sooner for that, and such a thread
    # keeps the memory that it once took for others: a process grew by a hundred megabytes in an hour.
    return pq.ParquetFile(path, pre_buffer=False, **more)
