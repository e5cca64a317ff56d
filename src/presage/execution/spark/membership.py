"""Membership in a relation as a Catalyst condition. Never NULL: a null matches nothing."""

from __future__ import annotations

from functools import reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from presage.errors import error
from presage.execution.spark.arithmetic import plain_zero
from presage.execution.spark.typed_columns import cast_column, literal
from presage.model import types as t
from presage.model.types import DataType

# Rows become constants of the plan, in a hash set on every executor. With more rows a join is faster.
MANY_ROWS = 50
# The limit where no join is possible.
MAX_ROWS = 20_000

Term = tuple[str, Column, DataType]


def member_of(name: str, table: pa.Table, terms: list[Term]) -> Column:
    """`terms`: the compared attributes, each with its column and type; other attributes may have any value."""
    if not terms:
        return F.lit(table.num_rows > 0)
    lists = [_values(table.column(attribute)) for attribute, _, _ in terms]
    rows = sorted({row for row in zip(*lists, strict=True) if None not in row}, key=repr)
    if not rows:
        return F.lit(False)
    if len(rows) > MAX_ROWS:
        what, fix = f"the relation '{name}' in a condition", f"put '{name}' into FROM and join it"
        raise error("LIMIT", what=what, limit_name="rows of a relation in a condition", limit=MAX_ROWS, fix=fix)
    columns, common = [], []
    for attribute, column, found in terms:
        wanted = t.common_type(found, _type(table.schema.field(attribute).type, found)) or found
        common.append(wanted)
        columns.append(plain_zero(cast_column(column, found, wanted), wanted))
    if len(columns) == 1:
        items = [plain_zero(literal(value, common[0]), common[0]) for (value,) in rows]
        return F.coalesce(columns[0].isin(*items), F.lit(False))
    # Structs with nulls compare as equal, so nulls are excluded first.
    given = reduce(and_, [column.isNotNull() for column in columns])
    items = [_struct([plain_zero(literal(v, c), c) for v, c in zip(row, common, strict=True)]) for row in rows]
    return given & _struct(columns).isin(*items)


def is_large(table: pa.Table) -> bool:
    return bool(table.num_rows > MANY_ROWS)


def numbered_columns(table: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Columns `r0`, `r1`, …, which no column of the plan is named; in one chunk, for Spark."""
    chosen = {f"r{i}": table.column(name) for i, name in enumerate(names)}
    return pa.table(chosen).combine_chunks() if chosen else pa.table({"r": pa.array([0] * table.num_rows)})


def equal_terms(row: Column, table: pa.Table, attribute: str, term: Column, found: DataType) -> Column:
    """Equality of a relation's column and a term, in the type that both widen to."""
    own = _type(table.schema.field(attribute).type, found)
    wanted = t.common_type(found, own) or found
    return plain_zero(cast_column(row, own, wanted), wanted) == plain_zero(cast_column(term, found, wanted), wanted)


def _values(column: pa.ChunkedArray) -> list[object]:
    """Hashable values; times as microseconds."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", tz=column.type.tz)).cast(pa.int64())
    values: list[object] = column.to_pylist()
    return values


def _type(found: pa.DataType, otherwise: DataType) -> DataType:
    """The language's type of a number, which may be wider than the term's; other types are equal since binding."""
    numbers = {pa.int32(): t.INT, pa.int64(): t.LONG, pa.float64(): t.DOUBLE}
    return numbers.get(found, otherwise)


def _struct(columns: list[Column]) -> Column:
    return F.struct(*[column.alias(f"c{i}") for i, column in enumerate(columns)])
