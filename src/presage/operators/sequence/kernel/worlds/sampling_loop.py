"""The loop of the sampler: in how many random worlds each answer held at each step. A bit is a world.

Registers are rows of 64-bit words. Each event of a draw has a word of bits for the worlds in which it happened; an edge
is then a few operations on words. A random number is a hash of (seed, source, name of the chain, time, world), so that
a draw has the same result whichever worlds are drawn together, and a draw that no match waits for is skipped.
Cost: one hash and one comparison for each world and alternative that matters, one operation for each word and edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Bools, Floats, Ints, compiled, compiled_in_place, inlined, inlined_always
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, ROUNDING

Words = npt.NDArray[np.uint64]
Values = npt.NDArray[np.int32]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_LAST, _SCALE = np.int64((1 << 63) - 1), float(1 << 63)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@inlined
def mixed(number: np.uint64) -> np.uint64:
    """The finalizer of splitmix64."""
    number = (number ^ (number >> np.uint64(30))) * _FIRST
    number = (number ^ (number >> np.uint64(27))) * _SECOND
    return number ^ (number >> np.uint64(31))


@inlined
def stream_of(seed: int, source: int, name: int, time: int) -> np.uint64:
    """The seed of the random numbers of a draw."""
    found = mixed(np.uint64(seed) + GOLDEN)
    found = mixed((found ^ np.uint64(source)) + GOLDEN)
    found = mixed((found ^ np.uint64(name)) + GOLDEN)
    return mixed((found ^ np.uint64(time)) + GOLDEN)


@inlined
def numbers_of(stream: np.uint64, word: int, numbers: Ints) -> None:
    """64 random numbers of 63 bits for the worlds of a word; signed, because comparisons of these vectorize."""
    state = stream + np.uint64(word) * np.uint64(64) * GOLDEN
    for b in range(64):
        numbers[b] = np.int64(mixed(state + np.uint64(b + 1) * GOLDEN) >> _ONE)


@compiled
def cumulated(probability: Floats, first: Ints) -> tuple[Ints, Ints]:
    """The range of each alternative among numbers of 63 bits; `first`: where distributions begin. What a distribution
    lost to rounding goes to its last alternative."""
    low, high = np.empty(len(probability), np.int64), np.empty(len(probability), np.int64)
    for group in range(len(first) - 1):
        total, border, least = 0.0, np.int64(0), ROUNDING * (first[group + 1] - first[group] + 1)
        for row in range(first[group], first[group + 1]):
            total += probability[row]
            low[row] = border
            border = _LAST if total >= 1.0 - least else np.int64(total * _SCALE)
            high[row] = border
    return low, high


@inlined
def bits_between(numbers: Ints, low: int, high: int) -> np.uint64:
    """Which of 64 numbers are at least `low` and below `high`."""
    found = np.uint64(0)
    for b in range(64):
        found |= np.uint64((numbers[b] >= low) & (numbers[b] < high)) << np.uint64(b)
    return found


class Draws(NamedTuple):
    """By draw: a chain at a step. Rows `rows[d]` to `rows[d + 1]` are its alternatives."""

    kind: Ints
    source: Ints
    name: Ints  # of the chain
    step: Ints
    time: Ints
    rows: Ints
    slot: Ints  # of Markov chains: where the value is kept


class Rows(NamedTuple):
    """Alternatives, those of a draw by previous value: `group_end` is where a row's distribution ends."""

    prev: Ints
    value: Ints
    event: Ints
    low: Ints
    high: Ints
    group_end: Ints


class EventEdges(NamedTuple):
    """Edges `start[e]` to `start[e + 1]` are those of event number `first` + e; target -1: nowhere."""

    first: int
    start: Ints
    origin: Ints
    target: Ints


class Partials(NamedTuple):
    """Registers: the worlds in which a partial match waits, stops waiting or enters at this step. `left`, `entered` and
    `mark` are all 0 between steps; `touched` lists the marked registers."""

    waiting: Words
    left: Words
    entered: Words
    alive: Bools
    is_answer: Bools
    touched: Ints
    mark: Bools


class ChainValues(NamedTuple):
    """Of Markov chains, by slot: the value in each world, and its step. `where` (-1 between draws): the first row of
    each previous value."""

    values: Values
    step: Ints
    where: Ints


class AnswerCounts(NamedTuple):
    """Lines of output: the number of `worlds` in which a register was an answer at a step."""

    register: Ints
    step: Ints
    worlds: Ints


@inlined
def draw_markov(
    numbers: Ints,
    word: int,
    base: int,
    where: Ints,
    value: Ints,
    event: Ints,
    high: Ints,
    group_end: Ints,
    values: Values,
    events: Ints,
) -> None:
    """Draw the next value of a Markov chain in 64 worlds; `values` (0: none) is updated. `events` are counted from
    `base`, -1: none."""
    for b in range(64):
        world = word * 64 + b
        row = where[values[world]]
        new, happened = np.int32(0), np.int64(-1)
        if row >= 0:
            last = group_end[row]
            # Binary search down to 16 rows, then count: branches on random numbers are mispredicted.
            while last - row > 16:
                middle = (row + last) >> 1
                if numbers[b] >= high[middle]:
                    row = middle + 1
                else:
                    last = middle + 1
            taken = row
            for other in range(row, last):
                taken += numbers[b] >= high[other]
            if taken < last:
                new, happened = value[taken], event[taken] - base
        values[world] = new
        events[b] = happened


@inlined_always
def _is_awaited(origin: Ints, alive: Bools, begin: int, end: int) -> bool:
    """Whether a partial match waits at the beginning of one of the edges."""
    for edge in range(begin, end):  # noqa: SIM110 (Numba compiles no generator)
        if alive[origin[edge]]:
            return True
    return False


@inlined_always
def _touch(touched: Ints, mark: Bools, register: int, count: int) -> int:
    """List a register as touched; returns the number of registers listed."""
    if not mark[register]:
        mark[register] = True
        touched[count] = register
        count += 1
    return count


@inlined_always
def _count(entered: Words, register: int) -> np.int64:
    """The number of worlds in which an answer has entered, which is reset."""
    count = np.int64(0)
    for w in range(entered.shape[1]):
        count += _ones(entered[register, w])
        entered[register, w] = 0
    return count


@inlined_always
def _settle(waiting: Words, left: Words, entered: Words, register: int) -> bool:
    """Update what waits after a step; returns whether there is any."""
    every = np.uint64(0)
    for w in range(waiting.shape[1]):
        stays = (waiting[register, w] & ~left[register, w]) | entered[register, w]
        waiting[register, w] = stays
        left[register, w] = 0
        entered[register, w] = 0
        every |= stays
    return bool(every != 0)


@compiled_in_place
def sampled(
    seed: int,
    word: int,
    draws: Draws,
    rows: Rows,
    edges: EventEdges,
    partials: Partials,
    chains: ChainValues,
    masks: Words,
    found: AnswerCounts,
) -> int:
    """The number of lines of output. The registers and the chains' values are left as they are after the last step.

    `word`: the number of the first word of worlds. `masks` (event of a draw, word) is scratch.
    """
    # Taken out of the tuples once: inside the loop reference counts of arrays would cost a third of the time.
    kind, bounds, step = draws.kind, draws.rows, draws.step
    row_prev, row_value, row_event, row_low, row_high, group_end = rows
    first, start, origins, targets = edges.first, edges.start, edges.origin, edges.target
    waiting, left, entered, alive = partials.waiting, partials.left, partials.entered, partials.alive
    touched, mark, is_answer = partials.touched, partials.mark, partials.is_answer
    slots, all_values, value_step, where = draws.slot, chains.values, chains.step, chains.where
    numbers, events = np.empty(64, np.int64), np.empty(64, np.int64)
    words, made, count = masks.shape[1], 0, 0
    for draw in range(len(step)):
        check_cancelled(draw)
        begin, end = bounds[draw], bounds[draw + 1]
        base = last = row_event[begin]
        for row in range(begin, end):
            base = min(base, row_event[row])
            last = max(last, row_event[row])
        awaited = _is_awaited(origins, alive, start[base - first], start[last + 1 - first])
        if awaited or kind[draw] == MARKOV:
            stream = stream_of(seed, draws.source[draw], draws.name[draw], draws.time[draw])
        if kind[draw] == MARKOV:
            # Even if no match waits: the chain's next draw depends on its value.
            slot = slots[draw]
            values = all_values[slot]
            if value_step[slot] != step[draw] - 1:
                values[:] = 0
            value_step[slot] = step[draw]
            for row in range(end - 1, begin - 1, -1):
                where[row_prev[row]] = row
            for w in range(words):
                numbers_of(stream, word + w, numbers)
                draw_markov(numbers, w, base, where, row_value, row_event, row_high, group_end, values, events)
                for event in range(base, last + 1) if awaited else range(0):
                    if start[event - first] < start[event + 1 - first]:
                        masks[event - base, w] = bits_between(events, event - base, event - base + 1)
            for row in range(begin, end):
                where[row_prev[row]] = -1
        elif awaited and kind[draw] == CERTAIN:
            masks[: last + 1 - base] = _ALL
        elif awaited:
            for w in range(words):
                numbers_of(stream, word + w, numbers)
                for row in range(begin, end):
                    event = row_event[row]
                    if start[event - first] < start[event + 1 - first]:
                        masks[event - base, w] = bits_between(numbers, row_low[row], row_high[row])
        for event in range(base, last + 1) if awaited else range(0):
            for edge in range(start[event - first], start[event + 1 - first]):
                origin, target = origins[edge], targets[edge]
                if not alive[origin]:
                    continue
                if origin:
                    for w in range(words):
                        left[origin, w] |= masks[event - base, w]
                    count = _touch(touched, mark, origin, count)
                if target >= 0:
                    for w in range(words):
                        entered[target, w] |= waiting[origin, w] & masks[event - base, w]
                    count = _touch(touched, mark, target, count)
        if draw + 1 == len(step) or step[draw + 1] != step[draw]:
            for i in range(count):
                register = touched[i]
                mark[register] = False
                if not is_answer[register]:
                    alive[register] = _settle(waiting, left, entered, register)
                    continue
                worlds = _count(entered, register)
                if worlds:
                    found.register[made], found.step[made], found.worlds[made] = register, step[draw], worlds
                    made += 1
            count = 0
    return made


@inlined
def _ones(word: np.uint64) -> np.int64:
    """How many bits are set."""
    word -= (word >> _ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
