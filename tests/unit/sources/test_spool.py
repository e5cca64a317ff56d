"""A spool keeps what it was given, whatever byte a crash cuts it at."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.sources import spool as module
from presage.sources.spool import SESSION, Message, Spool
from presage.storage.file_store import FileStore

MOST = 1 << 30


def message(i: int, size: int = 5) -> Message:
    return Message(f"t/{i}", bytes([i % 256]) * size + b"\n\0", i, i)


def opened(folder: Path, most: int = MOST) -> Spool:
    return Spool(folder / "spool", FileStore(durable=False), most)


def contents(spool: Spool, first: int = 0) -> list[Message]:
    return [m for _, m in spool.read(first, 1_000, MOST)]


def test_messages_are_read_in_order_from_any_number_on(tmp_path: Path) -> None:
    spool = opened(tmp_path)
    spool.append([message(0), SESSION])
    spool.append([message(2)])
    assert spool.read(1, 10, MOST) == [(1, SESSION), (2, message(2))]
    assert spool.read(0, 2, MOST) == [(0, message(0)), (1, SESSION)]
    assert spool.read(2, 10, MOST) == [(2, message(2))]
    assert spool.read(3, 10, MOST) == []
    spool.close()
    assert contents(opened(tmp_path)) == [message(0), SESSION, message(2)]


@given(sizes=st.lists(st.integers(0, 40), min_size=1, max_size=6), cut=st.integers(0, 10_000))
def test_cut_at_any_byte_it_holds_the_messages_before_the_cut_and_goes_on(
    sizes: list[int], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    spool = opened(folder)
    ends = []
    for i, size in enumerate(sizes):
        spool.append([message(i, size)])
        ends.append(spool.bytes)
    spool.close()
    (path,) = (folder / "spool").iterdir()
    cut %= ends[-1] + 1
    path.write_bytes(path.read_bytes()[:cut])
    whole = sum(end <= cut for end in ends)
    spool = opened(folder)
    assert spool.next == whole
    spool.append([message(99)])
    assert contents(spool) == [*(message(i, size) for i, size in enumerate(sizes[:whole])), message(99)]
    spool.close()


@given(flipped=st.integers(0, 10_000))
def test_a_byte_that_was_written_wrong_ends_it_there(flipped: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("flipped")
    spool = opened(folder)
    spool.append([message(i) for i in range(3)])
    spool.close()
    (path,) = (folder / "spool").iterdir()
    data = bytearray(path.read_bytes())
    data[flipped % len(data)] ^= 1
    path.write_bytes(bytes(data))
    spool = opened(folder)
    kept = contents(spool)
    assert len(kept) < 3
    assert kept == [message(i) for i in range(len(kept))]


def test_segments_that_are_done_with_are_deleted_but_for_the_last_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SEGMENT_BYTES", 100)
    spool = opened(tmp_path)
    for i in range(20):
        spool.append([message(i, 30)])
    files = len(list((tmp_path / "spool").iterdir()))
    spool.forget(20, keep=10)
    assert len(list((tmp_path / "spool").iterdir())) < files
    assert [m for _, m in spool.last(10)] == [message(i, 30) for i in range(10, 20)]
    spool.forget(15, keep=2)
    assert contents(spool, 15) == [message(i, 30) for i in range(15, 20)]
    spool.close()
    spool = opened(tmp_path)
    assert spool.next == 20
    with pytest.raises(PresageError, match="missing"):
        spool.read(0, 1, MOST)


def test_an_append_that_fails_has_not_happened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = opened(tmp_path)
    spool.append([message(0)])
    monkeypatch.setattr(spool, "_flush", lambda file: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        spool.append([message(1)])
    monkeypatch.undo()
    assert contents(spool) == [message(0)]
    spool.append([message(2)])
    assert contents(spool) == [message(0), message(2)]
    spool.close()
    assert contents(opened(tmp_path)) == [message(0), message(2)]


def test_it_says_when_it_is_full(tmp_path: Path) -> None:
    spool = opened(tmp_path, most=200)
    assert not spool.is_full
    spool.append([message(0, 300)])
    assert spool.is_full
    spool.close()
