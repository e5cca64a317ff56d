"""The one compiled loop of EPL patterns: events in processing order against all running terms.

`run` goes through the keys, and for each through its events and timers by time, until it is FINISHED, or until it needs
something from outside: more MEMORY, ANSWERS to conditions, or an end by a BAD_BOUND or TOO_MANY partial matches.
It can then be called again and goes on where it stopped. Cost: each event meets the filters that listen for it (of its
key), each task takes some tens of nanoseconds, a timer that ran out two links.
"""

from __future__ import annotations

from typing import NamedTuple

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Bools, Ints, compiled_in_place, inlined
from presage.arrays.programs.borrowing import borrowed
from presage.operators.epl.kernel.network.discards import begin_discard, discard_term, number_rows, suppress
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import (
    ASKS,
    BEGIN,
    CAUSE,
    CHOSEN,
    CLOCK,
    DISCARD,
    DUE,
    EVENT_ROW,
    FILTERS,
    GROUP,
    GROUP_END,
    HEAP,
    HEAPS,
    KEY,
    KEY_CAUSE,
    KEY_NOW,
    KEY_WORDS,
    KEYS_AT,
    MOMENT,
    MOST_OPEN,
    MOST_WAITING,
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
    ROUNDS,
    SEEN,
    SERIAL,
    SUPPRESS,
    TASKS,
    TOP,
    WAITING,
    A,
    Values,
    bind,
    borrowed_values,
    free_gone,
    is_alive,
    listeners_of,
    new_term,
    within_loop,
)
from presage.operators.epl.kernel.network.periods import compute
from presage.operators.epl.kernel.network.reactions import end_spawn, turn_false, turn_true
from presage.operators.epl.kernel.network.starts import start_next, start_term
from presage.operators.epl.kernel.network.tables import (
    ARGUMENTS,
    ASKED,
    CONSUME,
    FIRST_ARGUMENT,
    INTERVAL,
    KIND,
    PROGRAM,
    RANK,
    STAYS,
    TAG,
)
from presage.operators.epl.kernel.network.tasks import (
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
from presage.operators.epl.kernel.network.timers import fill_heap, first_timer

# What `run` returns.
FINISHED, MEMORY, ANSWERS, BAD_BOUND, TOO_MANY = range(5)
# Phases: the next key, nothing under way, timers, filters choose, filters react, matches are counted out.
NEXT_KEY, READY, RINGING, CHOOSING, CONSUMING, REACTING, CLOSING, CLOSED = range(8)

SPARE_TASKS = 8  # that one task may push
SPARE_WORDS = 64  # that one task may take, if it has not asked for more

# Columns of `chosen`: filters that the event at hand passes.
CHOSEN_TERM, CHOSEN_ROW, CHOSEN_ASKED = range(3)


class Work(NamedTuple):
    """Places to work in besides the memory: the stack of tasks, `rows` that came out, the heap of timers, keys that
    were `seen` and their hash table `hashes` (a power of two long), filters that were `chosen`, and `marks`: by event
    the epoch in which it was last part of a match."""

    stack: Ints
    rows: Ints
    heap: Ints
    seen: Ints
    hashes: Ints
    chosen: Ints
    marks: Ints


class Input(NamedTuple):
    """New rows by key, those of one key in order: `rows`: their number, `times`, `causes` (arrival), `sources`,
    `passes` (rows, filters): source and flag are right. The rows of one event and key are a group: `starts`
    (groups + 1), `passing` by group: whether any filter takes it; `firsts` (keys + 1): groups of each key. `events`
    by number of a row, kept ones as well: which event of which key it is a view of. `cursors` (filters, 2) is space to
    work in."""

    rows: Ints
    times: Ints
    causes: Ints
    sources: Ints
    passes: Bools
    starts: Ints
    passing: Bools
    firsts: Ints
    events: Ints
    cursors: Ints


@within_loop
def drain(
    net: Ints,
    values: Values,
    memory: Ints,
    stack: Ints,
    rows: Ints,
    heap: Ints,
    seen: Ints,
    index: Ints,
    marks: Ints,
    events: Ints,
) -> int:
    """Do tasks until there are none."""
    while memory[TASKS] > 0:
        if (
            memory[TOP] + SPARE_WORDS > memory.size
            or memory[TASKS] + SPARE_TASKS > stack.shape[0]
            or memory[OUT] >= rows.shape[0]
            or memory[HEAP] >= heap.shape[0]
            or memory[SEEN] + 1 >= seen.shape[0]
        ):
            return MEMORY
        if memory[OPEN] > memory[MOST_OPEN] or memory[WAITING] > memory[MOST_WAITING]:
            return TOO_MANY
        memory[ROUNDS] += 1
        check_cancelled(memory[ROUNDS])
        top = memory[TASKS] - 1
        task, term, other, match, ended = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4]
        memory[TASKS] = top
        fits = True
        if task == TRUE:
            fits = turn_true(net, values, memory, stack, rows, seen, index, term, other, match, ended)
        elif task == START:
            if not start_term(net, values, memory, stack, heap, term):
                return BAD_BOUND
        elif task == MATCH:
            node, parent = memory[term + NODE], memory[term + PARENT]
            found = memory[term + BEGIN]
            if net[node + TAG] >= 0:
                found = bind(memory, found, net[node + TAG], other)
            if net[node + STAYS] == 0:
                end_term(net, memory, term)
            push(memory, stack, TRUE, parent, term, found, 1 - net[node + STAYS])
        elif task == FALSE:
            turn_false(net, memory, stack, term, other)
        elif task == SPAWNED:
            end_spawn(net, memory, term)
        elif task == RING:
            begin, parent = memory[term + BEGIN], memory[term + PARENT]
            end_term(net, memory, term)
            if net[memory[term + NODE] + KIND] == INTERVAL:
                push(memory, stack, TRUE, parent, term, begin, 1)
            else:
                push(memory, stack, FALSE, parent, term, -1, 0)
        elif task == NEXT_CHILD:
            if is_alive(memory, term):
                start_next(net, memory, stack, term, other)
        elif task == HOLDS:
            if is_alive(memory, term):
                push(memory, stack, TRUE, memory[term + PARENT], term, memory[term + BEGIN], 0)
        else:
            fits = discard_term(net, memory, stack, marks, events, term)
        if not fits:
            memory[TASKS] = top + 1
            return MEMORY
    return FINISHED


@within_loop
def choose(
    net: Ints,
    values: Values,
    memory: Ints,
    chosen: Ints,
    numbers: Ints,
    passes: Bools,
    cursors: Ints,
    first: int,
    end: int,
    key: int,
) -> bool:
    """The filters that take the event: by their rank, then in the order in which they began to listen. Those with a
    condition that only the host can evaluate are numbered in ASKS. False: more memory is needed."""
    active = 0
    for f in range(memory[FILTERS]):
        for row in range(first, end):
            if passes[row, f]:
                head = memory[listeners_of(memory, key, f)]
                if head >= 0:
                    cursors[active, 0] = head
                    cursors[active, 1] = numbers[row]
                    active += 1
                break
    count, asks = 0, 0
    while active > 0:
        best = 0
        for k in range(1, active):
            one, other = cursors[k, 0], cursors[best, 0]
            higher = net[memory[one + NODE] + RANK] - net[memory[other + NODE] + RANK]
            if higher > 0 or (higher == 0 and memory[one + SERIAL] < memory[other + SERIAL]):
                best = k
        term, row = cursors[best, 0], cursors[best, 1]
        after = memory[term + A]
        cursors[best, 0] = after
        if after < 0:
            active -= 1
            cursors[best, 0] = cursors[active, 0]
            cursors[best, 1] = cursors[active, 1]
        node = memory[term + NODE]
        if net[node + PROGRAM] >= 0:
            compute(
                net,
                values,
                memory,
                net[node + PROGRAM],
                net[node + FIRST_ARGUMENT],
                net[node + ARGUMENTS],
                memory[term + BEGIN],
                row,
            )
            if not values.stack_valid[0] or values.stack_i[0] == 0:
                continue
        if count == chosen.shape[0]:
            return False
        chosen[count, CHOSEN_TERM] = term
        chosen[count, CHOSEN_ROW] = row
        chosen[count, CHOSEN_ASKED] = -1
        if net[node + ASKED] >= 0:
            chosen[count, CHOSEN_ASKED] = asks
            asks += 1
        count += 1
    memory[CHOSEN] = count
    memory[NEXT_CHOSEN] = 0
    memory[ASKS] = asks
    return True


@within_loop
def consume(net: Ints, memory: Ints, chosen: Ints) -> None:
    """@consume: of the filters that take the event only those of the highest level react."""
    highest = 0
    for k in range(memory[CHOSEN]):
        highest = max(highest, net[memory[chosen[k, CHOSEN_TERM] + NODE] + CONSUME])
    if highest == 0:
        return
    count = 0
    for k in range(memory[CHOSEN]):
        if net[memory[chosen[k, CHOSEN_TERM] + NODE] + CONSUME] == highest:
            chosen[count, CHOSEN_TERM] = chosen[k, CHOSEN_TERM]
            chosen[count, CHOSEN_ROW] = chosen[k, CHOSEN_ROW]
            count += 1
    memory[CHOSEN] = count


@inlined
def start_root(memory: Ints, stack: Ints, key: int) -> None:
    """The pattern of a key; there is memory for it."""
    root = new_term(memory, 0, -1, 0, -1, key)
    memory[memory[KEYS_AT] + key * KEY_WORDS + ROOT] = root
    push(memory, stack, START, root, -1, -1, 0)


@compiled_in_place
def start_pattern(memory: Ints, stack: Ints, key: int) -> None:
    start_root(memory, stack, key)


@compiled_in_place
def run(net: Ints, values: Values, memory: Ints, work: Work, source: Input) -> int:
    net, memory, values = borrowed(net), borrowed(memory), borrowed_values(values)
    stack, rows, heap, chosen, marks = (
        borrowed(work.stack),
        borrowed(work.rows),
        borrowed(work.heap),
        borrowed(work.chosen),
        borrowed(work.marks),
    )
    seen, index = borrowed(work.seen), borrowed(work.hashes)
    numbers, times, causes, sources = (
        borrowed(source.rows),
        borrowed(source.times),
        borrowed(source.causes),
        borrowed(source.sources),
    )
    passes, starts, passing = borrowed(source.passes), borrowed(source.starts), borrowed(source.passing)
    firsts, events, cursors = borrowed(source.firsts), borrowed(source.events), borrowed(source.cursors)
    keys = firsts.size - 1
    while True:
        if memory[TASKS] > 0:
            status = drain(net, values, memory, stack, rows, heap, seen, index, marks, events)
            if status != FINISHED:
                return status
        phase = memory[PHASE]
        if phase == NEXT_KEY:
            key = memory[KEY_NOW] + 1
            if key == keys:
                return FINISHED
            memory[KEY_NOW] = key
            if memory[HEAPS] and not fill_heap(net, memory, heap):
                memory[KEY_NOW] = key - 1
                return MEMORY
            first_timer(memory, heap)
            memory[GROUP] = firsts[key]
            memory[GROUP_END] = firsts[key + 1]
            memory[PHASE] = READY
        elif phase == READY:
            group = memory[GROUP]
            until = times[starts[group]] if group < memory[GROUP_END] else memory[CLOCK]
            if memory[NEXT_DUE] <= until:
                first_timer(memory, heap)
                if memory[NEXT_DUE] <= until:
                    memory[NOW] = memory[NEXT_DUE]
                    memory[EVENT_ROW] = -1
                    memory[PHASE] = RINGING
                    continue
            if group >= memory[GROUP_END]:
                memory[PHASE] = NEXT_KEY
                continue
            at = memory[KEYS_AT] + memory[KEY_NOW] * KEY_WORDS
            if not passing[group] and memory[at + ROOT] != NOT_STARTED:
                memory[GROUP] += 1
                continue
            if memory[TOP] + SPARE_WORDS > memory.size:
                return MEMORY
            memory[ROUNDS] += 1
            check_cancelled(memory[ROUNDS])
            row = starts[group]
            memory[NOW] = times[row]
            memory[EVENT_ROW] = numbers[row]
            memory[at + KEY_CAUSE] = causes[row]
            memory[PHASE] = CHOOSING
            if memory[at + ROOT] == NOT_STARTED:
                start_root(memory, stack, memory[KEY_NOW])
        elif phase == RINGING:
            term = first_timer(memory, heap)
            if term < 0 or memory[term + DUE] > memory[NOW]:
                memory[PHASE] = CLOSING
                continue
            memory[memory[KEYS_AT] + memory[term + KEY] * KEY_WORDS + KEY_CAUSE] = memory[term + CAUSE]
            push(memory, stack, RING, term, -1, -1, 0)
        elif phase == CHOOSING:
            group = memory[GROUP]
            if not choose(
                net, values, memory, chosen, numbers, passes, cursors, starts[group], starts[group + 1], memory[KEY_NOW]
            ):
                memory[CHOSEN] = chosen.shape[0]
                return MEMORY
            memory[PHASE] = CONSUMING
            if memory[ASKS] > 0:
                return ANSWERS
        elif phase == CONSUMING:
            consume(net, memory, chosen)
            memory[PHASE] = REACTING
        elif phase == REACTING:
            k = memory[NEXT_CHOSEN]
            if k == memory[CHOSEN]:
                memory[PHASE] = CLOSING
                continue
            memory[NEXT_CHOSEN] += 1
            if is_alive(memory, chosen[k, CHOSEN_TERM]):
                push(memory, stack, MATCH, chosen[k, CHOSEN_TERM], chosen[k, CHOSEN_ROW], -1, 0)
        elif phase == CLOSING:
            if memory[DISCARD] and memory[OUT] > memory[MOMENT]:
                begin_discard(memory, stack, rows, marks, events)
            memory[PHASE] = CLOSED
        else:
            if memory[OUT] > memory[MOMENT]:
                if memory[SUPPRESS]:
                    suppress(memory, rows, marks, events)
                number_rows(memory, rows, sources[starts[memory[GROUP]]] if memory[EVENT_ROW] >= 0 else 0)
            free_gone(memory)
            if memory[EVENT_ROW] >= 0:
                memory[GROUP] += 1
            memory[PHASE] = READY
