"""The loop over the rules."""

from __future__ import annotations

from presage.operators.windows.rules import RULES as WINDOWS
from presage.optimize import Rule, in_order, optimize
from presage.plan.display import show_plan
from unit.declared import bind

RULES = in_order(WINDOWS)


def test_a_rule_that_finds_nothing_is_not_named() -> None:
    plan = bind("SELECT camera, at, x, y, n FROM Motion").plan
    optimized = optimize(plan, RULES)
    assert (optimized.plan, optimized.applied) == (plan, ())


def test_rules_are_named_once_in_the_order_in_which_they_acted() -> None:
    plan = bind("SELECT sum(x) AS s FROM Motion#time(1 sec) WHERE 1 = 1 AND y > 2 GROUP BY camera").plan
    assert optimize(plan, RULES).applied == ("fold_constants", "push_filters", "prune_columns", "infer_keys")


def test_what_one_rule_opens_for_an_earlier_one_is_not_missed() -> None:
    # The filter meets the constant only when it has moved into the statement, and that only when the time is kept.
    more = "INSERT INTO Ones SELECT 1 AS one, x, at FROM Motion;"
    optimized = optimize(bind("SELECT x FROM Ones WHERE one = 1", more).plan, RULES)
    assert "Filter" not in show_plan(optimized.plan)


def test_the_loop_ends_when_no_rule_changes_the_plan() -> None:
    calls: list[str] = []

    def watch(name: str) -> Rule:
        return Rule(name, lambda plan: (calls.append(name), plan)[1])

    optimize(bind("SELECT x FROM Motion").plan, [watch("a"), watch("b")])
    assert calls == ["a", "b"]
