"""Rule keep_time: drops a Retime to the time that the rows already have.

before   Retime by at                        after   Project [t.at AS at]
           Project [t.at AS at]                        Scan Tick
             Scan Tick

Retime sorts all rows to find late ones; rows that keep the time of an event are in order, and never late. It stays
where rows may be later than the last event of the log: they decide where the clock of a bounded query stops.
"""

from __future__ import annotations

from presage.plan.nodes import Node, Retime, Trait, traits_of


def keep_time(plan: Node) -> Node:
    def change(node: Node) -> Node:
        kept = isinstance(node, Retime) and node.input.is_own_time(node.column)
        return node.inputs[0] if kept and Trait.RUNS_AHEAD not in traits_of(node.inputs[0]) else node

    return plan.rewrite(change)
