"""The index of one column's constants, to find the rows of a batch that satisfy the comparisons of many conditions.

NULL satisfies nothing; NaN equals NaN and is greatest; -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.columnar.access import spread
from presage.columnar.membership import codes_of
from presage.columnar.order import compare_doubles, compare_with_numbers, order_ranks
from presage.columnar.predicate_atoms import Atoms
from presage.columnar.vectors import DTYPES, Bools, Cells, Flat, Ints, Numbers, Vector, both_valid
from presage.model import types as t

_OPS = (">", ">=", "<", "<=")
Pairs = tuple[Ints, Ints]


class ColumnIndex:
    """The constants of all conditions on one column, numbered; `count` is the number of conditions."""

    def __init__(self, atoms: Atoms, count: int) -> None:
        self.subject = atoms.subject
        self.count = count
        self._type = atoms.subject.type
        self.with_equal = _marks(atoms.equal, count)
        self.with_range = _marks(atoms.lower, count) | _marks(atoms.upper, count)
        self._index_equal(atoms)
        self._index_ranges(atoms)

    def _index_equal(self, atoms: Atoms) -> None:
        """`equal_owners` and `equal_codes`: condition and number of each allowed value, by condition."""
        values = [value for number in sorted(atoms.equal) for value in atoms.equal[number]]
        owners = [number for number in sorted(atoms.equal) for _ in atoms.equal[number]]
        self.codes = codes_of(self.constants(values), self._type)
        pairs = np.stack((np.array(owners, np.int64), self.codes(self.constants(values)))) if values else _NO_PAIRS
        # IN may name a value twice.
        self.equal_owners, self.equal_codes = np.unique(pairs, axis=1)
        self.code_count = int(self.equal_codes.max(initial=-1)) + 1
        # The value of a condition with one, and which conditions allow several.
        self.single = np.full(self.count, -1, np.int64)
        self.single[self.equal_owners] = self.equal_codes
        self.several = np.bincount(self.equal_owners, minlength=self.count) > 1
        self.allowed = np.sort(self.equal_owners * max(self.code_count, 1) + self.equal_codes)

    def _index_ranges(self, atoms: Atoms) -> None:
        """For each operator the conditions that use it and their places among all constants."""
        bounds = [(n, op, v) for side in (atoms.lower, atoms.upper) for n, (op, v) in sorted(side.items())]
        self.bounds = self.constants([v for _, _, v in bounds])
        self.users: dict[str, tuple[Ints, Ints]] = {}
        for op in _OPS:
            places = [i for i, (_, found, _) in enumerate(bounds) if found == op]
            if places:
                numbers = np.array([bounds[i][0] for i in places], np.int64)
                self.users[op] = (numbers, np.array(places, np.int64))
        self.place_of = {op: _scattered(numbers, places, self.count) for op, (numbers, places) in self.users.items()}

    def constants(self, values: list[object]) -> Vector:
        if self._type == t.STRING:
            return Cells(pa.array(values, pa.string()))
        return Flat(np.array(values, DTYPES[self._type]))

    def look(self, vector: Vector, rows: int) -> Seen:
        return Seen(self, vector, rows)


_NO_PAIRS = np.zeros((2, 0), np.int64)


def _scattered(numbers: Ints, places: Ints, count: int) -> Ints:
    found = np.full(count, -1, np.int64)
    found[numbers] = places
    return found


class Seen:
    """One batch of a column's values, seen through its index. Its views are computed on first use."""

    def __init__(self, index: ColumnIndex, vector: Vector, rows: int) -> None:
        self._index = index
        self._vector = vector
        self._rows = rows

    # -- equality -----------------------------------------------------------------------------------------

    @cached_property
    def _codes(self) -> Ints:
        """The number of each row's value among the constants; -1 for others."""
        return self._index.codes(self._vector)

    @cached_property
    def _by_code(self) -> tuple[Ints, Ints]:
        """Rows in the order of their codes, and where each code starts."""
        codes, count = self._codes, self._index.code_count
        # NumPy sorts small integers by radix.
        order = np.argsort(codes.astype(np.int16) if count < 2**15 else codes, kind="stable")
        sizes = np.bincount(codes + 1, minlength=count + 1)
        return order, np.cumsum(sizes)

    def equal_counts(self) -> Ints:
        """The number of rows with an allowed value, by condition."""
        index = self._index
        starts = self._by_code[1]
        sizes = np.diff(starts)[index.equal_codes]
        return np.bincount(index.equal_owners, sizes, minlength=index.count).astype(np.int64)

    def allow_several(self, numbers: Ints) -> bool:
        return bool(self._index.several[numbers].any())

    def equal_pairs(self, numbers: Ints) -> Pairs:
        index = self._index
        order, starts = self._by_code
        active = _marks(numbers, index.count)[index.equal_owners]
        owners, codes = index.equal_owners[active], index.equal_codes[active]
        which, places = spread(starts[codes], starts[codes + 1] - starts[codes])
        return owners[which], order[places]

    # -- ranges -------------------------------------------------------------------------------------------

    @cached_property
    def _keys(self) -> tuple[Numbers, Numbers]:
        """Sort keys of the rows and of the constants, which compare as their values do."""
        if isinstance(self._vector, Flat):
            bounds = self._index.bounds
            assert isinstance(bounds, Flat)
            return self._vector.values, bounds.values
        bounds = self._index.bounds
        assert isinstance(bounds, Cells)
        ranks = order_ranks(pa.concat_arrays([bounds.array, self._vector.array]))
        return ranks[len(bounds) :], ranks[: len(bounds)]

    @cached_property
    def _valid(self) -> Bools | None:
        return self._vector.valid

    @cached_property
    def _sorted(self) -> tuple[Ints, Numbers]:
        """Rows that are not NULL in the order of their values, and the values; NumPy sorts NaN to the end."""
        keys = self._keys[0]
        if self._valid is None:
            order = np.argsort(keys, kind="stable")
        else:
            given = np.flatnonzero(self._valid)
            order = given[np.argsort(keys[given], kind="stable")]
        return order, keys[order]

    @cached_property
    def _spans(self) -> tuple[Ints, Ints]:
        """For each condition, start and end of its rows among the sorted ones."""
        index, (_, values) = self._index, self._sorted
        low, high = np.zeros(index.count, np.int64), np.full(index.count, len(values), np.int64)
        for op, (numbers, places) in index.users.items():
            # Past equal ones for `>` and `<=`, before them for `>=` and `<`.
            at = np.searchsorted(values, self._keys[1][places], "right" if op in (">", "<=") else "left")
            (low if op in (">", ">=") else high)[numbers] = at
        return low, np.maximum(low, high)

    def range_counts(self) -> Ints:
        low, high = self._spans
        return high - low

    def range_pairs(self, numbers: Ints) -> Pairs:
        low, high = self._spans
        which, places = spread(low[numbers], high[numbers] - low[numbers])
        return numbers[which], self._sorted[0][places]

    # -- checking -----------------------------------------------------------------------------------------

    def check(self, numbers: Ints, owners: Ints, rows: Ints, source: Ints, place: int) -> Bools | None:
        """Which pairs of condition and row hold; None for all. The part that gave the candidates needs no check.

        `numbers` are the active conditions; `source` is, for every condition, the part that gave its candidates: of
        this column 2 * place (equality) or 2 * place + 1 (range).
        """
        index = self._index
        equal, ranges = index.with_equal & (source != 2 * place), index.with_range & (source != 2 * place + 1)
        by_equal = self._check_equal(equal, owners, rows) if equal[numbers].any() else None
        by_range = self._check_ranges(ranges, numbers, owners, rows) if ranges[numbers].any() else None
        return both_valid(by_equal, by_range)

    def _check_equal(self, active: Bools, owners: Ints, rows: Ints) -> Bools:
        index = self._index
        codes = self._codes[rows]
        holds: Bools = codes == index.single[owners]
        several = (active & index.several)[owners]
        if several.any():
            keys = owners[several] * max(index.code_count, 1) + codes[several]
            at = np.minimum(np.searchsorted(index.allowed, keys), len(index.allowed) - 1)
            holds[several] = (index.allowed[at] == keys) & (codes[several] >= 0)
        return holds | ~active[owners]

    def _check_ranges(self, active: Bools, numbers: Ints, owners: Ints, rows: Ints) -> Bools:
        index, (keys, bounds) = self._index, self._keys
        mine = keys[rows]
        compare = compare_doubles if (bounds != bounds).any() else compare_with_numbers
        holds: Bools | None = None if self._valid is None else self._valid[rows]
        for op, place_of in index.place_of.items():
            used = place_of >= 0
            if not used[numbers].any():
                continue
            one: Bools = compare(op, mine, bounds[place_of][owners])
            holds = both_valid(holds, one if used[numbers].all() else one | ~used[owners])
        assert holds is not None
        return holds if active[numbers].all() else holds | ~active[owners]


def _marks(numbers: Iterable[int], count: int) -> Bools:
    marks = np.zeros(count, np.bool_)
    marks[numbers if isinstance(numbers, np.ndarray) else list(numbers)] = True
    return marks
