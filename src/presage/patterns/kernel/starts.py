"""START of a running term: what it listens to or waits for, and its first children. Parts of the one loop."""

from __future__ import annotations

from presage.arrays.jit import inlined
from presage.patterns.kernel.endings import end_term
from presage.patterns.kernel.network import (
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
    Network,
)
from presage.patterns.kernel.periods import NOT_KNOWN, compute, due_time
from presage.patterns.kernel.pools import (
    BAD,
    BEGIN,
    COUNT,
    DUE,
    FLAG,
    KEY,
    NODE,
    NOW,
    OPEN,
    PARENT,
    SET,
    SETS,
    STARTING,
    A,
    B,
    Pools,
    Values,
    append,
    new_term,
    within_loop,
)
from presage.patterns.kernel.tasks import FALSE, HOLDS, NEXT_CHILD, SPAWNED, START, TRUE, push
from presage.patterns.kernel.timers import set_timer


@within_loop
def start_child(net: Network, pools: Pools, i: int, slot: int, begin: int) -> int:
    """A new instance of a child; its START is the next task."""
    terms = pools.terms
    node = net.children[net.nodes[terms[i, NODE], FIRST_CHILD] + slot]
    child = new_term(pools.registers, terms, node, i, slot, begin, terms[i, KEY])
    push(pools.registers, pools.stack, START, child, -1, -1, 0)
    return child


@within_loop
def spawn(net: Network, pools: Pools, i: int, group: int) -> None:
    """A new operand of EVERY. True at its very start it would be started for ever: SPAWNED ends it then."""
    terms = pools.terms
    node = net.children[net.nodes[terms[i, NODE], FIRST_CHILD]]
    child = new_term(pools.registers, terms, node, i, 0, terms[i, BEGIN], terms[i, KEY])
    terms[child, FLAG] |= STARTING
    terms[child, SET] = group
    push(pools.registers, pools.stack, SPAWNED, child, -1, -1, 0)
    push(pools.registers, pools.stack, START, child, -1, -1, 0)


@within_loop
def new_set(pools: Pools) -> int:
    pools.registers[SETS] += 1
    return pools.registers[SETS] - 1  # type: ignore[no-any-return]


@inlined
def take_bounds(net: Network, values: Values, pools: Pools, i: int) -> bool:
    """Of a repeat: constants, or from events; false if they cannot be."""
    terms, node = pools.terms, pools.terms[i, NODE]
    line = net.nodes[node]
    low, high = line[LOW], line[HIGH]
    fine = True
    if line[LOW_PROGRAM] >= 0:
        compute(
            values, net.arguments, pools.binds, line[LOW_PROGRAM],
            line[FIRST_ARGUMENT], line[ARGUMENTS], terms[i, BEGIN], -1,
        )  # fmt: skip
        low = values.stack_i[0]
        fine = fine and values.stack_valid[0] and low >= 1
    if line[HIGH_PROGRAM] >= 0:
        compute(
            values, net.arguments, pools.binds, line[HIGH_PROGRAM],
            line[FIRST_ARGUMENT], line[ARGUMENTS], terms[i, BEGIN], -1,
        )  # fmt: skip
        high = values.stack_i[0]
        fine = fine and values.stack_valid[0] and high >= 1
    terms[i, A] = terms[i, BEGIN]
    terms[i, B] = max(low, 0)
    terms[i, DUE] = high
    return fine and (high < 0 or low <= high)


@inlined
def start_term(net: Network, values: Values, pools: Pools, i: int) -> bool:
    """False: a bound of a repeat cannot be; BAD has the node."""
    terms, registers, stack = pools.terms, pools.registers, pools.stack
    node, begin, parent = terms[i, NODE], terms[i, BEGIN], terms[i, PARENT]
    kind = net.nodes[node, KIND]
    if kind == FILTER:
        if begin >= 0:
            registers[OPEN] += 1
        append(terms, pools.listening, terms[i, KEY] * net.listeners.size + net.nodes[node, LISTENER], i)
    elif kind == INTERVAL:
        if begin >= 0:
            registers[OPEN] += 1
        due = due_time(net, values, pools.binds, node, begin, registers[NOW])
        if due != NOT_KNOWN:  # else it never ends
            if due <= registers[NOW]:
                end_term(net, pools, i)
                push(registers, stack, TRUE, parent, i, begin, 1)
            else:
                set_timer(net, pools, i, due)
    elif kind in (AND, OR):
        push(registers, stack, NEXT_CHILD, i, 0, -1, 0)
    elif kind == NOT:
        push(registers, stack, HOLDS, i, -1, -1, 0)
        start_child(net, pools, i, 0, begin)
    elif kind == EVERY:
        spawn(net, pools, i, -1)
    elif kind == DISTINCT:
        spawn(net, pools, i, new_set(pools))
    elif kind == UNTIL:
        if not take_bounds(net, values, pools, i):
            registers[BAD] = node
            return False
        # The ending side listens first, so that it wins where one event satisfies both.
        push(registers, stack, NEXT_CHILD, i, 0, -1, 0)
        if net.nodes[node, CHILDREN] > 1:
            push(registers, stack, NEXT_CHILD, i, 1, -1, 0)
    elif kind == WITHIN:
        due = due_time(net, values, pools.binds, node, begin, registers[NOW])
        if due <= registers[NOW]:  # NOT_KNOWN as well: no event is within it
            end_term(net, pools, i)
            push(registers, stack, FALSE, parent, i, -1, 0)
        else:
            set_timer(net, pools, i, due)
            start_child(net, pools, i, 0, begin)
    else:  # FOLLOWED, WHILE
        start_child(net, pools, i, 0, begin)
    return True


@within_loop
def start_next(net: Network, pools: Pools, i: int, slot: int) -> None:
    """NEXT_CHILD: of AND and OR one child after the other, of a repeat this one."""
    terms = pools.terms
    kind = net.nodes[terms[i, NODE], KIND]
    if kind != UNTIL:
        if kind == OR:
            terms[i, COUNT] = slot + 1
        if slot + 1 < net.nodes[terms[i, NODE], CHILDREN]:
            push(pools.registers, pools.stack, NEXT_CHILD, i, slot + 1, -1, 0)
    start_child(net, pools, i, slot, terms[i, BEGIN])
