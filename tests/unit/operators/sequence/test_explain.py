"""What EXPLAIN says of a sequence that may be sampled: in how many random worlds, and a warning if these are many."""

from __future__ import annotations

from presage.lang import parse_statement
from presage.lang import syntax as s
from presage.workspace import Workspace

DECLARED = """
CREATE STREAM At (person STRING, place STRING, at TIMESTAMP) EVENT TIME at KEY (person) PROBABILISTIC (place);
"""
UNSAFE = "SELECT * FROM SEQUENCE [ At(x, 'lab') ; At(y, 'gate') ; At(x, 'store') ]"


def page(text: str) -> str:
    space = Workspace([], ".")
    space.check(DECLARED)
    statement = parse_statement(text)
    assert isinstance(statement, s.Query)
    return space.explain(space.bind(statement))


def test_the_number_of_random_worlds_is_told() -> None:
    assert "error 0.05 with confidence 0.95, in 738 random worlds" in page(UNSAFE)
    shown = page(f"{UNSAFE} APPROXIMATE (ERROR 0.01, CONFIDENCE 0.99)")
    assert "in 26,492 random worlds" in shown
    assert "takes 26,492" not in shown


def test_a_small_error_that_takes_very_many_worlds_is_warned_of() -> None:
    shown = page(f"{UNSAFE} APPROXIMATE (ERROR 0.0001, CONFIDENCE 0.9)")
    _, warnings = shown.split("== Warnings ==\n")
    assert "ERROR 0.0001 takes 149,786,614 random worlds where it is sampled" in warnings


def test_an_exact_sequence_speaks_of_no_worlds() -> None:
    exact = "SELECT p FROM SEQUENCE [ At(p, 'lab') ; At(p, 'gate') ] APPROXIMATE (ERROR 0.0001, CONFIDENCE 0.9)"
    assert "random worlds" not in page(exact)
