"""`presage explain` as users call it; what EXPLAIN says is tested through Spark's suite and the golden pages."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from presage import Engine
from presage.cli import main

TICK = "CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;\n"
FALLING = (
    "SELECT * FROM Tick MATCH_RECOGNIZE (MEASURES 1 AS one PATTERN (STRT DOWN+) DEFINE DOWN AS price < PREV(price));\n"
)
PAIRS = "EXPLAIN SELECT a.sym FROM PATTERN [ EVERY a=Tick -> b=Tick(sym = a.sym) ];\n"
PLAIN = "SELECT sym FROM Tick;\n"


KNOWING = """CREATE KNOWLEDGE places FROM 'places.ttl';
CREATE STREAM Seen (sensor STRING, at TIMESTAMP) EVENT TIME at CONTEXT 'seen.jsonld';
"""
PLACED = "PREFIX x: <http://x/> SELECT e.sensor FROM Seen AS e WHERE PATH { ?e x:by ?s . ?s x:in x:hall };\n"


def explain(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    monkeypatch.chdir(folder)
    (folder / "q.epl").write_text(text)
    monkeypatch.setattr(sys, "argv", ["presage", "explain", "q.epl", *options])
    return main()


def know(folder: Path) -> None:
    (folder / "places.ttl").write_text("@prefix x: <http://x/> . x:s1 x:in x:hall .")
    context = {"@vocab": "http://x/", "sensor": {"@id": "http://x/by", "@type": "@vocab"}}
    (folder / "seen.jsonld").write_text(json.dumps({"@context": context}))


def test_knowledge_that_the_file_declares_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    know(tmp_path)
    assert explain(KNOWING + PLACED, tmp_path, monkeypatch) == 0
    assert "a table of 2 rows" in capsys.readouterr().out


def test_knowledge_of_a_home_is_read_and_nothing_is_added_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    know(tmp_path)
    home = tmp_path / "home"
    with Engine(home=home, roots=[tmp_path], live=False) as engine:
        monkeypatch.chdir(tmp_path)
        engine.execute(KNOWING.replace("'places", f"'{tmp_path}/places").replace("'seen", f"'{tmp_path}/seen"))
    kept = sorted(path for path in (home / "knowledge").rglob("*"))
    (tmp_path / "places.ttl").write_text("@prefix x: <http://x/> . x:s1 x:in x:hall . x:s2 x:in x:hall .")
    assert explain(PLACED, tmp_path, monkeypatch, "--home", "home") == 0
    assert "a table of 2 rows" in capsys.readouterr().out
    assert explain("CREATE KNOWLEDGE more FROM 'places.ttl';\n" + PLACED, tmp_path, monkeypatch, "--home", "home") == 0
    assert "a table of 4 rows" in capsys.readouterr().out
    assert sorted(path for path in (home / "knowledge").rglob("*")) == kept


def test_the_automata_of_a_file_are_one_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(TICK + FALLING + PLAIN + PAIRS, tmp_path, monkeypatch, "--format", "svg") == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    texts = {"".join(x.itertext()) for x in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"STRT", "DOWN", "EVERY", "b=Tick(sym = a.sym)"} <= texts


def test_a_file_without_automata_is_refused_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(TICK + PLAIN, tmp_path, monkeypatch, "--format", "svg") == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error[UNSUPPORTED]" in printed.err
    assert "without FORMAT svg" in printed.err


def test_each_query_of_a_file_has_the_place_where_it_runs_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert explain(TICK + PLAIN + "SELECT sin(price) AS s FROM Tick;", tmp_path, monkeypatch) == 0
    placed = [part.splitlines()[1] for part in capsys.readouterr().out.split("== Placement ==")[:0:-1]]
    assert placed == ["on Spark: only Spark computes sin(Tick.price)", "in this process: up to 4,000,000 events"]
