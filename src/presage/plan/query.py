"""A bound query: its plan, what the user sees of it, and which events it speaks of."""

from __future__ import annotations

from dataclasses import dataclass

from presage.errors import QueryWarning
from presage.plan.nodes import Field, Node, Scan


@dataclass(frozen=True)
class RuleNote:
    """A rule that was applied before there was a plan: what stood there, and what stands there now."""

    rule: str
    before: str
    after: str


@dataclass(frozen=True)
class Watched:
    """An attribute whose values should name entities: `known` is the relation of those that do."""

    stream: str
    attribute: str
    known: str


@dataclass(frozen=True)
class BoundQuery:
    """`columns` are what the user sees, in order. `upper` is the upper bound of WITHIN, at which the clock stops; no
    event from `ends` on belongs to the query: the next microsecond where the bound is included."""

    plan: Node
    columns: tuple[Field, ...]
    upper: int | None = None
    insert_into: str | None = None
    text: str = ""
    ends: int | None = None
    notes: tuple[RuleNote, ...] = ()
    watched: tuple[Watched, ...] = ()
    warnings: tuple[QueryWarning, ...] = ()  # about the text that the user wrote
    knows: bool = False  # its plan or its rows depend on what the knowledge bases say

    def scans(self) -> list[Scan]:
        return [n for n in self.plan.walk() if isinstance(n, Scan)]

    def awaited_scans(self) -> list[Scan]:
        """Those whose time decides when rows are made."""
        return [n for n in self.plan.walk_awaited() if isinstance(n, Scan)]
