"""Programs of statements: what they need beside the kernels, and whether their keys may be dealt apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from presage.lang import syntax as s
from presage.live.program import Program, compile_program
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM Tick (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;
CREATE STREAM Trade (sym STRING, price DOUBLE, at TIMESTAMP) EVENT TIME at;
INSERT INTO Mean SELECT sym, avg(price) AS price FROM Tick#time(1 min) GROUP BY sym;
INSERT INTO Both SELECT sym, avg(price) AS price FROM Tick#time(1 min) GROUP BY sym;
INSERT INTO Both SELECT sym, price FROM Trade;
CREATE STREAM At (p STRING, l STRING, at TIMESTAMP) EVENT TIME at KEY (p) PROBABILISTIC (l);
CREATE RELATION Way (a STRING, b STRING) VALUES ('a', 'b');
INSERT INTO Early SELECT sym, min(at) AS at FROM Tick#time(1 min) GROUP BY sym;
"""


@pytest.fixture(scope="module")
def workspace() -> Workspace:
    found = Workspace([Path()], Path())
    for statement in found.parse(DECLARED).statements:
        found.catalog = found.declare(statement)
    return found


def program(workspace: Workspace, text: str) -> Program:
    (query,) = workspace.parse(text).statements
    assert isinstance(query, s.Query)
    bound = workspace.bind(query)
    return compile_program(bound, workspace.optimize(bound).plan, 4)


def test_an_aggregate_is_no_work_for_catalyst(workspace: Workspace) -> None:
    made = program(workspace, "SELECT sym, avg(price) FROM Tick#time(1 min) GROUP BY sym")
    assert not made.native
    assert made.shards == 4


def test_what_is_aggregated_may_be_work_for_catalyst(workspace: Workspace) -> None:
    made = program(workspace, "SELECT sym, max(soundex(sym)) FROM Tick#time(1 min) GROUP BY sym")
    assert made.native
    assert made.shards == 1


@pytest.mark.parametrize(("stream", "shards"), [("Mean", 4), ("Both", 1), ("Early", 1)])
def test_keys_are_dealt_apart_where_all_rows_come_from_them_alone(
    workspace: Workspace, stream: str, shards: int
) -> None:
    assert program(workspace, f"SELECT sym FROM {stream}").shards == shards


def test_a_relation_may_be_asked_over_several_subgoals_of_a_sequence(workspace: Workspace) -> None:
    assert program(workspace, "SELECT a FROM SEQUENCE [ At(p, a) ; At(p, b) ] WHERE Way(a, b)").relations == {"Way"}
