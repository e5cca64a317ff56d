"""The interpreter of programs over whole columns.

It is apart from `machine`, which evaluates one row at a time. Cost: one NumPy call or a few for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from presage.arrays.jit import Bools, Ints
from presage.arrays.programs import code as c
from presage.arrays.programs.code import Code
from presage.arrays.programs.encoding import Encoded

Numbers = npt.NDArray[Any]
# Values and where they are not null. Both have one item for each row, or a single one for all rows.
Column = tuple[Numbers, Bools]

LEAST = {32: -(2**31), 64: -(2**63)}
VALID, NULL = np.ones(1, np.bool_), np.zeros(1, np.bool_)
_COMPARE: dict[int, np.ufunc] = {
    c.EQ_I: np.equal,
    c.NE_I: np.not_equal,
    c.LT_I: np.less,
    c.LE_I: np.less_equal,
    c.GT_I: np.greater,
    c.GE_I: np.greater_equal,
}
_SIMPLE: dict[int, np.ufunc] = {c.ADD_F: np.add, c.SUB_F: np.subtract, c.MUL_F: np.multiply}


@dataclass(frozen=True)
class Neighbours:
    """The row numbers of neighbours: for each of `size` rows the row `by` rows on, -1 at the rows `outside`. Columns
    are shifted, which is faster than looking up each row."""

    size: int
    by: int
    outside: Ints

    def __len__(self) -> int:
        return self.size


Rows = Sequence[Ints | Neighbours]


def evaluate_all(
    code: Code, program: int, rows: Rows, encoded: Encoded, given: Sequence[tuple[Numbers, Bools]]
) -> tuple[Numbers, Bools]:
    """`rows`: by place the row numbers (-1: null); `given`: by number the values of the host; all of one length.

    Returns values, int64 (truth: 0 or 1) or float64, and where they are valid. Without rows and given values there is
    one value.
    """
    values, valid = _computed(code, program, rows, encoded, given)
    length = len(rows[0]) if rows else len(given[0][0]) if given else 1
    kind = np.float64 if values.dtype.kind == "f" else np.int64
    result = np.ascontiguousarray(np.broadcast_to(values, length).astype(kind, copy=False))
    return result, np.ascontiguousarray(np.broadcast_to(valid, length))


def true_for(code: Code, program: int, rows: Rows, encoded: Encoded) -> Bools:
    """Where a program of truth is true; `rows` as in `evaluate_all`, at least one place."""
    values, valid = _computed(code, program, rows, encoded, [])
    true = values if values.dtype == np.bool_ else values != 0
    return np.broadcast_to(true & valid, len(rows[0]))


def _computed(code: Code, program: int, rows: Rows, encoded: Encoded, given: Sequence[Column]) -> Column:
    words: list[int] = code.ops[code.starts[program] : code.starts[program + 1]].tolist()
    stack: list[Column] = []
    at = 0
    with np.errstate(all="ignore"):
        while at < len(words):
            op = words[at]
            at += 1
            if op in _PUSH:
                operands = words[at : at + _PUSH[op]]
                at += len(operands)
                stack.append(_pushed(op, operands, code, rows, encoded, given))
            elif op in _WITH_BITS:
                run, count = _WITH_BITS[op]
                stack[-count:] = [run(words[at], *stack[-count:])]
                at += 1
            else:
                step, count = _STEPS[op]
                stack[-count:] = [step(*stack[-count:])]
    return stack.pop()


# -- leaves ---------------------------------------------------------------------------------------------

_PUSH = {c.CONST_I: 1, c.CONST_F: 1, c.CONST_TEXT: 1, c.NULL: 0, c.LOAD_I: 2, c.LOAD_F: 2, c.GIVEN_I: 1, c.GIVEN_F: 1}


def _pushed(op: int, operands: list[int], code: Code, rows: Rows, encoded: Encoded, given: Sequence[Column]) -> Column:
    if op == c.LOAD_I:
        return _taken(encoded.ints[operands[1]], encoded.int_valid[operands[1]], rows[operands[0]])
    if op == c.LOAD_F:
        return _taken(encoded.floats[operands[1]], encoded.float_valid[operands[1]], rows[operands[0]])
    if op in (c.GIVEN_I, c.GIVEN_F):
        return given[operands[0]]
    if op == c.NULL:
        return np.zeros(1, np.int64), NULL
    constants: dict[int, Numbers] = {c.CONST_I: code.ints, c.CONST_F: code.floats, c.CONST_TEXT: encoded.texts}
    return constants[op][operands[0] : operands[0] + 1], VALID


def _taken(values: Numbers, valid: Bools, rows: Ints | Neighbours) -> Column:
    if not len(values):
        return np.zeros(len(rows), values.dtype), np.zeros(len(rows), np.bool_)
    if isinstance(rows, Neighbours):
        there = _moved(valid, rows.by)
        if rows.by:
            there[rows.outside] = False
        return _moved(values, rows.by), there
    present = rows >= 0
    return values[rows], valid[rows] & present


def _moved(values: Numbers, by: int) -> Numbers:
    if not by:
        return values
    moved = np.zeros_like(values)
    if by < 0:
        moved[-by:] = values[:by]
    else:
        moved[:-by] = values[by:]
    return moved


# -- integers -------------------------------------------------------------------------------------------


def _ints(values: Numbers) -> Ints:
    """Truth values count as 0 and 1."""
    return values.astype(np.int64, copy=False)


def _fitting(bits: int, result: Ints, fits: Bools, a: Bools, b: Bools) -> Column:
    if bits == 32:
        fits = fits & (result >= LEAST[32]) & (result < -LEAST[32])
    return result, a & b & fits


def _add(bits: int, a: Column, b: Column) -> Column:
    x, y = _ints(a[0]), _ints(b[0])
    result = x + y
    # Overflow turns the sign against both operands.
    return _fitting(bits, result, ((x ^ result) & (y ^ result)) >= 0, a[1], b[1])


def _subtract(bits: int, a: Column, b: Column) -> Column:
    x, y = _ints(a[0]), _ints(b[0])
    result = x - y
    return _fitting(bits, result, ((x ^ y) & (x ^ result)) >= 0, a[1], b[1])


def _multiply(bits: int, a: Column, b: Column) -> Column:
    x, y = _ints(a[0]), _ints(b[0])
    result = x * y
    # An overflow changes the integer by a multiple of 2**64, but not the DOUBLE.
    fits = np.abs(x.astype(np.float64) * y - result) < 2.0**62
    return _fitting(bits, result, fits, a[1], b[1])


def _remainder(bits: int, a: Column, b: Column) -> Column:
    """With the sign of the dividend."""
    x, y = _ints(a[0]), _ints(b[0])
    # The remainder by -1 is 0; the processor traps on the least number by -1, and on zero.
    return np.fmod(x, np.where((y == 0) | (y == -1), 1, y)), a[1] & b[1] & (y != 0)


def _negate(bits: int, a: Column) -> Column:
    return -_ints(a[0]), a[1] & (a[0] != LEAST[bits])


def _absolute(bits: int, a: Column) -> Column:
    return np.abs(_ints(a[0])), a[1] & (a[0] != LEAST[bits])


# -- doubles --------------------------------------------------------------------------------------------


def _simple(operator: np.ufunc) -> Callable[[Column, Column], Column]:
    return lambda a, b: (operator(a[0], b[0]), a[1] & b[1])


def _division(operator: np.ufunc) -> Callable[[Column, Column], Column]:
    return lambda a, b: (operator(a[0], b[0]), a[1] & b[1] & (b[0] != 0))


def _compare_floats(op: int) -> Callable[[Column, Column], Column]:
    """NaN equals NaN and is greatest."""

    def run(a: Column, b: Column) -> Column:
        x, y = a[0], b[0]
        if op in (c.EQ_F, c.NE_F):
            equal = (x == y) | ((x != x) & (y != y))
            return equal if op == c.EQ_F else ~equal, a[1] & b[1]
        if op in (c.LE_F, c.GT_F):
            at_most = (x <= y) | (y != y)
            return at_most if op == c.LE_F else ~at_most, a[1] & b[1]
        at_least = (x >= y) | (x != x)
        return at_least if op == c.GE_F else ~at_least, a[1] & b[1]

    return run


# -- truth ----------------------------------------------------------------------------------------------


def _and(a: Column, b: Column) -> Column:
    x, y = a[0] != 0, b[0] != 0
    false = (a[1] & ~x) | (b[1] & ~y)
    return ~false, false | (a[1] & b[1])


def _or(a: Column, b: Column) -> Column:
    true = (a[1] & (a[0] != 0)) | (b[1] & (b[0] != 0))
    return true, true | (a[1] & b[1])


def _choose(condition: Column, value: Column, other: Column) -> Column:
    yes = condition[1] & (condition[0] != 0)
    return np.where(yes, value[0], other[0]), np.where(yes, value[1], other[1])


_WITH_BITS: dict[int, tuple[Callable[..., Column], int]] = {
    c.ADD_I: (_add, 2),
    c.SUB_I: (_subtract, 2),
    c.MUL_I: (_multiply, 2),
    c.MOD_I: (_remainder, 2),
    c.NEG_I: (_negate, 1),
    c.ABS_I: (_absolute, 1),
}
_STEPS: dict[int, tuple[Callable[..., Column], int]] = {
    c.TO_F: (lambda a: (a[0].astype(np.float64), a[1]), 1),
    **{op: (_simple(operator), 2) for op, operator in (_COMPARE | _SIMPLE).items()},
    **{op: (_compare_floats(op), 2) for op in (c.EQ_F, c.NE_F, c.LT_F, c.LE_F, c.GT_F, c.GE_F)},
    c.DIV_F: (_division(np.true_divide), 2),
    c.MOD_F: (_division(np.fmod), 2),
    c.NEG_F: (lambda a: (-a[0], a[1]), 1),
    c.ABS_F: (lambda a: (np.abs(a[0]), a[1]), 1),
    c.AND: (_and, 2),
    c.OR: (_or, 2),
    c.NOT: (lambda a: (a[0] == 0, a[1]), 1),
    c.IS_NULL: (lambda a: (~a[1], VALID), 1),
    c.CHOOSE_I: (_choose, 3),
    c.CHOOSE_F: (_choose, 3),
}
