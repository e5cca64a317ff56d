"""Running terms, bindings and their lists as blocks of one array of int64, addressed by offset.

A block is named by its address, so a field of it is `memory[term + PARENT]`; -1 is no block. The first words are
registers. The array can be replaced by a longer copy between any two tasks of the loop: addresses stay.

A running term (instance) is linked with its siblings in the order of creation; a listening filter is in the list of its
node and key. The block of an instance that ended can be read until the moment is over, then it is reused. A binding is
the binding before it, a tag and a row. A match is named by its last binding (-1: empty), so partial matches share their
common part.
"""

from __future__ import annotations

from typing import NamedTuple

from presage.arrays.jit import Bools, Ints, inlined, inlined_always
from presage.arrays.programs.machine import Programs, Scratch

# Registers.
(TOP, FREE_TERMS, FREE_CELLS, GONE, GONE_LAST, TASKS, OUT, MOMENT, HEAP, SERIALS, NOW, PHASE, GROUP) = range(13)
(CHOSEN, NEXT_CHOSEN, OPEN, NEXT_DUE, SETS, SEEN, EVENT_ROW, BAD, WATERMARK, ASKS, NEED, EPOCH) = range(13, 25)
(DISCARD, SUPPRESS, MOST_OPEN, KEYED, KEYS_AT, LISTENING_AT, FILTERS, TIMERS, KEY_NOW, GROUP_END) = range(25, 35)
(WAITING, MOST_WAITING, ROUNDS) = range(35, 38)
REGISTERS = 38

# Fields of a running term. A and B are the links of a filter, the first and last cell of AND, and of a repeat the match
# so far and its lower bound (the upper one is in DUE). Free blocks are linked by FIRST.
NODE, PARENT, SLOT, BEGIN, FIRST, FINAL, NEXT, PREV, COUNT, A, B, DUE, SERIAL, KEY, FLAG, SET, CAUSE = range(17)
TERM_WORDS = 17
# Bits of FLAG: an operand of EVERY is STARTING until its START is done, and CAUGHT if it turned true meanwhile; a
# further round of a repeat is FRESH until its START is done.
ALIVE, STARTING, CAUGHT, FRESH = 1, 2, 4, 8

# Fields of a binding; NUMBER is used when a state is saved.
BEFORE, BOUND_TAG, BOUND_ROW, NUMBER = range(4)
BIND_WORDS = 4
# Fields of a cell: a match of one side of an AND.
CELL_NEXT, CELL_SLOT, CELL_MATCH = range(3)
CELL_WORDS = 3
# Fields of a key, from KEYS_AT on.
ROOT, KEY_CAUSE = range(2)
KEY_WORDS = 2
NOT_STARTED, FINISHED = -1, -2

# Columns of the result rows; OUT_ROW is the event's row, -1 if a timer completed the match.
OUT_MATCH, OUT_TIME, OUT_ROW, OUT_CAUSE, OUT_ORDINAL, OUT_KEY = range(6)
OUT_WORDS = 6

FOREVER = 2**63 - 1


class Values(NamedTuple):
    """Programs and their columns, and the memory to run one of them."""

    programs: Programs
    scratch: Scratch


class Work(NamedTuple):
    """Arrays of the loop besides the memory: the stack of tasks, result `rows`, the heap of timers, keys that
    EVERY-DISTINCT has `seen` with their hash table (a power of two long), the filters `chosen` for the event at hand,
    and `marks`: by event the epoch in which it was last part of a match."""

    stack: Ints
    rows: Ints
    heap: Ints
    seen: Ints
    hashes: Ints
    chosen: Ints
    marks: Ints


class Input(NamedTuple):
    """New rows by key, those of one key in order: `rows` (row numbers), `times`, `causes` (arrival), `sources`,
    `passes` (rows, filters): whether source and flag are right. The rows of one event and key are a group: `starts`
    (groups + 1); `firsts` (keys + 1): groups of each key. `events`, by row number, kept rows included: which event of
    which key the row is a view of. `cursors` (filters, 2) is scratch memory."""

    rows: Ints
    times: Ints
    causes: Ints
    sources: Ints
    passes: Bools
    starts: Ints
    firsts: Ints
    events: Ints
    cursors: Ints


@inlined_always
def is_alive(memory: Ints, term: int) -> bool:
    return memory[term + FLAG] & ALIVE != 0  # type: ignore[no-any-return]


# -- lists ----------------------------------------------------------------------------------------------


@inlined_always
def listeners_of(memory: Ints, key: int, listener: int) -> int:
    """The address of the list of a filter's instances: the first, the last."""
    return memory[LISTENING_AT] + 2 * (key * memory[FILTERS] + listener)  # type: ignore[no-any-return]


@inlined_always
def append(memory: Ints, ends: int, term: int) -> None:
    """Appends to a list that is linked by A and B."""
    last = memory[ends + 1]
    memory[term + A] = -1
    memory[term + B] = last
    if last >= 0:
        memory[last + A] = term
    else:
        memory[ends] = term
    memory[ends + 1] = term


@inlined_always
def remove(memory: Ints, ends: int, term: int) -> None:
    after, before = memory[term + A], memory[term + B]
    if before >= 0:
        memory[before + A] = after
    else:
        memory[ends] = after
    if after >= 0:
        memory[after + B] = before
    else:
        memory[ends + 1] = before


@inlined_always
def adopt(memory: Ints, parent: int, term: int) -> None:
    """Links a term as the last child of its parent."""
    last = memory[parent + FINAL]
    memory[term + NEXT] = -1
    memory[term + PREV] = last
    if last >= 0:
        memory[last + NEXT] = term
    else:
        memory[parent + FIRST] = term
    memory[parent + FINAL] = term


@inlined_always
def orphan(memory: Ints, term: int) -> None:
    parent = memory[term + PARENT]
    if parent < 0:
        return
    after, before = memory[term + NEXT], memory[term + PREV]
    if before >= 0:
        memory[before + NEXT] = after
    else:
        memory[parent + FIRST] = after
    if after >= 0:
        memory[after + PREV] = before
    else:
        memory[parent + FINAL] = before


# -- running terms --------------------------------------------------------------------------------------


@inlined
def new_term(memory: Ints, node: int, parent: int, slot: int, begin: int, key: int) -> int:
    """The caller has checked that there is memory, as the loop does before each task."""
    term = memory[FREE_TERMS]
    if term >= 0:
        memory[FREE_TERMS] = memory[term + FIRST]
    else:
        term = memory[TOP]
        memory[TOP] += TERM_WORDS
    memory[term + NODE] = node
    memory[term + PARENT] = parent
    memory[term + SLOT] = slot
    memory[term + BEGIN] = begin
    memory[term + FIRST] = -1
    memory[term + FINAL] = -1
    memory[term + NEXT] = -1
    memory[term + PREV] = -1
    memory[term + COUNT] = 0
    memory[term + A] = -1
    memory[term + B] = -1
    memory[term + DUE] = FOREVER
    memory[term + SERIAL] = memory[SERIALS]
    memory[term + KEY] = key
    memory[term + FLAG] = ALIVE
    memory[term + SET] = -1
    memory[term + CAUSE] = -1
    memory[SERIALS] += 1
    if parent >= 0:
        adopt(memory, parent, term)
    return term  # type: ignore[no-any-return]


@inlined_always
def free_gone(memory: Ints) -> None:
    """Frees the blocks of instances that ended in the moment that is over."""
    if memory[GONE] >= 0:
        memory[memory[GONE_LAST] + FIRST] = memory[FREE_TERMS]
        memory[FREE_TERMS] = memory[GONE]
        memory[GONE] = -1
        memory[GONE_LAST] = -1


@inlined
def next_term(memory: Ints, root: int, at: int) -> int:
    """Parents before children, children in the order of creation; -1 after the last."""
    if memory[at + FIRST] >= 0:
        return memory[at + FIRST]  # type: ignore[no-any-return]
    while at != root and memory[at + NEXT] < 0:
        at = memory[at + PARENT]
    return -1 if at == root else memory[at + NEXT]


# -- bindings -------------------------------------------------------------------------------------------


@inlined_always
def bind(memory: Ints, match: int, tag: int, row: int) -> int:
    at = memory[TOP]
    memory[at + BEFORE] = match
    memory[at + BOUND_TAG] = tag
    memory[at + BOUND_ROW] = row
    memory[at + NUMBER] = -1
    memory[TOP] = at + BIND_WORDS
    return at  # type: ignore[no-any-return]


@inlined
def grown(memory: Ints, match: int, begin: int) -> int:
    """How many bindings `match` has beyond `begin`, from which it grew."""
    size = 0
    while match != begin:
        size += 1
        match = memory[match + BEFORE]
    return size


@inlined
def extend(memory: Ints, onto: int, match: int, begin: int) -> int:
    """Appends what `match` has beyond `begin` to `onto`. The caller has checked that there is memory."""
    if onto == begin:
        return match
    size = grown(memory, match, begin)
    first = memory[TOP]
    for k in range(size - 1, -1, -1):
        at = first + k * BIND_WORDS
        memory[at + BEFORE] = at - BIND_WORDS if k > 0 else onto
        memory[at + BOUND_TAG] = memory[match + BOUND_TAG]
        memory[at + BOUND_ROW] = memory[match + BOUND_ROW]
        memory[at + NUMBER] = -1
        match = memory[match + BEFORE]
    memory[TOP] += size * BIND_WORDS
    return first + (size - 1) * BIND_WORDS if size > 0 else onto


@inlined
def bound_row(memory: Ints, match: int, tag: int, index: int) -> int:
    """The `index`-th row that is bound to a tag, from the end if negative; -1: none."""
    skip = -1 - index
    if index >= 0:
        count = 0
        at = match
        while at >= 0:
            if memory[at + BOUND_TAG] == tag:
                count += 1
            at = memory[at + BEFORE]
        skip = count - 1 - index
        if skip < 0:
            return -1
    while match >= 0:
        if memory[match + BOUND_TAG] == tag:
            if skip == 0:
                return memory[match + BOUND_ROW]  # type: ignore[no-any-return]
            skip -= 1
        match = memory[match + BEFORE]
    return -1
