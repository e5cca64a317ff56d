"""Places for running terms, bindings and timers: pools of numbers in, numbers of places out.

A running term (instance) is a line of `terms`. It is linked with its siblings in the order of creation; a filter that
listens is in the list of its listener and key, a timer with a constant period in the queue of its node. An instance
that ended stays readable until the moment is over, then its line is used again.

A binding is a line of `binds`: the binding before it, a tag, a row. A match is named by its last binding, -1 if it is
empty, so that partial matches share what they have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from numba import njit

from presage.arrays.jit import Bools, Floats, Ints

C = TypeVar("C", bound=Callable[..., Any])

# Columns of `terms`. A and B are the links of filters and timers, first and last cell of AND, and of a repeat what it
# has gathered and its lower bound (the upper one is in DUE). FREE_NEXT shares its place with FIRST.
NODE, PARENT, SLOT, BEGIN, FIRST, FINAL, NEXT, PREV, COUNT, A, B, DUE, SERIAL, KEY, FLAG, SET, CAUSE = range(17)
TERM_WIDTH = 17
# Bits of FLAG: an operand of EVERY is STARTING until its START is done, and CAUGHT if it turned true meanwhile.
ALIVE, STARTING, CAUGHT = 1, 2, 4

# Columns of `cells`: matches that one side of an AND has collected.
CELL_NEXT, CELL_SLOT, CELL_MATCH = range(3)
# Columns of `rows`: matches that came out; ROW is the event's row, -1 of a timer.
OUT_MATCH, OUT_TIME, OUT_ROW, OUT_KEY, OUT_CAUSE, OUT_ORDINAL = range(6)
# Columns of `keys`.
ROOT, KEY_CAUSE, STAMP, NUMBER, HIGHEST = range(5)
KEY_WIDTH = 5
NOT_STARTED, FINISHED = -1, -2
# Columns of `seen`; words of the key follow.
SEEN_SET, EXPIRY, NULLS, WORDS = range(4)
# Columns of `chosen`: filters that the event at hand passes.
CHOSEN_TERM, CHOSEN_ROW, CHOSEN_ASKED = range(3)

# Registers.
TOP, FREE, GONE, GONE_LAST, USED, BINDS, CELLS, CELL_FREE, OUT, HEAP, SERIALS, NOW, PHASE = range(13)
GROUP, CHOSEN, NEXT_CHOSEN, OPEN, MOMENT, NEXT_DUE, SETS, SEEN, EVENT_ROW, BAD, CLOCK, ASKS = range(13, 25)
NEED_BINDS, NEED_STACK, NEED_SEEN, STAMPS, EPOCH, DISCARD, SUPPRESS, MOST_OPEN, KEYED = range(25, 34)
REGISTERS = 34

FOREVER = 2**63 - 1


class Pools(NamedTuple):
    """`listening` (keys * filters, 2) and `queues` (nodes, 2): first and last of each list. `index`: a hash table over
    `seen`, a power of two long. `marks` (events,): the epoch in which an event was last part of a match."""

    registers: Ints
    terms: Ints
    binds: Ints
    cells: Ints
    stack: Ints
    rows: Ints
    heap: Ints
    listening: Ints
    queues: Ints
    seen: Ints
    index: Ints
    keys: Ints
    chosen: Ints
    marks: Ints


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
    """A part of the one loop: always inlined, because a call would hand over all of its arrays."""
    return cast("C", njit(nogil=True, forceinline=True)(function))


# -- lists ----------------------------------------------------------------------------------------------


@within_loop
def append(terms: Ints, ends: Ints, at: int, i: int) -> None:
    """At the end of a list that is linked by A and B."""
    last = ends[at, 1]
    terms[i, A] = -1
    terms[i, B] = last
    if last >= 0:
        terms[last, A] = i
    else:
        ends[at, 0] = i
    ends[at, 1] = i


@within_loop
def remove(terms: Ints, ends: Ints, at: int, i: int) -> None:
    after, before = terms[i, A], terms[i, B]
    if before >= 0:
        terms[before, A] = after
    else:
        ends[at, 0] = after
    if after >= 0:
        terms[after, B] = before
    else:
        ends[at, 1] = before


@within_loop
def is_alive(terms: Ints, i: int) -> bool:
    return terms[i, FLAG] & ALIVE != 0  # type: ignore[no-any-return]


@within_loop
def adopt(terms: Ints, parent: int, i: int) -> None:
    """As the last child of its parent."""
    last = terms[parent, FINAL]
    terms[i, NEXT] = -1
    terms[i, PREV] = last
    if last >= 0:
        terms[last, NEXT] = i
    else:
        terms[parent, FIRST] = i
    terms[parent, FINAL] = i


@within_loop
def orphan(terms: Ints, i: int) -> None:
    parent = terms[i, PARENT]
    if parent < 0:
        return
    after, before = terms[i, NEXT], terms[i, PREV]
    if before >= 0:
        terms[before, NEXT] = after
    else:
        terms[parent, FIRST] = after
    if after >= 0:
        terms[after, PREV] = before
    else:
        terms[parent, FINAL] = before


# -- instances ------------------------------------------------------------------------------------------


@within_loop
def new_term(registers: Ints, terms: Ints, node: int, parent: int, slot: int, begin: int, key: int) -> int:
    """There is room: the loop has looked before each task."""
    i = registers[FREE]
    if i >= 0:
        registers[FREE] = terms[i, FIRST]
    else:
        i = registers[USED]
        registers[USED] += 1
    terms[i, NODE] = node
    terms[i, PARENT] = parent
    terms[i, SLOT] = slot
    terms[i, BEGIN] = begin
    terms[i, FIRST] = -1
    terms[i, FINAL] = -1
    terms[i, NEXT] = -1
    terms[i, PREV] = -1
    terms[i, COUNT] = 0
    terms[i, A] = -1
    terms[i, B] = -1
    terms[i, DUE] = FOREVER
    terms[i, SERIAL] = registers[SERIALS]
    terms[i, KEY] = key
    terms[i, FLAG] = ALIVE
    terms[i, SET] = -1
    terms[i, CAUSE] = -1
    registers[SERIALS] += 1
    if parent >= 0:
        adopt(terms, parent, i)
    return i  # type: ignore[no-any-return]


@within_loop
def free_gone(registers: Ints, terms: Ints) -> None:
    """The moment is over: lines of ended instances can be used again."""
    if registers[GONE] >= 0:
        terms[registers[GONE_LAST], FIRST] = registers[FREE]
        registers[FREE] = registers[GONE]
        registers[GONE] = -1
        registers[GONE_LAST] = -1


# -- bindings -------------------------------------------------------------------------------------------


@within_loop
def bind(registers: Ints, binds: Ints, match: int, tag: int, row: int) -> int:
    i = registers[BINDS]
    binds[i, 0] = match
    binds[i, 1] = tag
    binds[i, 2] = row
    registers[BINDS] += 1
    return i  # type: ignore[no-any-return]


@within_loop
def grown(binds: Ints, match: int, begin: int) -> int:
    """How many bindings `match` has beyond `begin`, which it started from."""
    size = 0
    while match != begin:
        size += 1
        match = binds[match, 0]
    return size


@within_loop
def extend(registers: Ints, binds: Ints, onto: int, match: int, begin: int) -> int:
    """What `match` has beyond `begin`, after `onto`."""
    if onto == begin:
        return match
    size = grown(binds, match, begin)
    first = registers[BINDS]
    for j in range(first + size - 1, first - 1, -1):
        binds[j, 0] = j - 1 if j > first else onto
        binds[j, 1] = binds[match, 1]
        binds[j, 2] = binds[match, 2]
        match = binds[match, 0]
    registers[BINDS] += size
    return first + size - 1 if size else onto  # type: ignore[no-any-return]


@within_loop
def bound_row(binds: Ints, match: int, tag: int, index: int) -> int:
    """The row of a tag: the `index`-th of those bound to it, from the end if negative. -1: there is none."""
    skip = -1 - index
    if index >= 0:
        found = 0
        at = match
        while at >= 0:
            if binds[at, 1] == tag:
                found += 1
            at = binds[at, 0]
        skip = found - 1 - index
        if skip < 0:
            return -1
    while match >= 0:
        if binds[match, 1] == tag:
            if skip == 0:
                return binds[match, 2]  # type: ignore[no-any-return]
            skip -= 1
        match = binds[match, 0]
    return -1
