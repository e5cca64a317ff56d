"""Optimizer rules, and the loop that applies them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from presage.plan.nodes import Node


@dataclass(frozen=True)
class Rule:
    """`apply` returns an equivalent plan, or the same object if nothing changes. `early`: before filters are pushed."""

    name: str
    apply: Callable[[Node], Node]
    early: bool = False


@dataclass(frozen=True)
class Optimized:
    plan: Node
    applied: tuple[str, ...]


def optimize(plan: Node, rules: Sequence[Rule]) -> Optimized:
    """Applies all rules in order until none changes the plan: a filter pushed into a derived stream, for example, can
    be folded there. `applied` names the rules that changed it, in the order of their first change."""
    applied: dict[str, None] = {}
    before = None
    while before != plan:
        before = plan
        for rule in rules:
            changed = rule.apply(plan)
            if changed != plan:
                applied[rule.name] = None
                plan = changed
    return Optimized(plan, tuple(applied))
