"""The interpreter of programs for one row at a time, which kernels call.

Shapes: `rows` (places,), `ints` and `int_valid` (columns of integers and texts, rows), `floats` and `float_valid`
(columns of doubles, rows), `given_*` (values of the host,), `stack_*` (at least `Code.depth`,). The value is in
`stack_i[0]` or `stack_f[0]`, whichever the program ends with; it is null unless `stack_valid[0]`, and then the other
two hold anything. No allocation, no exception; some nanoseconds per operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numpy as np
from numba import njit

from presage.arrays.jit import Bools, Floats, Ints, inlined
from presage.arrays.programs.code import (
    ABS_F,
    ABS_I,
    ADD_F,
    ADD_I,
    AND,
    CHOOSE_F,
    CHOOSE_I,
    CONST_F,
    CONST_I,
    CONST_TEXT,
    DIV_F,
    EQ_F,
    EQ_I,
    GE_F,
    GE_I,
    GIVEN_F,
    GIVEN_I,
    GT_F,
    GT_I,
    IS_NULL,
    LE_F,
    LE_I,
    LOAD_F,
    LOAD_I,
    LT_F,
    LT_I,
    MOD_F,
    MOD_I,
    MUL_F,
    MUL_I,
    NE_F,
    NE_I,
    NEG_F,
    NEG_I,
    NOT,
    NULL,
    OR,
    SUB_F,
    SUB_I,
    TO_F,
)

P = ParamSpec("P")
R = TypeVar("R")


def pasted(function: Callable[P, R]) -> Callable[P, R]:
    """As `inlined`, but always copied to where it is called: handing over seventeen arrays takes longer than a small
    program. Each place that calls it costs a second of compilation, so a kernel should have one."""
    return cast("Callable[P, R]", njit(nogil=True, forceinline=True)(function))


LEAST_32, LEAST_64 = -(2**31), -(2**63)
FAR = 2.0**62


@inlined
def product_fits(a: int, b: int) -> bool:
    """Whether a * b is within 64 bits. If not, it has turned over by a multiple of 2**64, which its DOUBLE has not;
    rounding moves that by less than a billionth of it."""
    return abs(float(a) * float(b) - float(a * b)) < FAR


@inlined
def remainder(a: int, b: int) -> int:
    """With the sign of the dividend; b is not zero."""
    if b == -1:
        return 0  # the processor traps on the least number
    # NumPy's functions, because Python's operators may raise, and what may raise must count references. Numba's fmod
    # takes integers for unsigned ones.
    found: int = np.remainder(a, b)
    return found - b if found != 0 and (a < 0) != (b < 0) else found


@inlined
def compare_ints(op: int, a: int, b: int) -> int:
    if op == EQ_I:
        return 1 if a == b else 0
    if op == NE_I:
        return 1 if a != b else 0
    if op == LT_I:
        return 1 if a < b else 0
    if op == LE_I:
        return 1 if a <= b else 0
    if op == GT_I:
        return 1 if a > b else 0
    return 1 if a >= b else 0


@inlined
def compare_floats(op: int, a: float, b: float) -> int:
    """NaN equals NaN and is greatest."""
    equal = a == b or (a != a and b != b)
    if op == EQ_F:
        return 1 if equal else 0
    if op == NE_F:
        return 0 if equal else 1
    less = not equal and (a < b or b != b)
    if op == LT_F:
        return 1 if less else 0
    if op == LE_F:
        return 1 if less or equal else 0
    if op == GT_F:
        return 0 if less or equal else 1
    return 0 if less else 1


@pasted
def evaluate(
    ops: Ints,
    begin: int,
    end: int,
    rows: Ints,
    ints: Ints,
    int_valid: Bools,
    floats: Floats,
    float_valid: Bools,
    const_i: Ints,
    const_f: Floats,
    const_t: Ints,
    given_i: Ints,
    given_f: Floats,
    given_valid: Bools,
    stack_i: Ints,
    stack_f: Floats,
    stack_valid: Bools,
) -> None:
    at, top = begin, -1  # top: the slot of the last value
    while at < end:
        op = ops[at]
        at += 1
        # Comparisons and loads first: they are most of what conditions do.
        if EQ_I <= op <= GE_I:
            top -= 1
            stack_i[top] = compare_ints(op, stack_i[top], stack_i[top + 1])
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1]
        elif EQ_F <= op <= GE_F:
            top -= 1
            stack_i[top] = compare_floats(op, stack_f[top], stack_f[top + 1])
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1]
        elif op == LOAD_I:
            top += 1
            row = rows[ops[at]]
            stack_valid[top] = row >= 0 and int_valid[ops[at + 1], row]
            stack_i[top] = ints[ops[at + 1], row] if row >= 0 else 0
            at += 2
        elif op == LOAD_F:
            top += 1
            row = rows[ops[at]]
            stack_valid[top] = row >= 0 and float_valid[ops[at + 1], row]
            stack_f[top] = floats[ops[at + 1], row] if row >= 0 else 0.0
            at += 2
        elif op == CONST_I:
            top += 1
            stack_i[top] = const_i[ops[at]]
            stack_valid[top] = True
            at += 1
        elif op == CONST_F:
            top += 1
            stack_f[top] = const_f[ops[at]]
            stack_valid[top] = True
            at += 1
        elif op == CONST_TEXT:
            top += 1
            stack_i[top] = const_t[ops[at]]
            stack_valid[top] = True
            at += 1
        elif op == GIVEN_I:
            top += 1
            stack_i[top] = given_i[ops[at]]
            stack_valid[top] = given_valid[ops[at]]
            at += 1
        elif op == GIVEN_F:
            top += 1
            stack_f[top] = given_f[ops[at]]
            stack_valid[top] = given_valid[ops[at]]
            at += 1
        elif op == NULL:
            top += 1
            stack_i[top] = 0
            stack_f[top] = 0.0
            stack_valid[top] = False
        elif op == AND:
            top -= 1
            known, other = stack_valid[top], stack_valid[top + 1]
            false = (known and stack_i[top] == 0) or (other and stack_i[top + 1] == 0)
            stack_i[top] = 0 if false else 1
            stack_valid[top] = false or (known and other)
        elif op == OR:
            top -= 1
            known, other = stack_valid[top], stack_valid[top + 1]
            true = (known and stack_i[top] != 0) or (other and stack_i[top + 1] != 0)
            stack_i[top] = 1 if true else 0
            stack_valid[top] = true or (known and other)
        elif op == NOT:
            stack_i[top] = 1 if stack_i[top] == 0 else 0
        elif op == IS_NULL:
            stack_i[top] = 0 if stack_valid[top] else 1
            stack_valid[top] = True
        elif op == TO_F:
            stack_f[top] = float(stack_i[top])
        elif op == ADD_F:
            top -= 1
            stack_f[top] += stack_f[top + 1]
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1]
        elif op == SUB_F:
            top -= 1
            stack_f[top] -= stack_f[top + 1]
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1]
        elif op == MUL_F:
            top -= 1
            stack_f[top] *= stack_f[top + 1]
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1]
        elif op == DIV_F:
            top -= 1
            by = stack_f[top + 1]
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1] and by != 0.0
            stack_f[top] = np.true_divide(stack_f[top], by) if by != 0.0 else 0.0
        elif op == MOD_F:
            top -= 1
            by = stack_f[top + 1]
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1] and by != 0.0
            stack_f[top] = np.fmod(stack_f[top], by) if by != 0.0 else 0.0
        elif op == NEG_F:
            stack_f[top] = -stack_f[top]
        elif op == ABS_F:
            stack_f[top] = abs(stack_f[top])
        elif op == CHOOSE_I:
            top -= 2
            source = top + 1 if stack_valid[top] and stack_i[top] != 0 else top + 2
            stack_i[top] = stack_i[source]
            stack_valid[top] = stack_valid[source]
        elif op == CHOOSE_F:
            top -= 2
            source = top + 1 if stack_valid[top] and stack_i[top] != 0 else top + 2
            stack_f[top] = stack_f[source]
            stack_valid[top] = stack_valid[source]
        elif op in (NEG_I, ABS_I):
            least = LEAST_32 if ops[at] == 32 else LEAST_64
            at += 1
            # The least number has no opposite.
            stack_valid[top] = stack_valid[top] and stack_i[top] != least
            if op == NEG_I or stack_i[top] < 0:
                stack_i[top] = -stack_i[top]
        else:
            top -= 1
            a, b = stack_i[top], stack_i[top + 1]
            found, fits = 0, False
            if op == ADD_I:
                found = a + b
                fits = ((a ^ found) & (b ^ found)) >= 0  # overflow turns the sign against both
            elif op == SUB_I:
                found = a - b
                fits = ((a ^ b) & (a ^ found)) >= 0
            elif op == MUL_I:
                found = a * b
                fits = product_fits(a, b)
            elif op == MOD_I and b != 0:
                found = remainder(a, b)
                fits = True
            if ops[at] == 32:
                fits = fits and LEAST_32 <= found < -LEAST_32
            at += 1
            stack_i[top] = found
            stack_valid[top] = stack_valid[top] and stack_valid[top + 1] and fits
