"""Runs a program of `patterns.kernel.code` with the scalar machine, for each of many tuples of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.programs.code import Code
from presage.arrays.programs.encoding import Encoded
from presage.arrays.programs.machine import evaluate


@njit(nogil=True)
def evaluate_each(
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
    found_i: Ints,
    found_f: Floats,
    found_valid: Bools,
) -> None:
    """The program over many tuples of rows, `rows` (tuples, places), given (tuples, values); results in `found_*`."""
    for k in range(len(found_valid)):
        evaluate(
            ops,
            begin,
            end,
            rows[k],
            ints,
            int_valid,
            floats,
            float_valid,
            const_i,
            const_f,
            const_t,
            given_i[k],
            given_f[k],
            given_valid[k],
            stack_i,
            stack_f,
            stack_valid,
        )
        found_i[k] = stack_i[0]
        found_f[k] = stack_f[0]
        found_valid[k] = stack_valid[0]


def run_each(
    code: Code, program: int, rows: list[Any], encoded: Encoded, given: Sequence[tuple[Any, Any]], is_double: bool
) -> tuple[Any, Any]:
    """As `vectors.evaluate_all`. The stack is as deep as the code says, with a guard behind it that must stay."""
    length = len(rows[0]) if rows else len(given[0][0]) if given else 1
    places = np.ascontiguousarray(np.array(rows, np.int64).reshape(len(rows), length).T)
    given_i, given_f = (np.zeros((length, len(given)), dtype) for dtype in (np.int64, np.float64))
    given_valid = np.zeros((length, len(given)), np.bool_)
    for k, (values, valid) in enumerate(given):
        (given_f if values.dtype.kind == "f" else given_i)[:, k] = values
        given_valid[:, k] = valid
    stack_i, stack_f = np.full(code.depth + 1, -77, np.int64), np.full(code.depth + 1, -77.0)
    stack_valid = np.zeros(code.depth + 1, np.bool_)
    found_i, found_f, found_valid = np.zeros(length, np.int64), np.zeros(length), np.zeros(length, np.bool_)
    evaluate_each(
        code.ops,
        int(code.starts[program]),
        int(code.starts[program + 1]),
        places,
        encoded.ints,
        encoded.int_valid,
        encoded.floats,
        encoded.float_valid,
        code.ints,
        code.floats,
        encoded.texts,
        given_i,
        given_f,
        given_valid,
        stack_i,
        stack_f,
        stack_valid,
        found_i,
        found_f,
        found_valid,
    )
    guard = stack_i[-1], stack_f[-1], stack_valid[-1]
    assert guard == (-77, -77.0, False), "the stack is deeper than promised"
    return (found_f if is_double else found_i), found_valid
