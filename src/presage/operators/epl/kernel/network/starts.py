"""The start of a running term: the event or timer that it waits for, and its first children."""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import Values, append, listeners_of, new_term
from presage.operators.epl.kernel.network.periods import NOT_KNOWN, compute, due_time
from presage.operators.epl.kernel.network.tables import (
    AND,
    ARGUMENTS,
    CHILDREN,
    DISTINCT,
    EVERY,
    FILTER,
    FIRST_ARGUMENT,
    FIRST_CHILD,
    HIGH,
    HIGH_PROGRAM,
    INTERVAL,
    KIND,
    LISTENER,
    LOW,
    LOW_PROGRAM,
    NOT,
    OR,
    UNTIL,
    WITHIN,
)
from presage.operators.epl.kernel.network.tasks import FALSE, HOLDS, NEXT_CHILD, SPAWNED, START, TRUE, push
from presage.operators.epl.kernel.network.timers import set_timer


@inlined
def start_child(net: Ints, memory: Ints, stack: Ints, term: int, slot: int, begin: int) -> None:
    """Creates an instance of a child; its START is the next task."""
    node = net[net[memory[term + m.NODE] + FIRST_CHILD] + slot]
    child = new_term(memory, node, term, slot, begin, memory[term + m.KEY])
    push(memory, stack, START, child, -1, -1, 0)


@inlined
def spawn(net: Ints, memory: Ints, stack: Ints, term: int, flag: int, group: int) -> None:
    """A new operand of EVERY (flag STARTING), which SPAWNED ends if it is true at its start: it would be started for
    ever. Or a further round of a repeat (FRESH until its START is done)."""
    node = net[net[memory[term + m.NODE] + FIRST_CHILD]]
    child = new_term(memory, node, term, 0, memory[term + m.BEGIN], memory[term + m.KEY])
    memory[child + m.FLAG] |= flag
    memory[child + m.SET] = group
    push(memory, stack, SPAWNED, child, -1, -1, 0)
    push(memory, stack, START, child, -1, -1, 0)


@inlined_always
def new_set(memory: Ints) -> int:
    memory[m.SETS] += 1
    return memory[m.SETS] - 1  # type: ignore[no-any-return]


@inlined
def take_bounds(net: Ints, values: Values, memory: Ints, term: int) -> bool:
    """The bounds of a repeat, constants or from events. False: they are invalid."""
    node, begin = memory[term + m.NODE], memory[term + m.BEGIN]
    first, count = net[node + FIRST_ARGUMENT], net[node + ARGUMENTS]
    low, high = net[node + LOW], net[node + HIGH]
    fine = True
    if net[node + LOW_PROGRAM] >= 0:
        compute(net, values, memory, net[node + LOW_PROGRAM], first, count, begin, -1)
        low = values.scratch.stack_i[0]
        fine = fine and values.scratch.stack_valid[0] and low >= 1
    if net[node + HIGH_PROGRAM] >= 0:
        compute(net, values, memory, net[node + HIGH_PROGRAM], first, count, begin, -1)
        high = values.scratch.stack_i[0]
        fine = fine and values.scratch.stack_valid[0] and high >= 1
    memory[term + m.A] = begin
    memory[term + m.B] = max(low, 0)
    memory[term + m.DUE] = high
    return fine and (high < 0 or low <= high)


@inlined_always
def start_term(net: Ints, values: Values, memory: Ints, stack: Ints, heap: Ints, term: int) -> bool:
    """False: a bound of a repeat is invalid; BAD holds the node."""
    node, begin, parent = memory[term + m.NODE], memory[term + m.BEGIN], memory[term + m.PARENT]
    kind = net[node + KIND]
    if kind in (FILTER, INTERVAL):
        # Without an event it is one of those that every key has; only EVERY makes more of them.
        memory[m.OPEN if begin >= 0 else m.WAITING] += 1
    if kind == FILTER:
        append(memory, listeners_of(memory, memory[term + m.KEY], net[node + LISTENER]), term)
    elif kind in (INTERVAL, WITHIN):
        due = due_time(net, values, memory, node, begin, memory[m.NOW])
        if due > memory[m.NOW]:
            set_timer(memory, heap, term, due)
            if kind == WITHIN:
                start_child(net, memory, stack, term, 0, begin)
        elif kind == WITHIN:
            # No event is within a period of no length, or of unknown length.
            end_term(net, memory, term)
            push(memory, stack, FALSE, parent, term, -1, 0)
        elif due != NOT_KNOWN:  # else it never ends
            end_term(net, memory, term)
            push(memory, stack, TRUE, parent, term, begin, 1)
    elif kind in (AND, OR):
        push(memory, stack, NEXT_CHILD, term, 0, -1, 0)
    elif kind == NOT:
        push(memory, stack, HOLDS, term, -1, -1, 0)
        start_child(net, memory, stack, term, 0, begin)
    elif kind in (EVERY, DISTINCT):
        spawn(net, memory, stack, term, m.STARTING, -1 if kind == EVERY else new_set(memory))
    elif kind == UNTIL:
        if not take_bounds(net, values, memory, term):
            memory[m.BAD] = node
            return False
        # The ending side listens first: it wins where one event satisfies both.
        push(memory, stack, NEXT_CHILD, term, 0, -1, 0)
        if net[node + CHILDREN] > 1:
            push(memory, stack, NEXT_CHILD, term, 1, -1, 0)
    else:  # FOLLOWED, WHILE
        start_child(net, memory, stack, term, 0, begin)
    return True


@inlined_always
def start_next(net: Ints, memory: Ints, stack: Ints, term: int, slot: int) -> None:
    """NEXT_CHILD: starts the children of AND and OR one after the other; of a repeat only this one."""
    node = memory[term + m.NODE]
    if net[node + KIND] != UNTIL:
        if net[node + KIND] == OR:
            memory[term + m.COUNT] = slot + 1
        if slot + 1 < net[node + CHILDREN]:
            push(memory, stack, NEXT_CHILD, term, slot + 1, -1, 0)
    start_child(net, memory, stack, term, slot, memory[term + m.BEGIN])
