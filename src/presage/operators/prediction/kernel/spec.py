"""The terms of a query as plain values: comparators, modes, errors, windows. Sent to workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class Comparator(IntEnum):
    LE = 0
    LT = 1
    GT = 2
    GE = 3
    NE = 4
    EQ = 5


LESS, GREATER = (Comparator.LE, Comparator.LT), (Comparator.GT, Comparator.GE)


class Mode(IntEnum):
    """PLAIN: the predicted value satisfies a term. MAY: some value within the threshold does. MUST: all of them do."""

    PLAIN = 0
    MAY = 1
    MUST = 2


class ErrorModel(IntEnum):
    UNIFORM = 0
    NORMAL = 1


@dataclass(frozen=True)
class ValueTerm:
    """`x ⊙ constant`, x being the attribute of that number."""

    attribute: int
    comparator: Comparator
    constant: float
    mode: Mode = Mode.PLAIN


@dataclass(frozen=True)
class JoinTerm:
    """`|x_left − y_right| ⊙ constant`: an attribute of each side."""

    left: int
    right: int
    comparator: Comparator
    constant: float
    mode: Mode = Mode.PLAIN


def chancy(term: ValueTerm | JoinTerm) -> bool:
    """Whether the chance of a term depends on values: over uncertain ones `=` has the chance 0, `<>` the chance 1."""
    return term.comparator in (*LESS, *GREATER)


def chained(terms: Sequence[JoinTerm]) -> bool:
    """Whether an attribute is compared with several others, so that more than two errors depend on each other."""
    pairs = {(term.left, term.right) for term in terms if chancy(term)}
    return any(len({pair[side] for pair in pairs}) < len(pairs) for side in (0, 1))


class Errors(NamedTuple):
    """The distribution of the real value around the predicted one, within ± threshold. `sigma`: the deviation of the
    normal distribution, as a part of the threshold."""

    model: int = ErrorModel.UNIFORM
    sigma: float = 0.5

    def for_loops(self) -> Errors:
        """With plain numbers: loops are compiled once."""
        return Errors(int(self.model), float(self.sigma))


UNIFORM = Errors()


@dataclass(frozen=True)
class AtLeast:
    """WITH PROBABILITY >= p; `strict`: > p."""

    probability: float
    strict: bool = False


@dataclass(frozen=True)
class ValueSpec:
    """A conjunction of value terms over one stream. `probability`: whether rows have one."""

    terms: tuple[ValueTerm, ...]
    errors: Errors = UNIFORM
    at_least: AtLeast | None = None
    probability: bool = False


@dataclass(frozen=True)
class JoinSpec:
    """A window join: `window` in microseconds; `left` and `right` are value terms of one side alone. `same`: both sides
    are one stream, and no object is paired with itself."""

    terms: tuple[JoinTerm, ...]
    window: int
    left: tuple[ValueTerm, ...] = ()
    right: tuple[ValueTerm, ...] = ()
    same: bool = False
    errors: Errors = UNIFORM
    at_least: AtLeast | None = None
    probability: bool = False

    @property
    def symmetric(self) -> bool:
        """Whether (a, b) matches exactly when (b, a) does."""
        turned = all(term.left == term.right for term in self.terms)
        return self.same and turned and self.left == self.right


def trimmed_at(at_least: AtLeast | None) -> tuple[float, bool]:
    """For the loops: the threshold p, and whether it must be exceeded. Below 0: no threshold; above 1: no match."""
    if at_least is None or (at_least.probability <= 0 and not at_least.strict) or at_least.probability < 0:
        return -1.0, False
    if at_least.strict and at_least.probability == 1:
        return 2.0, True
    return float(at_least.probability), at_least.strict
