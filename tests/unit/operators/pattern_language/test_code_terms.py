"""Conditions over several rows as programs: what they compute, what is kept once, what has no program."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from presage.arrays.programs.code import FLOAT, INT, TEXT
from presage.arrays.programs.encoding import encode
from presage.arrays.programs.vectors import Neighbours, evaluate_all, true_for
from presage.columnar.programs import CodeBuilder, bank_of
from presage.model import types as t
from presage.model.types import ArrayOf, DataType, StructOf
from presage.plan import expr as e
from presage.plan.expressible import expressible
from presage.plan.row_terms import HostValue, RowValue
from reference.programs import run_each

NAN, INF = float("nan"), float("inf")


def value_of(
    expr: e.Expr, events: dict[str, Any] | None = None, rows: tuple[int, ...] = (), given: tuple[Any, ...] = ()
) -> object:
    """The one value that both machines agree on; None for null."""
    builder = CodeBuilder()
    program = builder.add(expr)
    assert program is not None
    code = builder.build()
    encoded = encode(pa.table(events or {}), code)
    places = [np.array([row], np.int64) for row in rows]
    hosted = [(np.array([value]), np.ones(1, np.bool_)) for value in given]
    answers = []
    for values, valid in (
        evaluate_all(code, program, places, encoded, hosted),
        run_each(code, program, places, encoded, hosted, bank_of(expr.type) == FLOAT),
    ):
        answers.append(values[0].item() if valid[0] else None)
    assert repr(answers[0]) == repr(answers[1])
    return answers[0]


def constant(value: object, data_type: DataType) -> e.Constant:
    return e.Constant(data_type, value)


def computed(op: str, left: object, right: object, data_type: DataType) -> object:
    return value_of(e.Arithmetic(data_type, op, constant(left, data_type), constant(right, data_type)))


def compared(left: object, op: str, right: object, data_type: DataType) -> object:
    return value_of(e.Comparison(t.BOOLEAN, op, constant(left, data_type), constant(right, data_type)))


@pytest.mark.parametrize(
    ("data_type", "greatest", "least"),
    [(t.INT, 2**31 - 1, -(2**31)), (t.LONG, 2**63 - 1, -(2**63))],
    ids=["INT", "LONG"],
)
def test_what_does_not_fit_is_null(data_type, greatest, least):
    assert computed("+", greatest, 1, data_type) is None
    assert computed("+", greatest, 0, data_type) == greatest
    assert computed("-", least, 1, data_type) is None
    assert computed("-", -1, least, data_type) == greatest
    assert computed("*", least, -1, data_type) is None
    assert computed("*", -1, least, data_type) is None
    assert computed("*", least, 1, data_type) == least
    assert computed("*", least // 2, 2, data_type) == least
    assert computed("*", greatest // 2 + 1, 2, data_type) is None
    assert value_of(e.Negate(data_type, constant(least, data_type))) is None
    assert value_of(e.FunctionCall(data_type, "abs", (constant(least, data_type),))) is None
    assert value_of(e.FunctionCall(data_type, "abs", (constant(least + 1, data_type),))) == greatest


def test_products_near_the_limit_are_exact():
    assert computed("*", 3037000499, 3037000499, t.LONG) == 3037000499**2
    assert computed("*", 3037000500, 3037000500, t.LONG) is None
    assert computed("*", 2**62, 4, t.LONG) is None  # wraps around to zero
    assert computed("*", -(2**62), 2, t.LONG) == -(2**63)


def test_division_and_remainder_by_zero_are_null():
    assert computed("/", 1.0, 0.0, t.DOUBLE) is None
    assert computed("%", 1.0, -0.0, t.DOUBLE) is None
    assert computed("%", 7, 0, t.LONG) is None
    assert computed("/", INF, 2.0, t.DOUBLE) == INF


@pytest.mark.parametrize("data_type", [t.INT, t.LONG, t.DOUBLE], ids=str)
def test_the_remainder_has_the_sign_of_the_dividend(data_type):
    kind = float if data_type == t.DOUBLE else int
    pairs = [(7, 3), (-7, 3), (7, -3), (-7, -3), (-(2**31), -1)]
    assert [computed("%", kind(a), kind(b), data_type) for a, b in pairs] == [1, -1, 1, -1, 0]


def test_nan_equals_itself_and_is_greatest():
    operators = ("=", "<>", "<", "<=", ">", ">=")
    assert [compared(NAN, op, NAN, t.DOUBLE) for op in operators] == [1, 0, 0, 1, 0, 1]
    assert [compared(NAN, op, INF, t.DOUBLE) for op in operators] == [0, 1, 0, 0, 1, 1]
    assert [compared(INF, op, NAN, t.DOUBLE) for op in operators] == [0, 1, 1, 1, 0, 0]
    assert [compared(-0.0, op, 0.0, t.DOUBLE) for op in operators] == [1, 0, 0, 1, 0, 1]


def test_null_logic_has_three_values():
    truth = [True, False, None]
    for junction, decisive in ((e.And, False), (e.Or, True)):
        for a in truth:
            for b in truth:
                wanted = decisive if decisive in (a, b) else None if None in (a, b) else not decisive
                found = value_of(junction(t.BOOLEAN, (constant(a, t.BOOLEAN), constant(b, t.BOOLEAN))))
                assert found == wanted, (junction, a, b)
    assert [value_of(e.Not(t.BOOLEAN, constant(a, t.BOOLEAN))) for a in truth] == [0, 1, None]
    assert [value_of(e.IsNull(t.BOOLEAN, constant(a, t.BOOLEAN))) for a in truth] == [0, 0, 1]


def test_a_condition_compares_columns_of_different_rows():
    events = {"x": [1.0, 2.0], "room": ["hall", "hall"]}
    rises = e.And(
        t.BOOLEAN,
        (
            e.Comparison(t.BOOLEAN, ">", RowValue(t.DOUBLE, 0, "x"), RowValue(t.DOUBLE, 1, "x")),
            e.Comparison(t.BOOLEAN, "=", RowValue(t.STRING, 0, "room"), RowValue(t.STRING, 1, "room")),
        ),
    )
    assert value_of(rises, events, (1, 0)) == 1
    assert value_of(rises, events, (0, 1)) == 0
    assert value_of(rises, events, (0, -1)) is None  # no such row


def test_texts_are_compared_with_texts_that_no_event_has():
    events = {"s": ["m"]}
    operators = ("=", "<", ">=")
    for text, wanted in (("a", [0, 0, 1]), ("m", [1, 0, 1]), ("z", [0, 1, 0])):
        sides = RowValue(t.STRING, 0, "s"), constant(text, t.STRING)
        assert [value_of(e.Comparison(t.BOOLEAN, op, *sides), events, (0,)) for op in operators] == wanted


def test_times_differ_by_seconds_and_move_by_durations():
    events = {"at": pa.array([1_500_000, 4_000_000], pa.timestamp("us", "UTC"))}
    first, second = RowValue(t.TIMESTAMP, 0, "at"), RowValue(t.TIMESTAMP, 1, "at")
    assert value_of(e.Arithmetic(t.DOUBLE, "-", second, first), events, (0, 1)) == 2.5
    later = e.Arithmetic(t.TIMESTAMP, "+", first, e.Duration(t.LONG, 500_000))
    assert value_of(later, events, (0, 1)) == 2_000_000
    moment = constant(datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), t.TIMESTAMP)
    assert value_of(e.Comparison(t.BOOLEAN, "=", second, moment), events, (0, 1)) == 1


def test_the_host_gives_values_by_number():
    rising = e.Comparison(t.BOOLEAN, ">", e.CastTo(t.DOUBLE, HostValue(t.LONG, 1)), HostValue(t.DOUBLE, 0))
    assert value_of(rising, given=(2.5, 3)) == 1
    assert value_of(rising, given=(2.5, 2)) == 0


def test_a_long_that_is_no_int_casts_to_null():
    cast = [value_of(e.CastTo(t.INT, constant(v, t.LONG))) for v in (2**31 - 1, 2**31, -(2**31), -(2**31) - 1)]
    assert cast == [2**31 - 1, None, -(2**31), None]


def test_membership_is_null_where_a_null_could_be_the_value():
    def member(value: object, *items: object) -> object:
        return value_of(e.InList(t.BOOLEAN, constant(value, t.INT), tuple(constant(i, t.INT) for i in items)))

    assert [member(1, 2, 1), member(3, 2, 1), member(3, 2, None), member(2, 2, None), member(None, 1)] == [
        1,
        0,
        None,
        1,
        None,
    ]


def test_equal_programs_constants_and_columns_are_kept_once():
    builder = CodeBuilder()
    x, y = RowValue(t.DOUBLE, 0, "x"), RowValue(t.INT, 0, "y")
    over = e.Comparison(t.BOOLEAN, ">", x, constant(0.0, t.DOUBLE))
    below = e.Comparison(t.BOOLEAN, "<", x, constant(-0.0, t.DOUBLE))
    named = e.Comparison(t.BOOLEAN, "=", RowValue(t.STRING, 1, "s"), constant("a", t.STRING))
    assert [builder.add(expr) for expr in (over, y, below, over, named)] == [0, 1, 2, 0, 3]
    code = builder.build()
    assert code.columns == (("x", FLOAT), ("y", INT), ("s", TEXT))
    assert [str(v) for v in code.floats] == ["0.0", "-0.0"]
    assert (code.texts, code.depth, len(code.starts)) == (("a",), 2, 5)
    # Texts are numbered after integers, in the same array.
    assert code.ops[code.starts[3] : code.starts[4]].tolist()[:3] == [5, 1, 1]


S, X = RowValue(t.STRING, 0, "s"), RowValue(t.DOUBLE, 0, "x")
WHERE = StructOf((("room", t.STRING),))


@pytest.mark.parametrize(
    "expr",
    [
        e.Like(t.BOOLEAN, S, constant("a%", t.STRING)),
        e.Arithmetic(t.STRING, "||", S, S),
        e.FunctionCall(t.DOUBLE, "sqrt", (X,)),
        e.CastTo(t.STRING, RowValue(t.INT, 0, "i")),
        e.CastTo(t.DOUBLE, S),
        e.CastTo(t.LONG, X),
        e.FieldOf(t.STRING, RowValue(WHERE, 0, "where"), "room"),
        e.ElementOf(t.INT, RowValue(ArrayOf(t.INT), 0, "list"), constant(0, t.INT)),
        e.IsNull(t.BOOLEAN, RowValue(WHERE, 0, "where")),
        e.InRelation(t.BOOLEAN, "R", ("a",), (S,)),
        e.ColumnRef(t.INT, "i"),
    ],
    ids=lambda expr: type(expr).__name__,
)
def test_what_no_program_can_compute_leaves_no_trace(expr):
    builder = CodeBuilder()
    wrapped = e.And(t.BOOLEAN, (e.IsNull(t.BOOLEAN, X), e.IsNull(t.BOOLEAN, expr)))
    assert not expressible(wrapped)
    assert builder.add(wrapped) is None
    code = builder.build()
    assert (code.columns, len(code.ops), code.depth) == ((), 0, 0)


@pytest.mark.parametrize("by", [0, -1, 2, -9, 9])
def test_neighbours_of_all_rows_are_what_their_numbers_name(by: int) -> None:
    events = pa.table({"x": pa.array([3.0, 1.0, None, 2.0, NAN, 2.0]), "s": pa.array(["b", "a", None, "c", "a", "b"])})
    # Two partitions, of two and four rows.
    begin = np.array([0, 0, 2, 2, 2, 2])
    moved = np.arange(6) + by
    numbers = np.where((moved >= begin) & (moved < np.where(begin == 0, 2, 6)), moved, -1)
    neighbours = Neighbours(6, by, np.flatnonzero(numbers < 0))
    builder = CodeBuilder()
    for name, kind in (("x", t.DOUBLE), ("s", t.STRING)):
        less = e.Comparison(t.BOOLEAN, "<", RowValue(kind, 0, name), RowValue(kind, 1, name))
        program = builder.add(less)
        assert program is not None
        code = builder.build()
        encoded = encode(events, code)
        values, valid = evaluate_all(code, program, [np.arange(6), numbers], encoded, [])
        places = [Neighbours(6, 0, np.zeros(0, np.int64)), neighbours]
        found, known = evaluate_all(code, program, places, encoded, [])
        assert known.tolist() == valid.tolist()
        assert found[known].tolist() == values[valid].tolist()
        assert true_for(code, program, places, encoded).tolist() == (valid & (values != 0)).tolist()
