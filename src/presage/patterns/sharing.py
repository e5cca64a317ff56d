"""A node of this room in, the node that does its work for many statements of one form out; and their states.

Statements that differ in constants alone step as one: the number of the statement is a further key of the kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from presage.model.state import State
from presage.model.types import LONG
from presage.patterns.compile import pattern_kernel
from presage.patterns.kernel import shared_states as states
from presage.patterns.kernel.pattern_spec import STATEMENT
from presage.patterns.nodes import Match, PatternMatch
from presage.plan.expr import ColumnRef
from presage.plan.nodes import Named, Node

__all__ = ["KEEPERS", "STATEMENT", "alone", "claimed", "joined", "open_by_statement", "part", "shared_node"]

# Nodes that keep something from step to step.
KEEPERS = (Match, PatternMatch)
# Keys that EVERY-DISTINCT has seen are not divided by statement.
_APART = frozenset({"distinct"})


def shared_node(node: Node) -> Node | None:
    """The node for many statements, in words of nobody; None if this one cannot be shared."""
    if isinstance(node, Match):
        tables = node.tables
        conditions = tuple(replace(c, text="") for c in tables.conditions)
        own = Named(STATEMENT, ColumnRef(LONG, STATEMENT))
        return replace(
            node,
            prepared=(*node.prepared, own),
            tables=replace(tables, keys=(*tables.keys, STATEMENT), conditions=conditions, clause=""),
            text="",
        )
    if isinstance(node, PatternMatch) and _starts_alike(node):
        terms = tuple(replace(term, text="") for term in node.tables.nodes)
        return replace(node, tables=replace(node.tables, nodes=terms, begin=None, shared=True, text=""), text="")
    return None


def _starts_alike(node: PatternMatch) -> bool:
    """Whether nothing depends on when the pattern starts: as a key it starts with its first event."""
    tables = node.tables
    if tables.discard or tables.suppress or len(node.sources) != 1 or _APART & {term.kind for term in tables.nodes}:
        return False
    return pattern_kernel(node, {}).starts_idle


def claimed(node: Node, state: State, number: int) -> State:
    """The state of one statement as a shared one."""
    if isinstance(node, PatternMatch):
        return states.claimed_pattern(node.tables, state, number)
    return states.claimed_rows(state, number)


def joined(node: Node, several: Sequence[State]) -> State:
    """Shared states of different statements as one."""
    if isinstance(node, PatternMatch):
        return states.joined_patterns(node.tables, several)
    return states.joined_rows(several)


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    """Of a shared state what belongs to some statements, shared by those."""
    if isinstance(node, PatternMatch):
        return states.part_of_patterns(node.tables, state, numbers)
    return states.part_of_rows(state, numbers)


def alone(node: Node, state: State, number: int) -> State:
    """Of a shared state what belongs to one statement, as its own kernel keeps it."""
    if isinstance(node, PatternMatch):
        after = states.pattern_alone(node.tables, state, number)
        # It was started, by an event or by nothing that matters.
        after.numbers["started"] = 1
        return after
    return states.rows_alone(state, number)


def open_by_statement(node: Node, state: State) -> dict[int, int]:
    """How many partial matches of each statement are open."""
    if isinstance(node, PatternMatch):
        return states.open_in_patterns(node.tables, state)
    return states.open_in_rows(state)
