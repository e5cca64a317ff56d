"""The code of conditions over several rows, which `columnar.programs` writes and `machine` and `vectors` interpret.

A program is a sequence of words in `ops`: an operation, then its operands. It works on a stack of values; a value is an
int64 or a float64 and may be null. Texts are compared by their rank among all texts of the step (see `encoding`), so
they compare as integers do.

`LOAD place column` reads a column of the row at `rows[place]` (-1: null); `GIVEN n` reads the n-th value of the host
(an aggregate, a label, a match number).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from presage.arrays.jit import Floats, Ints

# Banks of columns.
INT, FLOAT, TEXT = 0, 1, 2

# Operations. `i` works on integers (and truth values, times, ranks of texts), `f` on doubles.
CONST_I, CONST_F, CONST_TEXT, NULL = 1, 2, 3, 4  # CONST_x k: the k-th constant of its kind
LOAD_I, LOAD_F = 5, 6  # LOAD_x place column: `column` is the number in its own bank
GIVEN_I, GIVEN_F = 7, 8  # GIVEN_x n
TO_F = 9  # integer to double
ADD_I, SUB_I, MUL_I, MOD_I, NEG_I = 10, 11, 12, 13, 14  # operand: bits of the result (32 or 64); overflow is null
ADD_F, SUB_F, MUL_F, DIV_F, MOD_F, NEG_F = 20, 21, 22, 23, 24, 25  # division and remainder by zero are null
EQ_I, NE_I, LT_I, LE_I, GT_I, GE_I = 30, 31, 32, 33, 34, 35
EQ_F, NE_F, LT_F, LE_F, GT_F, GE_F = 40, 41, 42, 43, 44, 45  # NaN equals NaN and is greatest; -0.0 equals 0.0
AND, OR, NOT, IS_NULL = 50, 51, 52, 53  # of two values (NOT and IS_NULL: of one), with SQL's null logic
CHOOSE_I, CHOOSE_F = 54, 55  # condition, value, other: the value where the condition is true, else the other
ABS_I, ABS_F = 56, 57  # ABS_I has the bits as operand, as NEG_I


@dataclass(frozen=True)
class Code:
    """All programs of a statement: program i is ops[starts[i]:starts[i + 1]]."""

    ops: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    starts: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    ints: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    floats: Floats = field(default_factory=lambda: np.empty(0, np.float64))
    texts: tuple[str, ...] = ()
    # The columns that programs read, in the order of their numbers within each bank: name, bank.
    columns: tuple[tuple[str, int], ...] = ()
    depth: int = 0  # the deepest stack that a program needs


class Oracle(Protocol):
    """Evaluates conditions that no program can express, over columns of their arguments; null is false."""

    def ask(self, number: int, arguments: list[pa.Array]) -> np.ndarray: ...
