"""Pages that speak of the code: the paths and commands they name exist, and the page of errors is complete."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from presage.errors import CONDITIONS, WARNINGS

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Several folders of the tree in one go: src/presage/{lang,plan}.
BRACES = re.compile(r"(.*)\{(.+)\}(.*)")


def paths_in(text: str) -> set[str]:
    """What stands in backticks and looks like a path, and the tree drawn in a ```tree block."""
    found: set[str] = set()
    for quoted in re.findall(r"`([\w./{},*-]+)`", text):
        several = BRACES.fullmatch(quoted)
        spelled = [several[1] + part + several[3] for part in several[2].split(",")] if several else [quoted]
        found.update(path for path in spelled if "/" in path)
    for tree in re.findall(r"^```tree\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        stack: list[str] = []
        for line in tree.splitlines():
            entry = re.match(r"( *)([\w./-]+)", line)
            if entry:
                del stack[len(entry[1]) // 2 :]
                stack.append(entry[2].rstrip("/"))
                found.add("/".join(stack))
    return found


def test_the_paths_that_architecture_names_exist() -> None:
    paths = paths_in((ROOT / "ARCHITECTURE.md").read_text())
    assert len(paths) > 15
    assert sorted(path for path in paths if not list(ROOT.glob(path))) == []


def test_the_targets_of_make_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        target for page in PAGES for target in re.findall(r"(?:^\$ |^|`)make ([a-z]+)", page.read_text(), re.MULTILINE)
    }
    assert named >= {"demo", "test"}
    assert named - targets == set()


def test_the_pictures_of_the_console_are_made_by_a_test() -> None:
    made = (ROOT / "tests" / "browser" / "test_documented_pictures.py").read_text()
    assert {path.stem for path in (ROOT / "docs" / "images").glob("console-*.png")} == set(
        re.findall(r'keep_picture\(page, "([\w-]+)"\)', made)
    )


@pytest.mark.parametrize("script", ["functions_page.py", "performance_plots.py"])
def test_files_made_by_a_script_are_up_to_date(script: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script), "--check"],
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def entries_of_errors() -> dict[str, str]:
    """Code and explanation of each entry of docs/errors.md."""
    parts = re.split(r"^### `?([A-Z_]+)`?\n", (ROOT / "docs" / "errors.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_error_has_an_entry_and_every_entry_an_error() -> None:
    assert sorted(entries_of_errors()) == sorted([*CONDITIONS, *WARNINGS])


@pytest.mark.parametrize("code", [*CONDITIONS, *WARNINGS])
def test_an_entry_explains_its_error(code: str) -> None:
    entry = re.sub(r"^```.*?^```", "", entries_of_errors().get(code, ""), flags=re.MULTILINE | re.DOTALL)
    assert len(entry.split()) >= 12, "say what it means and what to do about it"


def test_every_error_is_raised_somewhere() -> None:
    text = "\n".join(path.read_text() for path in SOURCES if path.name != "errors.py")
    assert [code for code in [*CONDITIONS, *WARNINGS] if f'"{code}"' not in text] == []
