"""Rule prune_columns: columns that no later step uses are not read, shuffled or kept in a window.

before   Project [t.sym]                     after   Project [t.sym]
           Scan Tick as t [sym, price, at]             Scan Tick as t [sym]
"""

from __future__ import annotations

from presage.plan.nodes import Node


def prune_columns(plan: Node) -> Node:
    return _prune(plan, plan.column_names())


def _prune(node: Node, wanted: frozenset[str]) -> Node:
    node = node.narrowed(wanted)
    needed = node.needs(wanted)
    return node.map_inputs(lambda child: _prune(child, needed & child.column_names()))
