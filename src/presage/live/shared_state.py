"""Nodes whose statements can step as one, and their shared states, by the operator that they belong to."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from presage.errors import error
from presage.execution.stage import STATEMENT, SharedStates
from presage.model.operator_state import State
from presage.operators.running import OPERATORS, matching_nodes
from presage.plan.nodes import Node

__all__ = ["KEEPERS", "STATEMENT", "alone", "claimed", "joined", "open_by_statement", "part", "sharable", "shared_node"]

_SHARED = tuple(operator.shared for operator in OPERATORS.values() if operator.shared is not None)
KEEPERS = tuple(kind for shared in _SHARED for kind in shared.KEEPERS)
_APART = tuple(kind for operator in OPERATORS.values() for kind in operator.apart_from_matches)


def sharable(chain: Sequence[Node]) -> bool:
    """Whether these nodes, each over the next, do for many statements what they do for one."""
    return not any(isinstance(n, _APART) for n in chain) or not any(isinstance(n, matching_nodes()) for n in chain)


def shared_node(node: Node) -> Node | None:
    """The node for many statements; None if this one cannot be shared."""
    return next((found for shared in _SHARED if (found := shared.shared_node(node)) is not None), None)


def claimed(node: Node, state: State, number: int) -> State:
    """The state of one statement as a shared one."""
    return _of(node).claimed(node, state, number)


def joined(node: Node, several: Sequence[State]) -> State:
    """Shared states of different statements as one."""
    return _of(node).joined(node, several)


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    """Of a shared state what belongs to some statements, shared by those."""
    return _of(node).part(node, state, numbers)


def alone(node: Node, state: State, number: int) -> State:
    """Of a shared state what belongs to one statement, as its own kernel keeps it."""
    return _of(node).alone(node, state, number)


def open_by_statement(node: Node, state: State) -> dict[int, int] | None:
    """How many partial matches of each statement are open; None where there are no matches."""
    return _of(node).open_by_statement(node, state)


def _of(node: Node) -> SharedStates:
    for shared in _SHARED:
        if isinstance(node, shared.KEEPERS):
            return shared
    raise error("INTERNAL", what=f"{type(node).__name__} keeps no state that statements share")
