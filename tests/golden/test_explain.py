"""EXPLAIN in full, and each rule of the optimizer before and after: the texts of queries and what is shown for them.

Run with UPDATE_GOLDEN=1 to write what is shown now, and read the difference. The same queries are run on Spark by
`tests/spark/test_queries_like_reference.py`, so that a plan that reads well is also right.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.operators.windows.explain import DESCRIBE
from presage.operators.windows.rules import RULES as WINDOWS
from presage.optimize import in_order
from presage.plan.display import show_plan
from presage.plan.nodes import Node
from property.query_texts import workspace

HERE = Path(__file__).parent
QUERIES = sorted((HERE / "explain").glob("*.sql"))
WORKSPACE = workspace()
BY_NAME = {rule.name: rule for rule in in_order(WINDOWS)}


def query_of(path: Path) -> s.Query:
    statement = parse_statement(path.read_text(encoding="utf-8"))
    assert isinstance(statement, s.Query)
    return statement


def compare(path: Path, shown: str) -> None:
    golden = path.with_suffix(".txt")
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown + "\n", encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == shown + "\n"


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_EXPLAIN_shows_this_page(path: Path) -> None:
    compare(path, WORKSPACE.explain(WORKSPACE.bind(query_of(path))))


@pytest.mark.parametrize("name", BY_NAME)
def test_a_rule_turns_this_plan_into_that(name: str) -> None:
    path = HERE / "rules" / f"{name}.sql"
    before = WORKSPACE.bind(query_of(path)).plan
    after = BY_NAME[name].apply(before)
    assert after != before
    extra = f"\n{partitions(after)}" if name == "infer_keys" else ""
    compare(path, f"before\n\n{show_plan(before)}\n\nafter\n\n{show_plan(after)}{extra}")


def partitions(plan: Node) -> str:
    """Keys do not stand in a node's line; they show in the section on parallelism."""
    reports = [DESCRIBE[type(n)](n).parallelism for n in plan.walk() if type(n) in DESCRIBE]
    return "\n".join(filter(None, reports))


def test_the_pages_meet_every_rule() -> None:
    text = "\n".join(path.with_suffix(".txt").read_text(encoding="utf-8") for path in QUERIES)
    named = {name for line in text.splitlines() if line.startswith("rules: ") for name in line[7:].split(", ")}
    assert named == set(BY_NAME)
    assert len(QUERIES) >= 15
