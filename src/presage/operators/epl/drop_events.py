"""Rule drop_idle_events: events that pass no filter of a pattern do not reach its kernel.

before   Pattern [EVERY a=A(n > 3) -> b=B]      after   Pattern [EVERY a=A(n > 3) -> b=B]
           Scan A                                         Filter A.n > 3
           Scan B                                           Scan A
                                                          Scan B

The conditions of filters over their own event are evaluated natively; an event that fails all filters of its type has
no effect. If timers run from the pattern's start, which is its first event, all events are kept.
"""

from __future__ import annotations

from dataclasses import replace

from presage.operators.epl.kernel.spec import PatternTables
from presage.operators.epl.nodes import PatternMatch
from presage.plan.expr import any_of
from presage.plan.nodes import Filter, Node


def drop_idle_events(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if not isinstance(node, PatternMatch) or node.filtered:
            return node
        sources = tuple(_filtered(node, number) for number in range(len(node.sources)))
        return replace(node, sources=sources, filtered=True)

    return plan.rewrite(change)


def _filtered(node: PatternMatch, number: int) -> Node:
    source, tables = node.sources[number], node.tables
    filters = [t for t in tables.nodes if t.kind == "filter" and t.source == number]
    if not filters or any(t.flag is None for t in filters):
        return source
    if tables.begin is None and _timed_at_start(tables, 0):
        return source
    by_name = {n.name: n.expr for n in node.prepared[number]}
    condition = any_of([by_name[t.flag] for t in filters if t.flag is not None])
    return source if condition is None else Filter(source, condition)


def _timed_at_start(tables: PatternTables, number: int) -> bool:
    """Whether a timer runs from the start of a term."""
    term = tables.nodes[number]
    if term.kind in ("interval", "within"):
        return True
    children = term.children[:1] if term.kind == "followed" else term.children
    return any(_timed_at_start(tables, child) for child in children)
