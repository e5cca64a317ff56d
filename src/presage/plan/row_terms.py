"""Leaves of conditions over several rows: what `patterns` puts in place of a name once it knows which row is meant."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from presage.plan.expr import Expr


class OneRow(Expr):
    """Base of the leaves that hold an expression over one row, `value`, and say which row."""

    value: Expr

    @property
    def row(self) -> Hashable:
        raise NotImplementedError

    @property
    def exists(self) -> bool:
        """Whether there is always such a row."""
        raise NotImplementedError

    def over(self, term: Expr, value: Expr) -> Expr:
        """What stands for a term that is `value` over this leaf's row."""
        return replace(self, type=term.type, value=value, span=term.span)  # type: ignore[call-arg]


@dataclass(frozen=True)
class RowValue(Expr):
    """A column of the row at a place of the condition; null if there is no such row."""

    place: int
    column: str


@dataclass(frozen=True)
class HostValue(Expr):
    """The value that the host gives under a number: an aggregate, a label, the match number. A STRING is given as its
    rank among the texts of the step."""

    number: int
