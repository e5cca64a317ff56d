"""An EPL pattern with further columns: the events that a match consists of."""

from __future__ import annotations

from dataclasses import replace

from presage.model import types as t
from presage.operators.epl.kernel.spec import Shown
from presage.operators.epl.nodes import PatternMatch
from presage.operators.trace_columns import MARK
from presage.plan.nodes import TIME, Field


def traced(node: PatternMatch) -> tuple[PatternMatch, tuple[Field, ...]]:
    """The pattern with the times of each match's events."""
    return showing(node, TIME)


def showing(node: PatternMatch, column: str) -> tuple[PatternMatch, tuple[Field, ...]]:
    """The pattern with a column's values of each match's events; all events must have the column."""
    shown, fields = [], []
    for number, tag in enumerate(node.tables.tags):
        name = f"{MARK}{tag.name}"
        shown.append(Shown(name, number, column))
        fields.append(Field(name, t.ArrayOf(t.LONG) if tag.repeated else t.LONG))
    tables = replace(node.tables, shown=(*node.tables.shown, *shown))
    return replace(node, tables=tables, made=(*node.made, *fields)), tuple(fields)
