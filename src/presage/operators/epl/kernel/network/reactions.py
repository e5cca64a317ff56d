"""Reactions of a term when a child turns true or false."""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined, inlined_always
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.conjunctions import conjoin
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import Values, Work, extend, grown, is_alive
from presage.operators.epl.kernel.network.periods import NOT_KNOWN, due_time, is_true
from presage.operators.epl.kernel.network.seen_keys import copy_set, let_through
from presage.operators.epl.kernel.network.starts import new_set, spawn, start_child
from presage.operators.epl.kernel.network.tables import (
    AND,
    CHILDREN,
    DISTINCT,
    EVERY,
    FILTER,
    FIRST_CHILD,
    FOLLOWED,
    KIND,
    MOST,
    NOT,
    OR,
    UNTIL,
    WITHIN,
)
from presage.operators.epl.kernel.network.tasks import FALSE, TRUE, push


@inlined_always
def emit(memory: Ints, rows: Ints, key: int, match: int, ended: int) -> None:
    """The whole pattern turned true."""
    out, at = memory[m.OUT], memory[m.KEYS_AT] + key * m.KEY_WORDS
    rows[out, m.OUT_MATCH] = match
    rows[out, m.OUT_TIME] = memory[m.NOW]
    rows[out, m.OUT_ROW] = memory[m.EVENT_ROW]
    rows[out, m.OUT_CAUSE] = memory[at + m.KEY_CAUSE]
    rows[out, m.OUT_KEY] = key
    memory[m.OUT] += 1
    if ended:
        memory[at + m.ROOT] = m.FINISHED


@inlined_always
def follow(net: Ints, memory: Ints, stack: Ints, term: int, sender: int, match: int, ended: int) -> None:
    node = memory[term + m.NODE]
    after = memory[sender + m.SLOT] + 1
    if after == net[node + CHILDREN]:
        over = ended == 1 and memory[term + m.FIRST] < 0
        if over:
            end_term(net, memory, term)
        push(memory, stack, TRUE, memory[term + m.PARENT], term, match, 1 if over else 0)
        return
    limit = net[net[node + FIRST_CHILD] + net[node + CHILDREN] + after]
    if limit >= 0:
        child = memory[term + m.FIRST]
        while child >= 0:
            if memory[child + m.SLOT] == after:
                limit -= 1
            child = memory[child + m.NEXT]
        if limit <= 0:
            return
    start_child(net, memory, stack, term, after, match)


@inlined
def repeat(net: Ints, memory: Ints, stack: Ints, term: int, sender: int, match: int, ended: int) -> bool:
    """False: more memory is needed, nothing was done."""
    begin, low, high, parent = memory[term + m.BEGIN], memory[term + m.B], memory[term + m.DUE], memory[term + m.PARENT]
    repeated = memory[sender + m.SLOT] == 0
    if repeated and 0 <= high <= memory[term + m.COUNT]:
        return True
    needed = grown(memory, match, begin) * m.BIND_WORDS
    if memory[m.TOP] + needed > memory.size:
        memory[m.NEED] = needed
        return False
    gathered = memory[term + m.A]
    if not repeated:
        enough = memory[term + m.COUNT] >= low
        end_term(net, memory, term)
        if enough:
            push(memory, stack, TRUE, parent, term, extend(memory, gathered, match, begin), 1)
        else:
            push(memory, stack, FALSE, parent, term, -1, 0)
        return True
    if memory[term + m.COUNT] == 0:
        memory[m.OPEN] += 1
    memory[term + m.COUNT] += 1
    # A round that takes neither an event nor time would repeat for ever: count all required rounds as done.
    endless = memory[sender + m.FLAG] & m.FRESH != 0
    if endless:
        memory[term + m.COUNT] = max(memory[term + m.COUNT], low)
    gathered = extend(memory, gathered, match, begin)
    memory[term + m.A] = gathered
    if low == high and memory[term + m.COUNT] == low:
        end_term(net, memory, term)
        push(memory, stack, TRUE, parent, term, gathered, 1)
    elif high < 0 or memory[term + m.COUNT] < high:
        if ended and not endless:
            spawn(net, memory, stack, term, m.FRESH, -1)
    else:
        end_term(net, memory, sender)
    return True


@inlined
def distinguish(
    net: Ints, values: Values, memory: Ints, work: Work, term: int, sender: int, match: int, ended: int
) -> bool:
    """EVERY-DISTINCT. False: more memory is needed, nothing was done."""
    node, group = memory[term + m.NODE], memory[sender + m.SET]
    spawns = net[memory[sender + m.NODE] + KIND] != FILTER
    if spawns and not ended and 2 * memory[m.SEEN] + 2 > work.seen.shape[0]:
        memory[m.NEED] = memory[m.SEEN] + 2
        return False
    expiry = m.FOREVER
    if net[node + MOST] >= 0:
        expiry = due_time(net, values, memory, node, memory[term + m.BEGIN], memory[m.NOW])
        expiry = m.FOREVER if expiry == NOT_KNOWN else expiry
    if let_through(net, values, memory, work, node, match, group, expiry):
        push(memory, work.stack, TRUE, memory[term + m.PARENT], term, match, 0)
    if spawns:
        if not ended:
            # The operand keeps its own set; the new one starts with a copy.
            other = new_set(memory)
            copy_set(memory, work, group, other)
            group = other
        spawn(net, memory, work.stack, term, m.STARTING, group)
    return True


@inlined_always
def turn_true(
    net: Ints, values: Values, memory: Ints, work: Work, term: int, sender: int, match: int, ended: int
) -> bool:
    """A child turned true. False: more memory is needed, nothing was done."""
    if term < 0:
        emit(memory, work.rows, memory[sender + m.KEY], match, ended)
        return True
    if not is_alive(memory, term):
        return True
    if memory[sender + m.FLAG] & m.STARTING:
        memory[sender + m.FLAG] |= m.CAUGHT
        return True
    node, parent, stack = memory[term + m.NODE], memory[term + m.PARENT], work.stack
    kind = net[node + KIND]
    if kind == EVERY:
        push(memory, stack, TRUE, parent, term, match, 0)
        if net[memory[sender + m.NODE] + KIND] != FILTER:
            spawn(net, memory, stack, term, m.STARTING, -1)
    elif kind == FOLLOWED:
        follow(net, memory, stack, term, sender, match, ended)
    elif kind == AND:
        return conjoin(net, memory, stack, term, sender, match, ended)
    elif kind == UNTIL:
        return repeat(net, memory, stack, term, sender, match, ended)
    elif kind == DISTINCT:
        return distinguish(net, values, memory, work, term, sender, match, ended)
    elif kind == NOT:
        if ended:
            end_term(net, memory, term)
            push(memory, stack, FALSE, parent, term, -1, 0)
    else:  # OR and guards
        passes = True
        if kind == WITHIN:
            memory[term + m.COUNT] += 1
            passes = net[node + MOST] < 0 or memory[term + m.COUNT] <= net[node + MOST]
        elif kind != OR:
            passes = is_true(net, values, memory, node, match, -1)
        if ended or not passes:
            end_term(net, memory, term)
        push(memory, stack, TRUE if passes else FALSE, parent, term, match, ended)
    return True


@inlined_always
def turn_false(net: Ints, memory: Ints, stack: Ints, term: int, sender: int) -> None:
    """A child has ended and can no longer turn true."""
    if term < 0:
        memory[memory[m.KEYS_AT] + memory[sender + m.KEY] * m.KEY_WORDS + m.ROOT] = m.FINISHED
        return
    # A term that fails at its start is not started again: that would never end.
    if not is_alive(memory, term) or memory[sender + m.FLAG] & m.STARTING:
        return
    kind = net[memory[term + m.NODE] + KIND]
    if kind in (EVERY, DISTINCT):
        spawn(net, memory, stack, term, m.STARTING, -1 if kind == EVERY else new_set(memory))
        return
    if kind == NOT:
        return
    if kind == FOLLOWED and memory[term + m.FIRST] >= 0:
        return
    if kind == OR and (memory[term + m.FIRST] >= 0 or memory[term + m.COUNT] < net[memory[term + m.NODE] + CHILDREN]):
        return
    end_term(net, memory, term)
    push(memory, stack, FALSE, memory[term + m.PARENT], term, -1, 0)


@inlined_always
def end_spawn(net: Ints, memory: Ints, term: int) -> None:
    """SPAWNED: the START of an operand of EVERY, or of a round of a repeat, is done."""
    if memory[term + m.FLAG] & m.CAUGHT:
        end_term(net, memory, term)
    memory[term + m.FLAG] &= ~(m.STARTING | m.CAUGHT | m.FRESH)
