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
    ours = [path for path in files if ".installed" not in path.parts]  # of `make integration`
    assert [name(path) for path in ours if EMPTY_NAMES.search(path.stem)] == []


def test_the_suite_tries_the_same_examples_for_everybody() -> None:
    suite = settings.get_profile("suite")
    assert (suite.derandomize, suite.database) == (True, None)


# A fragment is shorter than these lines; it joins its only importer, unless the result were longer than the latter.
FRAGMENT_LINES = 40
JOINED_LINES = 400
# One file for each: registered, listed in a table, or found by its name. Such a file may be as short as it likes.
ONE_FILE_EACH = re.compile(
    r"cli\.\w+|functions\.aggregates\.\w+|optimize\.\w+|lang\.builders\.\w+|"
    r"operators\.\w+\.(?:analyze|warnings|declare|rules|explain|draw|stages|why_not)"
)
FRAGMENTS = {
    # PySpark is imported by `execution`, and not by `assembly`.
    "execution.spark.executor_tasks",
}


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")


def importers() -> dict[str, set[str]]:
    """For each module that is no package those that import it; packages only pass names on, and are left out."""
    modules = {dotted(path): path for path in MODULES if path.name != "__init__.py"}
    found: dict[str, set[str]] = {name: set() for name in modules}
    for importer, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            for imported in names:
                if imported in found:
                    found[imported].add(importer)
    return found


def test_a_fragment_with_one_importer_joins_it() -> None:
    lines = {dotted(path): len(path.read_text().splitlines()) for path in MODULES}
    fragments = set()
    for module, users in importers().items():
        short = module.removeprefix("presage.")
        if lines[module] < FRAGMENT_LINES and len(users) == 1 and not ONE_FILE_EACH.fullmatch(short):
            (user,) = users
            if lines[module] + lines[user] <= JOINED_LINES:
                fragments.add(short)
    assert fragments == FRAGMENTS
