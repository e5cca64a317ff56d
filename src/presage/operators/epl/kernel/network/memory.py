"""Running terms, bindings and their lists as blocks of one array of int64, addressed by offset.

A block is named by its address, so a field of it is `memory[term + PARENT]`; -1 is no block. The first words are
registers. The array can be replaced by a longer copy between any two tasks of the loop: addresses stay.

A running term (instance) is linked with its siblings in the order of creation; a filter that listens is in the list of
its listener and key, a timer with a constant period in the queue of its node and key. An instance that ended can be
read until the moment is over, then its block is used again. A binding is the binding before it, a tag and a row. A
match is named by its last binding, -1 if it is empty, so that partial matches share what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from numba import njit

from presage.arrays.jit import Bools, Floats, Ints, inlined
from presage.arrays.programs.borrowing import borrowed

C = TypeVar("C", bound=Callable[..., Any])

# Registers.
(
    TOP,
    FREE_TERMS,
    FREE_CELLS,
    GONE,
    GONE_LAST,
    TASKS,
    OUT,
    MOMENT,
    HEAP,
    SERIALS,
    NOW,
    PHASE,
    GROUP,
    CHOSEN,
    NEXT_CHOSEN,
    OPEN,
    NEXT_DUE,
    SETS,
    SEEN,
    EVENT_ROW,
    BAD,
    CLOCK,
    ASKS,
    NEED,
    EPOCH,
    DISCARD,
    SUPPRESS,
    MOST_OPEN,
    KEYED,
    KEYS_AT,
    LISTENING_AT,
    FILTERS,
    QUEUES_AT,
    QUEUES,
    HEAPS,
    KEY_NOW,
    GROUP_END,
    WAITING,
    MOST_WAITING,
    ROUNDS,
) = range(40)
REGISTERS = 40

# Fields of a running term. A and B are the links of filters and timers, first and last cell of AND, and of a repeat
# what it has gathered and its lower bound (the upper one is in DUE). Free blocks are linked by FIRST.
NODE, PARENT, SLOT, BEGIN, FIRST, FINAL, NEXT, PREV, COUNT, A, B, DUE, SERIAL, KEY, FLAG, SET, CAUSE = range(17)
TERM_WORDS = 17
# Bits of FLAG: an operand of EVERY is STARTING until its START is done, and CAUGHT if it turned true meanwhile; a
# further round of a repeat is FRESH until its START is done.
ALIVE, STARTING, CAUGHT, FRESH = 1, 2, 4, 8

# Fields of a binding; NUMBER is for those who save it.
BEFORE, BOUND_TAG, BOUND_ROW, NUMBER = range(4)
BIND_WORDS = 4
# Fields of a cell: a match that one side of an AND has given.
CELL_NEXT, CELL_SLOT, CELL_MATCH = range(3)
CELL_WORDS = 3
# Fields of a key, from KEYS_AT on.
ROOT, KEY_CAUSE = range(2)
KEY_WORDS = 2
NOT_STARTED, FINISHED = -1, -2

# Columns of the table of matches that came out; OUT_ROW is the event's row, -1 of a timer.
OUT_MATCH, OUT_TIME, OUT_ROW, OUT_CAUSE, OUT_ORDINAL, OUT_KEY = range(6)
OUT_WORDS = 6

FOREVER = 2**63 - 1


class Values(NamedTuple):
    """What programs read (see `machine.evaluate`); `places` takes the rows that they speak of."""

    ops: Ints
    starts: Ints
    ints: Ints
    int_valid: Bools
    floats: Floats
    float_valid: Bools
    const_i: Ints
    const_f: Floats
    const_t: Ints
    given_i: Ints
    given_f: Floats
    given_valid: Bools
    stack_i: Ints
    stack_f: Floats
    stack_valid: Bools
    places: Ints


def within_loop(function: C) -> C:
    """A part of the one loop that is there once, or is small: always inlined."""
    return cast("C", njit(nogil=True, forceinline=True)(function))


@within_loop
def borrowed_values(values: Values) -> Values:
    return Values(
        borrowed(values.ops),
        borrowed(values.starts),
        borrowed(values.ints),
        borrowed(values.int_valid),
        borrowed(values.floats),
        borrowed(values.float_valid),
        borrowed(values.const_i),
        borrowed(values.const_f),
        borrowed(values.const_t),
        borrowed(values.given_i),
        borrowed(values.given_f),
        borrowed(values.given_valid),
        borrowed(values.stack_i),
        borrowed(values.stack_f),
        borrowed(values.stack_valid),
        borrowed(values.places),
    )


@within_loop
def is_alive(memory: Ints, term: int) -> bool:
    return memory[term + FLAG] & ALIVE != 0  # type: ignore[no-any-return]


# -- lists ----------------------------------------------------------------------------------------------


@within_loop
def listeners_of(memory: Ints, key: int, listener: int) -> int:
    """Where the list of a filter's instances is: the first, the last."""
    return memory[LISTENING_AT] + 2 * (key * memory[FILTERS] + listener)  # type: ignore[no-any-return]


@within_loop
def queue_of(memory: Ints, key: int, queue: int) -> int:
    """Where a queue of timers is: the first, the last."""
    return memory[QUEUES_AT] + 2 * (key * memory[QUEUES] + queue)  # type: ignore[no-any-return]


@within_loop
def append(memory: Ints, ends: int, term: int) -> None:
    """At the end of a list that is linked by A and B."""
    last = memory[ends + 1]
    memory[term + A] = -1
    memory[term + B] = last
    if last >= 0:
        memory[last + A] = term
    else:
        memory[ends] = term
    memory[ends + 1] = term


@within_loop
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


@within_loop
def adopt(memory: Ints, parent: int, term: int) -> None:
    """As the last child of its parent."""
    last = memory[parent + FINAL]
    memory[term + NEXT] = -1
    memory[term + PREV] = last
    if last >= 0:
        memory[last + NEXT] = term
    else:
        memory[parent + FIRST] = term
    memory[parent + FINAL] = term


@within_loop
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
    """There is memory: the loop has checked before each task."""
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


@within_loop
def free_gone(memory: Ints) -> None:
    """The moment is over: blocks of instances that ended can be used again."""
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


@within_loop
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
    """How many bindings `match` has beyond `begin`, which it started from."""
    size = 0
    while match != begin:
        size += 1
        match = memory[match + BEFORE]
    return size


@inlined
def extend(memory: Ints, onto: int, match: int, begin: int) -> int:
    """What `match` has beyond `begin`, after `onto`. There is memory for it."""
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
    """The row of a tag: the `index`-th of those bound to it, from the end if negative. -1: there is none."""
    skip = -1 - index
    if index >= 0:
        found = 0
        at = match
        while at >= 0:
            if memory[at + BOUND_TAG] == tag:
                found += 1
            at = memory[at + BEFORE]
        skip = found - 1 - index
        if skip < 0:
            return -1
    while match >= 0:
        if memory[match + BOUND_TAG] == tag:
            if skip == 0:
                return memory[match + BOUND_ROW]  # type: ignore[no-any-return]
            skip -= 1
        match = memory[match + BEFORE]
    return -1
