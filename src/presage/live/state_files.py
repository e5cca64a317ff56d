"""The files of operator states: immutable, each a snapshot or the deltas of a batch.

A file holds the states that one task of one batch wrote. A record of the journal refers to the parts of files that
belong to a statement, with a checksum: a file without a reference is garbage, and damage is detected.
"""

from __future__ import annotations

import re
import struct
import uuid
import zlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, TypeVar

import pyarrow as pa

from presage.errors import PresageError, error
from presage.live.state_delta import apply_change, change_between
from presage.model.operator_state import State
from presage.storage.failures import is_unanswered, storage_error
from presage.storage.store import Store, Writes

K = TypeVar("K")
MAGIC = b"PRSGPACK"
VERSION = 1
COMPUTED_AGAIN = "nothing: the state is computed again from the log"
_HEAD = struct.Struct("<8sH")
_NAME = re.compile(r"(\d{14,})-")
# A chain of deltas is read at a restart, and listed in every record: it stays short, and smaller than its snapshot. A
# large snapshot, which is expensive to write, may have more deltas.
MOST_CHANGES, MOST_OF_LARGE = 16, 256
BYTES_PER_CHANGE = 1 << 20


@dataclass(frozen=True)
class StateRef:
    """The location of a snapshot or delta: file, first byte, length, checksum."""

    file: str
    start: int
    length: int
    check: int

    def to_json(self) -> list[str | int]:
        return [self.file, self.start, self.length, self.check]

    @classmethod
    def from_json(cls, values: Sequence[str | int]) -> StateRef:
        file, start, length, check = values
        return cls(str(file), int(start), int(length), int(check))


Chain = tuple[StateRef, ...]  # a snapshot, then deltas


def chain_to_json(chain: Chain) -> list[list[str | int]]:
    return [ref.to_json() for ref in chain]


def chains_from_json(content: Mapping[str, Any]) -> dict[str, Chain]:
    return {key: tuple(map(StateRef.from_json, chain)) for key, chain in content.items()}


@dataclass(frozen=True)
class StateWrite:
    """A state to be written: the previous one (None: unknown or new), its location, and the new one."""

    before: State | None
    chain: Chain
    after: State


def write_states(place: Writes, folder: PurePath, states: Mapping[K, StateWrite], generation: int) -> dict[K, Chain]:
    """Write states into one new file; the caller flushes the folder. `generation`: of the process that has the home."""
    if not states:
        return {}
    chains: dict[K, Chain] = {}
    name = f"{generation:014d}-{uuid.uuid4().hex}.states"
    with place.writer(folder / name) as file:
        file.write(_HEAD.pack(MAGIC, VERSION))
        for key, written in states.items():
            state, chain = _encoded(written)
            start, check = file.tell(), 0
            for piece in state.pieces():
                check = zlib.crc32(piece, check)
                file.write(piece)
            chains[key] = (*chain, StateRef(name, start, file.tell() - start, check))
    return chains


def _encoded(written: StateWrite) -> tuple[State, Chain]:
    """A delta, and the chain that it continues; or a snapshot, and an empty chain."""
    chain = written.chain
    if written.before is not None and chain and len(chain) <= most_changes(chain[0].length):
        change = change_between(written.before, written.after)
        # About its length: metadata is not counted.
        if change is not None and sum(ref.length for ref in chain[1:]) + change.size() < chain[0].length // 2:
            return change, chain
    return written.after, ()


def most_changes(snapshot: int) -> int:
    """The most deltas after a snapshot of so many bytes."""
    return max(MOST_CHANGES, min(MOST_OF_LARGE, snapshot // BYTES_PER_CHANGE))


def read_chain(
    store: Store, folder: PurePath, chain: Chain, known: Mapping[Chain, State] = MappingProxyType({})
) -> State:
    """The state of a snapshot and the deltas after it. `known`: states that were read before."""
    begun = next((k for k in range(len(chain), 0, -1) if chain[:k] in known), 0)
    state = known[chain[:begun]] if begun else read_state(store, folder, chain[0])
    for ref in chain[max(begun, 1) :]:
        state = apply_change(state, read_state(store, folder, ref))
    return state


def read_state(store: Store, folder: PurePath, ref: StateRef) -> State:
    path = folder / ref.file
    try:
        # The head of the file lies in front of its first state.
        start = 0 if ref.start <= _HEAD.size else ref.start
        head = store.read(path, 0, _HEAD.size) if start else b""
        content = store.read(path, start, ref.start - start + ref.length)
        head, data = head or content[: _HEAD.size], pa.py_buffer(content[ref.start - start :])
    except OSError as failure:
        if is_unanswered(failure):
            raise storage_error(path, failure, "and try again") from failure
        missing = isinstance(failure, FileNotFoundError)
        raise _corrupt(path, "it is missing" if missing else failure.strerror or str(failure)) from failure
    if len(head) < _HEAD.size or _HEAD.unpack(head)[0] != MAGIC:
        raise _corrupt(path, "it does not begin with the mark of a state file")
    version = _HEAD.unpack(head)[1]
    if version != VERSION:
        fix = "use the version of Presage that wrote it, or deploy the statement again"
        raise error("HOME_VERSION", path=path, found=f"state file {version}", expected=f"state file {VERSION}", fix=fix)
    if data.size != ref.length or zlib.crc32(data) != ref.check:
        raise _corrupt(path, "its checksum is wrong")
    return State.from_bytes(data, path)


def remove_unnamed(store: Store, folder: PurePath, named: Container[str], generation: int) -> None:
    """Remove the files without a reference, except those of a process that has taken over the home meanwhile."""
    for name in store.names(folder):
        made = _NAME.match(name)
        if name not in named and (made is None or int(made[1]) <= generation):
            if store.is_local and store.is_folder(folder / name):  # damage
                store.delete_folder(folder / name)
            else:
                store.delete(folder / name)


def _corrupt(path: PurePath, why: str) -> PresageError:
    return error("HOME_CORRUPT", what="a state file", path=path, why=why, fix=COMPUTED_AGAIN)


def is_lost_state(problem: PresageError) -> bool:
    """Whether an error is about a state, and not about a data file."""
    return problem.code == "HOME_VERSION" or (problem.code == "HOME_CORRUPT" and problem.fix == COMPUTED_AGAIN)


def has_shard(chains: Mapping[str, Chain], shard: str) -> bool:
    """Whether one of the chains, by shard and place, is of that shard."""
    return any(key.startswith(f"{shard}/") for key in chains)
