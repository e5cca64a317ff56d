"""Matches of one moment: which are shown, their ordinals, and the partial matches that they end.

@DiscardPartialsOnMatch ends all partial matches that hold an event of a match. @SuppressOverlappingMatches drops a
match that shares an event with an earlier one of the same moment. Events are marked with the epoch in which they were
last part of a match. Cost of a discard: all running terms of the key.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import Work, is_alive
from presage.operators.epl.kernel.network.tables import AND, FOLLOWED, KIND, NOT, OR, UNTIL
from presage.operators.epl.kernel.network.tasks import DISCARD_TERM, FALSE, push

# Ordinals of a pattern with keys: see PatternKernel.
SOURCE_STEP, CAUSE_STEP = 1 << 40, 1 << 20


@inlined
def holds_marked(memory: Ints, marks: Ints, events: Ints, match: int) -> bool:
    while match >= 0:
        if marks[events[memory[match + m.BOUND_ROW]]] == memory[m.EPOCH]:
            return True
        match = memory[match + m.BEFORE]
    return False


@inlined
def mark(memory: Ints, marks: Ints, events: Ints, match: int) -> None:
    while match >= 0:
        marks[events[memory[match + m.BOUND_ROW]]] = memory[m.EPOCH]
        match = memory[match + m.BEFORE]


@inlined
def begin_discard(memory: Ints, work: Work, events: Ints) -> None:
    """Pushes the task for the pattern that had a match at this moment."""
    memory[m.EPOCH] += 1
    for out in range(memory[m.MOMENT], memory[m.OUT]):
        mark(memory, work.marks, events, work.rows[out, m.OUT_MATCH])
    root = memory[memory[m.KEYS_AT] + memory[m.KEY_NOW] * m.KEY_WORDS + m.ROOT]
    if root >= 0:
        push(memory, work.stack, DISCARD_TERM, root, -1, -1, 0)


@inlined
def discard_term(net: Ints, memory: Ints, work: Work, events: Ints, term: int) -> bool:
    """Ends a term that holds a marked event, else visits its children. False: more memory is needed, nothing was
    done."""
    stack, marks = work.stack, work.marks
    if not is_alive(memory, term):
        return True
    kind = net[memory[term + m.NODE] + KIND]
    if kind == NOT:
        return True
    holds = False
    if kind == AND:
        cell = memory[term + m.A]
        while cell >= 0 and not holds:
            holds = holds_marked(memory, marks, events, memory[cell + m.CELL_MATCH])
            cell = memory[cell + m.CELL_NEXT]
    elif kind == UNTIL:
        holds = holds_marked(memory, marks, events, memory[term + m.A])
    elif kind not in (FOLLOWED, OR):
        holds = holds_marked(memory, marks, events, memory[term + m.BEGIN])
    if holds:
        parent = memory[term + m.PARENT]
        end_term(net, memory, term)
        push(memory, stack, FALSE, parent, term, -1, 0)
        return True
    count, child = 0, memory[term + m.FINAL]
    while child >= 0:
        count += 1
        child = memory[child + m.PREV]
    if memory[m.TASKS] + count > stack.shape[0]:
        memory[m.NEED] = count
        return False
    child = memory[term + m.FINAL]
    while child >= 0:
        push(memory, stack, DISCARD_TERM, child, -1, -1, 0)
        child = memory[child + m.PREV]
    return True


@inlined
def suppress(memory: Ints, work: Work, events: Ints) -> None:
    """Keeps the matches of the moment that share no event with an earlier one."""
    rows, marks, kept = work.rows, work.marks, memory[m.MOMENT]
    memory[m.EPOCH] += 1
    for out in range(memory[m.MOMENT], memory[m.OUT]):
        match = rows[out, m.OUT_MATCH]
        if holds_marked(memory, marks, events, match):
            continue
        mark(memory, marks, events, match)
        for k in range(rows.shape[1]):
            rows[kept, k] = rows[out, k]
        kept += 1
    memory[m.OUT] = kept


@inlined
def number_rows(memory: Ints, rows: Ints, source: int) -> None:
    """Numbers the moment's rows. `source`: that of the event, 0 for timers."""
    highest = 0
    for out in range(memory[m.MOMENT], memory[m.OUT]):
        ordinal = out - memory[m.MOMENT]
        if memory[m.KEYED]:
            highest = max(highest, rows[out, m.OUT_CAUSE])
            ordinal += source * SOURCE_STEP if rows[out, m.OUT_ROW] >= 0 else highest * CAUSE_STEP
        rows[out, m.OUT_ORDINAL] = ordinal
    memory[m.MOMENT] = memory[m.OUT]
