"""A pattern or MATCH_RECOGNIZE in, the same with the times of its events beside each row out: which events a match has.

The kernel makes the same rows in the same order; what it shows besides has names that no column of a plan has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from presage.model import types as t
from presage.patterns.kernel.match_spec import TIME, Fold, Measure
from presage.patterns.kernel.pattern_spec import Shown
from presage.patterns.nodes import Match, PatternMatch
from presage.plan.expr import ColumnRef, Constant
from presage.plan.nodes import Field, Named, Node

MARK = "#bound."
NUMBERS, NAMES = f"{MARK}#", f"{MARK}##"


def traced(node: Node) -> tuple[Node, tuple[Field, ...]] | None:
    """The node with the times of its events in further columns, and these; None for a node that has no events."""
    if isinstance(node, PatternMatch):
        return showing(node, TIME)
    return showing_rows(node, TIME) if isinstance(node, Match) else None


def showing(node: PatternMatch, column: str) -> tuple[PatternMatch, tuple[Field, ...]]:
    """The pattern with a number of each of its events, a column that all of them have, beside its rows."""
    shown, fields = [], []
    for number, tag in enumerate(node.tables.tags):
        name = f"{MARK}{tag.name}"
        shown.append(Shown(name, number, column))
        fields.append(Field(name, t.ArrayOf(t.LONG) if tag.repeated else t.LONG))
    tables = replace(node.tables, shown=(*node.tables.shown, *shown))
    return replace(node, tables=tables, made=(*node.made, *fields)), tuple(fields)


def showing_rows(node: Match, column: str) -> tuple[Match, tuple[Field, ...]]:
    """As `showing`, with the variable of each row."""
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


def bound_in(row: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The names and numbers of the events of a match, by number: of a row with the columns that were added."""
    if NUMBERS in row:
        found = list(zip(row[NAMES] or (), row[NUMBERS] or (), strict=True))
    else:
        found = []
        for column, value in row.items():
            if column.startswith(MARK) and value is not None:
                several = value if isinstance(value, list) else [value]
                found += [(column.removeprefix(MARK), number) for number in several]
    return sorted(found, key=lambda pair: pair[1])
