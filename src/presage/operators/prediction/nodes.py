"""The logical node of prediction."""

from __future__ import annotations

from dataclasses import dataclass

from presage.operators.prediction.kernel.query import PredictionTables
from presage.operators.prediction.kernel.spec import Comparator
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Named, Node


@dataclass(frozen=True)
class PredictedMatch(Node):
    """FROM PREDICTED: the times at which objects satisfy the terms. Each stream is a source with `prepared` columns;
    `text` is shown by EXPLAIN.

    Columns: for each item its key, other attributes that the query names, and values at the beginning; then the
    interval and the probability.
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
        """The columns by which rows may be partitioned: none for joins, or where objects share a buffer."""
        (first, *others) = self.tables.streams
        return first.key if not self.tables.pairs and not others and first.limit is None else ()

    @property
    def meets(self) -> bool:
        """Whether the join can run cell by cell: two items, and a term that bounds the distance of their objects."""
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
