"""Rule keep_time: rows that become events at the time they already have need not be timed again.

before   Retime by at                        after   Project [t.at AS at]
           Project [t.at AS at]                        Scan Tick
             Scan Tick

To time rows anew they must be brought into one order, to see which come too late; rows that keep the time of an event
are in order by themselves, and cannot be late.
"""

from __future__ import annotations

from presage.plan.nodes import Node, Retime


def keep_time(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if isinstance(node, Retime) and node.input.is_own_time(node.column):
            return node.input
        return node

    return plan.rewrite(change)
