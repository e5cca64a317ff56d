"""EXPLAIN of queries over predicted streams in full. Run with UPDATE_GOLDEN=1 to write what is shown now, and read the
difference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.workspace import Workspace

QUERIES = sorted((Path(__file__).parent / "predictions" / "explain").glob("*.sql"))
DECLARED = """
CREATE STREAM Gps (car STRING, x DOUBLE, y DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x, y) WITH (threshold = 25, period = '30 sec', max_delay = '2 sec');
CREATE STREAM Small (car STRING, x DOUBLE, at TIMESTAMP) EVENT TIME at KEY (car)
  PREDICTED (x) WITH (period = '30 sec', buffer = 325, policy = 'oldest');
CREATE STREAM Temp (id INT, temp DOUBLE, at TIMESTAMP) EVENT TIME at KEY (id) PREDICTED (temp) WITH (threshold = 2);
CREATE RELATION Room (id INT, name STRING) VALUES (1, 'hall');
"""


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_EXPLAIN_shows_this_page(path: Path) -> None:
    space = Workspace([], ".")
    space.check(DECLARED)
    statement = parse_statement(path.read_text(encoding="utf-8"))
    assert isinstance(statement, s.Query)
    shown = space.explain(space.bind(statement)) + "\n"
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == shown


def test_there_are_pages() -> None:
    assert len(QUERIES) >= 3
