"""The plan node of a window that is read at one moment (ANALYSIS PRESENT), and not with every event."""

from __future__ import annotations

from dataclasses import dataclass

from presage.model.time import format_duration
from presage.plan.display import show
from presage.plan.expr import Expr
from presage.plan.nodes import Node


@dataclass(frozen=True)
class Retained(Node):
    """Rows of the input that a window holds at a watermark: those younger than `span` microseconds, and of those with
    equal `keys` the last `most`, or the first (`oldest`). None: no such bound."""

    input: Node
    span: int | None = None
    keys: tuple[Expr, ...] = ()
    most: int | None = None
    oldest: bool = False

    @property
    def bounded(self) -> bool:
        return self.span is not None or self.most is not None

    def label(self) -> str:
        return f"Retained: {held_in(self)}"


def held_in(node: Retained) -> str:
    """What the window holds, as text for EXPLAIN."""
    if node.span is not None:
        return f"the events of the last {format_duration(node.span)}"
    if node.most is None:
        return "every event"
    count = "event" if node.most == 1 else f"{node.most} events"
    by = f" for each value of [{', '.join(map(show, node.keys))}]" if node.keys else ""
    return f"the {'first' if node.oldest else 'last'} {count}{by}"
