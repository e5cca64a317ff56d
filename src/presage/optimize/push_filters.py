"""Rule push_filters: a filter moves towards the scan, as far as the rows stay the same.

before   Filter sym = 'A' AND n > 3          after   Window #time(1 min)
           Window #time(1 min)                         Filter sym = 'A' AND n > 3
             Scan Tick                                   Scan Tick

Each node decides what moves below it (`Node.absorb`). A filter stays above a window whose contents depend on other
events (#length, #unique …): an event that fails the filter still takes a place in such a window.
"""

from __future__ import annotations

from presage.plan.expr import Expr, conjunction, conjuncts
from presage.plan.nodes import Filter, Node


def push_filters(plan: Node) -> Node:
    node, parts = plan, list[Expr]()
    while isinstance(node, Filter):
        parts, node = conjuncts(node.condition) + parts, node.input
    # A part of a join's own condition may refer to one side only.
    node, own = node.release()
    stay: list[Expr] = []
    for part in conjuncts(own) + parts:
        lower = node.absorb(part)
        if lower is None:
            stay.append(part)
        else:
            node = lower
    node = node.map_inputs(push_filters)
    condition = conjunction(stay)
    return Filter(node, condition) if condition is not None else node
