"""States of kernels in, immutable files out, and back. A file holds the states that one task of one batch wrote.

A record of the journal says which part of which file is the state of a statement, with a checksum: a file that nobody
names is refuse, and a file that was damaged is noticed.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from presage.errors import PresageError, error
from presage.model.state import State

MAGIC = b"PRSGPACK"
VERSION = 1
_HEAD = struct.Struct("<8sH")


@dataclass(frozen=True)
class StateRef:
    """Where a state lies: file, first byte, length, checksum."""

    file: str
    start: int
    length: int
    check: int

    def to_json(self) -> list[str | int]:
        return [self.file, self.start, self.length, self.check]

    @classmethod
    def from_json(cls, values: list[str | int]) -> StateRef:
        file, start, length, check = values
        return cls(str(file), int(start), int(length), int(check))


def write_states(folder: Path, name: str, states: Mapping[str, bytes], durable: bool) -> dict[str, StateRef]:
    """Write states under a name that was never used; the caller makes the folder's entry durable."""
    refs: dict[str, StateRef] = {}
    with open(folder / name, "xb") as file:
        file.write(_HEAD.pack(MAGIC, VERSION))
        for key, data in states.items():
            refs[key] = StateRef(name, file.tell(), len(data), zlib.crc32(data))
            file.write(data)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    return refs


def read_bytes(folder: Path, ref: StateRef) -> bytes:
    """The bytes of a state, as they were written; an error if they are not."""
    path = folder / ref.file
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            file.seek(ref.start)
            data = file.read(ref.length)
    except FileNotFoundError as missing:
        raise _corrupt(path, "it is missing") from missing
    if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != MAGIC:
        raise _corrupt(path, "it does not begin with the mark of a state file")
    version = _HEAD.unpack(head)[1]
    if version != VERSION:
        fix = "use the version of Presage that wrote it, or deploy the statement again"
        raise error("HOME_VERSION", path=path, found=f"state file {version}", expected=f"state file {VERSION}", fix=fix)
    if len(data) != ref.length or zlib.crc32(data) != ref.check:
        raise _corrupt(path, "its checksum is wrong")
    return data


def read_state(folder: Path, ref: StateRef) -> State:
    return State.from_bytes(read_bytes(folder, ref), folder / ref.file)


def remove_unnamed(folder: Path, refs: Iterable[StateRef]) -> None:
    """Remove the files that hold no state any more."""
    named = {ref.file for ref in refs}
    for name in os.listdir(folder):
        if name not in named:
            (folder / name).unlink(missing_ok=True)


def _corrupt(path: Path, why: str) -> PresageError:
    fix = "nothing: the state is computed again from the log"
    return error("HOME_CORRUPT", what="a state file", path=path, why=why, fix=fix)
