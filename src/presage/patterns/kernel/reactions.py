"""What a term does when a child turned true or false: tasks in, tasks and rows out. Parts of the one loop."""

from __future__ import annotations

from presage.arrays.jit import inlined
from presage.patterns.kernel.conjunctions import conjoin
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
    FOLLOWED,
    KIND,
    MOST,
    NOT,
    OR,
    PROGRAM,
    UNTIL,
    WITHIN,
    Network,
)
from presage.patterns.kernel.periods import NOT_KNOWN, compute, due_time
from presage.patterns.kernel.pools import (
    BEGIN,
    BINDS,
    CAUGHT,
    COUNT,
    DUE,
    EVENT_ROW,
    FINISHED,
    FIRST,
    FLAG,
    FOREVER,
    KEY,
    KEY_CAUSE,
    NEED_BINDS,
    NEED_SEEN,
    NEXT,
    NODE,
    NOW,
    OPEN,
    OUT,
    OUT_CAUSE,
    OUT_KEY,
    OUT_MATCH,
    OUT_ROW,
    OUT_TIME,
    PARENT,
    ROOT,
    SEEN,
    SET,
    SLOT,
    STARTING,
    A,
    B,
    Pools,
    Values,
    extend,
    grown,
    is_alive,
    within_loop,
)
from presage.patterns.kernel.seen_keys import copy_set, let_through
from presage.patterns.kernel.starts import new_set, spawn, start_child
from presage.patterns.kernel.tasks import FALSE, TRUE, push


@within_loop
def emit(pools: Pools, key: int, match: int, ended: int) -> None:
    """The whole pattern turned true."""
    registers, rows = pools.registers, pools.rows
    out = registers[OUT]
    rows[out, OUT_MATCH] = match
    rows[out, OUT_TIME] = registers[NOW]
    rows[out, OUT_ROW] = registers[EVENT_ROW]
    rows[out, OUT_KEY] = key
    rows[out, OUT_CAUSE] = pools.keys[key, KEY_CAUSE]
    registers[OUT] += 1
    if ended:
        pools.keys[key, ROOT] = FINISHED


@inlined
def follow(net: Network, pools: Pools, i: int, sender: int, match: int, ended: int) -> None:
    terms, node = pools.terms, pools.terms[i, NODE]
    after = terms[sender, SLOT] + 1
    if after == net.nodes[node, CHILDREN]:
        over = ended == 1 and terms[i, FIRST] < 0
        if over:
            end_term(net, pools, i)
        push(pools.registers, pools.stack, TRUE, terms[i, PARENT], i, match, 1 if over else 0)
        return
    limit = net.limits[net.nodes[node, FIRST_CHILD] + after]
    if limit >= 0:
        child = terms[i, FIRST]
        while child >= 0:
            if terms[child, SLOT] == after:
                limit -= 1
            child = terms[child, NEXT]
        if limit <= 0:
            return
    start_child(net, pools, i, after, match)


@inlined
def repeat(net: Network, pools: Pools, i: int, sender: int, match: int, ended: int) -> bool:
    """False: more room is needed, nothing was done."""
    terms, registers, begin = pools.terms, pools.registers, pools.terms[i, BEGIN]
    low, high, parent = terms[i, B], terms[i, DUE], terms[i, PARENT]
    repeated = terms[sender, SLOT] == 0
    if repeated and 0 <= high <= terms[i, COUNT]:
        return True
    size = grown(pools.binds, match, begin)
    if registers[BINDS] + size > pools.binds.shape[0]:
        registers[NEED_BINDS] = size
        return False
    if not repeated:
        enough = terms[i, COUNT] >= low
        gathered = terms[i, A]
        end_term(net, pools, i)
        if enough:
            found = extend(registers, pools.binds, gathered, match, begin)
            push(registers, pools.stack, TRUE, parent, i, found, 1)
        else:
            push(registers, pools.stack, FALSE, parent, i, -1, 0)
        return True
    if terms[i, COUNT] == 0:
        registers[OPEN] += 1
    terms[i, COUNT] += 1
    terms[i, A] = extend(registers, pools.binds, terms[i, A], match, begin)
    if low == high and terms[i, COUNT] == low:
        found = terms[i, A]
        end_term(net, pools, i)
        push(registers, pools.stack, TRUE, parent, i, found, 1)
    elif high < 0 or terms[i, COUNT] < high:
        if ended:
            start_child(net, pools, i, 0, begin)
    else:
        end_term(net, pools, sender)
    return True


@inlined
def distinguish(net: Network, values: Values, pools: Pools, i: int, sender: int, match: int, ended: int) -> bool:
    """EVERY-DISTINCT. False: more room is needed, nothing was done."""
    terms, registers, node = pools.terms, pools.registers, pools.terms[i, NODE]
    spawns = net.nodes[terms[sender, NODE], KIND] != FILTER
    if spawns and not ended and 2 * registers[SEEN] + 2 > pools.seen.shape[0]:
        registers[NEED_SEEN] = registers[SEEN] + 2
        return False
    expiry = FOREVER
    if net.nodes[node, MOST] >= 0:
        expiry = due_time(net, values, pools.binds, node, terms[i, BEGIN], registers[NOW])
        expiry = FOREVER if expiry == NOT_KNOWN else expiry
    new = let_through(
        net, values, registers, pools.binds, pools.seen, pools.index,
        node, match, terms[sender, SET], registers[NOW], expiry,
    )  # fmt: skip
    if new:
        push(registers, pools.stack, TRUE, terms[i, PARENT], i, match, 0)
    if spawns:
        group = terms[sender, SET]
        if not ended:
            # The operand goes on with its own keys; the new one starts with what is known by now.
            other = new_set(pools)
            copy_set(registers, pools.seen, pools.index, group, other)
            group = other
        spawn(net, pools, i, group)
    return True


@inlined
def turn_true(net: Network, values: Values, pools: Pools, i: int, sender: int, match: int, ended: int) -> bool:
    """A child turned true. False: more room is needed, nothing was done."""
    terms, registers, stack = pools.terms, pools.registers, pools.stack
    if i < 0:
        emit(pools, terms[sender, KEY], match, ended)
        return True
    if not is_alive(terms, i):
        return True
    if terms[sender, FLAG] & STARTING:
        terms[sender, FLAG] |= CAUGHT
        return True
    node, parent = terms[i, NODE], terms[i, PARENT]
    kind = net.nodes[node, KIND]
    if kind == EVERY:
        push(registers, stack, TRUE, parent, i, match, 0)
        if net.nodes[terms[sender, NODE], KIND] != FILTER:
            spawn(net, pools, i, -1)
    elif kind == FOLLOWED:
        follow(net, pools, i, sender, match, ended)
    elif kind == WITHIN:
        terms[i, COUNT] += 1
        over = net.nodes[node, MOST] >= 0 and terms[i, COUNT] > net.nodes[node, MOST]
        if ended or over:
            end_term(net, pools, i)
        push(registers, stack, FALSE if over else TRUE, parent, i, match, ended)
    elif kind == AND:
        return conjoin(net, pools, i, sender, match, ended)
    elif kind == OR:
        if ended:
            end_term(net, pools, i)
        push(registers, stack, TRUE, parent, i, match, ended)
    elif kind == NOT:
        if ended:
            end_term(net, pools, i)
            push(registers, stack, FALSE, parent, i, -1, 0)
    elif kind == UNTIL:
        return repeat(net, pools, i, sender, match, ended)
    elif kind == DISTINCT:
        return distinguish(net, values, pools, i, sender, match, ended)
    else:  # WHILE
        line = net.nodes[node]
        compute(values, net.arguments, pools.binds, line[PROGRAM], line[FIRST_ARGUMENT], line[ARGUMENTS], match, -1)
        holds = values.stack_valid[0] and values.stack_i[0] != 0
        if ended or not holds:
            end_term(net, pools, i)
        push(registers, stack, TRUE if holds else FALSE, parent, i, match, ended)
    return True


@inlined
def turn_false(net: Network, pools: Pools, i: int, sender: int) -> None:
    """A child has ended and can no longer turn true."""
    terms = pools.terms
    if i < 0:
        pools.keys[terms[sender, KEY], ROOT] = FINISHED
        return
    # What fails at its very start is not started again: it would be for ever.
    if not is_alive(terms, i) or terms[sender, FLAG] & STARTING:
        return
    kind = net.nodes[terms[i, NODE], KIND]
    if kind in (EVERY, DISTINCT):
        spawn(net, pools, i, -1 if kind == EVERY else new_set(pools))
        return
    if kind == NOT:
        return
    if kind == FOLLOWED and terms[i, FIRST] >= 0:
        return
    if kind == OR and (terms[i, FIRST] >= 0 or terms[i, COUNT] < net.nodes[terms[i, NODE], CHILDREN]):
        return
    end_term(net, pools, i)
    push(pools.registers, pools.stack, FALSE, terms[i, PARENT], i, -1, 0)


@inlined
def end_spawn(net: Network, pools: Pools, i: int) -> None:
    """SPAWNED: the START of an operand of EVERY is done."""
    terms = pools.terms
    if terms[i, FLAG] & CAUGHT:
        end_term(net, pools, i)
    terms[i, FLAG] &= ~(STARTING | CAUGHT)
