"""The compiler of conditions over several rows to programs for kernels, with the same values as the evaluator's.

DECIMAL and BYTES are only compared. Functions, LIKE, concatenation, access to structs and arrays, and casts from and to
text have no program: only the evaluator computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import datetime
from decimal import Context, Decimal

import numpy as np

from presage.arrays.decimals import order_text
from presage.arrays.programs import code as c
from presage.arrays.programs.code import FLOAT, INT, TEXT, Code
from presage.model import types as t
from presage.model.time import to_micros
from presage.model.types import DataType, DecimalOf
from presage.plan import expr as e
from presage.plan.expressible import expressible
from presage.plan.row_terms import HostValue, RowValue

_BANKS: dict[DataType, int] = {
    t.BOOLEAN: INT,
    t.INT: INT,
    t.LONG: INT,
    t.TIMESTAMP: INT,
    t.DATE: INT,
    t.NULL: INT,
    t.DOUBLE: FLOAT,
    t.STRING: TEXT,
    t.BYTES: TEXT,
}
# On integers, on doubles.
_ARITHMETIC = {"+": (c.ADD_I, c.ADD_F), "-": (c.SUB_I, c.SUB_F), "*": (c.MUL_I, c.MUL_F), "%": (c.MOD_I, c.MOD_F)}
_COMPARISON = {
    "=": (c.EQ_I, c.EQ_F),
    "<>": (c.NE_I, c.NE_F),
    "<": (c.LT_I, c.LT_F),
    "<=": (c.LE_I, c.LE_F),
    ">": (c.GT_I, c.GT_F),
    ">=": (c.GE_I, c.GE_F),
}
EXACT = Context(prec=100)
_MICROS_PER_SECOND = 1e6


def bank_of(data_type: DataType) -> int:
    """INT, FLOAT or TEXT; for scalar types only."""
    return TEXT if isinstance(data_type, DecimalOf) else _BANKS[data_type]


class CodeBuilder:
    """Collects the programs of a statement. Equal programs, constants and columns are stored once."""

    def __init__(self) -> None:
        self._programs: dict[tuple[int, ...], int] = {}
        self._ints: dict[Hashable, int] = {}
        self._floats: dict[Hashable, int] = {}  # by hex digits: 0.0 equals -0.0, and NaN not even itself
        self._texts: dict[Hashable, int] = {}
        self._columns: dict[tuple[str, int], int] = {}
        self._deepest = 0

    def add(self, expr: e.Expr) -> int | None:
        """The number of the program of an expression; None if no program can compute it. Its value is a double if
        `bank_of(expr.type)` is FLOAT, else an integer."""
        if not expressible(expr):
            return None
        program = _Program(self._column, self._constant)
        program.emit(expr)
        self._deepest = max(self._deepest, program.deepest)
        return self._programs.setdefault(tuple(program.words), len(self._programs))

    def build(self) -> Code:
        lengths = [len(words) for words in self._programs]
        return Code(
            ops=np.array([word for words in self._programs for word in words], np.int64),
            starts=np.cumsum([0, *lengths], dtype=np.int64),
            ints=np.array(list(self._ints), np.int64),
            floats=np.array([float.fromhex(str(digits)) for digits in self._floats], np.float64),
            texts=tuple(map(str, self._texts)),
            columns=tuple(self._columns),
            depth=self._deepest,
        )

    def _column(self, name: str, bank: int) -> int:
        """Integers and texts are numbered together: they share one array."""
        key = (name, bank)
        if key not in self._columns:
            self._columns[key] = sum((b == FLOAT) == (bank == FLOAT) for _, b in self._columns)
        return self._columns[key]

    def _constant(self, op: int, value: int | float | str) -> int:
        pool = {c.CONST_I: self._ints, c.CONST_F: self._floats, c.CONST_TEXT: self._texts}[op]
        key = float(value).hex() if op == c.CONST_F else value
        return pool.setdefault(key, len(pool))


class _Program:
    """The code of one program under construction. `emit` pushes one value on the stack."""

    def __init__(self, column: Callable[[str, int], int], constant: Callable[[int, int | float | str], int]) -> None:
        self.words: list[int] = []
        self.deepest = 0
        self._depth = 0
        self._column = column
        self._constant = constant

    def emit(self, expr: e.Expr) -> None:
        for kind, emit in _EMIT.items():
            if isinstance(expr, kind):
                return emit(self, expr)
        raise TypeError(f"no program for {type(expr).__name__}")

    def push(self, *words: int) -> None:
        self.words += words
        self._depth += 1
        self.deepest = max(self.deepest, self._depth)

    def apply(self, operands: int, *words: int) -> None:
        """An operation that replaces the top `operands` values by one."""
        self.words += words
        self._depth -= operands - 1

    def emit_constant(self, op: int, value: int | float | str) -> None:
        self.push(op, self._constant(op, value))

    def emit_null(self, data_type: DataType) -> None:
        self.push(c.NULL)
        if bank_of(data_type) == FLOAT:
            self.apply(1, c.TO_F)

    def emit_as(self, expr: e.Expr, bank: int) -> None:
        """As a double where `bank` is FLOAT and the expression is an integer."""
        self.emit(expr)
        if bank == FLOAT and bank_of(expr.type) != FLOAT:
            self.apply(1, c.TO_F)

    # -- leaves -----------------------------------------------------------------------------------------

    def leaf(self, expr: e.Expr) -> None:
        is_double = bank_of(expr.type) == FLOAT
        match expr:
            case RowValue():
                column = self._column(expr.column, bank_of(expr.type))
                self.push(c.LOAD_F if is_double else c.LOAD_I, expr.place, column)
            case HostValue():
                self.push(c.GIVEN_F if is_double else c.GIVEN_I, expr.number)
            case e.Duration():
                self.emit_constant(c.CONST_I, expr.micros)
            case e.Constant(value=None):
                self.emit_null(expr.type)
            case e.Constant(value=bytes() as data):
                self.emit_constant(c.CONST_TEXT, order_text(data))
            case e.Constant(value=Decimal() as exact, type=DecimalOf(scale=scale)):
                self.emit_constant(c.CONST_TEXT, order_text(int(exact.scaleb(scale, EXACT))))
            case e.Constant(value=str() as text):
                self.emit_constant(c.CONST_TEXT, text)
            case e.Constant(value=datetime() as moment):
                self.emit_constant(c.CONST_I, to_micros(moment))
            case e.Constant(value=int() | float() as number):
                self.emit_constant(c.CONST_F if is_double else c.CONST_I, float(number) if is_double else int(number))

    # -- numbers ----------------------------------------------------------------------------------------

    def arithmetic(self, expr: e.Arithmetic) -> None:
        if expr.left.type == expr.right.type == t.TIMESTAMP:
            self.emit(expr.left)
            self.emit(expr.right)
            self.apply(2, c.SUB_I, 64)
            self.apply(1, c.TO_F)
            self.emit_constant(c.CONST_F, _MICROS_PER_SECOND)
            self.apply(2, c.DIV_F)
            return
        bank = bank_of(expr.type)
        self.emit_as(expr.left, bank)
        self.emit_as(expr.right, bank)
        if expr.op == "/":
            self.apply(2, c.DIV_F)
        elif bank == FLOAT:
            self.apply(2, _ARITHMETIC[expr.op][1])
        else:
            self.apply(2, _ARITHMETIC[expr.op][0], _bits(expr.type))

    def negate(self, expr: e.Negate) -> None:
        self.emit(expr.operand)
        self._signed(expr.type, c.NEG_I, c.NEG_F)

    def _signed(self, data_type: DataType, whole: int, double: int) -> None:
        self.apply(1, *((double,) if data_type == t.DOUBLE else (whole, _bits(data_type))))

    def cast(self, expr: e.CastTo) -> None:
        source, target = expr.operand.type, expr.type
        if source == t.NULL:
            return self.emit_null(target)
        self.emit_as(expr.operand, bank_of(target))
        if target == t.BOOLEAN and source != t.BOOLEAN:
            is_double = source == t.DOUBLE
            self.emit_constant(c.CONST_F if is_double else c.CONST_I, 0)
            self.apply(2, c.NE_F if is_double else c.NE_I)
        elif target == t.INT and source == t.LONG:
            # An addition of 0 in 32 bits: NULL on overflow.
            self.emit_constant(c.CONST_I, 0)
            self.apply(2, c.ADD_I, 32)
        return None

    def function(self, expr: e.FunctionCall) -> None:
        args = expr.args
        match expr.name:
            case "abs":
                self.emit(args[0])
                self._signed(expr.type, c.ABS_I, c.ABS_F)
            case "if":
                self.case(e.CaseWhen(expr.type, args[:2], args[2]))
            case "nullif":
                same = e.Comparison(t.BOOLEAN, "=", args[0], args[1])
                self.case(e.CaseWhen(expr.type, (same, e.Constant(expr.type, None)), args[0]))
            case "coalesce" | "nvl":
                known = [part for arg in args[:-1] for part in (e.Not(t.BOOLEAN, e.IsNull(t.BOOLEAN, arg)), arg)]
                self.case(e.CaseWhen(expr.type, tuple(known), args[-1]))

    # -- truth ------------------------------------------------------------------------------------------

    def compare(self, op: str, left: e.Expr, right: e.Expr) -> None:
        bank = FLOAT if FLOAT in (bank_of(left.type), bank_of(right.type)) else INT
        self.emit_as(left, bank)
        self.emit_as(right, bank)
        self.apply(2, _COMPARISON[op][bank == FLOAT])

    def junction(self, expr: e.And | e.Or) -> None:
        op = c.AND if isinstance(expr, e.And) else c.OR
        self.emit(expr.operands[0])
        for operand in expr.operands[1:]:
            self.emit(operand)
            self.apply(2, op)

    def membership(self, expr: e.InList) -> None:
        self.compare("=", expr.operand, expr.items[0])
        for item in expr.items[1:]:
            self.compare("=", expr.operand, item)
            self.apply(2, c.OR)

    def of_one(self, op: int, operand: e.Expr) -> None:
        self.emit(operand)
        self.apply(1, op)

    def case(self, expr: e.CaseWhen) -> None:
        bank = bank_of(expr.type)
        for condition, value in zip(expr.branches[::2], expr.branches[1::2], strict=True):
            self.emit(condition)
            self.emit_as(value, bank)
        self.emit_as(expr.otherwise, bank)
        for _ in expr.branches[::2]:
            self.apply(3, c.CHOOSE_F if bank == FLOAT else c.CHOOSE_I)


def _bits(data_type: DataType) -> int:
    return 32 if data_type == t.INT else 64


_EMIT: dict[type[e.Expr], Callable[..., None]] = {
    RowValue: _Program.leaf,
    HostValue: _Program.leaf,
    e.Constant: _Program.leaf,
    e.Duration: _Program.leaf,
    e.Arithmetic: _Program.arithmetic,
    e.Negate: _Program.negate,
    e.CastTo: _Program.cast,
    e.FunctionCall: _Program.function,
    e.Comparison: lambda program, expr: program.compare(expr.op, expr.left, expr.right),
    e.And: _Program.junction,
    e.Or: _Program.junction,
    e.InList: _Program.membership,
    e.Not: lambda program, expr: program.of_one(c.NOT, expr.operand),
    e.IsNull: lambda program, expr: program.of_one(c.IS_NULL, expr.operand),
    e.CaseWhen: _Program.case,
}
