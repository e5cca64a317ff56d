"""Random typed expressions over random rows, for tests that compare two ways of computing them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import ArrayOf, DataType, MapOf, StructOf
from presage.plan import expr as e

WHERE = StructOf((("room", t.STRING), ("Room", t.INT), ("a.b", t.DOUBLE)))
COLUMNS: dict[str, DataType] = {
    "i": t.INT,
    "a.i": t.INT,
    "l": t.LONG,
    "d": t.DOUBLE,
    "a.d": t.DOUBLE,
    "s": t.STRING,
    "we`ird": t.STRING,
    "b": t.BOOLEAN,
    "at": t.TIMESTAMP,
    "a.at": t.TIMESTAMP,
    "tags": ArrayOf(t.STRING),
    "numbers": ArrayOf(t.INT),
    "where": WHERE,
    "by key": MapOf(t.STRING, t.INT),
}
TEXTS = [
    "",
    "a",
    "A%",
    "ab_c",
    "\\",
    "a\\%b",
    "12",
    " 7 ",
    "-3.5",
    "1e3",
    "NaN",
    "yes",
    "false",
    "x\ny",
    "Ж%",
    "2012-05-07T09:00",
    "2012-05-07 09:00:00.25+0200",
    "2012-13-01",
    "09:00",
]
DOUBLES = [0.0, -0.0, 1.0, -1.5, 0.25, 3.75, 1e7, 1e300, -1e300, 2e10, *map(float, ("nan", "inf", "-inf"))]
# Skipped and repeated hours of New York among them.
TIMES = [0, -1, 1_331_449_200_000_001, 1_352_008_799_999_999, 1_336_381_200_500_000, -86_400_000_001]
VALUES: dict[DataType, st.SearchStrategy[Any]] = {
    t.INT: st.sampled_from([0, 1, -1, 2, 3, 7, 2**31 - 1, -(2**31)]),
    t.LONG: st.sampled_from([0, 1, -1, 5, 2**31, 10**12, 2**63 - 1, -(2**63)]),
    t.DOUBLE: st.sampled_from(DOUBLES),
    t.STRING: st.sampled_from(TEXTS),
    t.BOOLEAN: st.booleans(),
    t.TIMESTAMP: st.sampled_from(TIMES),
}
SCALARS = tuple(VALUES)
ROWS = 8


def nullable(data_type: DataType) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), VALUES[data_type], VALUES[data_type], VALUES[data_type])


def value_of(data_type: DataType) -> st.SearchStrategy[Any]:
    if isinstance(data_type, ArrayOf):
        return st.none() | st.lists(nullable(data_type.element), max_size=3)
    if isinstance(data_type, MapOf):
        return st.none() | st.dictionaries(VALUES[data_type.key], nullable(data_type.value), max_size=2)
    if isinstance(data_type, StructOf):
        return st.none() | st.fixed_dictionaries({name: nullable(field) for name, field in data_type.fields})
    return nullable(data_type)


rows = st.lists(st.fixed_dictionaries({n: value_of(c) for n, c in COLUMNS.items()}), min_size=ROWS, max_size=ROWS)


def leaves(data_type: DataType) -> st.SearchStrategy[e.Expr]:
    columns = [st.just(e.ColumnRef(c, n)) for n, c in COLUMNS.items() if c == data_type]
    constants = nullable(data_type).map(lambda v: e.Constant(data_type, v))
    return st.one_of(*columns, *columns, constants)


@st.composite
def expressions(draw: st.DrawFn, data_type: DataType, depth: int) -> e.Expr:
    if depth == 0 or draw(st.integers(0, 9)) == 0:
        return draw(leaves(data_type))

    def sub(wanted: DataType) -> e.Expr:
        return draw(expressions(wanted, depth - 1))

    def call(name: str, *args: DataType) -> e.Expr:
        return e.FunctionCall(data_type, name, tuple(sub(a) for a in args))

    kinds = ["case", "coalesce", "if", "nullif", "greatest", "least", *EXTRA[data_type]]
    kind = draw(st.sampled_from(kinds))
    if kind == "case":
        return e.CaseWhen(data_type, (sub(t.BOOLEAN), sub(data_type), sub(t.BOOLEAN), sub(data_type)), sub(data_type))
    if kind == "if":
        return call("if", t.BOOLEAN, data_type, data_type)
    if kind == "abs":
        return call("abs", data_type)
    if kind in ("coalesce", "nullif", "greatest", "least"):
        return call(kind, data_type, data_type)
    if kind in ("+", "-", "*", "/", "%", "||"):
        return e.Arithmetic(data_type, kind, sub(data_type), sub(data_type))
    if kind == "negate":
        return e.Negate(data_type, sub(data_type))
    if kind == "cast":
        # The text of a DOUBLE is compared for values that have a short one.
        source = draw(st.sampled_from([s for s in SCALARS if castable(s, data_type)]))
        operand = draw(leaves(source)) if source == t.DOUBLE and data_type == t.STRING else sub(source)
        return e.CastTo(data_type, operand)
    if kind == "compare":
        source = draw(st.sampled_from(SCALARS))
        return e.Comparison(
            t.BOOLEAN, draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="])), sub(source), sub(source)
        )
    if kind == "and":
        return e.And(t.BOOLEAN, tuple(sub(t.BOOLEAN) for _ in range(draw(st.integers(2, 3)))))
    if kind == "or":
        return e.Or(t.BOOLEAN, tuple(sub(t.BOOLEAN) for _ in range(draw(st.integers(2, 3)))))
    if kind == "not":
        return e.Not(t.BOOLEAN, sub(t.BOOLEAN))
    if kind == "in":
        source = draw(st.sampled_from(SCALARS))
        constants = draw(st.lists(nullable(source), min_size=1, max_size=12))
        items = [e.Constant(source, c) for c in constants] + [sub(source)] * draw(st.integers(0, 1))
        return e.InList(t.BOOLEAN, sub(source), tuple(items))
    if kind == "is null":
        return e.IsNull(t.BOOLEAN, sub(draw(st.sampled_from(SCALARS))))
    if kind == "like":
        return e.Like(t.BOOLEAN, sub(t.STRING), sub(t.STRING))
    if kind == "size":
        return e.FunctionCall(t.INT, "size", (e.ColumnRef(ArrayOf(t.STRING), "tags"),))
    if kind == "contains":
        return e.FunctionCall(t.BOOLEAN, "array_contains", (e.ColumnRef(ArrayOf(t.INT), "numbers"), sub(t.INT)))
    if kind == "element":
        name = "numbers" if data_type == t.INT else "tags"
        index = sub(draw(st.sampled_from([t.INT, t.LONG])))
        return e.ElementOf(data_type, e.ColumnRef(COLUMNS[name], name), index, draw(st.booleans()))
    if kind == "map":
        return e.ElementOf(t.INT, e.ColumnRef(COLUMNS["by key"], "by key"), sub(t.STRING))
    if kind == "field":
        name = {t.STRING: "room", t.INT: "Room", t.DOUBLE: "a.b"}[data_type]
        return e.FieldOf(data_type, e.ColumnRef(WHERE, "where"), name)
    if kind == "later":
        month = 30 * 86_400_000_000
        span = e.Duration(t.LONG, *draw(st.sampled_from([(90_000_000, 0), (month, 1), (13 * month + 5, 13)])))
        return e.Arithmetic(t.TIMESTAMP, draw(st.sampled_from("+-")), sub(t.TIMESTAMP), span)
    if kind == "seconds":
        return e.Arithmetic(t.DOUBLE, "-", sub(t.TIMESTAMP), sub(t.TIMESTAMP))
    return call(kind, *FUNCTION_ARGUMENTS[kind])


FUNCTION_ARGUMENTS: dict[str, tuple[DataType, ...]] = {
    "length": (t.STRING,),
    "upper": (t.STRING,),
    "lower": (t.STRING,),
    "concat": (t.STRING, t.STRING),
    "replace": (t.STRING, t.STRING, t.STRING),
    "startswith": (t.STRING, t.STRING),
    "year": (t.TIMESTAMP,),
    "month": (t.TIMESTAMP,),
    "hour": (t.TIMESTAMP,),
    "dayofweek": (t.TIMESTAMP,),
    "unix_seconds": (t.TIMESTAMP,),
}
EXTRA: dict[DataType, list[str]] = {
    t.INT: [
        "+",
        "-",
        "*",
        "%",
        "negate",
        "cast",
        "abs",
        "element",
        "map",
        "field",
        "length",
        "size",
        "year",
        "month",
        "hour",
        "dayofweek",
    ],
    t.LONG: ["+", "-", "*", "%", "negate", "cast", "abs", "unix_seconds"],
    t.DOUBLE: ["+", "-", "*", "/", "%", "negate", "cast", "abs", "field", "seconds"],
    t.STRING: ["||", "cast", "element", "field", "upper", "lower", "concat", "replace"],
    t.BOOLEAN: [
        "compare",
        "compare",
        "compare",
        "and",
        "or",
        "not",
        "in",
        "in",
        "is null",
        "like",
        "cast",
        "contains",
        "startswith",
    ],
    t.TIMESTAMP: ["cast", "later"],
}


def castable(source: DataType, target: DataType) -> bool:
    return source != target and (t.TIMESTAMP not in (source, target) or t.STRING in (source, target))


@st.composite
def batches(draw: st.DrawFn, count: int) -> list[e.Expr]:
    types = draw(st.lists(st.sampled_from(SCALARS), min_size=count, max_size=count))
    return [draw(expressions(data_type, 3)) for data_type in types]


def table(worlds: list[dict[str, Any]]) -> pa.Table:
    arrays = {}
    for name, data_type in COLUMNS.items():
        cells = [row[name] for row in worlds]
        if isinstance(data_type, MapOf):
            cells = [None if c is None else list(c.items()) for c in cells]
        arrays[name] = pa.array(cells, to_arrow(data_type))
    return pa.table(arrays)


def shown(value: Any) -> str:
    # -0.0 and 0.0 are equal, and which of them greatest() picks is nobody's promise.
    return repr(value + 0.0 if isinstance(value, float) else value)
