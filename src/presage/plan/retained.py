"""The node of a window that is looked into at a moment, and not by the events that come."""

from __future__ import annotations

from dataclasses import dataclass

from presage.model.time import format_duration
from presage.plan.display import show
from presage.plan.expr import Expr
from presage.plan.nodes import Node


@dataclass(frozen=True)
class Retained(Node):
    """Rows of the input that a window holds when its clock is read: those younger than `span` microseconds, and of
    those with equal `keys` the `most` that came last, or first (`oldest`). None: no such bound."""

    input: Node
    span: int | None = None
    keys: tuple[Expr, ...] = ()
    most: int | None = None
    oldest: bool = False

    def label(self) -> str:
        by = f" of each {', '.join(map(show, self.keys))}" if self.keys else ""
        held = [f"of the last {format_duration(self.span)}"] if self.span is not None else []
        held += [f"the {'first' if self.oldest else 'last'} {self.most}{by}"] if self.most is not None else []
        return f"Retained {', '.join(held) or 'all'}"
