"""An EPL pattern that shows which events a match is made of."""

from __future__ import annotations

from dataclasses import replace

from presage.model import types as t
from presage.operators.epl.kernel.spec import Shown
from presage.operators.epl.nodes import PatternMatch
from presage.operators.trace_columns import MARK
from presage.plan.nodes import TIME, Field


def traced(node: PatternMatch) -> tuple[PatternMatch, tuple[Field, ...]]:
    """The pattern with the times of its events beside its rows."""
    return showing(node, TIME)


def showing(node: PatternMatch, column: str) -> tuple[PatternMatch, tuple[Field, ...]]:
    """The pattern with a number of each of its events, a column that all of them have, beside its rows."""
    shown, fields = [], []
    for number, tag in enumerate(node.tables.tags):
        name = f"{MARK}{tag.name}"
        shown.append(Shown(name, number, column))
        fields.append(Field(name, t.ArrayOf(t.LONG) if tag.repeated else t.LONG))
    tables = replace(node.tables, shown=(*node.tables.shown, *shown))
    return replace(node, tables=tables, made=(*node.made, *fields)), tuple(fields)
