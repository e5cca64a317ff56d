"""What every store promises: a folder, a bucket, and the faulty one of other tests."""

from __future__ import annotations

import errno
import os
import pickle
import re
import threading
from pathlib import Path, PurePath, PurePosixPath

import pytest

from presage.errors import PresageError
from presage.storage.file_store import FileStore
from presage.storage.object_store import ObjectStore, opened_at
from presage.storage.store import Store
from recovery.faulty_store import FaultyStore

Place = tuple[Store, PurePath]


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return (FileStore(), tmp_path / "home") if request.param == "folder" else (FaultyStore(), PurePosixPath("/b/home"))


def test_what_is_put_is_read_and_replaced_as_a_whole(place: Place) -> None:
    store, home = place
    store.put(home / "a" / "one", b"12345")
    assert store.read(home / "a" / "one") == b"12345"
    assert (store.read(home / "a" / "one", 1, 2), store.read(home / "a" / "one", 3)) == (b"23", b"45")
    assert store.read(home / "a" / "one", 4, 9) == b"5"
    store.put(home / "a" / "one", b"6")
    assert (store.read(home / "a" / "one"), store.size(home / "a" / "one")) == (b"6", 1)


def test_what_exists_is_not_created_again(place: Place) -> None:
    store, home = place
    store.create(home / "one", b"1")
    with pytest.raises(FileExistsError):
        store.create(home / "one", b"2")
    assert store.read(home / "one") == b"1"


def test_of_many_threads_one_creates_a_file(place: Place) -> None:
    store, home = place
    store.put(home / "there", b"")
    won: list[int] = []

    def create(number: int) -> None:
        try:
            store.create(home / "one", b"%d" % number)
        except FileExistsError:
            return
        won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [b"%d" % number for number in won] == [store.read(home / "one")]


def test_names_are_those_of_files_and_folders(place: Place) -> None:
    store, home = place
    assert store.names(home / "none") == []
    for name in ("b", "a/x", "a/y/z"):
        store.put(home / name, b"")
    assert (store.names(home), store.names(home / "a")) == (["a", "b"], ["x", "y"])
    assert sorted(store.walk(home)) == [home / "a" / "x", home / "a" / "y" / "z", home / "b"]
    assert store.is_folder(home / "a")
    assert not store.is_folder(home / "b")
    assert not store.exists(home / "c")


def test_what_is_missing_is_named_and_deleted_without_effect(place: Place) -> None:
    store, home = place
    for act in (store.read, store.size):
        with pytest.raises(FileNotFoundError):
            act(home / "none")
    store.delete(home / "none")
    store.delete_folder(home / "none")


def test_a_folder_is_deleted_with_all_that_is_below_it(place: Place) -> None:
    store, home = place
    for name in ("a/x", "a/y/z", "ab"):
        store.put(home / name, b"")
    store.delete_folder(home / "a")
    assert store.names(home) == ["ab"]


def test_a_file_appears_only_if_its_writing_ends_well(place: Place) -> None:
    store, home = place
    with store.writer(home / "one") as file:
        file.write(b"12")
        file.seek(0)
        assert file.read() == b"12"
    with store.reader(home / "one") as file:
        file.seek(1)
        assert file.read() == b"2"
    with pytest.raises(ZeroDivisionError), store.writer(home / "two") as file:
        file.write(b"%d" % (1 // 0))
    assert store.names(home) == ["one"]


def test_a_store_that_is_sent_to_workers_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANT_SECRET", "hush")
    store = ObjectStore("s3://plant", {"aws_secret_access_key": "env:PLANT_SECRET", "aws_region": "eu-1"})
    sent = pickle.dumps(store)
    assert b"hush" not in sent
    assert pickle.loads(sent).options == store.options
    with pytest.raises(PresageError) as refused:
        pickle.dumps(ObjectStore("s3://plant", {"aws_secret_access_key": "hush"}))
    assert refused.value.code == "STORE_OPTION"
    assert "hush" not in str(refused.value)


def test_a_variable_that_is_missing_is_named() -> None:
    store = ObjectStore("s3://plant", {"aws_access_key_id": "env:NO_SUCH_VARIABLE"})
    with pytest.raises(PresageError, match="NO_SUCH_VARIABLE") as refused:
        store.read(PurePosixPath("/plant/a"))
    assert refused.value.code == "STORE_OPTION"


# -- a mounted folder, such as NFS: requests may be repeated, links may be missing -----------------


def test_a_link_that_was_made_though_its_reply_was_lost_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def repeated(source: Path, target: Path) -> None:
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists", str(target))

    monkeypatch.setattr(os, "link", repeated)
    FileStore().create(tmp_path / "one", b"1")
    assert (tmp_path / "one").read_bytes() == b"1"
    monkeypatch.undo()
    with pytest.raises(FileExistsError):
        FileStore().create(tmp_path / "one", b"2")
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EMLINK])
def test_without_links_a_file_is_renamed_and_none_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def none(source: Path, target: Path) -> None:
        raise OSError(code, "no links here")

    monkeypatch.setattr(os, "link", none)
    FileStore().create(tmp_path / "one", b"1")
    with pytest.raises(OSError, match="no links"):
        FileStore().create(tmp_path / "one", b"2")
    assert (tmp_path / "one").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EDQUOT])
def test_a_link_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def fails(source: Path, target: Path) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", fails)
    with pytest.raises(OSError, match=re.escape(os.strerror(code))):
        FileStore().create(tmp_path / "one", b"1")
    assert os.listdir(tmp_path) == []


def test_a_second_store_of_a_bucket_is_used_for_its_addresses_only_with_another_access() -> None:
    first = ObjectStore("s3://registered", {"aws_region": "eu-1"})
    ObjectStore("s3://registered", {"aws_region": "eu-1"})
    assert opened_at("s3://registered/a")[0] is first
    other = ObjectStore("s3://registered", {"aws_region": "eu-2"})
    assert opened_at("s3://registered/a")[0] is other
    first.register()
    assert opened_at("s3://registered/a")[0] is first
