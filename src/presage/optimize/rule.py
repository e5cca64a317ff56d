"""A rule: plan in, equivalent plan out, and the loop that applies a list of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from presage.plan.nodes import Node


@dataclass(frozen=True)
class Rule:
    """`apply` gives an equivalent plan, or the same object where it finds nothing to do."""

    name: str
    apply: Callable[[Node], Node]


@dataclass(frozen=True)
class Optimized:
    plan: Node
    applied: tuple[str, ...]


def optimize(plan: Node, rules: Sequence[Rule]) -> Optimized:
    """All rules in order, until none finds anything to do: a filter that was pushed into a derived stream, for example,
    can be folded there. `applied` names the rules that acted, in the order in which they first did."""
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
