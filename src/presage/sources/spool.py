"""The spool: a durable queue of numbered messages, in segment files of the home.

Each message follows its length and a checksum; the name of a segment is the number of its first message. An incomplete
message at the end of the last segment, left by a crash, was never acknowledged and is cut off.
"""

from __future__ import annotations

import json
import os
import struct
import threading
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from presage.errors import PresageError
from presage.storage.disk import Disk, corrupt

SEGMENT_BYTES = 16 << 20
SUFFIX = ".spool"
_HEAD = struct.Struct("<II")  # length of what follows, and its checksum


@dataclass(frozen=True)
class Message:
    """A message. `packet`: the sender's packet number, 0 for none. `at`: its arrival in microseconds. A message without
    a topic marks a new session, in which packet numbers start again."""

    topic: str
    payload: bytes
    packet: int = 0
    at: int = 0

    def to_bytes(self) -> bytes:
        head = json.dumps([self.topic, self.packet, self.at], ensure_ascii=False).encode()
        return head + b"\n" + self.payload

    @classmethod
    def from_bytes(cls, data: bytes) -> Message:
        head, _, payload = data.partition(b"\n")
        topic, packet, at = json.loads(head)
        return cls(topic, payload, packet, at)


SESSION = Message("", b"")


class Spool:
    """One writer and one reader, which may be two threads. `most`: its limit in bytes."""

    def __init__(self, folder: Path, disk: Disk, most: int) -> None:
        self._folder = folder
        self._disk = disk
        self._most = most
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        disk.sync_folder(folder.parent)
        names = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
        self._firsts = [int(name.removesuffix(SUFFIX)) for name in names]
        self._sizes = {first: self._path(first).stat().st_size for first in self._firsts}
        self.next = 0  # the number of the next message
        if self._firsts:
            self._recover(self._firsts[-1])
        self._file: BinaryIO | None = None
        self._reading: tuple[int, int, int] | None = None  # the next number to read, its segment, its byte

    def _recover(self, last: int) -> None:
        """Cut off an incomplete message at the end of the last segment."""
        size, count = 0, 0
        for size, _ in _records(self._path(last), 0):  # noqa: B007 (the last of them counts)
            count += 1
        if size < self._sizes[last]:
            with open(self._path(last), "r+b") as file:
                file.truncate(size)
                self._flush(file)
            self._sizes[last] = size
        self.next = last + count

    @property
    def bytes(self) -> int:
        return sum(self._sizes.values())

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._most

    def append(self, messages: Sequence[Message]) -> None:
        """Append messages, all or none. They are durable when this returns."""
        parts = []
        for message in messages:
            body = message.to_bytes()
            parts.append(_HEAD.pack(len(body), zlib.crc32(body)) + body)
        data = b"".join(parts)
        file, first = self._open()
        try:
            file.write(data)
            self._flush(file)
        except BaseException:
            self._undo(file, first)
            raise
        with self._lock:
            self._sizes[first] += len(data)
            self.next += len(messages)

    def _open(self) -> tuple[BinaryIO, int]:
        """The current segment. A new one begins when the last is full, or was written by another process."""
        if self._file is None or self._sizes[self._firsts[-1]] >= SEGMENT_BYTES:
            if self._file is not None:
                self._file.close()
            if not self._firsts or self._firsts[-1] != self.next:
                first = self.next
                open(self._path(first), "xb").close()
                self._disk.sync_folder(self._folder)
                with self._lock:
                    self._firsts.append(first)
                    self._sizes[first] = 0
            self._file = open(self._path(self._firsts[-1]), "ab", buffering=0)  # noqa: SIM115 (it stays open)
        return self._file, self._firsts[-1]

    def _undo(self, file: BinaryIO, first: int) -> None:
        try:
            os.ftruncate(file.fileno(), self._sizes[first])
        finally:
            # It may be partly flushed: continue with a new segment.
            file.close()
            self._file = None

    def read(self, number: int, most: int, most_bytes: int) -> list[tuple[int, Message]]:
        """Messages from a number on, in order; at most `most`, and about `most_bytes` bytes."""
        with self._lock:
            end, firsts = self.next, [*self._firsts]
        found: list[tuple[int, Message]] = []
        size = 0
        while number < end and len(found) < most and size < most_bytes:
            segment = max((first for first in firsts if first <= number), default=None)
            if segment is None:
                raise self._corrupt("the spool", f"messages {number} to {firsts[0] - 1} are missing")
            # Messages in the file from the next segment's first number on were never acknowledged.
            limit = min((first for first in firsts if first > segment), default=end)
            at, current = self._begin(segment, number)
            before = len(found)
            for after, message in _records(self._path(segment), at):
                if current >= number:
                    found.append((current, message))
                    size += len(message.payload)
                current += 1
                self._reading = (current, segment, after)
                if current >= limit or len(found) >= most or size >= most_bytes:
                    break
            if len(found) == before:
                raise self._corrupt(f"message {number} of the spool", "it cannot be read")
            number = current
        return found

    def _corrupt(self, what: str, why: str) -> PresageError:
        return corrupt(what, self._folder, why, "restore the spool folder from a copy of the home")

    def _begin(self, segment: int, number: int) -> tuple[int, int]:
        """The byte and the number to read from: where the last read ended, if it fits."""
        if self._reading is not None and self._reading[:2] == (number, segment):
            return self._reading[2], number
        return 0, segment

    def forget(self, before: int, keep: int) -> None:
        """Delete segments of messages before a number, except those with the last `keep` messages."""
        limit = min(before, self.next - keep)
        while len(self._firsts) > 1 and self._firsts[1] <= limit:
            with self._lock:
                first = self._firsts.pop(0)
                del self._sizes[first]
            self._path(first).unlink()

    def last(self, count: int) -> list[tuple[int, Message]]:
        """The last messages of the spool."""
        first = max(self.next - count, self._firsts[0]) if self._firsts else 0
        return self.read(first, count, 1 << 62)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _flush(self, file: BinaryIO) -> None:
        if self._disk.durable:
            os.fsync(file.fileno())

    def _path(self, first: int) -> Path:
        return self._folder / f"{first:020d}{SUFFIX}"


def _records(path: Path, at: int) -> Iterator[tuple[int, Message]]:
    """The messages of a segment from a byte on, each with the byte after it; ends at an incomplete one."""
    with open(path, "rb") as file:
        file.seek(at)
        while len(head := file.read(_HEAD.size)) == _HEAD.size:
            length, checksum = _HEAD.unpack(head)
            body = file.read(length) if length <= path.stat().st_size else b""
            if len(body) < length or length == 0 or zlib.crc32(body) != checksum:
                return
            at += _HEAD.size + length
            yield at, Message.from_bytes(body)
