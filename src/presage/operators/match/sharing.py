"""MATCH_RECOGNIZE for many statements that differ in constants alone: one node, with the statement as a further key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from presage.execution.stage import STATEMENT
from presage.model.operator_state import State
from presage.model.types import LONG
from presage.operators.match.kernel import shared_states as states
from presage.operators.match.nodes import Match
from presage.plan.expr import ColumnRef
from presage.plan.nodes import Named, Node

KEEPERS: tuple[type[Node], ...] = (Match,)


def shared_node(node: Node) -> Node | None:
    if not isinstance(node, Match):
        return None
    tables = node.tables
    conditions = tuple(replace(c, text="") for c in tables.conditions)
    own = Named(STATEMENT, ColumnRef(LONG, STATEMENT))
    return replace(
        node,
        prepared=(*node.prepared, own),
        tables=replace(tables, keys=(*tables.keys, STATEMENT), conditions=conditions, clause=""),
        text="",
    )


def claimed(node: Node, state: State, number: int) -> State:
    return states.claimed_rows(state, number)


def joined(node: Node, several: Sequence[State]) -> State:
    return states.joined_rows(several)


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    return states.part_of_rows(state, numbers)


def alone(node: Node, state: State, number: int) -> State:
    return states.rows_alone(state, number)


def open_by_statement(node: Node, state: State) -> dict[int, int]:
    return states.open_in_rows(state)
