"""Joins of a safe plan: tables of bindings, and an index of the rows that agree with them."""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass

import numpy as np

from presage.arrays.jit import Bools, Ints
from presage.operators.sequence.kernel.safe.codes import first_rows, known_values, pairs_of, rows_by_values, single_rows

FEW = 1 << 16  # up to so many combinations are numbered with gaps


class Index:
    """Rows by the values of some columns. A negative value is no value: it agrees with nothing."""

    def __init__(self, columns: Several[Ints], rows: int) -> None:
        # Few combinations are numbered with gaps, which needs no search.
        self.order, self.starts, self.sizes = rows_by_values(stacked(columns, rows), max(FEW, 4 * rows))
        self.few = len(self.starts) > 0
        if not self.few:
            self._number(columns, rows)

    def _number(self, columns: Several[Ints], rows: int) -> None:
        """Number combinations column by column, so that the product of many domains need not fit into 64 bits; `known`
        are those that occur."""
        self.levels: list[tuple[int, Ints | None]] = []
        kept = np.arange(rows)
        if any(column.min(initial=0) < 0 for column in columns):
            kept = np.flatnonzero(np.logical_and.reduce([column >= 0 for column in columns]))
            columns = [column[kept] for column in columns]
        codes, count = np.zeros(len(kept), np.int64), 1
        for column in columns:
            size = int(column.max(initial=-1)) + 1
            codes, count, known = codes * size + column, count * size, None
            if count > max(FEW, 4 * rows):
                known, codes = np.unique(codes, return_inverse=True)
                count = len(known)
            self.levels.append((size, known))
        order, starts, _ = rows_by_values(codes.reshape(1, len(kept)), count)
        self.order = order if len(kept) == rows else kept[order]
        missing = count + 1 - len(starts)
        self.starts = np.append(starts, np.full(missing, len(kept))) if missing else starts

    def find(self, columns: Several[Ints], count: int) -> Ints:
        """The number of each combination, -1 where no row has it."""
        if self.few:
            return known_values(stacked(columns, count), self.sizes, self.starts)
        if not len(self.order):
            return np.full(count, -1, np.int64)
        codes, there = np.zeros(count, np.int64), np.ones(count, np.bool_)
        for column, (size, known) in zip(columns, self.levels, strict=True):
            there &= (column >= 0) & (column < size)
            codes = np.where(there, codes * size + column, 0)
            if known is not None:
                place = np.minimum(np.searchsorted(known, codes), len(known) - 1)
                there &= known[place] == codes
                codes = place
        codes = np.where(there, codes, 0)
        found: Ints = np.where(there & (self.starts[codes] < self.starts[codes + 1]), codes, -1)
        return found

    def has(self, columns: Several[Ints], count: int) -> Bools:
        return self.find(columns, count) >= 0

    def pairs(self, columns: Several[Ints], count: int) -> tuple[Ints, Ints]:
        """Each combination with each of its rows, both ascending."""
        return pairs_of(self.find(columns, count), self.starts, self.order)

    def single(self, columns: Several[Ints], count: int, meaning: Ints) -> Ints | None:
        """The meaning of the only row of each combination, -1 without rows; None if one has several."""
        if self.few:
            lines, sizes = stacked(columns, count), self.sizes
        else:
            lines, sizes = self.find(columns, count).reshape(1, count), np.array([len(self.starts) - 1])
        found, single = single_rows(lines, sizes, self.starts, self.order, meaning)
        return found if single else None

    def groups(self) -> tuple[Ints, Ints]:
        """One row of each combination that occurs, and their numbers."""
        numbers = (self.starts[1:] > self.starts[:-1]).nonzero()[0]
        return self.order[self.starts[numbers]], numbers


def stacked(columns: Several[Ints], rows: int) -> Ints:
    """Columns as lines of one array; a single one is not copied."""
    if len(columns) == 1:
        return columns[0].reshape(1, rows)
    return np.array(columns) if columns else np.zeros((0, rows), np.int64)


@dataclass
class Bindings:
    """Values of variables: distinct combinations, one per line."""

    names: tuple[str, ...]
    values: Ints

    def __len__(self) -> int:
        return len(self.values)

    def column(self, name: str) -> Ints:
        return self.values[:, self.names.index(name)]

    def columns(self, names: Several[str]) -> list[Ints]:
        return [self.column(name) for name in names]

    def lines(self, kept: Ints | slice) -> Bindings:
        return Bindings(self.names, self.values[kept])

    def only(self, names: Several[str]) -> tuple[Bindings, Ints]:
        """The distinct combinations of some of the variables, and the number of each line's among them."""
        if not names:
            return NO_VARIABLE.lines(slice(min(len(self), 1))), np.zeros(len(self), np.int64)
        columns = self.columns(names)
        if len(names) == len(self.names):
            return table(names, columns, len(self)), np.arange(len(self))
        index = Index(columns, len(self))
        rows, numbers = index.groups()
        return table(names, columns, len(self)).lines(rows), np.searchsorted(numbers, index.find(columns, len(self)))


NO_VARIABLE = Bindings((), np.zeros((1, 0), np.int64))


def table(names: Several[str], columns: Several[Ints], rows: int) -> Bindings:
    return Bindings(tuple(names), np.array(columns).T if columns else np.zeros((rows, 0), np.int64))


def distinct(names: Several[str], columns: Several[Ints], rows: int) -> Bindings:
    """Distinct lines with a value for each variable."""
    lines = stacked(columns, rows)
    kept, few = first_rows(lines, max(FEW, 4 * rows))
    return Bindings(tuple(names), lines[:, kept if few else Index(columns, rows).groups()[0]].T)


def join(left: Bindings, right: Bindings) -> tuple[Bindings, Ints]:
    """Lines that agree on the common variables, and the left line of each. Lines on the right are distinct and have at
    least one variable."""
    if not left.names and len(left) == 1:
        return right, np.zeros(len(right), np.int64)
    if left.names == right.names and len(left) == len(right) and (left.values == right.values).all():
        return left, np.arange(len(left))
    both = [name for name in right.names if name in left.names]
    new = [name for name in right.names if name not in left.names]
    own, other = Index(right.columns(both), len(right)).pairs(left.columns(both), len(left))
    columns = [*left.values[own].T, *(right.column(name)[other] for name in new)]
    return table((*left.names, *new), columns, len(own)), own
