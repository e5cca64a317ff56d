"""Laws of every supported function over edge values; tests/spark compares the values themselves with Spark's."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from presage.columnar.evaluate import Evaluator, supports
from presage.functions.columnar import BUILDERS
from presage.functions.scalars import BY_NAME
from presage.model.arrow import to_arrow
from presage.model.types import MapOf
from presage.plan import expr as e
from reference.function_calls import VALUES, SampleCall, all_calls, table_of_edge_values

CALLS = [c for c in all_calls() if supports(c.call)]
EDGE = table_of_edge_values()


def values(array: pa.Array) -> list[str]:
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.int64())
    return [repr(v) for v in array.to_pylist()]


def test_every_kernel_is_of_a_function_of_the_table() -> None:
    names = {entry.names[0] for entry in BY_NAME.values()}
    assert set(BUILDERS) - names == set()
    # The others are there for some constants only, which these calls do not have.
    assert set(BUILDERS) - {c.call.name for c in CALLS} == {"concat_ws", "power"}


@pytest.mark.parametrize(("start", "count"), [(0, 0), (3, 1), (5, 17)])
def test_a_slice_of_the_rows_gives_a_slice_of_the_values(start: int, count: int) -> None:
    exprs = [c.call for c in CALLS]
    evaluator = Evaluator()
    whole, part = evaluator.columns(exprs, EDGE), evaluator.columns(exprs, EDGE.slice(start, count))
    for sample, x, y in zip(CALLS, whole, part, strict=True):
        assert y.type == to_arrow(sample.call.type), sample.title
        assert values(x)[start : start + count] == values(y), sample.title


@pytest.mark.parametrize("sample", CALLS, ids=lambda c: c.title)
def test_a_constant_argument_gives_what_a_column_of_it_gives(sample: SampleCall) -> None:
    """Constants take ways of their own through the kernels; here they meet every value of the other arguments."""
    call = sample.call
    places = [i for i, arg in enumerate(call.args) if isinstance(arg, e.ColumnRef)]
    for fixed in {frozenset(c) for n in (1, len(places)) for c in itertools.combinations(places, n) if c}:
        for pick in (1, 3, 0):
            args = list(call.args)
            columns = {name: EDGE.column(name) for name in EDGE.column_names}
            for i in fixed:
                arg = call.args[i]
                assert isinstance(arg, e.ColumnRef)
                value = VALUES[arg.type][(pick + i) % len(VALUES[arg.type])]
                columns[f"fixed {i}"] = pa.array([value] * EDGE.num_rows, to_arrow(arg.type))
                args[i] = e.Constant(
                    arg.type, dict(value) if value is not None and isinstance(arg.type, MapOf) else value
                )
            constant = e.FunctionCall(call.type, call.name, tuple(args))
            by_column = [e.ColumnRef(a.type, f"fixed {i}") if i in fixed else a for i, a in enumerate(args)]
            varying = e.FunctionCall(call.type, call.name, tuple(by_column))
            if not supports(constant):
                continue
            a, b = Evaluator().columns([constant, varying], pa.table(columns))
            assert values(a) == values(b), (constant, values(a), values(b))
