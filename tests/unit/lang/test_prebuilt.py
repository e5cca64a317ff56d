"""The prebuilt parser: fresh, quick to load, and not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from presage.lang import build, tables
from presage.lang.grammar_files import compose_grammar

SRC = Path(__file__).parents[3] / "src"


def test_the_prebuilt_parser_is_what_the_grammar_gives() -> None:
    assert build.is_fresh(), "run python -m presage.lang.build"


@pytest.mark.parametrize("content", [None, "", "[]", '{"grammar": "old"}', "{broken"])
def test_without_a_fresh_file_the_grammar_itself_is_used(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "parser.json"
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(tables, "PREBUILT", str(path))
    monkeypatch.setattr(tables, "build_tables", lambda grammar: {"built from": grammar})
    assert tables.load_tables() == {"built from": compose_grammar()}


def test_a_stale_file_is_reported_and_built_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = Path(tables.PREBUILT).read_bytes()
    monkeypatch.setattr(tables, "PREBUILT", str(tmp_path / "parser.json"))
    assert build.main(["--check"]) == 1
    assert "python -m presage.lang.build" in capsys.readouterr().err
    assert build.main([]) == 0
    # The same bytes on every machine and in every run.
    assert Path(tables.PREBUILT).read_bytes() == original


def test_parsing_loads_neither_lark_nor_anything_else_that_is_heavy() -> None:
    code = (
        "import sys\n"
        "from presage.lang import parse, print_script\n"
        "print_script(parse('SELECT a FROM b;' * 20))\n"
        "print(*({'lark', 'hashlib', 'pathlib', 'numpy', 'pyarrow', 'pyspark', 'pandas'} & set(sys.modules)))"
    )
    # Isolated, so that only what we import counts.
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=SRC, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
