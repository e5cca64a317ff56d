"""The state of a kernel: named Arrow tables and integers, stored as versioned bytes (never pickled)."""

from __future__ import annotations

import json
import struct
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.errors import error

MAGIC = b"PRSGSTAT"
VERSION = 1


@dataclass(frozen=True)
class Since:
    """How a state derives from an earlier one, for incremental storage. `kept` marks the rows of the old tables that
    the new ones start with, in the same order; a table that is not named keeps none. `changed` are the kept rows with
    another value, by column, numbered as in the new table; None: any of them may have changed."""

    before: weakref.ref[State]
    kept: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    changed: Mapping[str, Mapping[str, npt.NDArray[np.int64] | None]] = field(default_factory=dict)


@dataclass
class State:
    """What a kernel carries from one step to the next. `kernel` names its writer, `numbers` are scalars. Not stored:
    `since`, which tells the state store what changed, and `memo`, a cache of the kernel."""

    kernel: str
    tables: dict[str, pa.Table] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    since: Since | None = field(default=None, compare=False, repr=False)
    memo: Any = field(default=None, compare=False, repr=False)

    def rows(self) -> int:
        return sum(t.num_rows for t in self.tables.values())

    def size(self) -> int:
        """Bytes of the rows."""
        return sum(int(t.nbytes) for t in self.tables.values())

    def to_bytes(self) -> bytes:
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes | pa.Buffer]:
        """The bytes, piece by piece: only one table is copied at a time."""
        lengths = {name: _stream(pa.MockOutputStream(), table).size() for name, table in self.tables.items()}
        head = json.dumps({"kernel": self.kernel, "numbers": self.numbers, "tables": lengths}).encode()
        yield MAGIC + struct.pack("<HI", VERSION, len(head)) + head
        for table in self.tables.values():
            yield _stream(pa.BufferOutputStream(), table).getvalue()

    @classmethod
    def from_bytes(cls, data: bytes | pa.Buffer, path: object = "?") -> State:
        view = memoryview(data)
        if view[: len(MAGIC)] != MAGIC:
            why, fix = "it does not start with the mark of a state", "restore the file from a copy of the home"
            raise error("HOME_CORRUPT", what="a state file", path=path, why=why, fix=fix)
        version, size = struct.unpack_from("<HI", view, len(MAGIC))
        if version != VERSION:
            fix = "use the version of Presage that wrote it, or deploy the statement again"
            raise error("HOME_VERSION", path=path, found=f"state {version}", expected=f"state {VERSION}", fix=fix)
        at = len(MAGIC) + struct.calcsize("<HI")
        head = json.loads(bytes(view[at : at + size]))
        at += size
        tables, whole = {}, pa.py_buffer(data)
        for name, length in head["tables"].items():
            # A view: a state may be large.
            with pa.ipc.open_stream(whole.slice(at, length)) as reader:
                tables[name] = reader.read_all()
            at += length
        return cls(head["kernel"], tables, head["numbers"])


def _stream(sink: Any, table: pa.Table) -> Any:
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return sink
