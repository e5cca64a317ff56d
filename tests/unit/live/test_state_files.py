"""State files: what is written is read, as a snapshot or as a chain of changes, and what is damaged is told by name."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pytest

from presage.errors import PresageError
from presage.live import state_files as module
from presage.live.state_files import MOST_CHANGES, Chain, StateRef, StateWrite, read_chain, remove_unnamed, write_states
from presage.model.operator_state import State
from presage.storage.file_store import FileStore


def queue(first: int, last: int) -> State:
    numbers = list(range(first, last))
    return State("queue", {"q": pa.table({"n": numbers, "x": [n / 3 for n in numbers]})}, {"last": last})


def write(folder: Path, before: State | None, chain: Chain, after: State) -> Chain:
    return write_states(FileStore(durable=False), folder, {"a": StateWrite(before, chain, after)}, 1)["a"]


def grown(folder: Path, steps: int) -> tuple[State, Chain]:
    """A queue that moves on a little, so often."""
    state, chain = queue(0, 4_000), write(folder, None, (), queue(0, 4_000))
    for i in range(1, steps + 1):
        after = queue(10 * i, 4_000 + 10 * i)
        state, chain = after, write(folder, state, chain, after)
        assert read_chain(FileStore(), folder, chain).to_bytes() == after.to_bytes()
    return state, chain


def test_states_of_one_file_are_read_apart(tmp_path: Path) -> None:
    chains = write_states(
        FileStore(durable=True), tmp_path, {k: StateWrite(None, (), queue(0, n)) for n, k in enumerate("abc")}, 1
    )
    assert len(list(tmp_path.iterdir())) == 1
    assert [read_chain(FileStore(), tmp_path, chains[k]).numbers["last"] for k in "cab"] == [2, 0, 1]
    assert write_states(FileStore(durable=True), tmp_path, {}, 1) == {}


def test_a_chain_of_changes_is_the_state_and_stays_short(tmp_path: Path) -> None:
    _, chain = grown(tmp_path, MOST_CHANGES)
    assert len(chain) == 1 + MOST_CHANGES
    assert sum(ref.length for ref in chain[1:]) < chain[0].length / 2
    _, chain = grown(tmp_path, MOST_CHANGES + 1)
    assert len(chain) == 1, "the next one is a snapshot again"


def test_changes_never_grow_as_long_as_the_snapshot(tmp_path: Path) -> None:
    state, chain = queue(0, 4_000), write(tmp_path, None, (), queue(0, 4_000))
    for i in range(1, 5):
        after = queue(1_500 * i, 4_000 + 1_500 * i)
        state, chain = after, write(tmp_path, state, chain, after)
        assert sum(ref.length for ref in chain[1:]) < chain[0].length / 2
        assert read_chain(FileStore(), tmp_path, chain).to_bytes() == after.to_bytes()


def test_a_state_whose_past_is_not_known_is_written_whole(tmp_path: Path) -> None:
    _, chain = grown(tmp_path, 2)
    assert len(write(tmp_path, None, chain, queue(30, 4_030))) == 1


def test_references_survive_the_journal() -> None:
    ref = StateRef("f", 1, 2, 3)
    assert StateRef.from_json(ref.to_json()) == ref


def test_only_files_that_hold_a_state_stay(tmp_path: Path) -> None:
    _, chain = grown(tmp_path, 2)
    write(tmp_path, None, (), queue(0, 1))
    remove_unnamed(FileStore(), tmp_path, {ref.file for ref in chain}, 1)
    assert {path.name for path in tmp_path.iterdir()} == {ref.file for ref in chain}


def changed(path: Path, at: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[at : at + len(data)] = data
    path.write_bytes(content)


@pytest.mark.parametrize("which", [0, 2], ids=["snapshot", "change"])
@pytest.mark.parametrize(
    ("damage", "code", "why"),
    [
        (lambda path, ref: path.unlink(), "HOME_CORRUPT", "missing"),
        (lambda path, ref: path.write_bytes(b""), "HOME_CORRUPT", "mark of a state file"),
        (lambda path, ref: path.write_bytes(path.read_bytes()[:-1]), "HOME_CORRUPT", "checksum"),
        (lambda path, ref: changed(path, ref.start + ref.length // 2, b"\xff\x00\xff"), "HOME_CORRUPT", "checksum"),
        (lambda path, ref: changed(path, 0, b"SOMETHIN"), "HOME_CORRUPT", "mark of a state file"),
        (lambda path, ref: changed(path, 8, struct.pack("<H", 99)), "HOME_VERSION", "state file 99"),
    ],
    ids=["missing", "empty", "truncated", "bits", "foreign", "version"],
)
def test_a_damaged_file_is_refused_by_name(tmp_path: Path, which: int, damage, code: str, why: str) -> None:  # type: ignore[no-untyped-def]
    _, chain = grown(tmp_path, 2)
    ref = chain[which]
    damage(tmp_path / ref.file, ref)
    with pytest.raises(PresageError, match=why) as refused:
        read_chain(FileStore(), tmp_path, chain)
    assert refused.value.code == code
    assert ref.file in str(refused.value)


def test_a_state_of_another_version_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("presage.model.operator_state.VERSION", 7)
        chain = write(tmp_path, None, (), queue(0, 5))
    with pytest.raises(PresageError, match="state 7") as refused:
        read_chain(FileStore(), tmp_path, chain)
    assert refused.value.code == "HOME_VERSION"


def test_a_file_that_could_not_be_written_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(written: StateWrite) -> tuple[bytes, Chain]:
        raise OSError(28, "no space left")

    monkeypatch.setattr(module, "_encoded", full)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path, None, (), queue(0, 5))
    assert not list(tmp_path.iterdir())
