"""The folder of compiled kernels: private, the user's own choice kept, another's folder refused."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from presage.model import numba_cache
from presage.model.numba_cache import use_user_cache


@pytest.fixture
def cache_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Set and then removed, so that whatever the tested function writes is undone after the test.
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # Numba may be loaded by an earlier test of the run; its own setting must not change under it.
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    return tmp_path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_is_below_the_users_cache_and_private(cache_home: Path) -> None:
    folder = use_user_cache()
    assert folder.parent == cache_home / "presage"
    assert os.environ["NUMBA_CACHE_DIR"] == str(folder)
    assert (mode(folder), mode(folder.parent)) == (0o700, 0o700)


def test_a_folder_that_the_user_chose_is_kept(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", "chosen")
    assert use_user_cache() == Path("chosen")
    assert not (cache_home / "presage").exists()


def test_a_relative_cache_home_is_ignored_as_xdg_wants(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(cache_home / "me"))
    assert use_user_cache().parent == cache_home / "me" / ".cache" / "presage"


def test_a_folder_open_to_others_is_closed(cache_home: Path) -> None:
    (cache_home / "presage").mkdir()
    (cache_home / "presage").chmod(0o777)
    assert mode(use_user_cache().parent) == 0o700


def test_a_folder_of_another_user_is_not_used(cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.warns(RuntimeWarning, match="belongs to another user"):
        folder = use_user_cache()
    assert cache_home not in folder.parents
    assert mode(folder) == 0o700


def test_a_link_in_place_of_the_folder_is_not_followed(cache_home: Path) -> None:
    (cache_home / "elsewhere").mkdir()
    (cache_home / "presage").symlink_to(cache_home / "elsewhere")
    with pytest.warns(RuntimeWarning, match="not a folder"):
        use_user_cache()
    assert list((cache_home / "elsewhere").iterdir()) == []


def test_changed_kernel_sources_get_another_folder(
    cache_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "package" / "operators" / "sums" / "kernel" / "sums.py"
    kernel.parent.mkdir(parents=True)
    monkeypatch.setattr(numba_cache, "__file__", str(tmp_path / "package" / "model" / "numba_cache.py"))
    kernel.write_text("WIDTH = 1")
    before = use_user_cache()
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    kernel.write_text("WIDTH = 2")
    assert use_user_cache() != before


def test_a_package_in_a_zip_file_has_the_folder_of_the_same_sources(
    cache_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    found = []
    for place in (package, Path(shipped) / "presage"):
        monkeypatch.setenv("NUMBA_CACHE_DIR", "")
        monkeypatch.setattr(numba_cache, "__file__", str(place / "model" / "numba_cache.py"))
        found.append(use_user_cache())
    assert found[0] == found[1]
    assert not found[0].name.endswith("-e3b0c44298fc")  # the hash of nothing


def test_what_was_compiled_is_found_from_another_folder_too(cache_home: Path, tmp_path: Path) -> None:
    source = Path(numba_cache.__file__).parents[1]
    shutil.copytree(source, tmp_path / "elsewhere" / "presage", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np; from presage.arrays.codes import kept_in_order; from presage.arrays.jit import LOOPS;"
        "kept_in_order(np.arange(3), np.arange(2)); stats = LOOPS['codes.kept_in_order'].stats;"
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
    )
    told = []
    for place in (source.parent, tmp_path / "elsewhere"):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")} | {"PYTHONPATH": str(place)}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        told.append(done.stdout.strip())
    assert told == ["0 1", "1 0"]


def test_importing_what_all_kernels_share_sets_the_folder_before_numba_is_loaded(cache_home: Path) -> None:
    code = "import os, sys, presage.arrays; print('numba' in sys.modules, os.environ['NUMBA_CACHE_DIR'])"
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {
        "PYTHONPATH": os.pathsep.join(sys.path)
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    loaded, folder = done.stdout.split()
    assert loaded == "False"
    assert Path(folder).parent == cache_home / "presage"
