"""Iteration over the nodes of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator

from presage.lang.syntax import Node
from presage.model.text import Span


def nodes_of(top: object, leave_out: tuple[type[Node], ...] = ()) -> Iterator[Node]:
    """The node and all below it, without the subtrees of nodes of the kinds in `leave_out`."""
    todo: list[object] = [top]
    while todo:
        current = todo.pop()
        if isinstance(current, Node):
            if not isinstance(current, leave_out):
                yield current
                todo.extend(vars(current).values())
        elif isinstance(current, tuple) and not isinstance(current, Span):
            todo.extend(current)
