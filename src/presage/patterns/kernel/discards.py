"""The matches of a moment come in; which of them are shown, their numbers, and what partial matches they end go out.

Parts of the one loop. Two annotations: @DiscardPartialsOnMatch ends all that holds an event of a match;
@SuppressOverlappingMatches drops a match that shares an event with an earlier one of the same moment.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined
from presage.patterns.kernel.endings import end_term
from presage.patterns.kernel.network import AND, FOLLOWED, KIND, NOT, OR, UNTIL, Network
from presage.patterns.kernel.pools import (
    BEGIN,
    CELL_MATCH,
    CELL_NEXT,
    EPOCH,
    FINAL,
    HIGHEST,
    KEYED,
    MOMENT,
    NEED_STACK,
    NODE,
    NUMBER,
    OUT,
    OUT_CAUSE,
    OUT_KEY,
    OUT_MATCH,
    OUT_ORDINAL,
    OUT_ROW,
    PARENT,
    PREV,
    ROOT,
    STAMP,
    STAMPS,
    TOP,
    A,
    Pools,
    is_alive,
)
from presage.patterns.kernel.tasks import DISCARD_TERM, FALSE, push

# Ordinals of a pattern with keys: see PatternKernel.
SOURCE_STEP, CAUSE_STEP = 1 << 40, 1 << 20


@inlined
def holds_marked(binds: Ints, marks: Ints, events: Ints, match: int, epoch: int) -> bool:
    while match >= 0:
        if marks[events[binds[match, 2]]] == epoch:
            return True
        match = binds[match, 0]
    return False


@inlined
def mark(binds: Ints, marks: Ints, events: Ints, match: int, epoch: int) -> None:
    while match >= 0:
        marks[events[binds[match, 2]]] = epoch
        match = binds[match, 0]


@inlined
def begin_discard(pools: Pools, events: Ints) -> bool:
    """Tasks for the patterns that had a match at this moment. False: more room is needed, nothing was done."""
    registers, rows = pools.registers, pools.rows
    found = registers[OUT] - registers[MOMENT]
    if registers[TOP] + found > pools.stack.shape[0]:
        registers[NEED_STACK] = found
        return False
    registers[EPOCH] += 1
    registers[STAMPS] += 1
    for out in range(registers[MOMENT], registers[OUT]):
        mark(pools.binds, pools.marks, events, rows[out, OUT_MATCH], registers[EPOCH])
        key = rows[out, OUT_KEY]
        if pools.keys[key, STAMP] != registers[STAMPS] and pools.keys[key, ROOT] >= 0:
            pools.keys[key, STAMP] = registers[STAMPS]
            push(registers, pools.stack, DISCARD_TERM, pools.keys[key, ROOT], -1, -1, 0)
    return True


@inlined
def discard_term(net: Network, pools: Pools, events: Ints, i: int) -> bool:
    """End what holds a marked event, else look below. False: more room is needed, nothing was done."""
    terms, registers, binds, marks = pools.terms, pools.registers, pools.binds, pools.marks
    if not is_alive(terms, i):
        return True
    kind, epoch = net.nodes[terms[i, NODE], KIND], registers[EPOCH]
    if kind == NOT:
        return True
    holds = False
    if kind == AND:
        cell = terms[i, A]
        while cell >= 0 and not holds:
            holds = holds_marked(binds, marks, events, pools.cells[cell, CELL_MATCH], epoch)
            cell = pools.cells[cell, CELL_NEXT]
    elif kind == UNTIL:
        holds = holds_marked(binds, marks, events, terms[i, A], epoch)
    elif kind != FOLLOWED and kind != OR:
        holds = holds_marked(binds, marks, events, terms[i, BEGIN], epoch)
    if holds:
        parent = terms[i, PARENT]
        end_term(net, pools, i)
        push(registers, pools.stack, FALSE, parent, i, -1, 0)
        return True
    count, child = 0, terms[i, FINAL]
    while child >= 0:
        count += 1
        child = terms[child, PREV]
    if registers[TOP] + count > pools.stack.shape[0]:
        registers[NEED_STACK] = count
        return False
    child = terms[i, FINAL]
    while child >= 0:
        push(registers, pools.stack, DISCARD_TERM, child, -1, -1, 0)
        child = terms[child, PREV]
    return True


@inlined
def suppress(pools: Pools, events: Ints) -> None:
    """Of the matches of the moment (of one key) keep those that share no event with an earlier one."""
    registers, rows = pools.registers, pools.rows
    kept = registers[MOMENT]
    # Events of one key are never bound by another's pattern, so one epoch is enough for all keys.
    registers[EPOCH] += 1
    for out in range(registers[MOMENT], registers[OUT]):
        match = rows[out, OUT_MATCH]
        if holds_marked(pools.binds, pools.marks, events, match, registers[EPOCH]):
            continue
        mark(pools.binds, pools.marks, events, match, registers[EPOCH])
        rows[kept] = rows[out]
        kept += 1
    registers[OUT] = kept


@inlined
def number_rows(pools: Pools, sources: Ints) -> None:
    """The ordinals of the moment's rows."""
    registers, rows, keys = pools.registers, pools.rows, pools.keys
    registers[STAMPS] += 1
    for out in range(registers[MOMENT], registers[OUT]):
        key = rows[out, OUT_KEY]
        if keys[key, STAMP] != registers[STAMPS]:
            keys[key, STAMP] = registers[STAMPS]
            keys[key, NUMBER] = 0
            keys[key, HIGHEST] = 0
        ordinal = keys[key, NUMBER]
        keys[key, NUMBER] += 1
        if registers[KEYED]:
            if rows[out, OUT_ROW] >= 0:
                ordinal += sources[rows[out, OUT_ROW]] * SOURCE_STEP
            else:
                keys[key, HIGHEST] = max(keys[key, HIGHEST], rows[out, OUT_CAUSE])
                ordinal += keys[key, HIGHEST] * CAUSE_STEP
        rows[out, OUT_ORDINAL] = ordinal
    registers[MOMENT] = registers[OUT]
