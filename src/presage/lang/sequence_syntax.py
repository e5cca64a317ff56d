"""Syntax nodes of probability: SEQUENCE [ … ], probabilistic streams, models and inference."""

from __future__ import annotations

from dataclasses import dataclass, field

from presage.lang.syntax import Expr, LiteralValue, Node, Statement, same_value
from presage.model.text import NOWHERE, Span


@dataclass(frozen=True)
class SubgoalTerm(Node):
    """Base of the terms of a subgoal."""


@dataclass(frozen=True)
class Variable(SubgoalTerm):
    """`p`: the same value wherever it occurs."""

    name: str


@dataclass(frozen=True)
class ConstantTerm(SubgoalTerm):
    """A string, a number or a truth value, or a literal that names its type. A time may be written as a string."""

    value: LiteralValue

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantTerm) and same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True)
class Anything(SubgoalTerm):
    """`_`."""


@dataclass(frozen=True)
class KleenePlus(Node):
    """`+{V | cond}` after a subgoal; V is empty and the condition None by default."""

    shared: tuple[str, ...] = ()
    condition: Expr | None = None
    # The spans of the names in `shared`.
    places: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True)
class Subgoal(Node):
    """`Stream(term, …) WHERE cond`, or `(Stream(term, …) WHERE cond)+{V | cond}`."""

    stream: str
    terms: tuple[SubgoalTerm, ...] = ()
    condition: Expr | None = None
    plus: KleenePlus | None = None
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class SequenceItem(Node):
    """`SEQUENCE [ g1 ; g2 ; … ] BY MLE`; `by` in lower case (mle, map), None where all possible worlds count."""

    parts: tuple[Subgoal, ...]
    by: str | None = None


@dataclass(frozen=True)
class Probabilistic(Node):
    """`PROBABILISTIC [MARKOV] (attribute, …)` of a stream."""

    attributes: tuple[str, ...]
    markov: bool = False


@dataclass(frozen=True)
class Inference(Node):
    """`FROM INFERENCE OVER stream USING MODEL model method`; method in lower case: filter, smooth, viterbi, particles.

    `particles` is their number, None for the other methods.
    """

    over: str
    model: str
    method: str
    particles: int | None = None


@dataclass(frozen=True)
class CreateModel(Statement):
    """`CREATE MODEL name FROM 'file'`."""

    name: str
    path: str
    if_not_exists: bool = False
