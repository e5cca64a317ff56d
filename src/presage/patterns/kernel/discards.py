"""The matches of a moment come in; which of them are shown, their numbers, and what partial matches they end go out.

Parts of the one loop. Two annotations: @DiscardPartialsOnMatch ends all that holds an event of a match;
@SuppressOverlappingMatches drops a match that shares an event with an earlier one of the same moment. Events are
marked by the epoch in which they were last part of a match. Cost of a discard: all running terms of the key.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined
from presage.patterns.kernel.endings import end_term
from presage.patterns.kernel.memory import (
    BEFORE,
    BEGIN,
    BOUND_ROW,
    CELL_MATCH,
    CELL_NEXT,
    EPOCH,
    FINAL,
    HIGHEST,
    KEY_WORDS,
    KEYED,
    KEYS_AT,
    MOMENT,
    NEED,
    NODE,
    ORDINALS,
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
    TASKS,
    A,
    is_alive,
)
from presage.patterns.kernel.network import AND, FOLLOWED, KIND, NOT, OR, UNTIL
from presage.patterns.kernel.tasks import DISCARD_TERM, FALSE, push

# Ordinals of a pattern with keys: see PatternKernel.
SOURCE_STEP, CAUSE_STEP = 1 << 40, 1 << 20


@inlined
def holds_marked(memory: Ints, marks: Ints, events: Ints, match: int) -> bool:
    while match >= 0:
        if marks[events[memory[match + BOUND_ROW]]] == memory[EPOCH]:
            return True
        match = memory[match + BEFORE]
    return False


@inlined
def mark(memory: Ints, marks: Ints, events: Ints, match: int) -> None:
    while match >= 0:
        marks[events[memory[match + BOUND_ROW]]] = memory[EPOCH]
        match = memory[match + BEFORE]


@inlined
def begin_discard(memory: Ints, stack: Ints, rows: Ints, marks: Ints, events: Ints) -> bool:
    """Tasks for the patterns that had a match at this moment. False: more room is needed, nothing was done."""
    found = memory[OUT] - memory[MOMENT]
    if memory[TASKS] + found > stack.shape[0]:
        memory[NEED] = found
        return False
    memory[EPOCH] += 1
    memory[STAMPS] += 1
    for out in range(memory[MOMENT], memory[OUT]):
        mark(memory, marks, events, rows[out, OUT_MATCH])
        key = memory[KEYS_AT] + rows[out, OUT_KEY] * KEY_WORDS
        if memory[key + STAMP] != memory[STAMPS] and memory[key + ROOT] >= 0:
            memory[key + STAMP] = memory[STAMPS]
            push(memory, stack, DISCARD_TERM, memory[key + ROOT], -1, -1, 0)
    return True


@inlined
def discard_term(net: Ints, memory: Ints, stack: Ints, marks: Ints, events: Ints, term: int) -> bool:
    """End what holds a marked event, else look below. False: more room is needed, nothing was done."""
    if not is_alive(memory, term):
        return True
    kind = net[memory[term + NODE] + KIND]
    if kind == NOT:
        return True
    holds = False
    if kind == AND:
        cell = memory[term + A]
        while cell >= 0 and not holds:
            holds = holds_marked(memory, marks, events, memory[cell + CELL_MATCH])
            cell = memory[cell + CELL_NEXT]
    elif kind == UNTIL:
        holds = holds_marked(memory, marks, events, memory[term + A])
    elif kind not in (FOLLOWED, OR):
        holds = holds_marked(memory, marks, events, memory[term + BEGIN])
    if holds:
        parent = memory[term + PARENT]
        end_term(net, memory, term)
        push(memory, stack, FALSE, parent, term, -1, 0)
        return True
    count, child = 0, memory[term + FINAL]
    while child >= 0:
        count += 1
        child = memory[child + PREV]
    if memory[TASKS] + count > stack.shape[0]:
        memory[NEED] = count
        return False
    child = memory[term + FINAL]
    while child >= 0:
        push(memory, stack, DISCARD_TERM, child, -1, -1, 0)
        child = memory[child + PREV]
    return True


@inlined
def suppress(memory: Ints, rows: Ints, marks: Ints, events: Ints) -> None:
    """Of the matches of the moment keep those that share no event with an earlier one."""
    kept = memory[MOMENT]
    # An event is numbered for each key that it belongs to, so matches of different keys share none.
    memory[EPOCH] += 1
    for out in range(memory[MOMENT], memory[OUT]):
        match = rows[out, OUT_MATCH]
        if holds_marked(memory, marks, events, match):
            continue
        mark(memory, marks, events, match)
        rows[kept] = rows[out]
        kept += 1
    memory[OUT] = kept


@inlined
def number_rows(memory: Ints, rows: Ints, sources: Ints) -> None:
    """The ordinals of the moment's rows."""
    memory[STAMPS] += 1
    for out in range(memory[MOMENT], memory[OUT]):
        key = memory[KEYS_AT] + rows[out, OUT_KEY] * KEY_WORDS
        if memory[key + STAMP] != memory[STAMPS]:
            memory[key + STAMP] = memory[STAMPS]
            memory[key + ORDINALS] = 0
            memory[key + HIGHEST] = 0
        ordinal = memory[key + ORDINALS]
        memory[key + ORDINALS] += 1
        if memory[KEYED]:
            if rows[out, OUT_ROW] >= 0:
                ordinal += sources[rows[out, OUT_ROW]] * SOURCE_STEP
            else:
                memory[key + HIGHEST] = max(memory[key + HIGHEST], rows[out, OUT_CAUSE])
                ordinal += memory[key + HIGHEST] * CAUSE_STEP
        rows[out, OUT_ORDINAL] = ordinal
    memory[MOMENT] = memory[OUT]
