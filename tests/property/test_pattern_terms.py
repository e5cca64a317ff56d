"""Random conditions over several rows: both machines give what the columnar evaluator gives over the gathered rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.arrays.programs.code import FLOAT, TEXT
from presage.arrays.programs.encoding import Encoded, encode
from presage.arrays.programs.vectors import evaluate_all
from presage.columnar.evaluate import Evaluator
from presage.columnar.programs import CodeBuilder, bank_of
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import DataType
from presage.plan import expr as e
from presage.plan.row_terms import HostValue, RowValue
from reference.programs import run_each
from reference.random_expressions import COLUMNS, SCALARS, TIMES, VALUES, nullable, shown

PLACES, ROWS = 3, 4
NAMES = {name: data_type for name, data_type in COLUMNS.items() if data_type in SCALARS}
HOSTED = (t.LONG, t.DOUBLE, t.BOOLEAN, t.TIMESTAMP)
MORE: dict[DataType, st.SearchStrategy[Any]] = {
    **VALUES,
    t.INT: st.one_of(VALUES[t.INT], st.integers(-9, 9), st.integers(-(2**31), 2**31 - 1)),
    t.LONG: st.one_of(
        VALUES[t.LONG],
        st.integers(-9, 9),
        st.integers(-(2**63), 2**63 - 1),
        st.sampled_from([3037000499, 3037000500, -3037000500, -(2**31) - 1]),
    ),
    t.STRING: st.one_of(VALUES[t.STRING], st.text("aé\uffff\U0001f600\x00", max_size=3)),
    t.TIMESTAMP: st.sampled_from([*TIMES, 2**62, -(2**62) - 5]),
}
NUMBER_CASTS = {
    t.INT: (t.LONG, t.BOOLEAN),
    t.LONG: (t.INT, t.BOOLEAN),
    t.DOUBLE: (t.INT, t.LONG, t.BOOLEAN),
    t.BOOLEAN: (t.INT, t.LONG, t.DOUBLE),
}
OWN: dict[DataType, list[str]] = {
    t.INT: ["+", "-", "*", "%", "negate", "abs", "cast"],
    t.LONG: ["+", "-", "*", "%", "negate", "abs", "cast"],
    t.DOUBLE: ["+", "-", "*", "/", "%", "negate", "abs", "cast", "seconds"],
    t.STRING: [],
    t.TIMESTAMP: ["later"],
    t.BOOLEAN: ["compare"] * 4 + ["and", "or", "not", "in", "is null", "cast", "between"],
}


@st.composite
def terms(draw: st.DrawFn, data_type: DataType, depth: int) -> e.Expr:
    def sub(wanted: DataType) -> e.Expr:
        return draw(terms(wanted, depth - 1))

    if depth == 0 or draw(st.integers(0, 9)) == 0:
        names = [name for name, c in NAMES.items() if c == data_type]
        leaves: list[st.SearchStrategy[e.Expr]] = [
            st.builds(RowValue, st.just(data_type), st.integers(0, PLACES - 1), st.sampled_from(names)),
            st.one_of(st.none(), MORE[data_type]).map(lambda v: e.Constant(data_type, v)),
        ]
        if data_type in HOSTED:
            leaves.append(st.just(HostValue(data_type, HOSTED.index(data_type))))
        return draw(st.one_of(leaves[0], *leaves))
    kind = draw(st.sampled_from(["case", "coalesce", "if", "nullif", *OWN[data_type]]))
    match kind:
        case "case":
            branches = [(sub(t.BOOLEAN), sub(data_type)) for _ in range(draw(st.integers(1, 2)))]
            return e.CaseWhen(data_type, tuple(part for branch in branches for part in branch), sub(data_type))
        case "if":
            return e.FunctionCall(data_type, "if", (sub(t.BOOLEAN), sub(data_type), sub(data_type)))
        case "coalesce" | "nullif":
            return e.FunctionCall(data_type, kind, (sub(data_type), sub(data_type)))
        case "abs":
            return e.FunctionCall(data_type, kind, (sub(data_type),))
        case "negate":
            return e.Negate(data_type, sub(data_type))
        case "cast":
            return e.CastTo(data_type, sub(draw(st.sampled_from(NUMBER_CASTS[data_type]))))
        case "later":
            span = e.Duration(t.LONG, draw(st.sampled_from([90_000_000, 2**62])))
            return e.Arithmetic(data_type, draw(st.sampled_from("+-")), sub(data_type), span)
        case "seconds":
            return e.Arithmetic(data_type, "-", sub(t.TIMESTAMP), sub(t.TIMESTAMP))
        case "compare" | "between" | "in" | "is null":
            return _question(draw, kind, draw(st.sampled_from(SCALARS)), depth)
        case "and" | "or":
            junction = e.And if kind == "and" else e.Or
            return junction(t.BOOLEAN, tuple(sub(t.BOOLEAN) for _ in range(draw(st.integers(2, 3)))))
        case "not":
            return e.Not(t.BOOLEAN, sub(t.BOOLEAN))
    return e.Arithmetic(data_type, kind, sub(data_type), sub(data_type))


def _question(draw: st.DrawFn, kind: str, source: DataType, depth: int) -> e.Expr:
    operand, *others = (draw(terms(source, depth - 1)) for _ in range(3))
    if kind == "in":
        return e.InList(t.BOOLEAN, operand, tuple(others))
    if kind == "is null":
        return e.IsNull(t.BOOLEAN, operand)
    if kind == "between":
        sides = [e.Comparison(t.BOOLEAN, op, operand, other) for op, other in zip((">=", "<="), others, strict=True)]
        return e.And(t.BOOLEAN, tuple(sides))
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    return e.Comparison(t.BOOLEAN, op, operand, others[0])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[pa.Table, list[Any], list[pa.Array]]:
    """Events, row numbers by place, and the values of the host."""
    size, length = draw(st.integers(0, ROWS)), draw(st.integers(1, 5))
    columns = {}
    for name, data_type in NAMES.items():
        values = st.one_of(st.none(), MORE[data_type])
        array = pa.array(draw(st.lists(values, min_size=size, max_size=size)), to_arrow(data_type))
        cut = draw(st.integers(0, size))
        chunked = pa.chunked_array([array[:cut], array[cut:]])
        columns[name] = chunked.dictionary_encode() if data_type == t.STRING and draw(st.booleans()) else chunked
    numbers = st.lists(st.integers(-1, size - 1), min_size=length, max_size=length)
    rows = [np.array(draw(numbers), np.int64) for _ in range(PLACES)]
    hosted = [pa.array(draw(st.lists(nullable(d), min_size=length, max_size=length)), to_arrow(d)) for d in HOSTED]
    return pa.table(columns), rows, hosted


def gathered(table: pa.Table, rows: list[Any], hosted: list[pa.Array]) -> pa.Table:
    """What the condition sees of each tuple of rows, as one row."""
    columns = {f"host.{k}": values for k, values in enumerate(hosted)}
    for place, numbers in enumerate(rows):
        taken = table.take(pa.array(numbers, mask=numbers < 0))
        columns |= {f"{place}.{n}": taken[n].cast(to_arrow(d)).combine_chunks() for n, d in NAMES.items()}
    return pa.table(columns)


def over_gathered(expr: e.Expr) -> e.Expr:
    if isinstance(expr, RowValue):
        return e.ColumnRef(expr.type, f"{expr.place}.{expr.column}")
    return e.ColumnRef(expr.type, f"host.{expr.number}") if isinstance(expr, HostValue) else expr


def given_values(hosted: list[pa.Array]) -> list[tuple[Any, Any]]:
    found = []
    for array in hosted:
        kind = np.float64 if pa.types.is_floating(array.type) else np.int64
        plain = array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array
        values = plain.fill_null(False if pa.types.is_boolean(plain.type) else 0).to_numpy(zero_copy_only=False)
        found.append((values.astype(kind), array.is_valid().to_numpy(zero_copy_only=False)))
    return found


def ranks(table: pa.Table, builder: CodeBuilder) -> dict[str, int]:
    code = builder.build()
    texts = {text for name, bank in code.columns if bank == TEXT for text in table[name].to_pylist()} | {*code.texts}
    return {text: k for k, text in enumerate(sorted(texts - {None}, key=str.encode))}


def cells(values: Any, valid: Any) -> list[str]:
    return [shown(v) if ok else "None" for v, ok in zip(values.tolist(), valid.tolist(), strict=True)]


def expected(expr: e.Expr, seen: pa.Table, places: dict[str, int]) -> list[str]:
    column = Evaluator().column(expr.rewrite(over_gathered), seen)
    if expr.type == t.STRING:
        return [shown(None if text is None else places[text]) for text in column.to_pylist()]
    plain = column if expr.type == t.DOUBLE else column.cast(pa.int64())
    return [shown(v) for v in plain.to_pylist()]


PAIRS = 24


@settings(max_examples=settings().max_examples // 4, deadline=None)
@given(data_type=st.sampled_from([t.INT, t.LONG, t.DOUBLE]), data=st.data())
def test_every_operation_on_two_numbers_gives_what_the_columnar_evaluator_gives(
    data_type: DataType, data: st.DataObject
) -> None:
    # Many pairs at a time: an example costs most by its fifteen programs.
    columns = [data.draw(st.lists(MORE[data_type], min_size=PAIRS, max_size=PAIRS)) for _ in "xy"]
    table = pa.table({name: pa.array(c, to_arrow(data_type)) for name, c in zip("xy", columns, strict=True)})
    x, y = RowValue(data_type, 0, "x"), RowValue(data_type, 0, "y")
    batch: list[e.Expr] = [e.Arithmetic(data_type, op, x, y) for op in ("+-*/%" if data_type == t.DOUBLE else "+-*%")]
    batch += [e.Comparison(t.BOOLEAN, op, x, y) for op in ("=", "<>", "<", "<=", ">", ">=")]
    batch += [e.Negate(data_type, x), e.FunctionCall(data_type, "abs", (x,)), e.CastTo(t.BOOLEAN, x)]
    builder = CodeBuilder()
    programs = [builder.add(expr) for expr in batch]
    code, rows = builder.build(), [np.arange(PAIRS)]
    encoded, seen = encode(table, code), table.rename_columns(["0.x", "0.y"])
    for expr, program in zip(batch, programs, strict=True):
        assert program is not None
        wanted = expected(expr, seen, {})
        assert cells(*evaluate_all(code, program, rows, encoded, [])) == wanted
        assert cells(*run_each(code, program, rows, encoded, [], expr.type == t.DOUBLE)) == wanted


@settings(max_examples=60, deadline=None)
@given(
    batch=st.lists(st.sampled_from(SCALARS).flatmap(lambda d: terms(d, 3)), min_size=1, max_size=2),
    world=worlds(),
)
def test_both_machines_give_what_the_columnar_evaluator_gives(
    batch: list[e.Expr], world: tuple[pa.Table, list[Any], list[pa.Array]]
) -> None:
    table, rows, hosted = world
    builder = CodeBuilder()
    programs = [builder.add(expr) for expr in batch]
    code = builder.build()
    encoded: Encoded = encode(table, code)
    seen, places, values = gathered(table, rows, hosted), ranks(table, builder), given_values(hosted)
    for expr, program in zip(batch, programs, strict=True):
        assert program is not None
        wanted = expected(expr, seen, places)
        is_double = bank_of(expr.type) == FLOAT
        assert cells(*evaluate_all(code, program, rows, encoded, values)) == wanted
        assert cells(*run_each(code, program, rows, encoded, values, is_double)) == wanted
