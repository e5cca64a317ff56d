"""The interpreter of programs for one row at a time, which kernels call.

It is apart from `vectors`, which evaluates whole columns. No allocation, no exception; some nanoseconds per operation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Bools, Floats, Ints, inlined, inlined_always
from presage.arrays.programs import code as c
from presage.arrays.programs.borrowing import borrowed
from presage.arrays.programs.code import Code
from presage.arrays.programs.encoding import Encoded

LEAST_32, LEAST_64 = -(2**31), -(2**63)
FAR = 2.0**62


class Programs(NamedTuple):
    """The programs of a statement, their constants, and the encoded columns of the step: (columns, rows)."""

    ops: Ints
    starts: Ints
    const_i: Ints
    const_f: Floats
    const_t: Ints
    ints: Ints
    int_valid: Bools
    floats: Floats
    float_valid: Bools


class Scratch(NamedTuple):
    """The arguments of the program at hand (row numbers by place, values of the host by number), and its stack.

    The result is `stack_i[0]` or `stack_f[0]`, by the type of the program, and null unless `stack_valid[0]`.
    """

    rows: Ints
    given_i: Ints
    given_f: Floats
    given_valid: Bools
    stack_i: Ints
    stack_f: Floats
    stack_valid: Bools


def programs_of(code: Code, encoded: Encoded) -> Programs:
    """Writable copies, so that loops have one signature."""
    return Programs(
        np.array(code.ops, np.int64),
        np.array(code.starts, np.int64),
        np.array(code.ints, np.int64),
        np.array(code.floats, np.float64),
        encoded.texts,
        encoded.ints,
        encoded.int_valid,
        encoded.floats,
        encoded.float_valid,
    )


def new_scratch(places: int, given: int, depth: int) -> Scratch:
    def values(size: int) -> tuple[Ints, Floats, Bools]:
        return np.zeros(size, np.int64), np.zeros(size, np.float64), np.zeros(size, np.bool_)

    return Scratch(np.zeros(places, np.int64), *values(given), *values(depth))


@inlined_always
def evaluate(programs: Programs, program: int, scratch: Scratch) -> None:
    """Always inlined: passing the arrays takes longer than a small program. Each call costs a second of compilation."""
    programs, scratch = borrowed(programs), borrowed(scratch)
    at, end = programs.starts[program], programs.starts[program + 1]
    top = -1  # the stack index of the last value
    while at < end:
        op = programs.ops[at]
        at += 1
        if op <= c.GIVEN_F:
            top += 1
            at = push_leaf(programs, scratch, op, at, top)
        elif c.EQ_I <= op <= c.GE_F:
            top -= 1
            compare(scratch, op, top)
        elif c.AND <= op <= c.CHOOSE_F:
            top = decide(scratch, op, top)
        elif c.ADD_I <= op <= c.NEG_I or op == c.ABS_I:
            top = calculate_ints(scratch, op, programs.ops[at], top)
            at += 1
        else:
            top = calculate_floats(scratch, op, top)


@inlined_always
def push_leaf(programs: Programs, scratch: Scratch, op: int, at: int, top: int) -> int:
    """A column's value, a constant, a value of the host, or null. Returns the index after the operands at `at`."""
    ops = programs.ops
    if op == c.LOAD_I:
        row, column = scratch.rows[ops[at]], ops[at + 1]
        scratch.stack_valid[top] = row >= 0 and programs.int_valid[column, row]
        scratch.stack_i[top] = programs.ints[column, row] if row >= 0 else 0
        return at + 2
    if op == c.LOAD_F:
        row, column = scratch.rows[ops[at]], ops[at + 1]
        scratch.stack_valid[top] = row >= 0 and programs.float_valid[column, row]
        scratch.stack_f[top] = programs.floats[column, row] if row >= 0 else 0.0
        return at + 2
    scratch.stack_valid[top] = True
    if op == c.CONST_I:
        scratch.stack_i[top] = programs.const_i[ops[at]]
    elif op == c.CONST_F:
        scratch.stack_f[top] = programs.const_f[ops[at]]
    elif op == c.CONST_TEXT:
        scratch.stack_i[top] = programs.const_t[ops[at]]
    elif op == c.GIVEN_I:
        scratch.stack_i[top] = scratch.given_i[ops[at]]
        scratch.stack_valid[top] = scratch.given_valid[ops[at]]
    elif op == c.GIVEN_F:
        scratch.stack_f[top] = scratch.given_f[ops[at]]
        scratch.stack_valid[top] = scratch.given_valid[ops[at]]
    else:  # NULL has no operand
        scratch.stack_i[top] = 0
        scratch.stack_f[top] = 0.0
        scratch.stack_valid[top] = False
        return at
    return at + 1


@inlined_always
def compare(scratch: Scratch, op: int, top: int) -> None:
    if op <= c.GE_I:
        scratch.stack_i[top] = compare_ints(op, scratch.stack_i[top], scratch.stack_i[top + 1])
    else:
        scratch.stack_i[top] = compare_floats(op, scratch.stack_f[top], scratch.stack_f[top + 1])
    scratch.stack_valid[top] = scratch.stack_valid[top] and scratch.stack_valid[top + 1]


@inlined
def compare_ints(op: int, a: int, b: int) -> int:
    if op == c.EQ_I:
        return 1 if a == b else 0
    if op == c.NE_I:
        return 1 if a != b else 0
    if op == c.LT_I:
        return 1 if a < b else 0
    if op == c.LE_I:
        return 1 if a <= b else 0
    if op == c.GT_I:
        return 1 if a > b else 0
    return 1 if a >= b else 0


@inlined
def compare_floats(op: int, a: float, b: float) -> int:
    """NaN equals NaN and is greatest."""
    equal = a == b or (a != a and b != b)
    if op == c.EQ_F:
        return 1 if equal else 0
    if op == c.NE_F:
        return 0 if equal else 1
    less = not equal and (a < b or b != b)
    if op == c.LT_F:
        return 1 if less else 0
    if op == c.LE_F:
        return 1 if less or equal else 0
    if op == c.GT_F:
        return 0 if less or equal else 1
    return 0 if less else 1


@inlined_always
def decide(scratch: Scratch, op: int, top: int) -> int:
    """Logic of three values, and the choice between two. Returns the new top of the stack."""
    truth, valid = scratch.stack_i, scratch.stack_valid
    if op == c.NOT:
        truth[top] = 1 if truth[top] == 0 else 0
        return top
    if op == c.IS_NULL:
        truth[top] = 0 if valid[top] else 1
        valid[top] = True
        return top
    if op == c.AND:
        top -= 1
        false = (valid[top] and truth[top] == 0) or (valid[top + 1] and truth[top + 1] == 0)
        truth[top] = 0 if false else 1
        valid[top] = false or (valid[top] and valid[top + 1])
        return top
    if op == c.OR:
        top -= 1
        true = (valid[top] and truth[top] != 0) or (valid[top + 1] and truth[top + 1] != 0)
        truth[top] = 1 if true else 0
        valid[top] = true or (valid[top] and valid[top + 1])
        return top
    top -= 2
    source = top + 1 if valid[top] and truth[top] != 0 else top + 2
    if op == c.CHOOSE_I:
        scratch.stack_i[top] = scratch.stack_i[source]
    else:
        scratch.stack_f[top] = scratch.stack_f[source]
    valid[top] = valid[source]
    return top


@inlined_always
def calculate_ints(scratch: Scratch, op: int, bits: int, top: int) -> int:
    """A result that `bits` do not hold is null. Returns the new top of the stack."""
    values, valid = scratch.stack_i, scratch.stack_valid
    if op in (c.NEG_I, c.ABS_I):
        # The least number has no opposite.
        valid[top] = valid[top] and values[top] != (LEAST_32 if bits == 32 else LEAST_64)
        if op == c.NEG_I or values[top] < 0:
            values[top] = -values[top]
        return top
    top -= 1
    a, b = values[top], values[top + 1]
    result, fits = 0, False
    if op == c.ADD_I:
        result = a + b
        fits = ((a ^ result) & (b ^ result)) >= 0  # overflow turns the sign against both
    elif op == c.SUB_I:
        result = a - b
        fits = ((a ^ b) & (a ^ result)) >= 0
    elif op == c.MUL_I:
        result = a * b
        fits = product_fits(a, b)
    elif b != 0:  # MOD_I
        result = remainder(a, b)
        fits = True
    if bits == 32:
        fits = fits and LEAST_32 <= result < -LEAST_32
    values[top] = result
    valid[top] = valid[top] and valid[top + 1] and fits
    return top


@inlined
def product_fits(a: int, b: int) -> bool:
    """Whether a * b is within 64 bits. An overflow changes the integer by a multiple of 2**64 but not the DOUBLE, whose
    rounding error is less than a billionth of that."""
    return abs(float(a) * float(b) - float(a * b)) < FAR


@inlined
def remainder(a: int, b: int) -> int:
    """With the sign of the dividend; b is not zero."""
    if b == -1:
        return 0  # the processor traps on the least number
    # NumPy's functions, because Python's operators may raise, and what may raise must count references. Numba's fmod
    # takes integers for unsigned ones.
    rest: int = np.remainder(a, b)
    return rest - b if rest != 0 and (a < 0) != (b < 0) else rest


@inlined_always
def calculate_floats(scratch: Scratch, op: int, top: int) -> int:
    """Division and remainder by zero are null. Returns the new top of the stack."""
    values, valid = scratch.stack_f, scratch.stack_valid
    if op == c.TO_F:
        values[top] = float(scratch.stack_i[top])
        return top
    if op == c.NEG_F:
        values[top] = -values[top]
        return top
    if op == c.ABS_F:
        values[top] = abs(values[top])
        return top
    top -= 1
    by = values[top + 1]
    fits = True
    if op == c.ADD_F:
        values[top] += by
    elif op == c.SUB_F:
        values[top] -= by
    elif op == c.MUL_F:
        values[top] *= by
    elif op == c.DIV_F:
        fits = by != 0.0
        values[top] = np.true_divide(values[top], by) if fits else 0.0
    else:  # MOD_F
        fits = by != 0.0
        values[top] = np.fmod(values[top], by) if fits else 0.0
    valid[top] = valid[top] and valid[top + 1] and fits
    return top
