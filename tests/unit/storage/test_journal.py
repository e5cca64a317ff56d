"""The journal over a store that fails: a record exists once, and its writer knows whether it does."""

from __future__ import annotations

from pathlib import Path, PurePath, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.errors import PresageError
from presage.storage.failpoints import Failpoints
from presage.storage.file_store import FileStore
from presage.storage.home_state import HomeState
from presage.storage.journal import Head, Journal, Record, read_journal
from recovery.faulty_store import AFTER, BEFORE, FaultyStore

FOLDER = PurePosixPath("/b/home/journal")


def journal(store: FaultyStore) -> Journal:
    return Journal(FOLDER, store, Failpoints())


def record(n: int, nonce: str, takeover: str = "") -> Record:
    return Record(n, "append", 0, nonce=nonce, takeover=takeover)


def nonces(store: FaultyStore) -> list[str]:
    return [each.nonce for each in read_journal(store, FOLDER).records]


def test_a_record_whose_reply_was_lost_is_known_by_its_nonce() -> None:
    store = FaultyStore()
    store.faults = {1: AFTER}
    journal(store).write(record(1, "mine"))
    assert nonces(store) == ["mine"]


def test_a_record_that_was_not_written_is_an_error_and_may_be_written_again() -> None:
    store = FaultyStore()
    store.faults = {1: BEFORE}
    own = journal(store)
    with pytest.raises(OSError, match="does not answer"):
        own.write(record(1, "mine"))
    own.write(record(1, "mine"))
    assert nonces(store) == ["mine"]


def test_the_number_of_another_process_is_refused() -> None:
    store = FaultyStore()
    journal(store).write(record(1, "theirs"))
    with pytest.raises(PresageError) as refused:
        journal(store).write(record(1, "mine"))
    assert refused.value.code == "HOME_OVERTAKEN"
    assert nonces(store) == ["theirs"]


def test_the_record_of_a_takeover_outlives_the_head_and_refuses_who_was_paused() -> None:
    store = FaultyStore()
    paused, state = journal(store), HomeState()
    paused.write(record(1, "a"))
    other = journal(store)
    others = [*other.read().records, record(2, "b", takeover="process 7"), record(3, "c")]
    for each in others[1:]:
        other.write(each)
    for each in others:
        state.advance(each)
    other.compact(Head.of(state.to_json()))
    other.trim()
    # The other records stay until the next head, to compute this one again if it is damaged.
    assert sorted(store.names(FOLDER)) == [f"{n:014d}.json" for n in (1, 2, 3)] + ["head-00000000000003.json"]
    with pytest.raises(PresageError) as refused:
        paused.write(record(2, "late"))
    assert refused.value.code == "HOME_OVERTAKEN"
    # The next head lets the others be deleted, and keeps the record.
    again = journal(store)
    assert (again.read().base, again.read().records) == (3, [])
    again.trim()
    assert len(store.names(FOLDER)) == 4
    fourth = record(4, "d")
    again.write(fourth)
    state.advance(fourth)
    again.compact(Head.of(state.to_json()))
    again.trim()
    heads = ["head-00000000000003.json", "head-00000000000004.json"]
    assert sorted(store.names(FOLDER)) == ["00000000000002.json", "00000000000004.json", *heads]


def test_a_head_of_a_paused_process_does_not_hide_a_later_one() -> None:
    store = FaultyStore()
    paused, state = journal(store), HomeState()
    one, two = record(1, "a"), record(2, "b", takeover="process 7")
    paused.write(one)
    state.advance(one)
    early = Head.of(state.to_json())
    other = journal(store)
    other.read()
    other.write(two)
    state.advance(two)
    other.compact(Head.of(state.to_json()))
    paused.compact(early)
    paused.trim()
    assert read_journal(store, FOLDER).base == 2


@given(
    writes=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["", BEFORE, AFTER])), max_size=12),
)
def test_of_two_writers_each_number_has_one_and_each_knows_its_own(writes: list[tuple[int, str]]) -> None:
    store = FaultyStore()
    writers, last, stopped = [journal(store), journal(store)], [0, 0], [False, False]
    acknowledged: list[str] = []
    for number, (who, fault) in enumerate(writes):
        if stopped[who]:
            continue
        store.faults = {store.acts + 1: fault}
        nonce = f"{who}-{number}"
        try:
            writers[who].write(record(last[who] + 1, nonce))
        except PresageError:
            stopped[who] = True
        except OSError:
            continue
        else:
            last[who] += 1
            acknowledged.append(nonce)
    assert sorted(nonces(store)) == sorted(acknowledged)


def test_a_takeover_under_a_number_that_a_head_covers_is_refused() -> None:
    """A process that opens the home is paused before its takeover; the other one goes on, and covers that number."""
    store = FaultyStore()
    alive, state = journal(store), HomeState()
    alive.read()
    slow = journal(store)
    slow.read()
    for each in (record(1, "a"), record(2, "b")):
        alive.write(each)
        state.advance(each)
    alive.compact(Head.of(state.to_json()))
    alive.trim()
    with pytest.raises(PresageError) as refused:
        slow.take_over(record(1, "c", takeover="process 7"))
    assert refused.value.code == "HOME_OVERTAKEN"
    assert read_journal(store, FOLDER).base == 2


def test_a_takeover_is_known_by_its_process_when_it_is_tried_again() -> None:
    store = FaultyStore()
    own = journal(store)
    own.write(record(1, "first", takeover="process 7"))
    assert own.take_over(record(1, "second", takeover="process 7")).nonce == "first"
    with pytest.raises(PresageError):
        journal(store).take_over(record(1, "other", takeover="process 8"))


def test_a_record_in_a_folder_that_may_not_be_durable_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: FileStore, path: PurePath) -> None:
        raise OSError("the disk lost a page")

    own = Journal(tmp_path, FileStore(), Failpoints())
    monkeypatch.setattr(FileStore, "flush", fails)
    with pytest.raises(OSError, match="lost a page"):
        own.write(record(1, "mine"))
    assert own.find(1) is not None


def test_a_group_is_one_file_that_is_read_as_its_records_and_covered_as_one() -> None:
    store = FaultyStore()
    own, state = journal(store), HomeState()
    own.write(record(1, "a"))
    own.write(record(2, "b"), record(3, "c"), record(4, "d"))
    own.write(record(5, "e"))
    assert store.names(FOLDER) == ["00000000000001.json", "00000000000002.json", "00000000000005.json"]
    assert nonces(store) == ["a", "b", "c", "d", "e"]
    # Who has read it before all of it was there has no number inside a group, and is refused.
    with pytest.raises(PresageError) as refused:
        journal(store).write(record(2, "z"))
    assert refused.value.code == "HOME_OVERTAKEN"
    for each in read_journal(store, FOLDER).records[:4]:
        state.advance(each)
    own.compact(Head.of(state.to_json()))
    own.trim()
    again = journal(store)
    assert [each.n for each in again.read().records] == [5]
    # The files that the head covers stay until the next one.
    state.advance(again.read().records[0])
    again.compact(Head.of(state.to_json()))
    again.trim()
    kept = ["00000000000005.json", "head-00000000000004.json", "head-00000000000005.json"]
    assert store.names(FOLDER) == kept


def test_a_group_whose_reply_was_lost_is_known_by_its_nonces() -> None:
    store = FaultyStore()
    store.faults = {1: AFTER}
    journal(store).write(record(1, "a"), record(2, "b"))
    assert nonces(store) == ["a", "b"]


def test_a_missing_group_is_a_gap() -> None:
    store = FaultyStore()
    own = journal(store)
    for group in ([record(1, "a")], [record(2, "b"), record(3, "c")], [record(4, "d")]):
        own.write(*group)
    store.delete(FOLDER / "00000000000002.json")
    with pytest.raises(PresageError, match=r"record 2 .*missing"):
        read_journal(store, FOLDER)
