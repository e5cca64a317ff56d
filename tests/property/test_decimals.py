"""Arithmetic, rounding and casts of DECIMAL columns = Python's decimal with all digits, rounded once."""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from presage.arrays.decimals import from_limbs, limbs_of, to_array, wholes_of
from presage.columnar.evaluate import Evaluator
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.decimals import result_of
from presage.model.types import DataType, DecimalOf
from presage.plan import expr as e

EXACT = Context(prec=400, rounding=ROUND_HALF_UP)


@st.composite
def decimal_types(draw: st.DrawFn) -> DecimalOf:
    precision = draw(st.integers(1, 38))
    return DecimalOf(precision, draw(st.integers(0, precision)))


def numbers_of(kind: DecimalOf) -> st.SearchStrategy[Decimal | None]:
    most = 10**kind.precision - 1
    wholes = st.integers(-most, most) | st.integers(-min(most, 99), min(most, 99)) | st.sampled_from([0, most, -most])
    return st.none() | wholes.map(lambda n: Decimal(n).scaleb(-kind.scale, EXACT))


def fitted(value: Decimal | None, kind: DecimalOf, rounding: str = ROUND_HALF_UP) -> Decimal | None:
    if value is None:
        return None
    near = value.quantize(Decimal(1).scaleb(-kind.scale), rounding, EXACT)
    if not near:
        return near.copy_abs()
    return near if near.adjusted() < kind.whole else None


def exactly(op: str, a: Decimal, b: Decimal) -> Decimal | None:
    if op in "/%" and not b:
        return None
    return {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply, "/": EXACT.divide, "%": EXACT.remainder}[op](a, b)


def computed(expr: e.Expr, **columns: tuple[list[Any], DataType]) -> list[Any]:
    table = pa.table({name: pa.array(values, to_arrow(kind)) for name, (values, kind) in columns.items()})
    return Evaluator().column(expr, table).to_pylist()


@given(st.data(), decimal_types(), decimal_types(), st.sampled_from("+-*/%"))
def test_operators_round_the_exact_result_once(data: st.DataObject, a: DecimalOf, b: DecimalOf, op: str) -> None:
    pairs = data.draw(st.lists(st.tuples(numbers_of(a), numbers_of(b)), max_size=6))
    result = result_of(op, a, b)
    expr = e.Arithmetic(result, op, e.ColumnRef(a, "a"), e.ColumnRef(b, "b"))
    found = computed(expr, a=([x for x, _ in pairs], a), b=([y for _, y in pairs], b))
    wanted = [None if x is None or y is None else fitted(exactly(op, x, y), result) for x, y in pairs]
    assert list(map(repr, found)) == list(map(repr, wanted))


@given(st.data(), decimal_types(), decimal_types())
def test_casts_round_and_are_null_beyond_their_digits(data: st.DataObject, a: DecimalOf, b: DecimalOf) -> None:
    values = data.draw(st.lists(numbers_of(a), max_size=6))

    def cast(target: DataType) -> list[Any]:
        return computed(e.CastTo(target, e.ColumnRef(a, "a")), a=(values, a))

    assert list(map(repr, cast(b))) == [repr(fitted(value, b)) for value in values]
    assert cast(t.DOUBLE) == [None if value is None else float(value) for value in values]
    assert cast(t.STRING) == [None if value is None else f"{value:f}" for value in values]
    whole = [None if value is None else int(value.to_integral_value(ROUND_DOWN, EXACT)) for value in values]
    assert cast(t.LONG) == [None if n is None or not -(2**63) <= n < 2**63 else n for n in whole]
    texts = computed(e.CastTo(b, e.ColumnRef(t.STRING, "s")), s=(cast(t.STRING), t.STRING))
    assert list(map(repr, texts)) == list(map(repr, cast(b)))


@given(st.data(), decimal_types())
def test_limbs_add_up_to_the_values_and_slices_are_read_from_where_they_start(
    data: st.DataObject, kind: DecimalOf
) -> None:
    values = data.draw(st.lists(numbers_of(kind), min_size=1, max_size=8))
    start = data.draw(st.integers(0, len(values) - 1))
    array = pa.array(values, to_arrow(kind)).slice(start)
    wholes = [0 if value is None else int(value.scaleb(kind.scale, EXACT)) for value in values[start:]]
    assert [int(whole) for whole in wholes_of(array)] == wholes
    sums = [np.array([limb.sum()]) for limb in limbs_of(array)]
    assert int(from_limbs(sums)[0]) == sum(wholes)
    valid = np.array([value is not None for value in values[start:]])
    assert to_array(wholes_of(array), valid, array.type).to_pylist() == values[start:]
