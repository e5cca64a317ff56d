"""Conditions, values and periods of a node, evaluated for a match."""

from __future__ import annotations

import numpy as np

from presage.arrays.calendar import moved_by_months
from presage.arrays.jit import Ints, inlined, inlined_always
from presage.arrays.programs.code import FLOAT
from presage.arrays.programs.machine import evaluate
from presage.operators.epl.kernel.network.memory import FOREVER, Values, bound_row
from presage.operators.epl.kernel.network.tables import (
    ARGUMENTS,
    CURRENT,
    FIRST_ARGUMENT,
    FIRST_SPAN_ARGUMENT,
    MICROS,
    MONTHS,
    PROGRAM,
    SPAN_ARGUMENTS,
    SPAN_BANK,
    SPAN_PROGRAM,
)

NOT_KNOWN = -(2**63)
SECOND = 1_000_000
LONGEST = 2**61  # some 73,000 years: a longer timer is never due


@inlined
def compute(
    net: Ints, values: Values, memory: Ints, program: int, first: int, count: int, match: int, row: int
) -> None:
    """Runs a program over the rows of a match; `values.scratch` holds the result. `first`: the address of its
    arguments; `row`: the event at hand."""
    for k in range(count):
        tag = net[first + 2 * k]
        values.scratch.rows[k] = row if tag == CURRENT else bound_row(memory, match, tag, net[first + 2 * k + 1])
    evaluate(values.programs, program, values.scratch)


@inlined_always
def is_true(net: Ints, values: Values, memory: Ints, node: int, match: int, row: int) -> bool:
    """The condition of a filter or of a WHILE."""
    first, count = net[node + FIRST_ARGUMENT], net[node + ARGUMENTS]
    compute(net, values, memory, net[node + PROGRAM], first, count, match, row)
    return values.scratch.stack_valid[0] and values.scratch.stack_i[0] != 0  # type: ignore[no-any-return]


@inlined
def due_time(net: Ints, values: Values, memory: Ints, node: int, match: int, now: int) -> int:
    """`now` plus the node's period; NOT_KNOWN if the period is null."""
    due = now if net[node + MONTHS] == 0 else moved_by_months(now, net[node + MONTHS])
    span = net[node + MICROS]
    program = net[node + SPAN_PROGRAM]
    if program >= 0:
        compute(net, values, memory, program, net[node + FIRST_SPAN_ARGUMENT], net[node + SPAN_ARGUMENTS], match, -1)
        if not values.scratch.stack_valid[0]:
            return NOT_KNOWN
        if net[node + SPAN_BANK] == FLOAT:
            seconds = values.scratch.stack_f[0]
            if seconds != seconds:
                return NOT_KNOWN
            length = seconds * SECOND
            if abs(length) >= LONGEST:
                return FOREVER if length > 0 else now
            span += np.int64(np.rint(length))
        else:
            whole = values.scratch.stack_i[0]
            if abs(whole) >= LONGEST // SECOND:
                return FOREVER if whole > 0 else now
            span += whole * SECOND
    return FOREVER if span >= LONGEST else due + span
