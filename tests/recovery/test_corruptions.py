"""Files of a home are damaged at random: every call ends well or in an error with a code, and no row is wrong."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from presage.errors import PresageError
from presage.storage import snapshot_reader
from recovery.corrupting import case, make_homes, seen

CASES, AT_ONCE = 200, 20


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_homes(tmp_path_factory.mktemp("homes"))


@pytest.fixture(scope="module")
def expected(homes: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Any]:
    folder = tmp_path_factory.mktemp("whole")
    return {home: seen(Path(shutil.copytree(home, folder / home.name))) for home in homes}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else writes: what is damaged is looked at once, and not for a second. Nor is there a loss of power."""
    monkeypatch.setattr(snapshot_reader, "TRIES", 1)
    monkeypatch.setattr(os, "fsync", lambda file: None)


def check(seed: int, homes: list[Path], expected: dict[Path, Any], folder: Path) -> None:
    found = case(homes, seed, folder)
    for how, shown in {"damaged": found.shown, "repaired": found.repaired}.items():
        if not isinstance(shown, PresageError):
            for name, rows in expected[found.base].items():
                assert shown[name] == rows, f"seed {seed}: {found.done}: {how}: {name}"
    # A repair makes nothing worse.
    worse = isinstance(found.repaired, PresageError) and not isinstance(found.shown, PresageError)
    assert not worse, f"seed {seed}: {found.done}: {found.repaired}"


@pytest.mark.parametrize("first", range(0, CASES, AT_ONCE))
def test_a_damaged_home_gives_the_right_rows_or_an_error_with_a_code(
    first: int, homes: list[Path], expected: dict[Path, Any], tmp_path: Path
) -> None:
    for seed in range(first, first + AT_ONCE):
        check(seed, homes, expected, tmp_path)


@pytest.mark.soak
def test_thousands_of_damages_do_so_too(homes: list[Path], expected: dict[Path, Any], tmp_path: Path) -> None:
    for seed in range(CASES, 25 * CASES):
        check(seed, homes, expected, tmp_path)
