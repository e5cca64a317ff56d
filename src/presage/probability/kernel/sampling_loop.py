"""Draws and edges come in; in how many worlds each answer held at each step goes out. A bit is a world.

Registers are rows of 64-bit words. For each draw a word of bits for each event says in which worlds it happened; an
edge is then a few operations on words. A random number is a hash of (seed, source, name of the chain, time, world), so
a draw has the same result whichever worlds are drawn together, and a draw that nobody waits for need not be made.
Cost: one hash and one comparison for each world and alternative that matters, one operation for each word and edge.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Bools, Floats, Ints, compiled, compiled_in_place, inlined
from presage.probability.kernel.facts import CERTAIN, MARKOV, ROUNDING

Words = npt.NDArray[np.uint64]
Values = npt.NDArray[np.int32]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
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
    """Where the random numbers of a draw begin."""
    found = mixed(np.uint64(seed) + _GOLDEN)
    found = mixed((found ^ np.uint64(source)) + _GOLDEN)
    found = mixed((found ^ np.uint64(name)) + _GOLDEN)
    return mixed((found ^ np.uint64(time)) + _GOLDEN)


@inlined
def numbers_of(stream: np.uint64, word: int, numbers: Ints) -> None:
    """64 random numbers of 63 bits for the worlds of a word; signed, because those are compared side by side."""
    state = stream + np.uint64(word) * np.uint64(64) * _GOLDEN
    for b in range(64):
        numbers[b] = np.int64(mixed(state + np.uint64(b + 1) * _GOLDEN) >> _ONE)


@compiled
def cumulated(probability: Floats, first: Ints) -> tuple[Ints, Ints]:
    """Where each alternative begins and ends among numbers of 63 bits; `first`: where distributions begin. What
    rounding took from a distribution goes to its last alternative."""
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


@inlined
def draw_linked(
    numbers: Ints, word: int, base: int, where: Ints, row_value: Ints, row_event: Ints, row_high: Ints, group_end: Ints,
    values: Values, events: Ints,
) -> None:  # fmt: skip
    """A Markov chain's draw in 64 worlds, given each world's value (0: none), which is replaced. `events` are counted
    from `base`, -1: none."""
    for b in range(64):
        world = word * 64 + b
        row = where[values[world]]
        value, event = np.int32(0), np.int64(-1)
        if row >= 0:
            last = group_end[row]
            # By halves while that is worth it, then by counting: branches that depend on chance are slow.
            while last - row > 16:
                middle = (row + last) >> 1
                if numbers[b] >= row_high[middle]:
                    row = middle + 1
                else:
                    last = middle + 1
            taken = row
            for other in range(row, last):
                taken += numbers[b] >= row_high[other]
            if taken < last:
                value, event = row_value[taken], row_event[taken] - base
        values[world] = value
        events[b] = event


@compiled_in_place
def sampled(
    seed: int, word: int, words: int,
    draw_kind: Ints, draw_source: Ints, draw_name: Ints, draw_step: Ints, draw_time: Ints, draw_rows: Ints,
    draw_slot: Ints,
    row_prev: Ints, row_value: Ints, row_event: Ints, row_low: Ints, row_high: Ints, group_end: Ints,
    first_event: int, event_edges: Ints, edge_from: Ints, edge_to: Ints,
    waiting: Words, left: Words, entered: Words, alive: Bools, is_answer: Bools, values: Values, slot_step: Ints,
    where: Ints, masks: Words, touched: Ints, mark: Bools,
    out_register: Ints, out_step: Ints, out_count: Ints,
) -> int:  # fmt: skip
    """The number of lines of output. The registers and the chains' values are left as they are after the last step.

    `word`: the number of the first word of worlds; rows of a draw are sorted by previous value, and `group_end` is
    where a row's distribution ends. `where` (-1), `left` (0), `entered` (0) and `mark` (False) come and go in their
    empty state; `masks` and `touched` are room to work in.
    """
    numbers, events = np.empty(64, np.int64), np.empty(64, np.int64)
    made = 0
    some = 0
    draws = len(draw_step)
    for draw in range(draws):
        check_cancelled(draw)
        begin, end = draw_rows[draw], draw_rows[draw + 1]
        kind = draw_kind[draw]
        base = row_event[begin]
        last = base
        for row in range(begin, end):
            base = min(base, row_event[row])
            last = max(last, row_event[row])
        first_edge, last_edge = event_edges[base - first_event], event_edges[last + 1 - first_event]
        asked = False
        for edge in range(first_edge, last_edge):
            if alive[edge_from[edge]]:
                asked = True
                break
        if asked or kind == MARKOV:
            stream = stream_of(seed, draw_source[draw], draw_name[draw], draw_time[draw])
            if kind == CERTAIN:
                for event in range(last + 1 - base):
                    for w in range(words):
                        masks[event, w] = _ALL
            elif kind == MARKOV:
                slot = draw_slot[draw]
                own = values[slot]
                if slot_step[slot] != draw_step[draw] - 1:
                    for world in range(64 * words):
                        own[world] = 0
                slot_step[slot] = draw_step[draw]
                for row in range(end - 1, begin - 1, -1):
                    where[row_prev[row]] = row
                for w in range(words):
                    numbers_of(stream, word + w, numbers)
                    draw_linked(numbers, w, base, where, row_value, row_event, row_high, group_end, own, events)
                    for event in range(base, last + 1) if asked else range(0):
                        if event_edges[event - first_event] < event_edges[event + 1 - first_event]:
                            masks[event - base, w] = bits_between(events, event - base, event - base + 1)
                for row in range(begin, end):
                    where[row_prev[row]] = -1
            else:
                for w in range(words):
                    numbers_of(stream, word + w, numbers)
                    for row in range(begin, end):
                        event = row_event[row]
                        if event_edges[event - first_event] < event_edges[event + 1 - first_event]:
                            masks[event - base, w] = bits_between(numbers, row_low[row], row_high[row])
        if asked:
            for event in range(base, last + 1):
                for edge in range(event_edges[event - first_event], event_edges[event + 1 - first_event]):
                    origin, target = edge_from[edge], edge_to[edge]
                    if not alive[origin]:
                        continue
                    if origin:
                        for w in range(words):
                            left[origin, w] |= masks[event - base, w]
                        if not mark[origin]:
                            mark[origin] = True
                            touched[some] = origin
                            some += 1
                    if target >= 0:
                        for w in range(words):
                            entered[target, w] |= waiting[origin, w] & masks[event - base, w]
                        if not mark[target]:
                            mark[target] = True
                            touched[some] = target
                            some += 1
        if draw + 1 == draws or draw_step[draw + 1] != draw_step[draw]:
            for i in range(some):
                register = touched[i]
                mark[register] = False
                if is_answer[register]:
                    count = np.int64(0)
                    for w in range(words):
                        count += _ones(entered[register, w])
                        entered[register, w] = 0
                    if count:
                        out_register[made], out_step[made], out_count[made] = register, draw_step[draw], count
                        made += 1
                else:
                    every = np.uint64(0)
                    for w in range(words):
                        stays = (waiting[register, w] & ~left[register, w]) | entered[register, w]
                        waiting[register, w] = stays
                        left[register, w] = 0
                        entered[register, w] = 0
                        every |= stays
                    alive[register] = every != 0
            some = 0
    return made


@inlined
def _ones(word: np.uint64) -> np.int64:
    """How many bits are set."""
    word -= (word >> _ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
