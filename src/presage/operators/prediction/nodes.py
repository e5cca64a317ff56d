"""Logical nodes of prediction."""

from __future__ import annotations

from dataclasses import dataclass

from presage.operators.prediction.kernel.query import PredictionTables
from presage.operators.prediction.kernel.spec import Comparator
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Named, Node


@dataclass(frozen=True)
class PredictedMatch(Node):
    """FROM PREDICTED …: when objects satisfy what is asked of their values. A source for each stream, and `prepared`
    columns of its rows; `text` says what is asked.

    Columns: of each item its key, other attributes that the query names, values at the beginning; then from when to
    when, and how likely.
    """

    sources: tuple[Node, ...]
    prepared: tuple[tuple[Named, ...], ...]
    tables: PredictionTables
    made: tuple[Field, ...]
    text: str = ""

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.made

    @property
    def depth(self) -> int:
        return 1

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(n.expr for part in self.prepared for n in part)

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset[str]().union(*(x.columns() for x in self.expressions()))

    def spread_by(self) -> tuple[str, ...]:
        """The columns by which objects can be dealt with apart from each other: none where they meet, or share a
        buffer."""
        (first, *others) = self.tables.streams
        return first.key if not self.tables.pairs and not others and first.limit is None else ()

    @property
    def meets(self) -> bool:
        """Whether its pairs can be sought part by part: two items, and something that keeps their objects close."""
        tables = self.tables
        near = (Comparator.LE, Comparator.LT, Comparator.EQ)
        bounded = all(stream.period is not None and stream.limit is None for stream in tables.streams)
        close = len(tables.pairs) == 1 and any(term.comparator in near for term in tables.pairs[0].spec.terms)
        return (
            close
            and bounded
            and len(tables.sides) == 2
            and not (tables.validate or tables.tentative or tables.boundary)
        )

    def label(self) -> str:
        return f"Predicted {self.text}"
