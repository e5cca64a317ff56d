"""State tables of statements that share execution: split by statement, and joined again.

Such statements have one state. Each row of it has the number of its statement, the owner.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.columns import ints
from presage.arrays.jit import Ints

Tables = dict[str, pa.Table]


def filled(value: int, table: pa.Table) -> pa.Array:
    """A column of one value, as long as the table."""
    return pa.array(np.full(table.num_rows, value, np.int64))


def part_of_tables(tables: Mapping[str, pa.Table], owner: str, numbers: Collection[int]) -> Tables:
    """The rows of some owners; tables without such rows are left out."""
    wanted = np.fromiter(numbers, np.int64, len(numbers))
    parts = {name: table.filter(pa.array(np.isin(ints(table, owner), wanted))) for name, table in tables.items()}
    return {name: part for name, part in parts.items() if part.num_rows}


def joined_tables(several: Sequence[Mapping[str, pa.Table]]) -> Tables:
    """Tables of the same name concatenated."""
    names = list(dict.fromkeys(name for tables in several for name in tables))
    return {name: stacked([tables[name] for tables in several if name in tables]) for name in names}


def stacked(tables: Sequence[pa.Table]) -> pa.Table:
    names = tables[0].column_names
    return pa.concat_tables([table.select(names).cast(tables[0].schema) for table in tables])


def counted_by_owner(owners: Ints, count: Ints) -> dict[int, int]:
    """The sum of `count` for each owner."""
    numbers, places = np.unique(owners, return_inverse=True)
    sums = np.bincount(places.reshape(-1), count, len(numbers)).astype(np.int64)
    return dict(zip(numbers.tolist(), sums.tolist(), strict=True))
