"""The search for the k most similar past events of each new one, by an index of terms.

Terms are looked up from the heaviest on, and dot products grow on the way, until what is left could not lift an event
that shares only that among the best k (by Cauchy-Schwarz, no more than its share of the new context's norm). With a
lower bound of its norm, each event found has an upper bound of its similarity; only those that may be among the best
are compared term by term. Cost: the lengths of the lists looked up, and a few comparisons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.operators.recall.kernel.cells import Cells
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.densities import LEAST_IDF, kernel_by_bins
from presage.operators.recall.kernel.dot_products import compare_terms, cosine, dot_of_numbers, norm_of_numbers
from presage.operators.recall.kernel.norms import Norms, bound_group
from presage.operators.recall.kernel.sampled_counts import Beyond, count_beyond
from presage.operators.recall.kernel.store import Index
from presage.operators.recall.kernel.term_weights import (
    Counts,
    Rarity,
    count_numbers,
    count_terms,
    enter_numbers,
    look_from,
    make_counts,
    make_rarity,
    weigh_numbers,
    weigh_terms,
    withdraw_numbers,
)
from presage.operators.recall.kernel.top_k import DONE, Best, enter, least_of

# New events that share a bound of the norms.
GROUP = 64
# Once so small a part of the weights is left, the best so far are compared, to set a limit.
PROBE = 0.4
# Numbers are passed over where all of them together are less than this part of what is needed.
FAR = 0.05


class World(NamedTuple):
    """What all new events of a call share, and room to work in."""

    past: Bags
    fresh: Bags
    cells: Cells
    counts: Counts
    rarity: Rarity
    lists: Index
    older: int
    own: Floats  # weights of the new event's terms
    shared: Floats  # of each past event: the dot product so far; DONE if it was compared
    square: Floats  # of each past event: a lower bound of what its numbers add to the square of its norm
    touched: Ints  # events with a dot product
    room: Floats  # for the weights of a context's numbers


class Sight(NamedTuple):
    """What one new event compares by."""

    number_weights: Floats
    values: Floats  # how many it sees of each attribute
    bandwidth: Floats
    kernels: Floats
    kernel_starts: Ints
    low: int  # its numbers
    high: int
    norm: float
    number_square: float  # what its numbers add to the square of the norm
    events: int
    now: int


@inlined
def compare(world: World, sight: Sight, event: int, best: Best) -> None:
    """Enter a past event with its similarity, unless that is 0."""
    past, fresh = world.past, world.fresh
    low, high = past.starts[event] - past.starts[0], past.starts[event + 1] - past.starts[0]
    weigh_terms(world.rarity, world.counts, past.codes, low, high, sight.events, sight.now)
    dot, square = compare_terms(past.codes, past.times, low, high, world.own, world.rarity.idf)
    low, high = past.number_starts[event] - past.number_starts[0], past.number_starts[event + 1] - past.number_starts[0]
    if low < high:
        weigh_numbers(
            world.room,
            world.rarity,
            world.counts,
            world.cells,
            past.attributes,
            low,
            high,
            0,
            sight.values,
            sight.bandwidth,
            sight.kernels,
            sight.kernel_starts,
            sight.now,
        )
        square += norm_of_numbers(past.attributes, past.values, low, high, world.room, sight.bandwidth)
        dot += dot_of_numbers(
            fresh.attributes,
            fresh.values,
            sight.low,
            sight.high,
            sight.number_weights,
            past.attributes,
            past.values,
            low,
            high,
            world.room,
            sight.bandwidth,
        )
    score = cosine(dot, square, sight.norm * sight.norm)
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
def probe(world: World, sight: Sight, norms: Norms, size: int, best: Best) -> None:
    """Compare the k events that look most similar by now: they set a limit to the others."""
    shared, touched, inverse, most = world.shared, world.touched, norms.inverse, len(best.score)
    ahead = world.lists.first + world.older
    top = Best(np.zeros(most), np.zeros(most, np.int64), np.zeros(1, np.int64))
    least = 0.0
    for i in range(size):
        near = shared[touched[i]] * inverse[touched[i] - ahead]
        if near > least:
            enter(top, near, touched[i])
            least = least_of(top)
    for i in range(top.size[0]):
        compare(world, sight, top.event[i], best)
        shared[top.event[i]] = DONE


@inlined
def look_up(world: World, code: int, first: int, stop: int, size: int, widen: bool) -> int:
    """Add a term to the dot products of the events that hold it; how many events have one now. With `widen` false,
    events that have none get none."""
    if code + 1 >= len(world.lists.starts):
        return size
    # Arrays of their own: to take them from a tuple costs more than the rest of the loop.
    shared, touched, older = world.shared, world.touched, world.older
    factor = world.own[code] * world.rarity.idf[code]
    low, high = world.lists.starts[code], world.lists.starts[code + 1]
    run, times = world.lists.events[low:high], world.lists.times[low:high]
    begin, end = np.searchsorted(run, first - older), np.searchsorted(run, stop - older)
    if not widen:
        for j in range(begin, end):
            if shared[run[j] + older] != 0.0:
                shared[run[j] + older] += factor * times[j]
        return size
    for j in range(begin, end):
        event = run[j] + older
        if shared[event] == 0.0:
            touched[size] = event
            size += 1
        shared[event] += factor * times[j]
    return size


@inlined
def reach_of(world: World, sight: Sight, best: Best) -> tuple[float, float]:
    """How many bandwidths off numbers are looked up, and what those further off may add to dot product over norm.

    With K the kernel there, m numbers in a context and weights w and w': Σ w w' K <= K Σ w √m √(Σ w'²).
    """
    allowed = FAR * least_of(best) * sight.norm
    most = np.sum(sight.number_weights) * np.sqrt(len(world.room))
    if allowed == 0.0 or most == 0.0:
        return np.inf, 0.0
    return np.sqrt(2.0 * np.log(max(1.0, most / allowed))), allowed


@inlined
def look_up_numbers(world: World, sight: Sight, first: int, stop: int, size: int, widen: bool, reach: float) -> int:
    """Add the numbers that are near to the new event's to the dot products and to the squares of norms."""
    past, shared, touched, square = world.past, world.shared, world.touched, world.square
    attributes, values, starts, base = past.attributes, past.values, past.number_starts, past.number_starts[0]
    cells, offsets, idf = world.cells.cell, world.cells.offset, world.rarity.cell_idf
    slope, known, bandwidth = world.rarity.cell_slope, world.rarity.cell_known, sight.bandwidth
    low, high, weights, now = sight.low, sight.high, sight.number_weights, sight.now
    others, other_values, room = world.fresh.attributes, world.fresh.values, np.zeros(1)
    for event in range(first, stop):
        if shared[event] < 0.0 or (shared[event] == 0.0 and not widen):
            continue
        dot = 0.0
        for i in range(starts[event] - base, starts[event + 1] - base):
            a, near = attributes[i], 0.0
            for j in range(low, high):
                if others[j] == a:
                    if bandwidth[a] == 0.0:
                        near += weights[j - low] if values[i] == other_values[j] else 0.0
                    else:
                        apart = abs(values[i] - other_values[j]) / bandwidth[a]
                        if apart <= reach:
                            near += weights[j - low] * np.exp(-0.5 * apart * apart)
            if near > 0.0:
                cell = cells[i]
                if known[cell] != now:
                    weigh_numbers(
                        room,
                        world.rarity,
                        world.counts,
                        world.cells,
                        attributes,
                        i,
                        i + 1,
                        0,
                        sight.values,
                        bandwidth,
                        sight.kernels,
                        sight.kernel_starts,
                        now,
                    )
                weight = max(LEAST_IDF, idf[cell] + slope[cell] * offsets[i])
                dot += near * weight
                square[event] += weight * weight
        if dot > 0.0:
            if shared[event] == 0.0:
                touched[size] = event
                size += 1
            shared[event] += dot
    return size


@inlined
def find(
    world: World, sight: Sight, norms: Norms, slack: float, first: int, stop: int, codes: Ints, best: Best
) -> None:
    """All events from `first` to `stop` that may be among the best. `codes`: the new event's terms; `slack`: no norm is
    smaller than `norms` tells, divided by it."""
    shared, touched, square, inverse = world.shared, world.touched, world.square, norms.inverse
    # The ends that the index does not cover.
    ahead = world.lists.first + world.older
    inner = min(stop, max(first, ahead))
    outer = max(inner, min(stop, world.lists.stop + world.older))
    for i in range(inner - first + stop - outer):
        compare(world, sight, first + i if first + i < inner else outer + i - (inner - first), best)
    own = world.own[codes]
    order = np.argsort(-own)
    # What the terms that are not yet looked up, and the numbers, have of the square of the norm.
    left = sight.number_square + np.sum(own * own)
    size, probed, widen = 0, left, True
    for i in order:
        if own[i] == 0.0:
            break
        widen = widen and np.sqrt(left) >= least_of(best) * sight.norm
        # Rounding must not leave less than the numbers of what is counted down.
        left = max(left - own[i] * own[i], sight.number_square)
        size = look_up(world, codes[i], inner, outer, size, widen)
        if widen and left < PROBE * probed:
            probe(world, sight, norms, size, best)
            probed = left
    far = 0.0
    if sight.number_square > 0.0:
        widen = widen and np.sqrt(left) >= least_of(best) * sight.norm
        reach, far = reach_of(world, sight, best)
        size = look_up_numbers(world, sight, inner, outer, size, widen, reach)
    need = least_of(best) * sight.norm - far
    for i in range(size):
        event = touched[i]
        if shared[event] > 0.0:
            near = shared[event] * inverse[event - ahead] * slack
            if near >= need and square[event] > 0.0:
                text = 1.0 / (inverse[event - ahead] * slack)
                near = shared[event] / np.sqrt(text * text + square[event])
            if near >= need:
                compare(world, sight, event, best)
                need = least_of(best) * sight.norm - far
    for i in range(size):
        shared[touched[i]] = 0.0
        square[touched[i]] = 0.0


@inlined
def bound_norms(
    world: World, norms: Norms, order: Ints, now: int, place: Ints, stop: int, events: int
) -> tuple[Norms, float]:
    """Norms for a group of new events, from `now` on in `order`, of which the first sees `events` events, those it is
    compared with up to `stop`."""
    past, fresh = world.past, world.fresh
    counts = world.counts.terms.copy()
    last = stop
    for i in range(now, min(now + GROUP, len(order))):
        e = order[i]
        # Of events that begin elsewhere, too: counts that are too high do no harm.
        last = max(last, place[e])
        for j in range(fresh.starts[e] - fresh.starts[0], fresh.starts[e + 1] - fresh.starts[0]):
            counts[fresh.codes[j]] += 1
    for i in range(past.starts[stop] - past.starts[0], past.starts[last] - past.starts[0]):
        counts[past.codes[i]] += 1
    ahead = world.lists.first + world.older
    return bound_group(norms, past, ahead, world.lists.stop + world.older, counts, events)


@inlined
def look_around(world: World, e: int, count: Floats, bandwidth: Floats, events: int, now: int) -> Sight:
    """Weights and norm of a new event, which is counted with the events that it sees."""
    fresh, cells, counts, ahead = world.fresh, world.cells, world.counts, len(world.past.values)
    low, high = fresh.starts[e] - fresh.starts[0], fresh.starts[e + 1] - fresh.starts[0]
    weigh_terms(world.rarity, counts, fresh.codes, low, high, events, now)
    for i in range(low, high):
        world.own[fresh.codes[i]] = fresh.times[i] * world.rarity.idf[fresh.codes[i]]
    _, square = compare_terms(fresh.codes, fresh.times, low, high, world.own, world.rarity.idf)
    low, high = fresh.number_starts[e] - fresh.number_starts[0], fresh.number_starts[e + 1] - fresh.number_starts[0]
    kernels, kernel_starts = make_kernels(cells, bandwidth)
    weights = np.zeros(high - low)
    weigh_numbers(
        weights,
        world.rarity,
        counts,
        cells,
        fresh.attributes,
        low,
        high,
        ahead,
        count,
        bandwidth,
        kernels,
        kernel_starts,
        now,
    )
    numbers = norm_of_numbers(fresh.attributes, fresh.values, low, high, weights, bandwidth)
    return Sight(
        weights, count, bandwidth, kernels, kernel_starts, low, high, np.sqrt(square + numbers), numbers, events, now
    )


@compiled
def search(
    past: Bags,
    fresh: Bags,
    beyond: Beyond,
    index: Index,
    older: int,
    totals: Ints,
    cells: Cells,
    count: Floats,
    bandwidth: Floats,
    order: Ints,
    place: Ints,
    begin: Ints,
    k: int,
) -> tuple[Ints, Floats, Ints]:
    """How many events were found for each new one, and, in rows of k, their similarities and positions.

    `order` goes through the new events by (begin, since, place). `count` and `bandwidth`: see `spreads`; `totals`: how
    many of all past events hold each term; `older`: what an event's number in the index lacks to its position.
    """
    found = np.zeros(len(place), np.int64)
    scores, events = np.zeros((len(place), k)), np.zeros((len(place), k), np.int64)
    world = World(
        past,
        fresh,
        cells,
        make_counts(len(totals), len(cells.at)),
        make_rarity(len(totals), len(cells.at)),
        index,
        older,
        np.zeros(len(totals)),
        np.zeros(len(past.starts)),
        np.zeros(len(past.starts)),
        np.empty(len(past.starts), np.int64),
        np.zeros(1 + np.max(np.append(np.diff(past.number_starts), 0))),
    )
    counts = world.counts
    # Copies: the index is read-only and the norms that may replace its own are not, which the compiler tells apart.
    norms, slack = Norms(index.norm_idf.copy(), index.norm_inverse.copy()), 1.0
    first, stop, since, others, bound_until = -1, -1, -1, 0, 0
    for now in range(len(order)):
        check_cancelled(now << 10)  # each of them meets many
        e = order[now]
        if begin[e] != first or beyond.since[e] != since:
            first, stop, since, bound_until = begin[e], max(begin[e], place[e]), beyond.since[e], now
            look_from(counts, past, cells, totals, first, stop)
            others = count_beyond(counts, beyond, cells, since, len(past.values) + len(fresh.values))
        elif place[e] > stop:
            count_terms(counts, past, stop, place[e], 1)
            count_numbers(counts, past, cells, stop, place[e])
            stop = place[e]
        if stop <= first:
            continue
        if now >= bound_until:
            norms, slack = bound_norms(world, norms, order, now, place, stop, stop - first + 1 + others)
            bound_until = now + GROUP
        count_terms(counts, fresh, e, e + 1, 1)
        before = enter_numbers(counts, fresh, cells, e, len(past.values))
        sight = look_around(world, e, count[e], bandwidth[e], stop - first + 1 + others, now)
        best = Best(scores[e], events[e], np.zeros(1, np.int64))
        codes = fresh.codes[fresh.starts[e] - fresh.starts[0] : fresh.starts[e + 1] - fresh.starts[0]]
        if sight.norm > 0.0:
            find(world, sight, norms, slack, first, stop, codes, best)
        found[e] = best.size[0]
        count_terms(counts, fresh, e, e + 1, -1)
        withdraw_numbers(counts, fresh, cells, e, len(past.values), before)
        for code in codes:
            world.own[code] = 0.0
    return found, scores, events
