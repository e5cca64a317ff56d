"""What every module owes its reader: a first line, a moderate size, a name that says something."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
MAX_LINES = 500
EMPTY_NAMES = re.compile(r"(^|_)(utils?|helpers?|common|misc)(_|$)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_modules_first_line_says_what_it_is(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()), clean=False)
    assert docstring is not None, "no docstring"
    assert docstring.splitlines()[0].strip()


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_is_small_enough_to_read_at_once(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES


def test_no_name_says_nothing() -> None:
    files = [*(ROOT / "src").rglob("*"), *(ROOT / "tests").rglob("*")]
    assert [name(path) for path in files if EMPTY_NAMES.search(path.stem)] == []


def test_the_suite_tries_the_same_examples_for_everybody() -> None:
    suite = settings.get_profile("suite")
    assert (suite.derandomize, suite.database) == (True, None)
