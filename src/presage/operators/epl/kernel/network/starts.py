"""START of a running term: what it listens to or waits for, and its first children. Parts of the one loop."""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import (
    BAD,
    BEGIN,
    COUNT,
    DUE,
    FLAG,
    FRESH,
    KEY,
    NODE,
    NOW,
    OPEN,
    PARENT,
    SET,
    SETS,
    STARTING,
    WAITING,
    A,
    B,
    Values,
    append,
    listeners_of,
    new_term,
    within_loop,
)
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
    """A new instance of a child; its START is the next task."""
    node = net[net[memory[term + NODE] + FIRST_CHILD] + slot]
    child = new_term(memory, node, term, slot, begin, memory[term + KEY])
    push(memory, stack, START, child, -1, -1, 0)


@inlined
def spawn(net: Ints, memory: Ints, stack: Ints, term: int, group: int) -> None:
    """A new operand of EVERY. True at its very start it would be started for ever: SPAWNED ends it then."""
    node = net[net[memory[term + NODE] + FIRST_CHILD]]
    child = new_term(memory, node, term, 0, memory[term + BEGIN], memory[term + KEY])
    memory[child + FLAG] |= STARTING
    memory[child + SET] = group
    push(memory, stack, SPAWNED, child, -1, -1, 0)
    push(memory, stack, START, child, -1, -1, 0)


@inlined
def start_round(net: Ints, memory: Ints, stack: Ints, term: int) -> None:
    """A further round of a repeat; until its START is done it is FRESH."""
    node = net[net[memory[term + NODE] + FIRST_CHILD]]
    child = new_term(memory, node, term, 0, memory[term + BEGIN], memory[term + KEY])
    memory[child + FLAG] |= FRESH
    push(memory, stack, SPAWNED, child, -1, -1, 0)
    push(memory, stack, START, child, -1, -1, 0)


@within_loop
def new_set(memory: Ints) -> int:
    memory[SETS] += 1
    return memory[SETS] - 1  # type: ignore[no-any-return]


@inlined
def take_bounds(net: Ints, values: Values, memory: Ints, term: int) -> bool:
    """Of a repeat: constants, or from events; false if they cannot be."""
    node, begin = memory[term + NODE], memory[term + BEGIN]
    first, count = net[node + FIRST_ARGUMENT], net[node + ARGUMENTS]
    low, high = net[node + LOW], net[node + HIGH]
    fine = True
    if net[node + LOW_PROGRAM] >= 0:
        compute(net, values, memory, net[node + LOW_PROGRAM], first, count, begin, -1)
        low = values.stack_i[0]
        fine = fine and values.stack_valid[0] and low >= 1
    if net[node + HIGH_PROGRAM] >= 0:
        compute(net, values, memory, net[node + HIGH_PROGRAM], first, count, begin, -1)
        high = values.stack_i[0]
        fine = fine and values.stack_valid[0] and high >= 1
    memory[term + A] = begin
    memory[term + B] = max(low, 0)
    memory[term + DUE] = high
    return fine and (high < 0 or low <= high)


@within_loop
def start_term(net: Ints, values: Values, memory: Ints, stack: Ints, heap: Ints, term: int) -> bool:
    """False: a bound of a repeat cannot be; BAD has the node."""
    node, begin, parent = memory[term + NODE], memory[term + BEGIN], memory[term + PARENT]
    kind = net[node + KIND]
    if kind in (FILTER, INTERVAL):
        # Without an event it is one of those that every key has, unless EVERY multiplies them.
        memory[OPEN if begin >= 0 else WAITING] += 1
    if kind == FILTER:
        append(memory, listeners_of(memory, memory[term + KEY], net[node + LISTENER]), term)
    elif kind in (INTERVAL, WITHIN):
        due = due_time(net, values, memory, node, begin, memory[NOW])
        if due > memory[NOW]:
            set_timer(net, memory, heap, term, due)
            if kind == WITHIN:
                start_child(net, memory, stack, term, 0, begin)
        elif kind == WITHIN:
            # No event is within nothing, nor within an unknown time.
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
        spawn(net, memory, stack, term, -1 if kind == EVERY else new_set(memory))
    elif kind == UNTIL:
        if not take_bounds(net, values, memory, term):
            memory[BAD] = node
            return False
        # The ending side listens first, so that it wins where one event satisfies both.
        push(memory, stack, NEXT_CHILD, term, 0, -1, 0)
        if net[node + CHILDREN] > 1:
            push(memory, stack, NEXT_CHILD, term, 1, -1, 0)
    else:  # FOLLOWED, WHILE
        start_child(net, memory, stack, term, 0, begin)
    return True


@within_loop
def start_next(net: Ints, memory: Ints, stack: Ints, term: int, slot: int) -> None:
    """NEXT_CHILD: of AND and OR one child after the other, of a repeat this one."""
    node = memory[term + NODE]
    if net[node + KIND] != UNTIL:
        if net[node + KIND] == OR:
            memory[term + COUNT] = slot + 1
        if slot + 1 < net[node + CHILDREN]:
            push(memory, stack, NEXT_CHILD, term, slot + 1, -1, 0)
    start_child(net, memory, stack, term, slot, memory[term + BEGIN])
