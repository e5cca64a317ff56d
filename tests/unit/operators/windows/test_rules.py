"""The rules of the windows room, and the list of all rules as the documentation has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from presage.operators.epl.rules import RULES as PATTERNS
from presage.operators.windows.nodes import Windowed
from presage.operators.windows.rules import RULES as WINDOWS
from presage.operators.windows.rules import drop_idle_windows, forget_unbounded_windows
from presage.optimize import in_order
from presage.plan.nodes import Node
from unit.declared import bind

RULES = in_order((*WINDOWS, *PATTERNS))
PAGE = Path(__file__).parents[4] / "docs" / "language" / "explain.md"


def windows(plan: Node) -> list[str]:
    return [n.window.spelling() for n in plan.walk() if isinstance(n, Windowed)]


IDLE = {
    "SELECT x FROM Motion#time(1 sec)": [],
    "SELECT x FROM Motion#length(3) WHERE x > 1": [],
    "SELECT x FROM Motion#unique(camera)": [],
    "SELECT x FROM Motion#groupwin(camera)#lastevent": [],
    "SELECT m.x FROM Motion#length(2) AS m, Place AS p": [],
    # These drop or delay rows.
    "SELECT x FROM Motion#firstunique(camera)": ["#firstunique(Motion.camera)"],
    "SELECT x FROM Motion#length_batch(2)": ["#length_batch(2)"],
    "SELECT x FROM Motion#time_batch(2 sec)": ["#time_batch(2 sec)"],
    # Somebody looks into these.
    "SELECT count(*) AS n FROM Motion#length(3)": ["#length(3)"],
    "SELECT count(*) AS n FROM Motion#length(3) WHERE x > 1": ["#length(3)"],
    "SELECT m.x FROM Motion#length(2) AS m, Fault#time(1 sec) AS f WHERE m.x > 1": ["#length(2)", "#time(1 sec)"],
    "SELECT s FROM Sums#length(2)": ["#time(1 sec)"],
    "SELECT sum(s) AS t FROM Sums#length(2)": ["#length(2)", "#time(1 sec)"],
}
SUMS = "INSERT INTO Sums SELECT sum(x) AS s FROM Motion#time(1 sec);"


@pytest.mark.parametrize("text", IDLE)
def test_a_window_that_nobody_looks_into_goes(text: str) -> None:
    assert windows(drop_idle_windows(bind(text, SUMS).plan)) == IDLE[text]


UNBOUNDED = {
    "SELECT sum(x) AS s FROM Motion#keepall": [],
    "SELECT sum(x) AS s FROM Motion#keepall WHERE y > 1": [],
    "SELECT sum(x) AS s FROM Motion#groupwin(camera)#keepall GROUP BY n": [],
    "SELECT sum(x) AS s FROM Motion#time(1 sec)": ["#time(1 sec)"],
    "SELECT sum(m.x) AS s FROM Motion#keepall AS m, Fault#keepall AS f": ["#keepall", "#keepall"],
    "SELECT max(s) AS m FROM Sums#keepall": ["#time(1 sec)"],
}


@pytest.mark.parametrize("text", UNBOUNDED)
def test_all_events_need_no_window_under_an_aggregate(text: str) -> None:
    assert windows(forget_unbounded_windows(bind(text, SUMS).plan)) == UNBOUNDED[text]


def test_the_documented_rules_are_the_rules_in_their_order() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert documented == [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_stands_before_and_after_it(rule) -> None:
    described = f"{rule.apply.__doc__ or ''}{__import__(rule.apply.__module__, fromlist=['']).__doc__}"
    assert f"Rule {rule.name}" in described
    assert "before" in described
    assert "after" in described
