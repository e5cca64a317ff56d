"""State of a kernel: named Arrow tables and integers in, versioned bytes out (arrays, never pickle)."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field

import pyarrow as pa

from presage.errors import error

MAGIC = b"PRSGSTAT"
VERSION = 1


@dataclass
class State:
    """What a kernel carries from one step to the next. `kernel` names its writer, `numbers` are scalars."""

    kernel: str
    tables: dict[str, pa.Table] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def rows(self) -> int:
        return sum(t.num_rows for t in self.tables.values())

    def to_bytes(self) -> bytes:
        bodies = []
        for table in self.tables.values():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table.combine_chunks())
            bodies.append(sink.getvalue().to_pybytes())
        head = json.dumps(
            {
                "kernel": self.kernel,
                "numbers": self.numbers,
                "tables": dict(zip(self.tables, map(len, bodies), strict=True)),
            }
        ).encode()
        return MAGIC + struct.pack("<HI", VERSION, len(head)) + head + b"".join(bodies)

    @classmethod
    def from_bytes(cls, data: bytes, path: object = "?") -> State:
        if data[: len(MAGIC)] != MAGIC:
            why, fix = "it does not start with the mark of a state", "restore the file from a copy of the home"
            raise error("HOME_CORRUPT", what="a state file", path=path, why=why, fix=fix)
        version, size = struct.unpack_from("<HI", data, len(MAGIC))
        if version != VERSION:
            fix = "use the version of Presage that wrote it, or deploy the statement again"
            raise error("HOME_VERSION", path=path, found=f"state {version}", expected=f"state {VERSION}", fix=fix)
        at = len(MAGIC) + struct.calcsize("<HI")
        head = json.loads(data[at : at + size])
        at += size
        tables = {}
        for name, length in head["tables"].items():
            with pa.ipc.open_stream(pa.py_buffer(data[at : at + length])) as reader:
                tables[name] = reader.read_all()
            at += length
        return cls(head["kernel"], tables, head["numbers"])
