"""Leaves of conditions over several rows: what `patterns` puts in place of a name once it knows which row is meant."""

from __future__ import annotations

from dataclasses import dataclass

from presage.plan.expr import Expr


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
