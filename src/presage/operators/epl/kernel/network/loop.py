"""The compiled loop of EPL patterns: events in processing order against all running terms.

`run` processes one key after the other, and the events and timers of each by time, until it is FINISHED or needs
something: more MEMORY, ANSWERS of the host, or an end because of a BAD_BOUND or TOO_MANY partial matches. Called again,
it resumes where it stopped. Cost: each event meets the filters of its key that listen for it, each task takes some tens
of nanoseconds, a timer the logarithm of their number.
"""

from __future__ import annotations

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Ints, compiled_in_place, inlined, inlined_always
from presage.arrays.programs.borrowing import borrowed
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.discards import begin_discard, discard_term, number_rows, suppress
from presage.operators.epl.kernel.network.endings import end_term
from presage.operators.epl.kernel.network.memory import (
    Input,
    Values,
    Work,
    bind,
    free_gone,
    is_alive,
    listeners_of,
    new_term,
)
from presage.operators.epl.kernel.network.periods import is_true
from presage.operators.epl.kernel.network.reactions import end_spawn, turn_false, turn_true
from presage.operators.epl.kernel.network.starts import start_next, start_term
from presage.operators.epl.kernel.network.tables import ASKED, CONSUME, INTERVAL, KIND, PROGRAM, RANK, STAYS, TAG
from presage.operators.epl.kernel.network.tasks import FALSE, HOLDS, MATCH, NEXT_CHILD, RING, SPAWNED, START, TRUE, push
from presage.operators.epl.kernel.network.timers import fill_heap, first_timer

# What `run` returns, and RUNNING: what its phases return while it need not.
RUNNING, FINISHED, MEMORY, ANSWERS, BAD_BOUND, TOO_MANY = range(-1, 5)
# Phases: the next key, the next event or timer, timers ring, filters choose, filters react, the moment ends.
NEXT_KEY, READY, RINGING, CHOOSING, CONSUMING, REACTING, CLOSING, CLOSED = range(8)

SPARE_TASKS = 8  # that one task may push
SPARE_WORDS = 64  # that one task may take without asking for more

# Columns of `chosen`: filters that the event at hand passes.
CHOSEN_TERM, CHOSEN_ROW, CHOSEN_ASKED = range(3)


@inlined_always
def drain(net: Ints, values: Values, memory: Ints, work: Work, events: Ints) -> int:
    """Does all tasks."""
    stack = work.stack
    while memory[m.TASKS] > 0:
        if (
            memory[m.TOP] + SPARE_WORDS > memory.size
            or memory[m.TASKS] + SPARE_TASKS > stack.shape[0]
            or memory[m.OUT] >= work.rows.shape[0]
            or memory[m.HEAP] >= work.heap.shape[0]
            or memory[m.SEEN] + 1 >= work.seen.shape[0]
        ):
            return MEMORY
        if memory[m.OPEN] > memory[m.MOST_OPEN] or memory[m.WAITING] > memory[m.MOST_WAITING]:
            return TOO_MANY
        memory[m.ROUNDS] += 1
        check_cancelled(memory[m.ROUNDS])
        top = memory[m.TASKS] - 1
        task, term, other, match, ended = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3], stack[top, 4]
        memory[m.TASKS] = top
        fits = True
        if task == TRUE:
            fits = turn_true(net, values, memory, work, term, other, match, ended)
        elif task == START:
            if not start_term(net, values, memory, stack, work.heap, term):
                return BAD_BOUND
        elif task == MATCH:
            take_event(net, memory, stack, term, other)
        elif task == FALSE:
            turn_false(net, memory, stack, term, other)
        elif task == SPAWNED:
            end_spawn(net, memory, term)
        elif task == RING:
            end_timer(net, memory, stack, term)
        elif task == NEXT_CHILD:
            if is_alive(memory, term):
                start_next(net, memory, stack, term, other)
        elif task == HOLDS:
            if is_alive(memory, term):
                push(memory, stack, TRUE, memory[term + m.PARENT], term, memory[term + m.BEGIN], 0)
        else:
            fits = discard_term(net, memory, work, events, term)
        if not fits:
            memory[m.TASKS] = top + 1
            return MEMORY
    return FINISHED


@inlined_always
def take_event(net: Ints, memory: Ints, stack: Ints, term: int, row: int) -> None:
    """MATCH: a filter turns true with the event in `row`."""
    node, parent, match = memory[term + m.NODE], memory[term + m.PARENT], memory[term + m.BEGIN]
    if net[node + TAG] >= 0:
        match = bind(memory, match, net[node + TAG], row)
    if net[node + STAYS] == 0:
        end_term(net, memory, term)
    push(memory, stack, TRUE, parent, term, match, 1 - net[node + STAYS])


@inlined_always
def end_timer(net: Ints, memory: Ints, stack: Ints, term: int) -> None:
    """RING: an interval turns true, a guard false."""
    begin, parent = memory[term + m.BEGIN], memory[term + m.PARENT]
    end_term(net, memory, term)
    if net[memory[term + m.NODE] + KIND] == INTERVAL:
        push(memory, stack, TRUE, parent, term, begin, 1)
    else:
        push(memory, stack, FALSE, parent, term, -1, 0)


@inlined_always
def choose(net: Ints, values: Values, memory: Ints, work: Work, source: Input) -> bool:
    """The filters that the event passes: by rank, then in the order in which they began to listen. Those with a
    condition that only the host can evaluate are counted in ASKS. False: more memory is needed."""
    chosen, cursors = work.chosen, source.cursors
    group, active = memory[m.GROUP], 0
    for f in range(memory[m.FILTERS]):
        for row in range(source.starts[group], source.starts[group + 1]):
            if source.passes[row, f]:
                head = memory[listeners_of(memory, memory[m.KEY_NOW], f)]
                if head >= 0:
                    cursors[active, 0] = head
                    cursors[active, 1] = source.rows[row]
                    active += 1
                break
    count, asks = 0, 0
    while active > 0:
        best = 0
        for k in range(1, active):
            one, other = cursors[k, 0], cursors[best, 0]
            higher = net[memory[one + m.NODE] + RANK] - net[memory[other + m.NODE] + RANK]
            if higher > 0 or (higher == 0 and memory[one + m.SERIAL] < memory[other + m.SERIAL]):
                best = k
        term, row = cursors[best, 0], cursors[best, 1]
        after = memory[term + m.A]
        cursors[best, 0] = after
        if after < 0:
            active -= 1
            cursors[best, 0] = cursors[active, 0]
            cursors[best, 1] = cursors[active, 1]
        node = memory[term + m.NODE]
        if net[node + PROGRAM] >= 0 and not is_true(net, values, memory, node, memory[term + m.BEGIN], row):
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
    memory[m.CHOSEN] = count
    memory[m.NEXT_CHOSEN] = 0
    memory[m.ASKS] = asks
    return True


@inlined_always
def consume(net: Ints, memory: Ints, chosen: Ints) -> None:
    """@consume: only the chosen filters of the highest level react."""
    highest = 0
    for k in range(memory[m.CHOSEN]):
        highest = max(highest, net[memory[chosen[k, CHOSEN_TERM] + m.NODE] + CONSUME])
    if highest == 0:
        return
    count = 0
    for k in range(memory[m.CHOSEN]):
        if net[memory[chosen[k, CHOSEN_TERM] + m.NODE] + CONSUME] == highest:
            chosen[count, CHOSEN_TERM] = chosen[k, CHOSEN_TERM]
            chosen[count, CHOSEN_ROW] = chosen[k, CHOSEN_ROW]
            count += 1
    memory[m.CHOSEN] = count


@inlined
def start_root(memory: Ints, stack: Ints, key: int) -> None:
    """Starts the pattern of a key. The caller has checked that there is memory."""
    root = new_term(memory, 0, -1, 0, -1, key)
    memory[memory[m.KEYS_AT] + key * m.KEY_WORDS + m.ROOT] = root
    push(memory, stack, START, root, -1, -1, 0)


@compiled_in_place
def start_pattern(memory: Ints, stack: Ints, key: int) -> None:
    start_root(memory, stack, key)


@inlined_always
def begin_key(net: Ints, memory: Ints, work: Work, source: Input) -> int:
    """NEXT_KEY"""
    key = memory[m.KEY_NOW] + 1
    if key == source.firsts.size - 1:
        return FINISHED
    memory[m.KEY_NOW] = key
    if memory[m.TIMERS] and not fill_heap(net, memory, work.heap):
        memory[m.KEY_NOW] = key - 1
        return MEMORY
    first_timer(memory, work.heap)
    memory[m.GROUP] = source.firsts[key]
    memory[m.GROUP_END] = source.firsts[key + 1]
    memory[m.PHASE] = READY
    return RUNNING


@inlined_always
def begin_moment(memory: Ints, work: Work, source: Input) -> int:
    """READY: timers that are due before the next event, or the event."""
    group = memory[m.GROUP]
    until = source.times[source.starts[group]] if group < memory[m.GROUP_END] else memory[m.WATERMARK]
    if memory[m.NEXT_DUE] <= until:
        first_timer(memory, work.heap)
        if memory[m.NEXT_DUE] <= until:
            memory[m.NOW] = memory[m.NEXT_DUE]
            memory[m.EVENT_ROW] = -1
            memory[m.PHASE] = RINGING
            return RUNNING
    if group >= memory[m.GROUP_END]:
        memory[m.PHASE] = NEXT_KEY
        return RUNNING
    if memory[m.TOP] + SPARE_WORDS > memory.size:
        return MEMORY
    memory[m.ROUNDS] += 1
    check_cancelled(memory[m.ROUNDS])
    row, key = source.starts[group], memory[m.KEYS_AT] + memory[m.KEY_NOW] * m.KEY_WORDS
    memory[m.NOW] = source.times[row]
    memory[m.EVENT_ROW] = source.rows[row]
    memory[key + m.KEY_CAUSE] = source.causes[row]
    memory[m.PHASE] = CHOOSING
    if memory[key + m.ROOT] == m.NOT_STARTED:
        start_root(memory, work.stack, memory[m.KEY_NOW])
    return RUNNING


@inlined_always
def ring(memory: Ints, work: Work) -> None:
    """RINGING: the next timer of the moment."""
    term = first_timer(memory, work.heap)
    if term < 0 or memory[term + m.DUE] > memory[m.NOW]:
        memory[m.PHASE] = CLOSING
        return
    memory[memory[m.KEYS_AT] + memory[term + m.KEY] * m.KEY_WORDS + m.KEY_CAUSE] = memory[term + m.CAUSE]
    push(memory, work.stack, RING, term, -1, -1, 0)


@inlined_always
def react(memory: Ints, work: Work) -> None:
    """REACTING: the next chosen filter."""
    k = memory[m.NEXT_CHOSEN]
    if k == memory[m.CHOSEN]:
        memory[m.PHASE] = CLOSING
        return
    memory[m.NEXT_CHOSEN] += 1
    if is_alive(memory, work.chosen[k, CHOSEN_TERM]):
        push(memory, work.stack, MATCH, work.chosen[k, CHOSEN_TERM], work.chosen[k, CHOSEN_ROW], -1, 0)


@inlined_always
def end_moment(memory: Ints, work: Work, source: Input) -> None:
    """CLOSED: numbers the result rows and frees memory."""
    is_event = memory[m.EVENT_ROW] >= 0
    if memory[m.OUT] > memory[m.MOMENT]:
        if memory[m.SUPPRESS]:
            suppress(memory, work, source.events)
        number_rows(memory, work.rows, source.sources[source.starts[memory[m.GROUP]]] if is_event else 0)
    free_gone(memory)
    if is_event:
        memory[m.GROUP] += 1
    memory[m.PHASE] = READY


@compiled_in_place
def run(net: Ints, values: Values, memory: Ints, work: Work, source: Input) -> int:
    net, values, memory, work, source = (
        borrowed(net),
        borrowed(values),
        borrowed(memory),
        borrowed(work),
        borrowed(source),
    )
    while True:
        if memory[m.TASKS] > 0:
            status = drain(net, values, memory, work, source.events)
            if status != FINISHED:
                return status
        status, phase = RUNNING, memory[m.PHASE]
        if phase == NEXT_KEY:
            status = begin_key(net, memory, work, source)
        elif phase == READY:
            status = begin_moment(memory, work, source)
        elif phase == RINGING:
            ring(memory, work)
        elif phase == CHOOSING:
            if choose(net, values, memory, work, source):
                memory[m.PHASE] = CONSUMING
                status = ANSWERS if memory[m.ASKS] > 0 else RUNNING
            else:
                memory[m.CHOSEN] = work.chosen.shape[0]
                status = MEMORY
        elif phase == CONSUMING:
            consume(net, memory, work.chosen)
            memory[m.PHASE] = REACTING
        elif phase == REACTING:
            react(memory, work)
        elif phase == CLOSING:
            if memory[m.DISCARD] and memory[m.OUT] > memory[m.MOMENT]:
                begin_discard(memory, work, source.events)
            memory[m.PHASE] = CLOSED
        else:
            end_moment(memory, work, source)
        if status != RUNNING:
            return status
