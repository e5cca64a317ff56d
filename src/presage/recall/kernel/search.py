"""New contexts, past ones and an index of terms come in; the k most similar past events of each new one go out.

No context is more similar to the new one than √(Σ w²)/|q|, over the weights of the terms of the new one that it shares
(Cauchy-Schwarz; numbers count as shared). So terms are looked up from the heaviest on, until what is left could not lift
an event that shares only that among the best k; of the events found, those whose shared terms weigh enough are compared.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.recall.kernel.cells import Cells
from presage.recall.kernel.contexts import Bags
from presage.recall.kernel.densities import kernel_by_bins
from presage.recall.kernel.rarity import (
    Counts,
    Rarity,
    count_numbers,
    count_terms,
    look_from,
    make_counts,
    make_rarity,
    weigh_numbers,
    weigh_terms,
)
from presage.recall.kernel.store import Index
from presage.recall.kernel.weighing import compare_terms, cosine, dot_of_numbers, norm_of_numbers

# Bounds are rounded, too: an event is passed over only if it stays behind by more than this.
SAFE = 1e-9
DONE = -1e300


class Sight(NamedTuple):
    """What a new event compares by: its own weights, the square of its norm, how many events and values it sees."""

    own: Floats  # weight of each term
    number_weights: Floats
    count: Floats
    bandwidth: Floats
    kernels: Floats
    kernel_starts: Ints
    low: int
    high: int
    square: float
    events: int
    now: int


class Best(NamedTuple):
    """The best so far, best first; `size[0]` of them."""

    score: Floats
    event: Ints
    size: Ints


@inlined
def enter(best: Best, score: float, event: int) -> None:
    """Keep the event if it is among the best; of equal ones the later is better."""
    size, most = best.size[0], len(best.score)
    if size == most:
        last = best.score[most - 1]
        if score < last or (score == last and event < best.event[most - 1]):
            return
        size -= 1
    i = size
    while i > 0 and (score > best.score[i - 1] or (score == best.score[i - 1] and event > best.event[i - 1])):
        best.score[i], best.event[i] = best.score[i - 1], best.event[i - 1]
        i -= 1
    best.score[i], best.event[i] = score, event
    best.size[0] = size + 1


@inlined
def limit(best: Best, square: float) -> float:
    """Shared terms whose squares sum up to less than this do not help an event to be among the best."""
    size = best.size[0]
    if size < len(best.score):
        return 0.0
    least = best.score[size - 1] - SAFE
    return least * least * square if least > 0.0 else 0.0


@inlined
def compare(
    sight: Sight, past: Bags, fresh: Bags, cells: Cells, counts: Counts, rarity: Rarity, room: Floats, event: int,
    best: Best,
) -> None:  # fmt: skip
    """Enter a past event with its similarity, unless that is 0."""
    low, high = past.starts[event] - past.starts[0], past.starts[event + 1] - past.starts[0]
    weigh_terms(rarity, counts, past.codes, low, high, sight.events, sight.now)
    dot, square = compare_terms(past.codes, past.times, low, high, sight.own, rarity.idf)
    low, high = past.number_starts[event] - past.number_starts[0], past.number_starts[event + 1] - past.number_starts[0]
    if low < high:
        weigh_numbers(
            room, rarity, counts, cells, past.attributes, low, high, 0, sight.count, sight.bandwidth, sight.kernels,
            sight.kernel_starts, sight.now,
        )  # fmt: skip
        square += norm_of_numbers(past.attributes, past.values, low, high, room, sight.bandwidth)
        if sight.low < sight.high:
            dot += dot_of_numbers(
                fresh.attributes, fresh.values, sight.low, sight.high, sight.number_weights,
                past.attributes, past.values, low, high, room, sight.bandwidth,
            )  # fmt: skip
    score = cosine(dot, square, sight.square)
    if score > 0.0:
        enter(best, score, event)


@inlined
def make_kernels(cells: Cells, bandwidth: Floats) -> tuple[Floats, Ints]:
    """The kernel by bins of every attribute that has bins, one after the other."""
    starts = np.zeros(len(bandwidth) + 1, np.int64)
    parts = np.zeros(0)
    for a in range(len(bandwidth)):
        if cells.width[a] > 0.0 and bandwidth[a] > 0.0:
            parts = np.concatenate((parts, kernel_by_bins(cells.width[a], bandwidth[a])))
        starts[a + 1] = len(parts)
    return parts, starts


@inlined
def probe(
    sight: Sight, past: Bags, fresh: Bags, cells: Cells, counts: Counts, rarity: Rarity, room: Floats, best: Best,
    shared: Floats, touched: Ints, size: int,
) -> None:  # fmt: skip
    """Compare the k events that share most by now: they set a limit to the others."""
    most = len(best.score)
    if most == 0 or size == 0:
        return
    top = Best(np.zeros(most), np.zeros(most, np.int64), np.zeros(1, np.int64))
    for i in range(size):
        if shared[touched[i]] > 0.0:
            enter(top, shared[touched[i]], touched[i])
    for i in range(top.size[0]):
        compare(sight, past, fresh, cells, counts, rarity, room, top.event[i], best)
        shared[top.event[i]] = DONE


@inlined
def find(
    sight: Sight, past: Bags, fresh: Bags, cells: Cells, counts: Counts, rarity: Rarity, room: Floats, best: Best,
    index: Index, older: int, first: int, stop: int, codes: Ints, numbers: float, shared: Floats, touched: Ints,
) -> None:  # fmt: skip
    """All events from `first` to `stop` that may be among the best. `numbers`: the part of the square of the norm that
    is due to numbers; `codes`: the new event's terms."""
    # The ends that the index does not cover.
    inner = min(stop, max(first, index.first + older))
    outer = max(inner, min(stop, index.stop + older))
    for event in range(first, inner):
        compare(sight, past, fresh, cells, counts, rarity, room, event, best)
    for event in range(outer, stop):
        compare(sight, past, fresh, cells, counts, rarity, room, event, best)
    if inner == outer:
        return
    order = np.argsort(-sight.own[codes])
    left = numbers
    for code in codes:
        left += sight.own[code] * sight.own[code]
    size, probed = 0, left
    for i in order:
        code = codes[i]
        gain = sight.own[code] * sight.own[code]
        if gain == 0.0 or left < limit(best, sight.square):
            break
        left -= gain
        if code + 1 < len(index.starts):
            run = index.events[index.starts[code] : index.starts[code + 1]]
            for j in range(np.searchsorted(run, inner - older), np.searchsorted(run, outer - older)):
                event = run[j] + older
                if shared[event] == 0.0:
                    touched[size] = event
                    size += 1
                shared[event] += gain
        if left < 0.5 * probed:
            probe(sight, past, fresh, cells, counts, rarity, room, best, shared, touched, size)
            probed = left
    probe(sight, past, fresh, cells, counts, rarity, room, best, shared, touched, size)
    # Rounding may leave less than nothing of what was counted down.
    left = max(left, numbers)
    for i in range(size):
        event = touched[i]
        if shared[event] > 0.0 and shared[event] + left >= limit(best, sight.square):
            compare(sight, past, fresh, cells, counts, rarity, room, event, best)
            shared[event] = DONE
    if left > 0.0 and left >= limit(best, sight.square):
        for event in range(inner, outer):
            if shared[event] == 0.0:
                compare(sight, past, fresh, cells, counts, rarity, room, event, best)
    for i in range(size):
        shared[touched[i]] = 0.0


@inlined
def fill(best: Best, first: int, stop: int, shared: Floats) -> None:
    """The latest of the other events, with similarity 0."""
    size = best.size[0]
    for i in range(size):
        shared[best.event[i]] = DONE
    event = stop - 1
    while best.size[0] < len(best.score) and event >= first:
        if shared[event] == 0.0:
            best.score[best.size[0]], best.event[best.size[0]] = 0.0, event
            best.size[0] += 1
        event -= 1
    for i in range(size):
        shared[best.event[i]] = 0.0


@compiled
def search(
    past: Bags, fresh: Bags, index: Index, older: int, totals: Ints, cells: Cells, count: Floats, bandwidth: Floats,
    order: Ints, place: Ints, begin: Ints, k: int,
) -> tuple[Ints, Floats, Ints]:  # fmt: skip
    """How many events were found for each new one, and, in rows of k, their similarities and positions.

    `order` goes through the new events by (begin, place). `count` and `bandwidth`: see `spreads`; `totals`: how many of
    all past events hold each term; `older`: what an event's number in the index lacks to its position.
    """
    found = np.zeros(len(place), np.int64)
    scores, events = np.zeros((len(place), k)), np.zeros((len(place), k), np.int64)
    past_events, past_numbers = len(past.starts) - 1, len(past.values)
    counts, rarity = make_counts(len(totals), len(cells.at)), make_rarity(len(totals), len(cells.at))
    own, shared, touched = np.zeros(len(totals)), np.zeros(past_events), np.empty(past_events, np.int64)
    room = np.zeros(1 + np.max(np.append(np.diff(past.number_starts), 0)))
    first, stop = -1, -1
    for now in range(len(order)):
        e = order[now]
        if begin[e] != first:
            first, stop = begin[e], max(begin[e], place[e])
            look_from(counts, past, cells, totals, first, stop)
        elif place[e] > stop:
            count_terms(counts, past, stop, place[e], 1)
            count_numbers(counts, past, cells, stop, place[e])
            stop = place[e]
        if stop <= first:
            continue
        # The new event counts as well.
        count_terms(counts, fresh, e, e + 1, 1)
        low, high = fresh.starts[e] - fresh.starts[0], fresh.starts[e + 1] - fresh.starts[0]
        seen = stop - first + 1
        weigh_terms(rarity, counts, fresh.codes, low, high, seen, now)
        for i in range(low, high):
            own[fresh.codes[i]] = fresh.times[i] * rarity.idf[fresh.codes[i]]
        _, square = compare_terms(fresh.codes, fresh.times, low, high, own, rarity.idf)
        number_low = fresh.number_starts[e] - fresh.number_starts[0]
        number_high = fresh.number_starts[e + 1] - fresh.number_starts[0]
        before = np.zeros(number_high - number_low)
        for i in range(number_low, number_high):
            cell = cells.cell[past_numbers + i]
            before[i - number_low] = counts.moment[cell]
            counts.held[cell] += 1.0
            counts.moment[cell] += cells.offset[past_numbers + i]
        kernels, kernel_starts = make_kernels(cells, bandwidth[e])
        weights = np.zeros(number_high - number_low)
        weigh_numbers(
            weights, rarity, counts, cells, fresh.attributes, number_low, number_high, past_numbers, count[e],
            bandwidth[e], kernels, kernel_starts, now,
        )  # fmt: skip
        numbers = norm_of_numbers(fresh.attributes, fresh.values, number_low, number_high, weights, bandwidth[e])
        best = Best(scores[e], events[e], np.zeros(1, np.int64))
        if square + numbers > 0.0:
            sight = Sight(
                own, weights, count[e], bandwidth[e], kernels, kernel_starts, number_low, number_high,
                square + numbers, seen, now,
            )  # fmt: skip
            codes = fresh.codes[low:high]
            find(
                sight, past, fresh, cells, counts, rarity, room, best, index, older, first, stop, codes, numbers,
                shared, touched,
            )  # fmt: skip
        fill(best, first, stop, shared)
        found[e] = best.size[0]
        count_terms(counts, fresh, e, e + 1, -1)
        for i in range(low, high):
            own[fresh.codes[i]] = 0.0
        for i in range(number_high - 1, number_low - 1, -1):
            cell = cells.cell[past_numbers + i]
            counts.held[cell] -= 1.0
            counts.moment[cell] = before[i - number_low]
    return found, scores, events
