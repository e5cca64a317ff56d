"""The folders of compiled kernels: private, the user's own choice kept, what others can write to refused."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from presage.arrays.kernel_folders import fingerprint, folder_name, user_folder


@pytest.fixture
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_below_the_users_cache_and_private(cache_home: Path) -> None:
    folder = user_folder()
    assert folder.path == cache_home / "presage" / folder_name()
    assert (mode(folder.path), mode(folder.path.parent)) == (0o700, 0o700)
    assert (folder.readable, folder.problem) == (True, "")


def test_a_folder_that_the_user_chose_is_kept(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache_home / "chosen"))
    folder = user_folder()
    assert folder.path.parent == cache_home / "chosen"
    assert mode(folder.path) == 0o700
    assert not (cache_home / "presage").exists()


@pytest.mark.parametrize(("permissions", "used"), [(0o777, False), (0o1777, True), (0o755, True)])
def test_a_chosen_folder_in_which_others_can_put_theirs_in_place_of_ours_is_not_used(
    permissions: int, used: bool, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache_home / "chosen").mkdir()
    (cache_home / "chosen").chmod(permissions)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache_home / "chosen"))
    folder = user_folder()
    assert (folder.readable, not folder.problem) == (used, used)


def test_a_relative_cache_home_is_ignored_as_xdg_wants(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(cache_home / "me"))
    assert user_folder().path.parent == cache_home / "me" / ".cache" / "presage"


def test_a_folder_open_to_others_is_closed(cache_home: Path) -> None:
    (cache_home / "presage").mkdir()
    (cache_home / "presage").chmod(0o777)
    assert mode(user_folder().path.parent) == 0o700


def test_a_folder_of_another_user_is_not_used(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user_folder()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    folder = user_folder()
    assert "belongs to another user" in folder.problem
    assert not folder.readable


def test_a_link_in_place_of_the_folder_is_not_followed(cache_home: Path) -> None:
    (cache_home / "elsewhere").mkdir()
    (cache_home / "presage").symlink_to(cache_home / "elsewhere")
    folder = user_folder()
    assert "not a folder" in folder.problem
    assert not folder.readable
    assert list((cache_home / "elsewhere").iterdir()) == []


def test_an_own_folder_that_cannot_be_written_to_is_still_read(
    cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_folder()
    monkeypatch.setattr(os, "access", lambda *_: False)
    folder = user_folder()
    assert "cannot be written to" in folder.problem
    assert folder.readable


def test_without_a_place_for_the_folder_nothing_is_read(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache_home / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home / "file"))
    folder = user_folder()
    assert folder.problem
    assert not folder.readable


def test_changed_kernel_sources_get_another_folder(tmp_path: Path) -> None:
    kernel = tmp_path / "operators" / "sums" / "kernel" / "sums.py"
    kernel.parent.mkdir(parents=True)
    kernel.write_text("WIDTH = 1")
    before = fingerprint(tmp_path)
    kernel.write_text("WIDTH = 2")
    assert fingerprint(tmp_path) != before


def test_a_package_in_a_zip_file_has_the_fingerprint_of_the_same_sources(tmp_path: Path) -> None:
    package = tmp_path / "package" / "presage"
    for name in (
        "operators/sums/kernel/sums.py",
        "operators/sums/kernel/deep/more.py",
        "arrays/jit.py",
        "operators/sums/other.py",
        "model/state.py",
    ):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(f"NAME = '{name}'")
    shipped = shutil.make_archive(str(tmp_path / "shipped"), "zip", package.parent)
    found = fingerprint(package)
    assert found == fingerprint(Path(shipped) / "presage")
    assert found != "e3b0c44298fc"  # the hash of nothing
