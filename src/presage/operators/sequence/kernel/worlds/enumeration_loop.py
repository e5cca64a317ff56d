"""The loop of the enumeration: the answer's probability at each step, over all worlds that differ.

A column is one joint state with a weight: (before, left, after, values). `before` are the registers that an event of
this step may still move, as they were before the step; `left` those of them that no longer wait; `after` the registers
that wait after the step, as far as known; `values` the Markov chains' values that later draws need (0: none). Each draw
splits every column, and equal columns are merged, so that chains with the same effect do not multiply. Cost: columns x
alternatives for each draw.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from presage.arrays.jit import Floats, Ints, compiled_in_place, inlined, inlined_always

Words = npt.NDArray[np.uint64]

OK, TOO_MANY_COLUMNS, TOO_MUCH_WORK = 0, 1, 2
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _hashed(column: Words, width: int) -> np.uint64:
    found = np.uint64(0)
    for i in range(width):
        found = (found ^ column[i]) * _MULTIPLIER
        found ^= found >> np.uint64(29)
    return found


@inlined
def _placed(table: Ints, size: int, columns: Words, column: Words, width: int) -> np.int64:
    """The place of a column, present or not, in a hash table of that size (a power of two)."""
    mask = size - 1
    place = np.int64(_hashed(column, width) & np.uint64(mask))
    while table[place] >= 0:
        other = columns[table[place]]
        same = True
        for i in range(width):
            if other[i] != column[i]:
                same = False
                break
        if same:
            break
        place = (place + 1) & mask
    return place


@inlined
def _hash_table(table: Ints, size: int, columns: Words, count: int, width: int) -> Ints:
    """A hash table of that size with the first columns; reuses `table` if that is large enough."""
    if size > len(table):
        table = np.empty(size, np.int64)
    for place in range(size):
        table[place] = -1
    for column in range(count):
        table[_placed(table, size, columns, columns[column], width)] = column
    return table


@inlined
def _doubled(columns: Words, weights: Floats) -> tuple[Words, Floats]:
    """Double the capacity."""
    count, width = columns.shape
    larger, larger_weights = np.empty((2 * count, width), np.uint64), np.empty(2 * count)
    for c in range(count):
        larger_weights[c] = weights[c]
        for i in range(width):
            larger[c, i] = columns[c, i]
    return larger, larger_weights


@inlined
def _moved(column: Words, words: int, edge_from: Ints, edge_to: Ints, begin: int, end: int) -> None:
    """Apply the edges of an alternative; they read `before` alone. Slots are bits; -1: the start, or nowhere."""
    one = np.uint64(1)
    for edge in range(begin, end):
        origin, target = edge_from[edge], edge_to[edge]
        if origin >= 0:
            bit = one << np.uint64(origin & 63)
            if not column[origin >> 6] & bit:
                continue
            column[words + (origin >> 6)] |= bit
        if target >= 0:
            column[2 * words + (target >> 6)] |= one << np.uint64(target & 63)


@inlined_always
def _open(column: Words, words: int, reads: Words, draw: int) -> None:
    """The first draw of a step: registers that the step reads move from `after` to `before`."""
    for w in range(words):
        settled = column[2 * words + w]
        column[w] = settled & reads[draw, w]
        column[2 * words + w] = settled & ~reads[draw, w]


@inlined_always
def _settle(column: Words, words: int, settles: Words, drops: Words, draw: int) -> None:
    """Registers that no later draw of the step reads move to `after`, if they still wait and are read later."""
    for w in range(words):
        settled = settles[draw, w]
        column[2 * words + w] |= column[w] & ~column[words + w] & settled & ~drops[draw, w]
        column[w] &= ~settled
        column[words + w] &= ~settled


@inlined
def _take_answer(columns: Words, weights: Floats, count: int, word: int, bit: np.uint64) -> float:
    """The weight of all columns with the answer's bit, which is cleared."""
    total = 0.0
    for c in range(count):
        if columns[c, word] & bit:
            total += weights[c]
            columns[c, word] &= ~bit
    return total


class Draws(NamedTuple):
    """By draw: its step; the place of the chain's `value` among those remembered, or -1; and words of slots as bits:
    what its step `reads` if it is the step's first draw (else 0), what no later draw of the step reads (`settles`), and
    what no later draw reads at all (`drops`)."""

    step: Ints
    value: Ints
    reads: Words
    settles: Words
    drops: Words


class Options(NamedTuple):
    """Distributions (groups) of each draw, by previous value, and the alternatives of each with their edges, `begin` to
    `end` of (edge_from, edge_to)."""

    draw_groups: Ints
    group_prev: Ints  # counted from 1; 0: no event
    group_options: Ints
    probability: Floats
    value: Ints  # counted from 1; 0: none, or not needed later
    begin: Ints
    end: Ints
    edge_from: Ints
    edge_to: Ints


@compiled_in_place
def enumerated(
    words: int, linked: int, most: int, budget: int, draws: Draws, options: Options, answer: int, chances: Floats
) -> tuple[int, int]:
    """OK or the limit that was exceeded, and the number of options tried. chances[step] gets the answer's probability.
    A column has 3 x `words` of registers and `linked` values of Markov chains; there are at most `most` columns."""
    draw_step, draw_value, reads, settles, drops = draws
    draw_groups, group_prev, group_options, probability, value, begin, end, edge_from, edge_to = options
    width = 3 * words + linked
    columns, weights = np.zeros((64, width), np.uint64), np.zeros(64)
    weights[0] = 1.0
    count, work = 1, 0
    grown, grown_weights = np.zeros((64, width), np.uint64), np.zeros(64)
    table = np.empty(256, np.int64)
    start, column = np.zeros(width, np.uint64), np.zeros(width, np.uint64)
    bit, home = np.uint64(1) << np.uint64(answer & 63), 2 * words + (answer >> 6)
    last_draw = len(draw_step) - 1
    for draw in range(last_draw + 1):
        opening = draw == 0 or draw_step[draw - 1] != draw_step[draw]
        closing = draw == last_draw or draw_step[draw + 1] != draw_step[draw]
        slot = draw_value[draw]
        made = 0
        size = 256
        while size < 4 * count:
            size *= 2
        table = _hash_table(table, size, grown, 0, width)
        for c in range(count):
            for i in range(width):
                start[i] = columns[c, i]
            if opening:
                _open(start, words, reads, draw)
            group, last = draw_groups[draw], draw_groups[draw + 1]
            if slot >= 0:
                before = np.int64(start[3 * words + slot])
                while group < last and group_prev[group] != before:
                    group += 1
            if group < last:
                first_option, last_option = group_options[group], group_options[group + 1]
            else:
                first_option, last_option = -1, 0  # A value without rows leads to no event.
            for option in range(first_option, last_option):
                for i in range(width):
                    column[i] = start[i]
                chance = 1.0
                if option >= 0:
                    chance = probability[option]
                    _moved(column, words, edge_from, edge_to, begin[option], end[option])
                if slot >= 0:
                    column[3 * words + slot] = np.uint64(value[option]) if option >= 0 else np.uint64(0)
                _settle(column, words, settles, drops, draw)
                work += 1
                place = _placed(table, size, grown, column, width)
                if table[place] < 0:
                    if made == most:
                        return TOO_MANY_COLUMNS, work
                    if made == len(grown):
                        grown, grown_weights = _doubled(grown, grown_weights)
                    if 2 * made >= size:
                        size *= 4
                        table = _hash_table(table, size, grown, made, width)
                        place = _placed(table, size, grown, column, width)
                    for i in range(width):
                        grown[made, i] = column[i]
                    grown_weights[made] = 0.0
                    table[place] = made
                    made += 1
                grown_weights[table[place]] += weights[c] * chance
            if work > budget:
                return TOO_MUCH_WORK, work
        columns, grown = grown, columns
        weights, grown_weights = grown_weights, weights
        count = made
        if closing:
            chances[draw_step[draw]] += _take_answer(columns, weights, count, home, bit)
    return OK, work
