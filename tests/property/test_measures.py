"""MEASURES against their twin: random matches in several partitions, every kind of measure, nulls, NaN, infinities."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presage.arrays.programs.code import ADD_F, FLOAT, INT, LOAD_F, LOAD_I, SUB_I, Code
from presage.arrays.programs.encoding import encode
from presage.operators.match.kernel.matches import Matches
from presage.operators.match.kernel.measures.columns import gather
from presage.operators.match.kernel.spec import Automaton, Fold, MatchSpec, Measure, Place
from reference.cut_input import as_table
from reference.distinct_rows import deep
from reference.measures import measured

VARIABLES = ("A", "B", "C")
MOMENT = datetime(2024, 5, 1, tzinfo=UTC)
TYPES = {
    "i": (pa.int64(), [None, 0, 1, -3, 2**40]),
    "j": (pa.int64(), [None, 5, 1, -(2**40)]),
    "n": (pa.int32(), [None, -1, 7]),
    "x": (pa.float64(), [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 0.2, 0.3, 1e16]),
    "y": (pa.float64(), [None, 0.1, 0.7, 1e16, 2.5]),
    "s": (pa.string(), [None, "", "a", "é", "z"]),
    "r": (pa.string(), [None, "a", "ab"]),
    "t": (pa.timestamp("us", tz="UTC"), [None, MOMENT, MOMENT - timedelta(days=1), MOMENT + timedelta(seconds=1)]),
    "b": (pa.bool_(), [None, True, False]),
    "xs": (
        pa.struct([("x1", pa.float64()), ("x2", pa.float64())]),
        [
            {"x1": x, "x2": y}
            for x, y in ((1.0, 2.0), (2.0, 3.5), (0.5, -1.0), (None, 1.0), (math.nan, 0.0), (3.0, 2.0))
        ],
    ),
    "p": (pa.struct([("q", pa.int64())]), [None, {"q": 1}, {"q": None}]),
}
SCHEMA = pa.schema([(name, kind) for name, (kind, _) in TYPES.items()])
ROWS = st.fixed_dictionaries({name: st.sampled_from(values) for name, (_, values) in TYPES.items()})

# Program 0: x at one place + x at another; program 1: i at one place - i at another.
OPS = [[LOAD_F, 0, 0, LOAD_F, 1, 0, ADD_F], [LOAD_I, 0, 0, LOAD_I, 1, 0, SUB_I, 64]]
CODE = Code(
    ops=np.array([*OPS[0], *OPS[1]], np.int64),
    starts=np.array([0, len(OPS[0]), len(OPS[0]) + len(OPS[1])], np.int64),
    columns=(("x", FLOAT), ("i", INT)),
    depth=2,
)


def of_two(name: str, operation: Any) -> Any:
    def compute(rows: list[Any]) -> Any:
        values = [None if row is None else row[name] for row in rows]
        return None if None in values else operation(*values)

    return compute


PROGRAMS = {0: of_two("x", lambda a, b: a + b), 1: of_two("i", lambda a, b: a - b)}

LABELS = st.sampled_from([None, (0,), (1,), (2, 0), (0, 1, 2)])
PLACES = st.builds(
    Place,
    labels=LABELS,
    first=st.booleans(),
    offset=st.integers(0, 2),
    moved=st.integers(-2, 2),
    final=st.booleans(),
    current=st.booleans(),
)


def same_type(name: str) -> list[str]:
    return [other for other, (kind, _) in TYPES.items() if kind == TYPES[name][0]]


def ordered(name: str) -> bool:
    return name not in ("p", "xs")


@st.composite
def arguments(draw: st.DrawFn, labels: tuple[int, ...] | None, names: list[str]) -> tuple[str, ...]:
    name = draw(st.sampled_from(names))
    if draw(st.booleans()):
        return (name,)
    return tuple(draw(st.sampled_from(same_type(name))) for _ in labels or VARIABLES)


NUMBERS = ["i", "j", "n", "x", "y"]
ORDERED = [name for name in TYPES if ordered(name)]
NAMES = {"sum": NUMBERS, "avg": NUMBERS, "stddev": NUMBERS, "median": NUMBERS, "min": ORDERED, "max": ORDERED}
NAMES |= {"percentile": NUMBERS, "count_if": ["b"], "corr": ["xs"]}
FUNCTIONS = ["count", *NAMES, "first", "last", "array_agg", "any_value", "max_by", "min_by"]


@st.composite
def folds(draw: st.DrawFn) -> Fold:
    labels, final = draw(LABELS), draw(st.booleans())
    function = draw(st.sampled_from(FUNCTIONS))
    if function == "count" and draw(st.booleans()):
        return Fold("count", labels, final=final)
    distinct = function in ("count", "sum", "avg", "min", "max", "array_agg") and draw(st.booleans())
    constants = (draw(st.sampled_from([0, 0.3, 0.5, 1.0])),) if function == "percentile" else ()
    by = draw(arguments(labels, ORDERED)) if function.endswith("_by") else ()
    if function not in ("corr", "count_if") and draw(st.integers(0, 4)) == 0:
        program = draw(st.integers(0, 1))
        places = draw(st.tuples(PLACES, PLACES))
        bank = INT if program else FLOAT
        return Fold(function, labels, (), by, final, distinct, program, places, bank, constants=constants)
    columns = draw(arguments(labels, NAMES.get(function, list(TYPES))))
    return Fold(function, labels, columns, by, final, distinct, constants=constants)


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return Measure("m", match_number=True)
    if kind == 1:
        return Measure("m", place=draw(PLACES))
    if kind < 4:
        return Measure("m", place=draw(PLACES), column=draw(st.sampled_from(sorted(TYPES))))
    return Measure("m", fold=draw(folds()))


@st.composite
def found(draw: st.DrawFn, rows: int) -> Matches:
    """Matches anywhere in partitions, overlapping or not; output rows of matches and unmatched rows, mixed."""
    cut = draw(st.integers(0, rows))
    partitions = [(0, cut), (cut, rows)]
    starts, lengths, labels, numbers, begins, ends = [], [], [], [], [], []
    out = []
    for match in range(draw(st.integers(0, 4)) if rows else 0):
        begin, end = draw(st.sampled_from([(a, b) for a, b in partitions if a < b]))
        start = draw(st.integers(begin, end - 1))
        length = draw(st.integers(0, end - start))
        starts.append(start)
        lengths.append(length)
        labels += draw(st.lists(st.integers(0, 2), min_size=length, max_size=length))
        numbers.append(draw(st.integers(0, 3)))
        begins.append(begin)
        ends.append(end)
        shown = range(1, length + 1) if length else range(1)
        if draw(st.booleans()):
            shown = shown[-1:]
        out += [(match, start + max(at - 1, 0), at) for at in shown]
    if rows:
        out += [(-1, row, 0) for row in draw(st.lists(st.integers(0, rows - 1), max_size=2))]
    if draw(st.booleans()):
        out = draw(st.permutations(out))
    return Matches(
        *(np.array(values, np.int64) for values in (starts, lengths, np.cumsum([0, *lengths]), labels, numbers)),
        np.array(begins, np.int64),
        np.array(ends, np.int64),
        *(np.array([o[k] for o in out], np.int64) for k in range(3)),
    )


def type_of(measure: Measure) -> pa.DataType:
    fold = measure.fold
    if fold is None:
        column = pa.string() if measure.column is None else TYPES[measure.column][0]
        return pa.int64() if measure.match_number else column
    if fold.function in ("count", "count_if"):
        return pa.int64()
    if fold.function in ("avg", "stddev", "median", "percentile", "corr"):
        return pa.float64()
    computed = pa.int64() if fold.bank == INT else pa.float64()
    kind = TYPES[fold.columns[0]][0] if fold.columns else computed
    if fold.function == "sum":
        return pa.int64() if pa.types.is_integer(kind) else pa.float64()
    return pa.list_(pa.field("element", kind)) if fold.function == "array_agg" else kind


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_measures_are_those_of_the_definition(data: st.DataObject) -> None:
    table = data.draw(st.lists(ROWS, max_size=9))
    matches = data.draw(found(len(table)))
    asked = [
        Measure(f"m{k}", m.place, m.column, m.fold, m.match_number)
        for k, m in enumerate(data.draw(st.lists(measures(), min_size=1, max_size=6)))
    ]
    spec = MatchSpec(Automaton(VARIABLES, (), (), (), ()), (), tuple(asked), code=CODE)
    rows = as_table(table, SCHEMA, data.draw(st.integers(0, 2)))
    columns = gather(spec, rows, matches, encode(rows, CODE))
    assert {name: array.type for name, array in columns.items()} == {m.output: type_of(m) for m in asked}
    expected = measured(spec, table, matches, PROGRAMS)
    for measure in asked:
        columns[measure.output].validate(full=True)
        got = columns[measure.output].to_pylist()
        wanted = [row[measure.output] for row in expected]
        if measure.fold is not None and measure.fold.function == "stddev":
            assert got == [w if w is None else pytest.approx(w, rel=1e-9, abs=1e-9, nan_ok=True) for w in wanted]
        else:
            assert [deep(g) for g in got] == [deep(w) for w in wanted]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_measure_of_a_match_does_not_depend_on_the_matches_around_it(data: st.DataObject) -> None:
    table = data.draw(st.lists(ROWS, min_size=1, max_size=9))
    matches = data.draw(found(len(table)).filter(lambda found: found.starts.size > 0))
    fold = data.draw(folds())
    rows = as_table(table, SCHEMA)
    spec = MatchSpec(Automaton(VARIABLES, (), (), (), ()), (), (Measure("m", fold=fold),), code=CODE)
    encoded = encode(rows, CODE)
    together = gather(spec, rows, matches, encoded)["m"].to_pylist()
    for m in range(matches.starts.size):
        mine = matches.out_match == m
        alone = Matches(
            *(values[m : m + 1] for values in (matches.starts, matches.lengths)),
            np.array([0, matches.lengths[m]]),
            matches.labels[matches.offsets[m] : matches.offsets[m + 1]],
            *(values[m : m + 1] for values in (matches.numbers, matches.partition_begin, matches.partition_end)),
            np.zeros(int(mine.sum()), np.int64),
            matches.out_row[mine],
            matches.out_at[mine],
        )
        answer = gather(spec, rows, alone, encoded)["m"].to_pylist()
        # To the bit, also for sums and deviations of doubles.
        assert repr(answer) == repr([value for value, own in zip(together, mine, strict=True) if own])
