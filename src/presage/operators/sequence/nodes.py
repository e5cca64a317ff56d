"""Logical nodes of sequences."""

from __future__ import annotations

from dataclasses import dataclass

from presage.operators.sequence.classify import Verdict
from presage.operators.sequence.inference.model import Model
from presage.operators.sequence.kernel.query import dividing
from presage.operators.sequence.kernel.spec import SequenceTables
from presage.plan.expr import Expr
from presage.plan.nodes import Field, Named, Node


@dataclass(frozen=True)
class SequenceMatch(Node):
    """SEQUENCE […] over one source for each of its streams; `prepared` is parallel to the sources. `conditions` over
    variables of several goals (columns `a0`, `a1`, …) are referred to by number in the tables.

    Columns: the selected variables, the probability and, if it may be sampled, method and bounds.
    """

    sources: tuple[Node, ...]
    prepared: tuple[tuple[Named, ...], ...]
    conditions: tuple[Expr, ...]
    tables: SequenceTables
    verdict: Verdict
    made: tuple[Field, ...]
    text: str = ""
    filtered: bool = False  # rows that are no candidates are filtered out (see rule drop_idle_rows)

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.made

    @property
    def depth(self) -> int:
        return 1

    def expressions(self) -> tuple[Expr, ...]:
        # Without `conditions`, which do not read columns of the input.
        return tuple(n.expr for part in self.prepared for n in part)

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset[str]().union(*(x.columns() for x in self.expressions()))

    def kernel_terms(self) -> tuple[Expr, ...]:
        return self.conditions

    def spread_by(self) -> tuple[tuple[str, ...], ...]:
        """For each source the prepared columns by which rows can be partitioned: those of selected variables in the key
        of every goal. None for Markov chains, because the step before may have rows of other keys only; nor for
        inferred rows, whose order does not distinguish keys."""
        tables = self.tables
        query = tables.query
        inferred = any(isinstance(node, Infer) for source in self.sources for node in source.walk())
        names = [name for name in dividing(query, frozenset(tables.given)) if name in query.selected]
        if not names or query.markov or inferred or tables.method != "regular" or tables.by is not None:
            return ()
        first = [next(g.number for g in query.goals if g.source == s) for s in range(len(self.sources))]
        return tuple(tuple(dict(tables.goals[goal].variables)[name] for name in names) for goal in first)

    def label(self) -> str:
        return f"Sequence {self.text}, {self.verdict.kind}"


@dataclass(frozen=True)
class Infer(Node):
    """FROM INFERENCE: the rows of a probabilistic stream, inferred from readings with a model. `prepared` are the key
    and the observed attributes of a reading, under their own names; `shown` maps columns of the stream to those of the
    kernel; `times` hold the time of a row."""

    input: Node
    prepared: tuple[Named, ...]
    key: tuple[str, ...]
    observes: tuple[str, ...]
    model: Model
    method: str
    particles: int
    attribute: str
    fields: tuple[Field, ...]
    shown: tuple[tuple[str, str], ...]
    times: frozenset[str]
    markov: bool
    name: str  # of the model

    @property
    def columns(self) -> tuple[Field, ...]:
        return self.fields

    @property
    def depth(self) -> int:
        return 1

    def expressions(self) -> tuple[Expr, ...]:
        return tuple(n.expr for n in self.prepared)

    def needs(self, wanted: frozenset[str]) -> frozenset[str]:
        return frozenset[str]().union(*(x.columns() for x in self.expressions()))

    def label(self) -> str:
        often = f" {self.particles}" if self.method == "particles" else ""
        return f"Infer by model {self.name} ({self.method.upper()}{often}) [{', '.join(self.observes)}]"
