"""Spans of time and values of programs, for a node and a match. Called from the loop."""

from __future__ import annotations

import numpy as np

from presage.arrays.calendar import moved_by_months
from presage.arrays.jit import Ints, inlined
from presage.arrays.programs.code import FLOAT
from presage.arrays.programs.machine import evaluate
from presage.operators.epl.kernel.network.memory import FOREVER, Values, bound_row
from presage.operators.epl.kernel.network.tables import (
    CURRENT,
    FIRST_SPAN_ARGUMENT,
    MICROS,
    MONTHS,
    SPAN_ARGUMENTS,
    SPAN_BANK,
    SPAN_PROGRAM,
)

NOT_KNOWN = -(2**63)
SECOND = 1_000_000
LONGEST = 2**61  # some 73,000 years: beyond, a timer never falls due


@inlined
def compute(
    net: Ints, values: Values, memory: Ints, program: int, first: int, count: int, match: int, row: int
) -> None:
    """Run a program over the rows of a match; its value is in `values.stack_*[0]`. `first` is the address of its
    arguments, `row` the event at hand."""
    places = values.places
    for k in range(count):
        tag = net[first + 2 * k]
        places[k] = row if tag == CURRENT else bound_row(memory, match, tag, net[first + 2 * k + 1])
    evaluate(
        values.ops,
        values.starts[program],
        values.starts[program + 1],
        places,
        values.ints,
        values.int_valid,
        values.floats,
        values.float_valid,
        values.const_i,
        values.const_f,
        values.const_t,
        values.given_i,
        values.given_f,
        values.given_valid,
        values.stack_i,
        values.stack_f,
        values.stack_valid,
    )


@inlined
def due_time(net: Ints, values: Values, memory: Ints, node: int, match: int, now: int) -> int:
    """`now` and the node's period; NOT_KNOWN if an event does not say how long."""
    due = now if net[node + MONTHS] == 0 else moved_by_months(now, net[node + MONTHS])
    span = net[node + MICROS]
    program = net[node + SPAN_PROGRAM]
    if program >= 0:
        compute(net, values, memory, program, net[node + FIRST_SPAN_ARGUMENT], net[node + SPAN_ARGUMENTS], match, -1)
        if not values.stack_valid[0]:
            return NOT_KNOWN
        if net[node + SPAN_BANK] == FLOAT:
            seconds = values.stack_f[0]
            if seconds != seconds:
                return NOT_KNOWN
            length = seconds * SECOND
            if abs(length) >= LONGEST:
                return FOREVER if length > 0 else now
            span += np.int64(np.rint(length))
        else:
            whole = values.stack_i[0]
            if abs(whole) >= LONGEST // SECOND:
                return FOREVER if whole > 0 else now
            span += whole * SECOND
    return FOREVER if span >= LONGEST else due + span
