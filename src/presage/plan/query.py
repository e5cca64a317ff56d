"""A bound query: its plan, its visible columns, and its range of event time."""

from __future__ import annotations

from dataclasses import dataclass

from presage.errors import QueryWarning
from presage.plan.nodes import Field, Node, Scan


@dataclass(frozen=True)
class RuleNote:
    """A rewriting of the query's text before planning, for EXPLAIN."""

    rule: str
    before: str
    after: str


@dataclass(frozen=True)
class Watched:
    """An attribute whose values should name entities; `known` is the relation of entities."""

    stream: str
    attribute: str
    known: str


@dataclass(frozen=True)
class BoundQuery:
    """`columns` are visible to the user. `upper` is the upper bound of WITHIN, the last watermark; events from `ends`
    on are outside of the query: the next microsecond where the bound is inclusive."""

    plan: Node
    columns: tuple[Field, ...]
    upper: int | None = None
    insert_into: str | None = None
    text: str = ""
    ends: int | None = None
    notes: tuple[RuleNote, ...] = ()
    watched: tuple[Watched, ...] = ()
    warnings: tuple[QueryWarning, ...] = ()  # about the text that the user wrote
    knows: bool = False  # its plan or its rows depend on the knowledge bases

    def scans(self) -> list[Scan]:
        return [n for n in self.plan.walk() if isinstance(n, Scan)]

    def awaited_scans(self) -> list[Scan]:
        """Scans whose watermark decides when rows are emitted."""
        return [n for n in self.plan.walk_awaited() if isinstance(n, Scan)]
