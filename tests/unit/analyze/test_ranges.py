"""The four kinds of EPL's ranges: a round bracket leaves its bound out."""

from __future__ import annotations

import pytest

from conformance.stepping import run_in_steps
from presage.errors import PresageError
from presage.lang import parse_expression

DECLARED = "CREATE STREAM A (v INT, lo INT, ts TIMESTAMP) EVENT TIME ts;"
VALUES = [0, 1, 2, 4, 5, None]
EVENTS = [("A", {"v": v, "lo": 1, "ts": i}) for i, v in enumerate(VALUES)]


@pytest.mark.parametrize(
    ("bounds", "inside"), [("[1:4]", [1, 2, 4]), ("(1:4)", [2]), ("[1:4)", [1, 2]), ("(A.lo : 4]", [2, 4])]
)
def test_a_round_bracket_leaves_its_bound_out(bounds: str, inside: list[int]) -> None:
    for query in (f"SELECT v FROM A WHERE v IN {bounds}", f"SELECT x.v FROM PATTERN [ EVERY x=A(v IN {bounds}) ]"):
        query = query.replace("A.lo", "lo") if "PATTERN" in query else query
        assert [row["v"] for row in run_in_steps(DECLARED, query, EVENTS, [])] == inside
    outside = run_in_steps(DECLARED, f"SELECT v FROM A WHERE v NOT IN {bounds}", EVENTS, [])
    assert [row["v"] for row in outside] == [v for v in VALUES if v is not None and v not in inside]


def test_bounds_that_read_as_a_term_of_the_domain_are_told_apart() -> None:
    with pytest.raises(PresageError) as found:
        parse_expression("v IN [a.lo:hi)")
    assert found.value.code == "SYNTAX"
    assert found.value.fix.endswith("lo : hi")
