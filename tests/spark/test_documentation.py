"""Every example of README and docs is run: Python, statements, shell commands, and what they are said to print.

How blocks are marked:
  ```python          is run, the blocks of a page one after the other in one namespace
  ```text            right after Python: what it prints
  ```sql             must parse, and all of a page together must pass `presage check`
  ```sql fails=CODE  must end in that error
  ```sql warns=CODE  must have that warning; the others have none
  ```console         holds `$ presage …` commands, each with lines of its output or none
  ```csv hall.csv    any kind with a name that has a dot: the block is a file in the page's own folder
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import split
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from presage import Engine
from presage.cli import main
from presage.lang import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KINDS = {"python", "sql", "console", "text", "csv", "json", "sh", "tree"}


class Block(NamedTuple):
    kind: str
    mark: str
    body: str
    line: int

    @property
    def file(self) -> str | None:
        return self.mark if "." in self.mark else None

    @property
    def wrong(self) -> bool:
        return self.mark.startswith(("fails", "warns"))


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    return [Block(m[1], m[2].strip(), m[3], text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]


def pages_with(kind: str) -> list[object]:
    """Pages that have such a block, meant to be right, as parameters with readable names."""
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if any(block.kind == kind and not block.wrong for block in blocks_of(page))
    ]


@pytest.fixture
def closing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pages need not close their engines; those that are left would run their statements beside all later tests."""
    made: list[Engine] = []
    begin = Engine.__init__

    def noted(self: Engine, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        made.append(self)

    monkeypatch.setattr(Engine, "__init__", noted)
    yield
    for engine in made:
        engine.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_files(page: Path, folder: Path) -> None:
    for block in blocks_of(page):
        if block.file:
            (folder / block.file).write_text(block.body)


def run_presage(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str]:
    """Exit code and all output of the command."""
    monkeypatch.setattr(sys, "argv", ["presage", *arguments])
    capsys.readouterr()
    try:
        result = main()
    except SystemExit as end:
        result = end.code
    printed = capsys.readouterr()
    return int(result or 0), printed.out + printed.err


def words(text: str) -> list[list[str]]:
    """Lines as lists of words: how wide a column is printed does not matter."""
    return [line.split() for line in text.splitlines() if line.strip()]


def test_every_block_is_of_a_kind_that_is_checked() -> None:
    unknown = [
        (page.name, block.line, block.kind) for page in PAGES for block in blocks_of(page) if block.kind not in KINDS
    ]
    assert unknown == []


@pytest.mark.usefixtures("closing")
@pytest.mark.parametrize("page", pages_with("python"))
def test_the_python_of_a_page_runs_and_prints_what_it_says(
    page: Path, folder: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(page, folder)
    namespace: dict[str, object] = {"__name__": "page"}
    blocks = blocks_of(page)
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind != "python":
            continue
        capsys.readouterr()
        code = compile("\n" * block.line + block.body, str(page), "exec")
        exec(code, namespace)
        if after is not None and after.kind == "text":
            assert words(capsys.readouterr().out) == words(after.body), f"{page.name}:{after.line}"


@pytest.mark.parametrize("page", pages_with("sql"))
def test_the_statements_of_a_page_parse(page: Path) -> None:
    for block in blocks_of(page):
        if block.kind == "sql" and not block.wrong:
            parse(block.body)


@pytest.mark.parametrize("page", pages_with("sql"))
def test_the_statements_of_a_page_fit_together(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(page, folder)
    good = [block.body for block in blocks_of(page) if block.kind == "sql" and not block.wrong]
    (folder / "page.epl").write_text("\n".join(good))
    code, output = run_presage(["check", "page.epl"], monkeypatch, capsys)
    assert code == 0
    assert "warning[" not in output


WRONG = [
    pytest.param(block, id=f"{page.stem}-{block.line}-{block.mark.partition('=')[2]}")
    for page in PAGES
    for block in blocks_of(page)
    if block.kind == "sql" and block.wrong
]


@pytest.mark.parametrize("block", WRONG)
def test_a_statement_shown_as_wrong_has_its_code(
    block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.epl").write_text(block.body)
    code, output = run_presage(["check", "wrong.epl"], monkeypatch, capsys)
    word, _, expected = block.mark.partition("=")
    assert (code != 0) == (word == "fails")
    assert any(f"{kind}[{expected}]" in output for kind in (("error",) if word == "fails" else ("warning", "hint")))


@pytest.mark.parametrize("page", pages_with("console"))
def test_the_commands_of_a_page_run_and_print_what_it_says(
    page: Path,
    folder: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_files(page, folder)
    for block in blocks_of(page):
        if block.kind != "console":
            continue
        for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block.body, re.MULTILINE):
            program, *arguments = split(command)
            assert program == "presage", f"{page.name}:{block.line}: mark other commands as sh"
            code, output = run_presage(arguments, monkeypatch, capsys)
            assert code == 0, output
            printed = words(output)
            assert [line for line in words(shown) if line not in printed] == []
