"""The predicate index: finds the rows of a table that satisfy each of many conditions, for all of them at once.

Parts `column = constant`, `column < constant`, `column IN (constants)` go into an index of their column, which reads
the column once for all conditions. The most selective part of a condition gives its candidates; the other parts are
checked on them, for all conditions in one pass over pairs of condition and row. Parts of another form are computed
condition by condition, on the candidates alone. Cost: one pass over the columns, and the number of candidate pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from presage.columnar.column_index import ColumnIndex, Pairs, Seen
from presage.columnar.evaluate import Evaluator
from presage.columnar.predicate_atoms import split_conditions
from presage.columnar.vectors import Bools, Ints
from presage.plan.expr import Expr

# A part that more than 1/DENSE of the rows satisfy is not selective: its condition is computed on all rows.
DENSE = 8
# In smaller tables, every part counts as selective.
FEW_ROWS = 1024
# Up to this number, conditions are computed one by one.
FEW_CONDITIONS = 4
# Pairs of condition and row in memory at once.
MAX_PAIRS = 2_000_000
_ABSENT = 2**62
_NOTHING = np.zeros(0, np.int64)
Matched = tuple[Ints, Ints]  # the number of matching rows of each condition, and the rows, by condition


class Matches:
    """The matching rows of each condition, ascending. `parts`: pairs of condition and row, sorted by condition."""

    def __init__(self, count: int, parts: Sequence[Pairs]) -> None:
        owners, rows = parts[0] if parts else (_NOTHING, _NOTHING)
        if len(parts) > 1:
            owners, rows = (np.concatenate(column) for column in zip(*parts, strict=True))
            order = np.argsort(owners, kind="stable")
            owners, rows = owners[order], rows[order]
        self._rows = rows
        self._bounds = np.searchsorted(owners, np.arange(count + 1))

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> Ints:
        return self._rows[self._bounds[number] : self._bounds[number + 1]]

    def between(self, first: int, end: int) -> Matched:
        """Of the conditions from `first` to before `end`."""
        bounds = self._bounds[first : end + 1]
        return np.diff(bounds), self._rows[bounds[0] : bounds[-1]]


class PredicateIndex:
    """`matches` finds, for each condition, the rows for which it is true. A condition of None is always true."""

    def __init__(
        self, conditions: Sequence[Expr | None], evaluator: Evaluator | Mapping[str, pa.Table] | None = None
    ) -> None:
        self._evaluator = evaluator if isinstance(evaluator, Evaluator) else Evaluator(evaluator)
        self._conditions = list(conditions)
        split = split_conditions(self._conditions)
        self._count = len(self._conditions)
        self._columns = [ColumnIndex(atoms, self._count) for atoms in split.subjects]
        self._rest = split.rest
        self._never = split.never
        self._with_rest = np.array([rest is not None for rest in self._rest], np.bool_)

    def matches(self, table: pa.Table) -> Matches:
        rows = table.num_rows
        if rows == 0 or self._count == 0:
            return Matches(self._count, [])
        if self._count <= FEW_CONDITIONS:
            return Matches(self._count, self._on_all_rows(np.arange(self._count), table))
        seen = [column.look(self._evaluator.vector(column.subject, table), rows) for column in self._columns]
        counts, source = self._sources(seen, rows)
        if self._never:
            counts[list(self._never)] = 0
        dense = counts > (rows if rows <= FEW_ROWS else rows // DENSE)
        portions = _portions(np.flatnonzero(~dense & (counts > 0)), counts)
        pairs = [self._by_pairs(numbers, source, seen, table) for numbers in portions]
        return Matches(self._count, pairs + self._on_all_rows(np.flatnonzero(dense), table))

    # -- where candidates come from -----------------------------------------------------------------------

    def _sources(self, seen: list[Seen], rows: int) -> tuple[Ints, Ints]:
        """For each condition, the number of candidates of its most selective part, and that part (-1: none)."""
        counts, source = np.full(self._count, _ABSENT, np.int64), np.full(self._count, -1, np.int64)
        for j, (column, one) in enumerate(zip(self._columns, seen, strict=True)):
            if column.with_equal.any():
                _improve(counts, source, one.equal_counts(), column.with_equal, 2 * j)
        # Ranges need a sorted column: only used where no equality is selective.
        open_ = counts > rows // DENSE
        for j, (column, one) in enumerate(zip(self._columns, seen, strict=True)):
            if (column.with_range & open_).any():
                _improve(counts, source, one.range_counts(), column.with_range, 2 * j + 1)
        return counts, source

    def _by_pairs(self, numbers: Ints, source: Ints, seen: list[Seen], table: pa.Table) -> Pairs:
        """Matching pairs, sorted by condition, then by row."""
        rows = table.num_rows
        parts: list[Pairs] = []
        in_order = True
        for kind in np.unique(source[numbers]):
            one, mine = seen[kind // 2], numbers[source[numbers] == kind]
            parts.append(one.range_pairs(mine) if kind % 2 else one.equal_pairs(mine))
            # Pairs of single-value equalities are sorted already.
            in_order = not kind % 2 and not one.allow_several(mine)
        owners, found = parts[0] if len(parts) == 1 else [np.concatenate(column) for column in zip(*parts, strict=True)]
        if len(parts) > 1 or not in_order:
            keys = owners * rows + found
            keys.sort()
            owners, found = np.divmod(keys, rows)
        for j, one in enumerate(seen):
            keep = one.check(numbers, owners, found, source, j)
            if keep is not None:
                owners, found = owners[keep], found[keep]
        with_rest = numbers[self._with_rest[numbers]]
        return self._with_the_rest(with_rest, owners, found, table) if len(with_rest) else (owners, found)

    # -- what has no index --------------------------------------------------------------------------------

    def _with_the_rest(self, numbers: Ints, owners: Ints, found: Ints, table: pa.Table) -> Pairs:
        """Candidates that also satisfy the remaining parts of their conditions. Parts that only Spark computes share
        one call."""
        bounds = np.searchsorted(owners, np.stack((numbers, numbers + 1)))
        remaining = [
            (rest, slice(a, b))
            for n, a, b in zip(numbers, *bounds, strict=True)
            if b > a and (rest := self._rest[n]) is not None
        ]
        keep = np.ones(len(owners), np.bool_)
        fallback = []
        for rest, own in remaining:
            if self._evaluator.computes(rest):
                keep[own] = self._evaluator.mask(rest, _taken(table, rest, found[own]))
            else:
                fallback.append((rest, own))
        if fallback:
            union = np.unique(np.concatenate([found[own] for _, own in fallback]))
            masks = self._evaluator.masks([rest for rest, _ in fallback], table.take(pa.array(union)))
            for (_, own), mask in zip(fallback, masks, strict=True):
                keep[own] = mask[np.searchsorted(union, found[own])]
        return owners[keep], found[keep]

    def _on_all_rows(self, numbers: Ints, table: pa.Table) -> list[Pairs]:
        given = [(int(n), c) for n in numbers if (c := self._conditions[n]) is not None]
        masks = self._evaluator.masks([c for _, c in given], table)
        found = [(n, np.flatnonzero(mask)) for (n, _), mask in zip(given, masks, strict=True)]
        every = np.arange(table.num_rows)
        found += [(int(n), every) for n in numbers if self._conditions[n] is None]
        return [(np.full(len(rows), n), rows) for n, rows in found]


def _improve(counts: Ints, source: Ints, offered: Ints, given: Bools, kind: int) -> None:
    better = given & (offered < counts)
    counts[better] = offered[better]
    source[better] = kind


def _portions(numbers: Ints, counts: Ints) -> list[Ints]:
    """Conditions in order, split by the number of their candidates."""
    if not len(numbers):
        return []
    portion = np.cumsum(counts[numbers]) // MAX_PAIRS
    return np.split(numbers, np.flatnonzero(np.diff(portion)) + 1)


def _taken(table: pa.Table, expr: Expr, rows: Ints) -> pa.Table:
    """The given rows of the columns that the expression reads."""
    names = sorted(expr.columns())
    if not names:
        return pa.table({"": pa.nulls(len(rows))})
    return table.select(names).take(pa.array(rows))
