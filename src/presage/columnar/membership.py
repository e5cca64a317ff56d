"""Membership of values in a list or a relation. NaN equals NaN, -0.0 equals 0.0."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.columnar.casts import cast
from presage.columnar.logic import any_of
from presage.columnar.order import compare
from presage.columnar.vectors import (
    DTYPES,
    Bools,
    Cells,
    Flat,
    Ints,
    Numbers,
    Vector,
    both_valid,
    from_arrow,
    is_flat,
    joint_length,
    one_array,
    to_array,
)
from presage.errors import error
from presage.model import types as t
from presage.model.arrow import scalar_of, to_arrow
from presage.model.types import DataType, DecimalOf
from presage.plan import expr as e

Codes = Callable[..., Ints]


def in_list(expr: e.InList) -> Callable[..., Vector]:
    """NULL if the value is NULL, or if it is not in the list and the list has a NULL."""
    data_type = expr.operand.type
    if data_type == t.NULL:
        return lambda operand, *items: Flat(np.zeros(1, np.bool_), np.zeros(1, np.bool_))
    equal = compare("=", data_type)
    constants = [i.value for i in expr.items if isinstance(i, e.Constant)]
    if len(constants) < len(expr.items) or not (is_flat(data_type) or _in_cells(data_type)):
        return lambda operand, *items: any_of(*[equal(operand, item) for item in items])
    codes = codes_of(_distinct(constants, data_type), data_type)
    has_null = None in constants

    def run(operand: Vector, *_: Vector) -> Vector:
        found = codes(operand) >= 0
        return Flat(found, both_valid(operand.valid, found) if has_null else operand.valid)

    return run


def _in_cells(data_type: DataType) -> bool:
    """Whether a vector of values without parts is Cells."""
    return data_type in (t.STRING, t.BYTES) or isinstance(data_type, DecimalOf)


def _distinct(constants: Sequence[object], data_type: DataType) -> Vector:
    given = [c for c in constants if c is not None]
    if _in_cells(data_type):
        return Cells(pa.array(given, to_arrow(data_type)).unique())
    return Flat(np.array(given, DTYPES[data_type]))


def codes_of(values: Vector, data_type: DataType) -> Codes:
    """A function from a vector to the place of each value among the distinct `values`; -1 for others and for NULL."""
    if isinstance(values, Cells):
        table = values.array.unique().drop_null()
        return lambda vector: _text_codes(vector, table)
    known = np.unique(values.values if values.valid is None else values.values[values.valid])
    if len(known) == 0:
        return lambda vector: np.full(len(vector), -1, np.int64)
    # np.unique leaves one NaN, at the end, where searchsorted finds it.
    return lambda vector: _number_codes(vector, known)


def _text_codes(vector: Cells, table: pa.Array) -> Ints:
    # A NULL is not in the table, which has none.
    places = pc.index_in(vector.array, value_set=table)
    found: Ints = places.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _number_codes(vector: Flat, known: Numbers) -> Ints:
    places = np.minimum(np.searchsorted(known, vector.values), len(known) - 1)
    hits = known[places] == vector.values
    if known.dtype.kind == "f" and known[-1] != known[-1]:
        hits |= vector.values != vector.values
    if vector.valid is not None:
        hits = hits & vector.valid
    return np.where(hits, places, -1)


# -- relations ------------------------------------------------------------------------------------------


def relation_terms_supported(expr: e.InRelation) -> bool:
    return all(is_flat(a.type) or a.type in (t.STRING, t.NULL) for a in expr.args)


def relation_of(expr: e.InRelation, relations: Mapping[str, pa.Table]) -> pa.Table:
    relation = relations.get(expr.relation)
    if relation is None:
        raise error("INTERNAL", expr.span, what=f"the rows of relation '{expr.relation}' were not given")
    return relation


def in_relation(expr: e.InRelation, relations: Mapping[str, pa.Table]) -> Callable[..., Vector]:
    """Never NULL: a null matches nothing, in the terms or in the relation."""
    relation = relation_of(expr, relations)
    if not isinstance(relation, pa.Table):
        return _looked_up(expr, relation)
    if not expr.args:
        return _always(relation.num_rows > 0)
    if any(arg.type == t.NULL for arg in expr.args):
        return _always(False)
    codes_of_terms, _ = _numbered(expr, relation)
    # Only combinations that the relation has are numbered.
    return lambda *args: Flat(codes_of_terms(*args) >= 0)


class RelationLookup(Protocol):
    """A relation without a list of rows, which can only be tested for values."""

    def holds(self, columns: Sequence[pa.Array]) -> Bools: ...


def _looked_up(expr: e.InRelation, relation: RelationLookup) -> Callable[..., Vector]:
    def run(*terms: Vector) -> Vector:
        rows = joint_length(*terms)
        return Flat(relation.holds([to_array(x, arg.type, rows) for x, arg in zip(terms, expr.args, strict=True)]))

    return run


def _numbered(expr: e.InRelation, relation: pa.Table) -> tuple[Callable[..., Ints], Ints]:
    """A function from terms to the number of their combination in the relation, -1 for none; and the numbers of the
    relation's rows."""
    steps: list[Codes] = []
    known: Ints | None = None
    tables: list[Ints] = []
    for attribute, arg in zip(expr.attributes, expr.args, strict=True):
        column, wanted = _shared_type(one_array(relation.column(attribute)), arg.type)
        codes = codes_of(column, wanted)
        steps.append(_cast_first(codes, arg.type, wanted))
        own = codes(column)
        if known is None:
            known = own
        else:
            # Numbers the pairs of the relation's rows: the first n columns become one.
            pairs = _pairs(known, own)
            tables.append(np.unique(pairs[pairs >= 0]))
            known = _placed(pairs, tables[-1])
    assert known is not None

    def run(*args: Vector) -> Ints:
        codes = steps[0](args[0])
        for step, table, arg in zip(steps[1:], tables, args[1:], strict=True):
            codes = _placed(_pairs(codes, step(arg)), table)
        return codes

    return run, known


def in_relation_where(
    expr: e.InRelation, relation: pa.Table, holds: Callable[[pa.Table], Bools]
) -> Callable[..., Vector]:
    """Whether a row of the relation equals the terms and satisfies the condition. `holds` tests all pairs at once."""
    assert expr.condition is not None
    arity, columns = len(expr.args), relation.select(list(expr.condition.columns)).combine_chunks()
    if any(arg.type == t.NULL for arg in expr.args):
        return _always(False)
    if not arity and relation.num_rows <= FEW_ROWS:
        return _against_each(expr, columns, holds)
    if arity:
        codes_of_terms, known = _numbered(expr, relation)
    else:
        codes_of_terms, known = (lambda: np.zeros(1, np.int64)), np.zeros(relation.num_rows, np.int64)
    order = np.argsort(known, kind="stable")
    ordered = known[order]

    def run(*children: Vector) -> Vector:
        rows = joint_length(*children)
        codes = np.broadcast_to(codes_of_terms(*children[:arity]), rows)
        first = np.searchsorted(ordered, codes, side="left")
        counts = np.where(codes >= 0, np.searchsorted(ordered, codes, side="right") - first, 0)
        left = np.repeat(np.arange(rows), counts)
        right = order[np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)]
        given = {
            f"{e.GIVEN}{i}": to_array(vector, value.type, rows).take(left)
            for i, (vector, value) in enumerate(zip(children[arity:], expr.values, strict=True))
        }
        matched = columns.take(right)
        pairs = pa.table({**given, **{name: matched.column(name) for name in matched.column_names}})
        found = np.zeros(rows, np.bool_)
        if len(left):
            found[left[holds(pairs)]] = True
        return Flat(found)

    return run


# Up to this size, a relation without terms is tested row by row against the whole batch.
FEW_ROWS = 8


def _against_each(expr: e.InRelation, columns: pa.Table, holds: Callable[[pa.Table], Bools]) -> Callable[..., Vector]:
    def run(*values: Vector) -> Vector:
        rows = joint_length(*values)
        given = {
            f"{e.GIVEN}{i}": to_array(vector, value.type, rows)
            for i, (vector, value) in enumerate(zip(values, expr.values, strict=True))
        }
        found = np.zeros(rows, np.bool_)
        for i in range(columns.num_rows):
            row = {name: pa.repeat(columns.column(name)[i], rows) for name in columns.column_names}
            found |= holds(pa.table({**given, **row}))
        return Flat(found)

    return run


def _always(answer: bool) -> Callable[..., Vector]:
    return lambda *args: Flat(np.full(1, answer))


def _shared_type(column: pa.Array, found: DataType) -> tuple[Vector, DataType]:
    """The relation's values in the type of the comparison: of two numeric types the wider."""
    own = scalar_of(column.type) or found
    wanted = t.common_type(found, own) or found
    convert = cast(own, wanted)
    assert convert is not None
    return convert(from_arrow(column, own)), wanted


def _cast_first(codes: Codes, found: DataType, wanted: DataType) -> Codes:
    if found == wanted:
        return codes
    convert = cast(found, wanted)
    assert convert is not None
    return lambda vector: codes(convert(vector))


def _pairs(a: Ints, b: Ints) -> Ints:
    # A relation has fewer than 2**31 rows, so a pair of places fits.
    return np.where((a >= 0) & (b >= 0), a * 2**31 + b, -1)


def _placed(codes: Ints, table: Ints) -> Ints:
    if len(table) == 0:
        return np.full(len(codes), -1, np.int64)
    places = np.minimum(np.searchsorted(table, codes), len(table) - 1)
    hits: Bools = table[places] == codes
    return np.where(hits, places, -1)
