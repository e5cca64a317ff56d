"""Rule pick_listed_events: an attribute of one event of a repeated tag is a column of its own, not a list.

before   Project [a[0].id]                       after   Project [_a[0].id]
           Pattern [[2] a=A] -> a                          Pattern [[2] a=A] -> _a[0].id

Without it the state would keep, and Spark shuffle, lists of whole events to read one attribute.
"""

from __future__ import annotations

from dataclasses import replace

from presage.operators.epl.kernel.spec import Shown
from presage.operators.epl.nodes import PatternMatch
from presage.plan import expr as e
from presage.plan.nodes import Field, Filter, Named, Node, Project


def pick_listed_events(plan: Node) -> Node:
    def change(node: Node) -> Node:
        if not isinstance(node, Project):
            return node
        conditions: list[e.Expr] = []
        below = node.input
        while isinstance(below, Filter):
            conditions.append(below.condition)
            below = below.input
        if not isinstance(below, PatternMatch):
            return node
        picker = _Picker(below)
        outputs = tuple(Named(o.name, o.expr.rewrite(picker.pick)) for o in node.outputs)
        kept = [c.rewrite(picker.pick) for c in conditions]
        if picker.pattern is below:
            return node
        made: Node = picker.pattern
        for condition in reversed(kept):
            made = Filter(made, condition)
        return Project(made, outputs)

    return plan.rewrite(change)


class _Picker:
    """Adds a column to a pattern for each attribute of an element of a list."""

    def __init__(self, pattern: PatternMatch) -> None:
        self.pattern = pattern

    def pick(self, expr: e.Expr) -> e.Expr:
        if not (isinstance(expr, e.FieldOf) and isinstance(expr.base, e.ElementOf)):
            return expr
        element = expr.base
        if not isinstance(element.base, e.ColumnRef) or not isinstance(element.index, e.Constant):
            return expr
        index = element.index.value
        listed = next((s for s in self.pattern.tables.shown if s.output == element.base.name and s.index is None), None)
        if listed is None or not isinstance(index, int) or index < 0 or not self._is_list(listed):
            return expr
        return e.ColumnRef(expr.type, self._shown(listed, -1 if element.from_end else index, expr), span=expr.span)

    def _is_list(self, shown: Shown) -> bool:
        return self.pattern.tables.tags[shown.tag].repeated

    def _shown(self, listed: Shown, index: int, expr: e.FieldOf) -> str:
        """The name of the column with that attribute of that event."""
        name = f"_{listed.output}[{index}].{expr.name}"
        pattern = self.pattern
        if any(f.name == name for f in pattern.made):
            return name
        source = pattern.tables.tags[listed.tag].source
        whole = next(n.expr for n in pattern.prepared[source] if n.name == listed.column)
        assert isinstance(whole, e.MakeStruct)
        value = whole.values[whole.names.index(expr.name)]
        column = next((n.name for n in pattern.prepared[source] if n.expr == value), None)
        prepared, columns = list(pattern.prepared), list(pattern.tables.columns)
        if column is None:
            column = f"_s{source}_p{len(prepared[source])}"
            prepared[source] = (*prepared[source], Named(column, value))
            columns[source] = (*columns[source], column)
        self.pattern = replace(
            pattern,
            prepared=tuple(prepared),
            tables=replace(
                pattern.tables,
                shown=(*pattern.tables.shown, Shown(name, listed.tag, column, index)),
                columns=tuple(columns),
            ),
            made=(*pattern.made, Field(name, expr.type)),
        )
        return name
