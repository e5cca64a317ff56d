"""Compiled kernels come from the user's folder, else from the package, else from the compiler, whatever lies there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from presage.arrays import kernel_cache, kernel_folders
from presage.arrays.kernel_cache import KernelCache
from presage.arrays.kernel_folders import folder_name
from presage.errors import PresageWarning

COMPILED, LOADED = (0, 1), (1, 0)  # hits, misses


def total(values: Any) -> float:
    result = 0.0
    for value in values:
        result += value
    return result


def use() -> tuple[int, int]:
    """Calls the function as a new process would."""
    loop: Any = njit(nogil=True)(total)
    loop._cache = KernelCache(total)
    kernel_cache._folder.cache_clear()
    assert loop(np.arange(4.0)) == 6.0
    return sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values())


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's folder, empty."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "PACKAGE", tmp_path / "package")
    yield tmp_path / "cache" / "presage" / folder_name()
    kernel_cache._folder.cache_clear()
    kernel_cache._warn.cache_clear()


@pytest.fixture
def bundled(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's file in the package, and none in the user's folder."""
    from numba.core.registry import cpu_target

    # What is the baseline does not matter here.
    monkeypatch.setattr(kernel_cache, "BASELINE", cpu_target.target_context.codegen().magic_tuple()[1:])
    assert use() == COMPILED
    place = tmp_path / "package" / "kernels" / folder_name()
    shutil.copytree(own, place)
    shutil.rmtree(own)
    (file,) = place.iterdir()
    return file


def test_a_kernel_is_compiled_once(own: Path) -> None:
    assert [use(), use()] == [COMPILED, LOADED]
    assert len(list(own.iterdir())) == 1


DAMAGES = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "a bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "another format": lambda content: b"x" + content[1:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_compiled_anew_and_replaced(damage: str, own: Path) -> None:
    use()
    (file,) = own.iterdir()
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert [use(), use()] == [COMPILED, LOADED]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_the_package_is_compiled_into_the_users_folder(damage: str, bundled: Path) -> None:
    content = DAMAGES[damage](bundled.read_bytes())
    bundled.write_bytes(content)
    assert [use(), use()] == [COMPILED, LOADED]
    assert bundled.read_bytes() == content


def test_a_kernel_of_the_package_is_used_and_nothing_is_written(own: Path, bundled: Path) -> None:
    bundled.chmod(0o444)
    bundled.parent.chmod(0o555)
    assert use() == LOADED
    assert list(own.iterdir()) == []


def test_the_users_own_kernel_goes_before_that_of_the_package(own: Path, bundled: Path) -> None:
    shutil.copy(bundled, own.parent / "kept")
    own.mkdir(exist_ok=True)
    shutil.copy(bundled, own / bundled.name)
    bundled.write_bytes(b"")
    assert use() == LOADED


def test_kernels_of_the_package_are_left_out_while_compiling_for_this_machine(
    bundled: Path, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache.BundledKernels, "wanted", False)
    assert use() == COMPILED
    assert [file.name for file in own.iterdir()] == [bundled.name]


def test_a_kernel_of_another_version_is_not_used(bundled: Path) -> None:
    bundled.parent.rename(bundled.parent.with_name(folder_name().replace("numba-", "numba-9.")))
    assert use() == COMPILED


def test_a_kernel_for_another_processor_is_not_used(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_cache, "BASELINE", ("another", "+feature"))
    assert use() == COMPILED


def test_a_file_that_holds_another_signature_is_not_used(own: Path) -> None:
    use()
    (file,) = own.iterdir()
    loop: Any = njit(nogil=True)(total)
    loop._cache = KernelCache(total)
    loop(np.arange(4))
    (other,) = set(own.iterdir()) - {file}
    shutil.copy(other, file)
    assert use() == COMPILED


@pytest.mark.parametrize(
    ("variable", "place", "why"),
    [
        ("XDG_CACHE_HOME", "file", r"file/presage: Not a directory; set"),
        ("NUMBA_CACHE_DIR", "file", r"/file is a file; set NUMBA_CACHE_DIR to a folder that you"),
        ("NUMBA_CACHE_DIR", "open", r"everybody can replace what lies in .*/open; set"),
    ],
)
def test_the_warning_says_which_folder_cannot_be_used_and_why(
    variable: str, place: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    monkeypatch.setenv(variable, str(tmp_path / place))
    with pytest.warns(PresageWarning, match=f"KERNELS_NOT_KEPT: .*{why}"):
        assert use() == COMPILED


@pytest.mark.parametrize("damage", ["chmod", "folder"])
def test_a_file_that_cannot_be_read_is_compiled_anew(damage: str, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert use() == COMPILED
    (file,) = own.iterdir()
    if damage == "folder":
        file.unlink()
        file.mkdir()
        with pytest.warns(PresageWarning, match="KERNELS_NOT_KEPT"):
            assert use() == COMPILED
        return
    read = Path.read_bytes

    def refused(path: Path) -> bytes:  # as the system does, which lets the administrator read all
        if path == file:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    with monkeypatch.context() as only:
        only.setattr(Path, "read_bytes", refused)
        assert use() == COMPILED
    assert use() == LOADED  # it was replaced


def test_with_no_folder_to_write_to_kernels_work_and_a_warning_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="each start compiles them again"):
        assert use() == COMPILED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert use() == COMPILED


def test_a_full_disk_leaves_nothing_half_written(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match=f"{own}: No space left"):
        assert use() == COMPILED
    assert list(own.iterdir()) == []


PROGRAM = """
import os, numba, numpy as np
from presage.arrays.codes import kept_in_order
from presage.arrays.jit import LOOPS
kept_in_order(np.arange(3), np.arange(2))
stats = LOOPS["codes.kept_in_order"].stats
settings = [name for name in os.environ if name.startswith("NUMBA_")]
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), settings, repr(numba.config.CACHE_DIR))
"""


def process(package: Path, cache: Path, **settings: str) -> subprocess.Popen[str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    own |= {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(cache)} | settings
    return subprocess.Popen([sys.executable, "-c", PROGRAM], env=own, stdout=subprocess.PIPE, text=True)


def test_two_processes_that_compile_at_once_leave_one_file_that_a_third_loads(tmp_path: Path) -> None:
    source = kernel_folders.PACKAGE.parent
    both = [process(source, tmp_path) for _ in range(2)]
    assert [each.communicate()[0].split()[:2] for each in both] == [["0", "1"]] * 2
    assert len(list(tmp_path.rglob("*.kernel*"))) == 1
    assert process(source, tmp_path).communicate()[0].split()[:2] == ["1", "0"]


def test_kernels_for_any_processor_are_found_in_a_zip_file_and_numba_has_no_settings_of_ours(tmp_path: Path) -> None:
    package = tmp_path / "elsewhere" / "presage"
    shutil.copytree(kernel_folders.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "kernels"))
    any_processor = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(package / "kernels")}
    assert process(package.parent, tmp_path, **any_processor).communicate()[0].split()[:2] == ["0", "1"]
    archive = Path(shutil.make_archive(str(tmp_path / "shipped"), "zip", package.parent))
    assert process(archive, tmp_path / "cache").communicate()[0].split() == ["1", "0", "[]", "''"]
    assert not list((tmp_path / "cache").rglob("*.kernel"))
