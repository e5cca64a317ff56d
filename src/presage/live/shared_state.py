"""Which nodes can be shared by many statements, and the operator that shares their states."""

from __future__ import annotations

from collections.abc import Sequence

from presage.errors import error
from presage.execution.stage import STATEMENT, SharedStates
from presage.operators.running import OPERATORS, matching_nodes
from presage.plan.nodes import Node

__all__ = ["KEEPERS", "STATEMENT", "sharable", "shared_node", "sharing"]

_SHARED = tuple(operator.shared for operator in OPERATORS.values() if operator.shared is not None)
KEEPERS = tuple(kind for shared in _SHARED for kind in shared.KEEPERS)
_APART = tuple(kind for operator in OPERATORS.values() for kind in operator.apart_from_matches)


def sharable(chain: Sequence[Node]) -> bool:
    """Whether these nodes, each over the next, can run for many statements."""
    return not any(isinstance(n, _APART) for n in chain) or not any(isinstance(n, matching_nodes()) for n in chain)


def shared_node(node: Node) -> Node | None:
    """The node for many statements; None if this one cannot be shared."""
    return next((own for shared in _SHARED if (own := shared.shared_node(node)) is not None), None)


def sharing(node: Node) -> SharedStates:
    """How the operator of a stateful node shares its states."""
    for shared in _SHARED:
        if isinstance(node, shared.KEEPERS):
            return shared
    raise error("INTERNAL", what=f"{type(node).__name__} keeps no state that statements share")
