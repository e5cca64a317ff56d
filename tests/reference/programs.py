"""Runs a program of `presage.arrays.programs.code` with the scalar machine, for each of many tuples of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit

from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.programs.code import Code
from presage.arrays.programs.encoding import Encoded
from presage.arrays.programs.machine import Programs, Scratch, evaluate, programs_of


@njit(nogil=True)
def evaluate_each(
    programs: Programs,
    program: int,
    rows: Ints,
    given: tuple[Ints, Floats, Bools],
    stack: tuple[Ints, Floats, Bools],
    found: tuple[Ints, Floats, Bools],
) -> None:
    """The program over many tuples of rows, `rows` (tuples, places), `given` (tuples, values); results in `found`."""
    for k in range(len(rows)):
        evaluate(
            programs, program, Scratch(rows[k], given[0][k], given[1][k], given[2][k], stack[0], stack[1], stack[2])
        )
        found[0][k], found[1][k], found[2][k] = stack[0][0], stack[1][0], stack[2][0]


def run_each(
    code: Code, program: int, rows: list[Any], encoded: Encoded, given: Sequence[tuple[Any, Any]], is_double: bool
) -> tuple[Any, Any]:
    """As `vectors.evaluate_all`. The stack is as deep as the code says, with a guard behind it that must stay."""
    length = len(rows[0]) if rows else len(given[0][0]) if given else 1
    places = np.ascontiguousarray(np.array(rows, np.int64).reshape(len(rows), length).T)
    kinds = np.int64, np.float64, np.bool_
    given_i, given_f, given_valid = (np.zeros((length, len(given)), kind) for kind in kinds)
    for k, (values, valid) in enumerate(given):
        (given_f if values.dtype.kind == "f" else given_i)[:, k] = values
        given_valid[:, k] = valid
    stack = np.full(code.depth + 1, -77, np.int64), np.full(code.depth + 1, -77.0), np.zeros(code.depth + 1, np.bool_)
    found = np.zeros(length, np.int64), np.zeros(length), np.zeros(length, np.bool_)
    evaluate_each(programs_of(code, encoded), program, places, (given_i, given_f, given_valid), stack, found)
    assert [values[-1] for values in stack] == [-77, -77.0, False], "the stack is deeper than promised"
    return found[1 if is_double else 0], found[2]
