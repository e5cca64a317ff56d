"""A MATCH_RECOGNIZE with further columns: the rows that a match consists of."""

from __future__ import annotations

from dataclasses import replace

from presage.model import types as t
from presage.operators.match.kernel.spec import TIME, Fold, Measure
from presage.operators.match.nodes import Match
from presage.operators.trace_columns import MARK, NAMES, NUMBERS
from presage.plan.expr import ColumnRef, Constant
from presage.plan.nodes import Field, Named


def traced(node: Match) -> tuple[Match, tuple[Field, ...]]:
    """The node with the times and variables of each match's rows."""
    return showing_rows(node, TIME)


def showing_rows(node: Match, column: str) -> tuple[Match, tuple[Field, ...]]:
    """The node with a column's values, and the variables, of each match's rows."""
    variables = node.tables.automaton.variables
    labels = tuple(f"{MARK}{i}" for i in range(len(variables)))
    named = [Named(NUMBERS, ColumnRef(t.LONG, column))]
    named += [Named(label, Constant(t.STRING, name)) for label, name in zip(labels, variables, strict=True)]
    measures = (
        Measure(NUMBERS, fold=Fold("array_agg", columns=(NUMBERS,), final=True)),
        Measure(NAMES, fold=Fold("array_agg", columns=labels, final=True)),
    )
    fields = Field(NUMBERS, t.ArrayOf(t.LONG)), Field(NAMES, t.ArrayOf(t.STRING))
    tables = replace(node.tables, measures=(*node.tables.measures, *measures))
    return replace(node, prepared=(*node.prepared, *named), tables=tables, made=(*node.made, *fields)), fields
