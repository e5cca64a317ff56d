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
    """Each rule once, in order: the order is chosen so that one pass is enough, and EXPLAIN can name what acted."""
    applied = []
    for rule in rules:
        changed = rule.apply(plan)
        if changed != plan:
            applied.append(rule.name)
            plan = changed
    return Optimized(plan, tuple(applied))
