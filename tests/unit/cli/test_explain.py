"""`presage explain --format svg` as users call it; the text is tested through Spark's suite and the golden pages."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from presage.cli import main

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;\n"
FALLING = (
    "SELECT * FROM Tick MATCH_RECOGNIZE (MEASURES 1 AS one PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price));\n"
)
PAIRS = "EXPLAIN SELECT a.sym FROM PATTERN [ EVERY a=Tick -> b=Tick(sym = a.sym) ];\n"
PLAIN = "SELECT sym FROM Tick;\n"


def explain(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(folder)
    (folder / "q.epl").write_text(text)
    monkeypatch.setattr(sys, "argv", ["presage", "explain", "q.epl", "--format", "svg"])
    return main()


def test_the_automata_of_a_file_are_one_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(TICK + FALLING + PLAIN + PAIRS, tmp_path, monkeypatch) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    texts = {"".join(x.itertext()) for x in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"STRT", "DOWN", "EVERY", "b=Tick(sym = a.sym)"} <= texts


def test_a_file_without_automata_is_refused_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(TICK + PLAIN, tmp_path, monkeypatch) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error[UNSUPPORTED]" in printed.err
    assert "without FORMAT svg" in printed.err
