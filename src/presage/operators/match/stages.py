"""MATCH_RECOGNIZE as a stage, and its operator."""

from __future__ import annotations

from dataclasses import replace

from presage.errors import error
from presage.execution.stage import Operator, Stage, StageInput, order_fields, renamed
from presage.model import types as t
from presage.operators.match import sharing
from presage.operators.match.compile import match_kernel
from presage.operators.match.kernel.match import NAME, open_matches
from presage.operators.match.kernel.spec import TIME, Fold, Measure
from presage.operators.match.nodes import Match
from presage.operators.trace_columns import MARK, NAMES, NUMBERS
from presage.plan.expr import ColumnRef, Constant
from presage.plan.nodes import Field, Named, Node


def match_stage(node: Match) -> Stage:
    order = node.input.order
    placed = (*order, *node.tables.placed)
    return Stage(
        node,
        (StageInput(node.input, node.prepared),),
        lambda resources: match_kernel(node, resources.relations),
        made=(*order_fields(placed), *node.columns),
        outputs=(*renamed(order_fields(node.order), placed), *renamed(node.columns)),
        depth=node.input.depth,
        sort=order,
        keys=node.tables.keys,
        reads_files=True,
    )


def _has_timers(node: Node) -> bool:
    if not isinstance(node, Match):
        return False
    return node.tables.within is not None or node.tables.gap is not None or bool(node.tables.sort)


def _check_deployed(node: Node, ends: int | None) -> None:
    """`$` needs the last row, so a deployed statement must have an end."""
    if not isinstance(node, Match) or ends is not None:
        return
    automaton = node.tables.automaton
    edges = [*automaton.first, *(edge for follow in automaton.follow for edge in follow)]
    if any(edge.at_end for edge in edges):
        raise error(
            "UNSUPPORTED",
            what="$ in a pattern",
            where="in a statement that never ends",
            fix="add WITHIN with an upper bound, or leave $ out",
        )


def _check_order(node: Node) -> None:
    """A streaming statement processes events in the order of time."""
    if isinstance(node, Match) and not node.tables.by_time:
        raise error(
            "UNSUPPORTED",
            what="ORDER BY that does not begin with the event time",
            where="in streaming",
            fix="begin it with the event time, or leave it out",
        )


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


OPERATOR = Operator(
    stages={Match: match_stage},
    timers=_has_timers,
    reads_end=lambda node: isinstance(node, Match),
    check_deployed=_check_deployed,
    check_stream=_check_order,
    open_matches={NAME: open_matches},
    shared=sharing,
    traced={Match: traced},
)
