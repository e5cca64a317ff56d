"""Every form of every allowed function as a bound call over columns of edge values, for tests that run them all."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import pyarrow as pa

from presage.functions.resolve import constants_of, resolve_function
from presage.functions.scalars import FAMILIES
from presage.functions.scalars.entry import Entry
from presage.functions.signatures import Variable, parse_signature
from presage.model import types as t
from presage.model.arrow import to_arrow
from presage.model.types import ArrayOf, DataType, MapOf, StructOf
from presage.plan.expr import CastTo, ColumnRef, Constant, Expr, FunctionCall

INTS = [None, 0, 1, 2, -1, 3, 7, 12, -5, 31, 64, 2**31 - 1, -(2**31)]
LONGS = [None, 0, 1, -1, 5, 97, 86_400, 1_336_381_200, 2**53 + 1, 2**63 - 1, -(2**63)]
DOUBLES = [None, 0.0, -0.0, 1.0, -1.5, 0.5, 2.5, 1e6, 1e300, float("nan"), float("inf"), float("-inf"), 45.678]
STRINGS = [
    None,
    "",
    "a",
    "abc",
    " Hello World ",
    "2012-05-07 09:30:00",
    "2012-05-07 09:30",
    "a1,b22,c333",
    "ÄöЖ日本",
    "1.5",
    "NaN",
    "\\",
    "%",
    '{"a": [1, 2], "b": null}',
    "414243",
    "YWJj",
    "zz%zz",
]
BOOLEANS = [None, True, False]
# Midnight, the skipped and the repeated hours of New York and Berlin, before 1970, year 1 and 9999.
TIMES = [
    None,
    0,
    -1,
    1_331_434_800_000_000,
    1_331_449_200_000_001,
    1_352_008_799_999_999,
    1_352_012_400_000_000,
    1_332_637_200_500_000,
    1_336_381_200_123_456,
    -62_135_596_800_000_000,
    253_402_300_799_999_999,
]
VALUES: dict[DataType, list[object]] = {
    t.INT: INTS,
    t.LONG: LONGS,
    t.DOUBLE: DOUBLES,
    t.STRING: STRINGS,
    t.BOOLEAN: BOOLEANS,
    t.TIMESTAMP: TIMES,
    ArrayOf(t.INT): [None, [], [1], [3, None, 1, 3], [7, -5, 2, 0]],
    ArrayOf(t.STRING): [None, [], ["a"], ["b", None, "a"], ["abc", "", "b"]],
    ArrayOf(t.DOUBLE): [None, [], [float("nan"), 1.0], [-0.0, 0.0, None], [2.5]],
    ArrayOf(ArrayOf(t.INT)): [None, [], [[1], [2, 3]], [[], [None]], [[1], None]],
    MapOf(t.STRING, t.INT): [None, [], [("a", 1)], [("b", None), ("a", 3)], [("", 2), ("abc", 0)]],
    ArrayOf(StructOf((("key", t.STRING), ("value", t.INT)))): [
        None,
        [],
        [{"key": "a", "value": 1}, {"key": "a", "value": 2}],
        [{"key": None, "value": 1}, {"key": "b", "value": None}],
    ],
}
ROWS, COPIES = 30, 4
CONSTANTS: dict[str, list[object]] = {
    "regex": ["([a-z]+)([0-9]*)"],
    "group": [1, 0],
    "replacement": ["<$1>", "\\$"],
    "scale": [1, -1, -30],
    "bits": [0, 224, 512],
    "unit": ["year", "quarter", "MONTH", "week"],
    "weekday": ["Monday", "sun"],
    "format": ["yyyy-MM-dd'T'HH:mm:ss.SSS", "yy MMM MMMM d D Q E EEEE a h K k m s SSSSSS XXX"],
    "parse format": ["yyyy-MM-dd HH:mm", "yyyy-MM-dd HH:mm:ss"],
    "zone": ["Europe/Berlin", "UTC"],
    "truth value": [True, False],
}
UNITS_OF_DATE_TRUNC = ["day", "hour", "minute", "second", "millisecond", "microsecond"]
SCALAR_OF = {str: t.STRING, int: t.INT, bool: t.BOOLEAN}
# Texts that have to fit together are not met by chance.
URL = "http://u@example.org:80/p?k=v&x(=1#f"
TOGETHER: dict[str, list[list[str]]] = {
    "get_json_object": [['{"a": [1, 2]}', "$.a[1]"], ["{", "$.a"], ["{}", "$$"]],
    "json_array_length": [["[1, 2]"]],
    "parse_url": [[URL, "HOST"], [URL, "QUERY", "k"], [URL, "QUERY", "x("], ["http://[", "HOST"]],
    "find_in_set": [["b", "a,b"]],
}
# What a type variable stands for in the calls: each of these in turn.
CHOICES: dict[str, list[DataType]] = {
    "N": [t.INT, t.LONG, t.DOUBLE],
    "I": [t.INT, t.LONG],
    "O": [t.STRING, t.DOUBLE],
    "X": [t.STRING, t.DOUBLE],
    "T": [t.INT],
    "U": [t.DOUBLE],
    "K": [t.STRING],
    "V": [t.INT],
}


@dataclass(frozen=True)
class SampleCall:
    title: str
    call: FunctionCall


def table_of_edge_values() -> pa.Table:
    """One column per type and copy; the copies are shifted against each other, so that arguments meet in many pairs."""
    columns = {}
    for data_type, values in VALUES.items():
        for copy in range(COPIES):
            shifted = [values[(row * (copy + 1) + copy) % len(values)] for row in range(ROWS)]
            columns[column_name(data_type, copy)] = pa.array(shifted, to_arrow(data_type))
    return pa.table(columns)


def column_name(data_type: DataType, copy: int) -> str:
    return f"{data_type} {copy}"


def all_calls() -> list[SampleCall]:
    return [call for entries in FAMILIES.values() for entry in entries for call in calls_of(entry)]


def calls_of(entry: Entry) -> list[SampleCall]:
    name = entry.names[0]
    made = []
    for args in _argument_lists(entry):
        types = tuple(a.type for a in args)
        resolved = resolve_function(name, types, None, constants_of(args))
        cast = tuple(a if a.type == c else CastTo(c, a) for a, c in zip(args, resolved.coerced, strict=True))
        shown = ", ".join(repr(a.value) if isinstance(a, Constant) else str(a.type) for a in args)
        made.append(SampleCall(f"{name}({shown})", FunctionCall(resolved.result, resolved.name, cast)))
    return made


def _argument_lists(entry: Entry) -> list[list[Expr]]:
    name = entry.names[0]
    text, number = _column(t.STRING, 0), _column(t.INT, 0)
    if name == "struct":
        return [[text, number]]
    if name == "named_struct":
        return [[Constant(t.STRING, "x y"), text, Constant(t.STRING, "`z`"), number]]
    if name == "map":
        return [[], [text, number, _column(t.STRING, 1), _column(t.INT, 1)], [Constant(t.STRING, "k"), number]]
    lists: list[list[Expr]] = [[Constant(t.STRING, v) for v in values] for values in TOGETHER.get(name, [])]
    if name == "element_at":
        lists.append([_column(MapOf(t.STRING, t.INT), 0), Constant(t.STRING, "a")])
    if name == "map_from_arrays":
        # The same copy, so that some are of one size.
        lists.append([_column(ArrayOf(t.STRING), 0), _column(ArrayOf(t.INT), 0)])
    for form in map(parse_signature, entry.forms):
        most = form.most if form.most is not None else max(form.least, 1) + 1
        for count in range(form.least, most + 1):
            parameters = [form.parameter(i).type for i in range(count)]
            for chosen in _choices(parameters):
                lists.extend(_arguments(entry, [_substituted(p, chosen) for p in parameters]))
    return lists


def _arguments(entry: Entry, types: list[DataType]) -> list[list[Expr]]:
    options: list[list[Expr]] = []
    for index, data_type in enumerate(types):
        kind = entry.constants.get(index)
        if kind is None:
            options.append([_column(data_type, index % COPIES)])
        else:
            values = CONSTANTS[kind] + (UNITS_OF_DATE_TRUNC if entry.names[0] == "date_trunc" else [])
            options.append([Constant(SCALAR_OF[type(v)], v) for v in values])
    return [list(args) for args in itertools.product(*options)]


def _choices(parameters: list[DataType]) -> list[dict[str, DataType]]:
    names = sorted({v for p in parameters for v in _variables(p)})
    return [dict(zip(names, types, strict=True)) for types in itertools.product(*(CHOICES[n] for n in names))]


def _variables(data_type: DataType) -> set[str]:
    if isinstance(data_type, Variable):
        return {data_type.name}
    if isinstance(data_type, ArrayOf):
        return _variables(data_type.element)
    if isinstance(data_type, MapOf):
        return _variables(data_type.key) | _variables(data_type.value)
    if isinstance(data_type, StructOf):
        return {v for _, f in data_type.fields for v in _variables(f)}
    return set()


def _substituted(data_type: DataType, chosen: dict[str, DataType]) -> DataType:
    if isinstance(data_type, Variable):
        return chosen[data_type.name]
    if isinstance(data_type, ArrayOf):
        inner = _substituted(data_type.element, chosen)
        # One sample of nested arrays is enough.
        return ArrayOf(ArrayOf(t.INT)) if isinstance(inner, ArrayOf) else ArrayOf(inner)
    if isinstance(data_type, MapOf):
        return MapOf(_substituted(data_type.key, chosen), _substituted(data_type.value, chosen))
    if isinstance(data_type, StructOf):
        return StructOf(tuple((n, _substituted(f, chosen)) for n, f in data_type.fields))
    return data_type


def _column(data_type: DataType, copy: int) -> Expr:
    return ColumnRef(data_type, column_name(data_type, copy))
