"""MATCH_RECOGNIZE as a stage, and its operator."""

from __future__ import annotations

from presage.errors import error
from presage.execution.stage import Operator, Stage, StageInput, order_fields, renamed
from presage.operators.match import sharing
from presage.operators.match.compile import match_kernel
from presage.operators.match.kernel.match import NAME, open_matches
from presage.operators.match.nodes import Match
from presage.operators.match.tracing import traced
from presage.plan.nodes import Node


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
