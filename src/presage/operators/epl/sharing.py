"""EPL patterns for many statements that differ in constants alone: one node, with the statement as a further key."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from presage.model.operator_state import State
from presage.operators.epl.compile import pattern_kernel
from presage.operators.epl.kernel import shared_states as states
from presage.operators.epl.nodes import PatternMatch
from presage.plan.nodes import Node

KEEPERS: tuple[type[Node], ...] = (PatternMatch,)
# Keys that EVERY-DISTINCT has seen are not divided by statement.
_APART = frozenset({"distinct"})


def shared_node(node: Node) -> Node | None:
    if not isinstance(node, PatternMatch) or not _starts_alike(node):
        return None
    terms = tuple(replace(term, text="") for term in node.tables.nodes)
    return replace(node, tables=replace(node.tables, nodes=terms, begin=None, shared=True, text=""), text="")


def _starts_alike(node: PatternMatch) -> bool:
    """Whether nothing depends on when the pattern starts: as a key it starts with its first event."""
    tables = node.tables
    if tables.discard or tables.suppress or len(node.sources) != 1 or _APART & {term.kind for term in tables.nodes}:
        return False
    return pattern_kernel(node, {}).starts_idle


def claimed(node: Node, state: State, number: int) -> State:
    return states.claimed_pattern(_pattern(node).tables, state, number)


def joined(node: Node, several: Sequence[State]) -> State:
    return states.joined_patterns(_pattern(node).tables, several)


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    return states.part_of_patterns(_pattern(node).tables, state, numbers)


def alone(node: Node, state: State, number: int) -> State:
    after = states.pattern_alone(_pattern(node).tables, state, number)
    # It was started, by an event or by nothing that matters.
    after.numbers["started"] = 1
    return after


def open_by_statement(node: Node, state: State) -> dict[int, int]:
    return states.open_in_patterns(_pattern(node).tables, state)


def _pattern(node: Node) -> PatternMatch:
    assert isinstance(node, PatternMatch)
    return node
