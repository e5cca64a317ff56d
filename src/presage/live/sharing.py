"""Nodes of all rooms whose statements can step as one, and their shared states: each room knows its own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType

from presage.model.state import State
from presage.patterns import sharing as patterns
from presage.patterns.sharing import STATEMENT
from presage.plan.nodes import Node
from presage.windows import sharing as windows
from presage.windows.nodes import Output

__all__ = ["KEEPERS", "STATEMENT", "alone", "claimed", "joined", "open_by_statement", "part", "sharable", "shared_node"]

KEEPERS = (*windows.KEEPERS, *patterns.KEEPERS)


def sharable(chain: Sequence[Node]) -> bool:
    """Whether these nodes, each over the next, do for many statements what they do for one: the rate of output counts
    rows that the end of a pattern makes, and does not ask whose they are."""
    return not any(isinstance(n, Output) for n in chain) or not any(isinstance(n, patterns.KEEPERS) for n in chain)


def shared_node(node: Node) -> Node | None:
    """The node for many statements; None if this one cannot be shared."""
    return patterns.shared_node(node) or windows.shared_node(node)


def claimed(node: Node, state: State, number: int) -> State:
    """The state of one statement as a shared one."""
    made: State = _room(node).claimed(node, state, number)
    return made


def joined(node: Node, several: Sequence[State]) -> State:
    """Shared states of different statements as one."""
    made: State = _room(node).joined(node, several)
    return made


def part(node: Node, state: State, numbers: Collection[int]) -> State:
    """Of a shared state what belongs to some statements, shared by those."""
    made: State = _room(node).part(node, state, numbers)
    return made


def alone(node: Node, state: State, number: int) -> State:
    """Of a shared state what belongs to one statement, as its own kernel keeps it."""
    made: State = _room(node).alone(node, state, number)
    return made


def open_by_statement(node: Node, state: State) -> dict[int, int] | None:
    """How many partial matches of each statement are open; None where there are no matches."""
    return patterns.open_by_statement(node, state) if isinstance(node, patterns.KEEPERS) else None


def _room(node: Node) -> ModuleType:
    return windows if isinstance(node, windows.KEEPERS) else patterns
