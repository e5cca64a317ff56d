"""Rule keep_time: rows that become events at the time they already have need not be timed again.

before   Retime by at                        after   Project [t.at AS at]
           Project [t.at AS at]                        Scan Tick
             Scan Tick

To time rows anew they must be brought into one order, to see which come too late; rows that keep the time of an event
are in order by themselves, and cannot be late.
"""

from __future__ import annotations

from presage.plan.expr import ColumnRef
from presage.plan.nodes import Filter, Merge, Node, Project, Retime, Scan, Stamp
from presage.windows.nodes import Aggregate, Distinct, RelationJoin, Windowed, source_of


def keep_time(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if isinstance(node, Retime) and is_own_time(node.input, node.column):
            return node.input
        return node

    return plan.rewrite(change)


def is_own_time(node: Node, column: str) -> bool:
    """Whether the column always holds the row's own TIME."""
    match node:
        case Scan():
            return any(
                f.name == column and a == node.event_time for f, a in zip(node.fields, node.attributes, strict=True)
            )
        case Merge():
            return all(is_own_time(source, column) for source in node.sources)
        case Project():
            expr = next(o.expr for o in node.outputs if o.name == column)
            return isinstance(expr, ColumnRef) and is_own_time(node.input, expr.name)
        case Stamp():
            return column == "at" or is_own_time(node.input, column)
        case Filter() | Windowed() | Distinct():
            return is_own_time(node.input, column)
        case RelationJoin():
            return column in node.input.column_names() and is_own_time(node.input, column)
        case Aggregate():
            join, window = source_of(node)
            # A batch's rows leave when it closes, a join's when the last of its events comes.
            passes = join is None and not window.is_batch and column in node.carry
            return passes and is_own_time(node.input, column)
    return False
