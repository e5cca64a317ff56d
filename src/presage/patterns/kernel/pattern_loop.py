"""Events in processing order and the state of all terms come in, matches go out: the one compiled loop of patterns.

`run` goes through events and timers by time until it is FINISHED, or until it needs something from outside: more ROOM,
ANSWERS to conditions, or an end because of a BAD_BOUND or TOO_MANY partial matches. It can then be called again and
goes on where it stopped. Cost: each event meets the filters that listen for it (of its key), each task some tens of
nanoseconds; a timer that ran out two links.
"""

from __future__ import annotations

from typing import NamedTuple

from presage.arrays.jit import Bools, Ints, compiled_in_place, inlined
from presage.patterns.kernel.discards import begin_discard, discard_term, number_rows, suppress
from presage.patterns.kernel.endings import end_term
from presage.patterns.kernel.network import (
    ARGUMENTS,
    ASKED,
    CONSUME,
    FIRST_ARGUMENT,
    INTERVAL,
    KIND,
    PROGRAM,
    TAG,
    Network,
)
from presage.patterns.kernel.periods import compute
from presage.patterns.kernel.pools import (
    ASKS,
    BEGIN,
    BINDS,
    CAUSE,
    CELL_FREE,
    CELLS,
    CHOSEN,
    CHOSEN_ASKED,
    CHOSEN_ROW,
    CHOSEN_TERM,
    CLOCK,
    DISCARD,
    DUE,
    EVENT_ROW,
    FREE,
    GROUP,
    HEAP,
    KEY,
    KEY_CAUSE,
    MOMENT,
    MOST_OPEN,
    NEXT_CHOSEN,
    NEXT_DUE,
    NODE,
    NOT_STARTED,
    NOW,
    OPEN,
    OUT,
    PARENT,
    PHASE,
    ROOT,
    SEEN,
    SERIAL,
    SUPPRESS,
    TOP,
    USED,
    A,
    Pools,
    Values,
    bind,
    free_gone,
    is_alive,
    new_term,
)
from presage.patterns.kernel.reactions import end_spawn, turn_false, turn_true
from presage.patterns.kernel.starts import start_next, start_term
from presage.patterns.kernel.tasks import (
    FALSE,
    HOLDS,
    MATCH,
    NEXT_CHILD,
    RING,
    SPAWNED,
    START,
    TRUE,
    push,
)
from presage.patterns.kernel.timers import first_timer

# What `run` returns.
FINISHED, ROOM, ANSWERS, BAD_BOUND, TOO_MANY = range(5)
# Phases of a moment: nothing under way, timers, filters choose, filters react, matches are counted out.
READY, RINGING, CHOOSING, CONSUMING, REACTING, CLOSING, CLOSED = range(7)

SPARE = 8  # places on the stack that one task may need


class Input(NamedTuple):
    """By row, those kept from earlier steps first: `times`, `causes` (arrival), `sources`, `passes` (rows, filters):
    source and flag are right; `events`: which event of which key it is a view of. The rows of one event and key are a
    group: `starts` (groups + 1), `keys` by group, `passing` by group: whether any filter takes it. `cursors`
    (filters, 2) is room to work in."""

    times: Ints
    causes: Ints
    sources: Ints
    passes: Bools
    starts: Ints
    keys: Ints
    passing: Bools
    events: Ints
    cursors: Ints


@inlined
def drain(net: Network, values: Values, pools: Pools, events: Ints) -> int:
    """Do tasks until there are none."""
    registers, terms, stack = pools.registers, pools.terms, pools.stack
    while registers[TOP] > 0:
        if (
            (registers[FREE] < 0 and registers[USED] >= terms.shape[0])
            or registers[BINDS] >= pools.binds.shape[0]
            or (registers[CELL_FREE] < 0 and registers[CELLS] >= pools.cells.shape[0])
            or registers[TOP] + SPARE > stack.shape[0]
            or registers[OUT] >= pools.rows.shape[0]
            or registers[HEAP] >= pools.heap.shape[0]
            or registers[SEEN] + 1 >= pools.seen.shape[0]
        ):
            return ROOM
        if registers[OPEN] > registers[MOST_OPEN]:
            return TOO_MANY
        top = registers[TOP] - 1
        task, i, other, match, ended = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4]
        registers[TOP] = top
        fits = True
        if task == TRUE:
            fits = turn_true(net, values, pools, i, other, match, ended)
        elif task == START:
            if not start_term(net, values, pools, i):
                return BAD_BOUND
        elif task == MATCH:
            node, parent = terms[i, NODE], terms[i, PARENT]
            found = terms[i, BEGIN]
            if net.nodes[node, TAG] >= 0:
                found = bind(registers, pools.binds, found, net.nodes[node, TAG], other)
            stays = net.stays[node]
            if not stays:
                end_term(net, pools, i)
            push(registers, stack, TRUE, parent, i, found, 1 - stays)
        elif task == FALSE:
            turn_false(net, pools, i, other)
        elif task == SPAWNED:
            end_spawn(net, pools, i)
        elif task == RING:
            begin, parent = terms[i, BEGIN], terms[i, PARENT]
            end_term(net, pools, i)
            if net.nodes[terms[i, NODE], KIND] == INTERVAL:
                push(registers, stack, TRUE, parent, i, begin, 1)
            else:
                push(registers, stack, FALSE, parent, i, -1, 0)
        elif task == NEXT_CHILD:
            if is_alive(terms, i):
                start_next(net, pools, i, other)
        elif task == HOLDS:
            if is_alive(terms, i):
                push(registers, stack, TRUE, terms[i, PARENT], i, terms[i, BEGIN], 0)
        else:
            fits = discard_term(net, pools, events, i)
        if not fits:
            registers[TOP] = top + 1
            return ROOM
    return FINISHED


@inlined
def choose(net: Network, values: Values, pools: Pools, source: Input, group: int) -> None:
    """The filters that take the event, in the order in which they began to listen. Those with a condition that only
    the host can evaluate are numbered in ASKS."""
    registers, terms, chosen, cursors = pools.registers, pools.terms, pools.chosen, source.cursors
    filters = net.listeners.size
    first, end = source.starts[group], source.starts[group + 1]
    active = 0
    for f in range(filters):
        for row in range(first, end):
            if source.passes[row, f]:
                head = pools.listening[source.keys[group] * filters + f, 0]
                if head >= 0:
                    cursors[active, 0] = head
                    cursors[active, 1] = row
                    active += 1
                break
    count, asks = 0, 0
    while active > 0:
        best = 0
        for k in range(1, active):
            if terms[cursors[k, 0], SERIAL] < terms[cursors[best, 0], SERIAL]:
                best = k
        i, row = cursors[best, 0], cursors[best, 1]
        cursors[best, 0] = terms[i, A]
        if terms[i, A] < 0:
            active -= 1
            cursors[best] = cursors[active]
        line = net.nodes[terms[i, NODE]]
        if line[PROGRAM] >= 0:
            compute(
                values, net.arguments, pools.binds, line[PROGRAM],
                line[FIRST_ARGUMENT], line[ARGUMENTS], terms[i, BEGIN], row,
            )  # fmt: skip
            if not values.stack_valid[0] or values.stack_i[0] == 0:
                continue
        chosen[count, CHOSEN_TERM] = i
        chosen[count, CHOSEN_ROW] = row
        chosen[count, CHOSEN_ASKED] = -1
        if line[ASKED] >= 0:
            chosen[count, CHOSEN_ASKED] = asks
            asks += 1
        count += 1
    registers[CHOSEN] = count
    registers[NEXT_CHOSEN] = 0
    registers[ASKS] = asks


@inlined
def consume(net: Network, pools: Pools) -> None:
    """@consume: of the filters that take the event only those of the highest level react."""
    registers, terms, chosen = pools.registers, pools.terms, pools.chosen
    highest = 0
    for k in range(registers[CHOSEN]):
        highest = max(highest, net.nodes[terms[chosen[k, CHOSEN_TERM], NODE], CONSUME])
    if highest == 0:
        return
    count = 0
    for k in range(registers[CHOSEN]):
        if net.nodes[terms[chosen[k, CHOSEN_TERM], NODE], CONSUME] == highest:
            chosen[count] = chosen[k]
            count += 1
    registers[CHOSEN] = count


@compiled_in_place
def start_pattern(pools: Pools, key: int) -> None:
    """The root of a key's pattern; there is room for it."""
    root = new_term(pools.registers, pools.terms, 0, -1, 0, -1, key)
    pools.keys[key, ROOT] = root
    push(pools.registers, pools.stack, START, root, -1, -1, 0)


@inlined
def begin_event(pools: Pools, source: Input, group: int) -> None:
    """Time moves to the event, and its pattern is started if it is the first of its key."""
    registers, keys = pools.registers, pools.keys
    row, key = source.starts[group], source.keys[group]
    registers[NOW] = source.times[row]
    registers[EVENT_ROW] = row
    keys[key, KEY_CAUSE] = source.causes[row]
    if keys[key, ROOT] == NOT_STARTED:
        start_pattern(pools, key)


@compiled_in_place
def run(net: Network, values: Values, pools: Pools, source: Input) -> int:
    registers, terms = pools.registers, pools.terms
    groups = source.keys.size
    while True:
        if registers[TOP] > 0:
            status = drain(net, values, pools, source.events)
            if status != FINISHED:
                return status
        phase = registers[PHASE]
        if phase == READY:
            group = registers[GROUP]
            until = source.times[source.starts[group]] if group < groups else registers[CLOCK]
            if registers[NEXT_DUE] <= until:
                i = first_timer(net, pools)
                if registers[NEXT_DUE] <= until:
                    registers[NOW] = terms[i, DUE]
                    registers[EVENT_ROW] = -1
                    registers[PHASE] = RINGING
                    continue
            if group >= groups:
                return FINISHED
            if not source.passing[group] and pools.keys[source.keys[group], ROOT] != NOT_STARTED:
                registers[GROUP] += 1
                continue
            if (registers[FREE] < 0 and registers[USED] >= terms.shape[0]) or pools.chosen.shape[0] < terms.shape[0]:
                return ROOM
            begin_event(pools, source, group)
            registers[PHASE] = CHOOSING
        elif phase == RINGING:
            i = first_timer(net, pools)
            if i < 0 or terms[i, DUE] > registers[NOW]:
                registers[PHASE] = CLOSING
                continue
            pools.keys[terms[i, KEY], KEY_CAUSE] = terms[i, CAUSE]
            push(registers, pools.stack, RING, i, -1, -1, 0)
        elif phase == CHOOSING:
            choose(net, values, pools, source, registers[GROUP])
            registers[PHASE] = CONSUMING
            if registers[ASKS] > 0:
                return ANSWERS
        elif phase == CONSUMING:
            consume(net, pools)
            registers[PHASE] = REACTING
        elif phase == REACTING:
            k = registers[NEXT_CHOSEN]
            if k == registers[CHOSEN]:
                registers[PHASE] = CLOSING
                continue
            registers[NEXT_CHOSEN] += 1
            i = pools.chosen[k, CHOSEN_TERM]
            if is_alive(terms, i):
                push(registers, pools.stack, MATCH, i, pools.chosen[k, CHOSEN_ROW], -1, 0)
        elif phase == CLOSING:
            if registers[DISCARD] and registers[OUT] > registers[MOMENT] and not begin_discard(pools, source.events):
                return ROOM
            registers[PHASE] = CLOSED
        else:
            if registers[OUT] > registers[MOMENT]:
                if registers[SUPPRESS]:
                    suppress(pools, source.events)
                number_rows(pools, source.sources)
            free_gone(registers, terms)
            if registers[EVENT_ROW] >= 0:
                registers[GROUP] += 1
            registers[PHASE] = READY
