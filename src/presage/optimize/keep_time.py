"""Rule keep_time: drops a Retime to the time that the rows already have.

before   Retime by at                        after   Project [t.at AS at]
           Project [t.at AS at]                        Scan Tick
             Scan Tick

Retime sorts all rows to find late ones; rows that keep the time of an event are in order, and never late.
"""

from __future__ import annotations

from presage.plan.nodes import Node, Retime


def keep_time(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if isinstance(node, Retime) and node.input.is_own_time(node.column):
            return node.input
        return node

    return plan.rewrite(change)
