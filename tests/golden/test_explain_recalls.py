"""EXPLAIN of queries with RECALL in full. Run with UPDATE_GOLDEN=1 to write what is shown now, and read the
difference."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.workspace import Workspace

QUERIES = sorted((Path(__file__).parent / "recalls" / "explain").glob("*.sql"))
DECLARED = """
CREATE STREAM Overload (sid STRING, bw DOUBLE, note STRING, at TIMESTAMP) EVENT TIME at KEY (sid);
CREATE STREAM Traffic (sid STRING, bw DOUBLE, packets LONG, at TIMESTAMP) EVENT TIME at KEY (sid);
CREATE RELATION Room (sid STRING, room STRING) VALUES ('s1', 'hall');
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
    assert len(QUERIES) >= 2
