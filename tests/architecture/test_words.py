"""The words of the source: no document or module is cited that does not exist, and no retired word comes back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "presage"
MODULES = sorted(PACKAGE.rglob("*.py"))
OUTSIDE = ("tests", "benchmarks", "examples", "scripts")
PROGRAMS = sorted(path for folder in OUTSIDE for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))
# The changelog is history, and keeps the words of its time.
PAGES = sorted(
    [
        *(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md"),
        *(path for folder in ("docs", "examples", "src") for path in (ROOT / folder).rglob("*.md")),
        ROOT / "Makefile",
        ROOT / "mkdocs.yml",
    ]
)

FOREIGN_DOCUMENT = re.compile(r"§|\b(?:LANGUAGE|DESIGN|VOCABULARY|STYLE|SPARK-NOTES)(?:\.md\b|\s+§)")
IN_AND_OUT = re.compile(r"\bin\b[,;:].*\bout\b|\bcomes? in\b.*\bgoes? out\b", re.DOTALL)
# `presage.model.time`, `columnar/evaluate`, `src/presage/engine.py`, `lalr.py`; not `a/b` of other things.
DOTTED = re.compile(r"`(presage(?:\.[a-z_]\w*)+)`")
PATH = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|lark|sh|toml|json))`|\b((?:src|tests|docs|scripts)/[\w./-]+\w)")
# Words of the first years. Each has one field word instead: capability or operator, deployed or running, …
RETIRED_PROSE = re.compile(
    r"\b(?:rooms?|standing (?:statement|quer)\w*|families|in words of nobody|a stranger)\b", re.IGNORECASE
)
RETIRED_CLASSES = re.compile(
    "Standing|Families|Lots?|Roster|Said|Asks|Asked|Beside|Kept|Here|Told|Cut|Book|HeldSession|Foreign"
)
RETIRED_MODULES = re.compile(
    "standing|families|lots|roster|passing|inquiry|drafting|after_batch|driving|upkeep|collecting|acting|looking|"
    "arrival|glance|numbered|pins|crash|keeping|here|foreign|held|holding|desk|beside|speaking|words|asking|knowing|"
    "carrying|starting|later|other_rooms|later_joins|uncertain|room|searching|oracle|waiting|evaluated|cancelling"
)
# Outside of the package `room` is a word of the examples' buildings; what has no other use is retired there, too.
RETIRED_OUTSIDE = re.compile(
    r"\bstanding (?:statement|quer|window|pattern|sequence|join|recall|RECALL)\w*|\bin words of nobody\b"
    r"|\bsays? the rest\b|\bwhat comes in and what goes out\b|\b(?:every|each) room'?s? (?:kernel|test|suite)\w*"
    r"|\bfamil(?:y|ies) of statements\b|\bforetold\b",
    re.IGNORECASE,
)
RETIRED_FILES = re.compile(
    r"(?:.*[-_])?(?:standing|famil(?:y|ies)|lots|roster|inquiry|foretold|kept|here|asked|asking|looking)(?:[-_].*)?"
)
# A key in the journals of homes that are there.
STORED_KEY = '"families"'
# These speak of rooms in buildings: floor plans, and the data of demos.
ROOMS_OF_BUILDINGS = ("demo/", "scenarios/", "console/plans.py", "console/positions.py")


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def place(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def prose(path: Path) -> str:
    """Comments and strings of a module: docstrings, messages, and texts of other kinds."""
    kinds = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return "\n".join(token.string for token in tokens if token.type in kinds)


@cache
def explanations(path: Path) -> str:
    """Comments and docstrings of a module."""
    text = path.read_text()
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
    return "\n".join([*docstrings, *comments])


def is_module_or_member(dotted: str) -> bool:
    parts = dotted.split(".")[1:]
    for length in range(len(parts), 0, -1):
        module = PACKAGE.joinpath(*parts[:length])
        if module.is_dir() or module.with_suffix(".py").is_file():
            return len(parts) - length <= 2
    # A member of the package itself: presage.match_recognize.
    return len(parts) <= 2


def exists(path: str, cited_by: Path) -> bool:
    """Whether there is such a file, seen from the root, from the package, or from a folder above the module."""
    return any((base / path).exists() for base in (ROOT, *cited_by.parents[: len(cited_by.relative_to(ROOT).parts)]))


def classes_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            yield node.name


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_no_document_is_cited_that_is_not_in_the_repository(path: Path) -> None:
    assert FOREIGN_DOCUMENT.findall(prose(path)) == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_the_modules_and_paths_that_are_cited_exist(path: Path) -> None:
    text = explanations(path)
    modules = [dotted for dotted in DOTTED.findall(text) if not is_module_or_member(dotted)]
    paths = [a or b for a, b in PATH.findall(text) if not exists(a or b, path)]
    assert [*modules, *paths] == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_modules_first_line_says_what_it_is_and_not_what_goes_in_and_out(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
    assert not IN_AND_OUT.search(docstring.split("\n\n")[0])


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_no_retired_word_is_used(path: Path) -> None:
    if not name(path).startswith(ROOMS_OF_BUILDINGS):
        assert RETIRED_PROSE.findall(prose(path).replace(STORED_KEY, "")) == []
    assert not RETIRED_MODULES.fullmatch(path.stem)
    assert [each for each in classes_of(path) if RETIRED_CLASSES.fullmatch(each)] == []


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_nothing_is_excepted_from_the_formatter(path: Path) -> None:
    assert re.findall(r"# fmt: (?:skip|off)", path.read_text()) == []


@pytest.mark.parametrize("path", [*PROGRAMS, *PAGES], ids=place)
def test_outside_of_the_package_no_retired_word_and_no_foreign_document_is_used(path: Path) -> None:
    text = prose(path) if path.suffix == ".py" else path.read_text()
    assert FOREIGN_DOCUMENT.findall(text) == []
    assert RETIRED_OUTSIDE.findall(text) == []
    assert not RETIRED_FILES.fullmatch(path.stem)
    if path.suffix == ".py":
        assert [each for each in classes_of(path) if RETIRED_CLASSES.fullmatch(each)] == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.md")), ids=place)
def test_the_modules_that_a_readme_of_the_package_names_exist(path: Path) -> None:
    cited = [a or b for a, b in PATH.findall(path.read_text()) if (a or b).endswith(".py")]
    assert [each for each in cited if not exists(each, path)] == []
