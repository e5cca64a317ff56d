"""The search for the k most similar past events of each new one, by an index of terms.

Terms are looked up in order of descending weight, and dot products grow, until an event that shares only the remaining
terms cannot be among the best k (by Cauchy-Schwarz: at most their share of the new context's norm). With a lower bound
of its norm, each event found has an upper bound of its similarity; only those that may be among the best are compared
term by term. Cost: the lengths of the lists looked up, and a few comparisons.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.cancel import check_cancelled
from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.operators.recall.kernel.cells import Cells
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.densities import LEAST_IDF, kernel_by_bins
from presage.operators.recall.kernel.dot_products import Numbers, compare_terms, cosine, dot_of_numbers, norm_of_numbers
from presage.operators.recall.kernel.norms import Norms, bound_group
from presage.operators.recall.kernel.sampled_counts import Beyond, count_beyond
from presage.operators.recall.kernel.store import Held, Index
from presage.operators.recall.kernel.term_weights import (
    Scale,
    Terms,
    count_numbers,
    count_terms,
    enter_numbers,
    look_from,
    make_terms,
    weigh_numbers,
    weigh_terms,
    withdraw_numbers,
)
from presage.operators.recall.kernel.top_k import DONE, Best, enter, least_of

# New events that share a bound of the norms.
GROUP = 64
# When this part of the weights is left, the best so far are compared, to set a limit.
PROBE = 0.4
# Numbers are skipped where all of them together are less than this part of what is needed.
FAR = 0.05


class NewEvents(NamedTuple):
    """New events: their contexts, the past events `begin` to `place` that each is compared with, and by attribute how
    many values each sees and its bandwidth (see `spreads`)."""

    bags: Bags
    place: Ints
    begin: Ints
    value_count: Floats
    bandwidth: Floats


class Search(NamedTuple):
    """What all new events of a call share, and working memory."""

    past: Bags
    fresh: Bags
    terms: Terms
    lists: Index
    older: int
    own: Floats  # weights of the new event's terms
    shared: Floats  # of each past event: the dot product so far; DONE if it was compared
    square: Floats  # of each past event: a lower bound of what its numbers add to the square of its norm
    touched: Ints  # events with a dot product
    weights: Floats  # of the numbers of one context


class Sight(NamedTuple):
    """What one new event compares by."""

    numbers: Numbers
    scale: Scale
    norm: float
    number_square: float  # what its numbers add to the square of the norm
    events: int  # that it sees


@inlined
def compare(search: Search, sight: Sight, event: int, best: Best) -> None:
    """Enter a past event with its similarity, unless that is 0."""
    # Each part of a tuple is taken once: that costs time.
    past, terms, scale = search.past, search.terms, sight.scale
    rarity, bandwidth = terms.rarity, scale.bandwidth
    low, high = past.starts[event] - past.starts[0], past.starts[event + 1] - past.starts[0]
    weigh_terms(rarity, terms.counts, past.codes, low, high, sight.events, scale.now)
    dot, square = compare_terms(past.codes, past.times, low, high, search.own, rarity.idf)
    low, high = past.number_starts[event] - past.number_starts[0], past.number_starts[event + 1] - past.number_starts[0]
    if low < high:
        weights = search.weights
        weigh_numbers(weights, terms, scale, past.attributes, low, high, 0)
        numbers = Numbers(past.attributes, past.values, low, high, weights)
        square += norm_of_numbers(numbers, bandwidth)
        dot += dot_of_numbers(sight.numbers, numbers, bandwidth)
    score = cosine(dot, square, sight.norm * sight.norm)
    if score > 0.0:
        enter(best, score, event)


@inlined
def make_kernels(cells: Cells, bandwidth: Floats) -> tuple[Floats, Ints]:
    """The kernels by bins of all attributes that have bins, one after the other, and where each starts."""
    starts = np.zeros(len(bandwidth) + 1, np.int64)
    parts = np.zeros(0)
    for a in range(len(bandwidth)):
        if cells.width[a] > 0.0 and bandwidth[a] > 0.0:
            parts = np.concatenate((parts, kernel_by_bins(cells.width[a], bandwidth[a])))
        starts[a + 1] = len(parts)
    return parts, starts


@inlined
def probe(search: Search, sight: Sight, norms: Norms, size: int, best: Best) -> None:
    """Compare the k events with the greatest bounds so far: they set a limit for the others."""
    shared, touched, inverse, most = search.shared, search.touched, norms.inverse, len(best.score)
    ahead = search.lists.first + search.older
    top = Best(np.zeros(most), np.zeros(most, np.int64), np.zeros(1, np.int64))
    least = 0.0
    for i in range(size):
        near = shared[touched[i]] * inverse[touched[i] - ahead]
        if near > least:
            enter(top, near, touched[i])
            least = least_of(top)
    for i in range(top.size[0]):
        compare(search, sight, top.event[i], best)
        shared[top.event[i]] = DONE


@inlined
def look_up(search: Search, code: int, first: int, stop: int, size: int, widen: bool) -> int:
    """Add a term to the dot products of the events that hold it; the number of events with one. If `widen` is false,
    no further event gets one."""
    if code + 1 >= len(search.lists.starts):
        return size
    # Local arrays: to take them from a tuple costs more than the rest of the loop.
    shared, touched, older = search.shared, search.touched, search.older
    factor = search.own[code] * search.terms.rarity.idf[code]
    low, high = search.lists.starts[code], search.lists.starts[code + 1]
    run, times = search.lists.events[low:high], search.lists.times[low:high]
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
def reach_of(search: Search, sight: Sight, best: Best) -> tuple[float, float]:
    """Up to how many bandwidths numbers are looked up, and what farther ones may add to dot product over norm.

    With K the kernel there, m numbers in a context and weights w and w': Σ w w' K <= K Σ w √m √(Σ w'²).
    """
    allowed = FAR * least_of(best) * sight.norm
    most = np.sum(sight.numbers.weights) * np.sqrt(len(search.weights))
    if allowed == 0.0 or most == 0.0:
        return np.inf, 0.0
    return np.sqrt(2.0 * np.log(max(1.0, most / allowed))), allowed


@inlined
def look_up_numbers(search: Search, sight: Sight, first: int, stop: int, size: int, widen: bool, reach: float) -> int:
    """Add the numbers near those of the new event to the dot products and to the squares of norms."""
    past, shared, touched, square = search.past, search.shared, search.touched, search.square
    attributes, values, starts, base = past.attributes, past.values, past.number_starts, past.number_starts[0]
    cells, offsets, rarity = search.terms.cells.cell, search.terms.cells.offset, search.terms.rarity
    idf, slope, known = rarity.cell_idf, rarity.cell_slope, rarity.cell_known
    others, other_values, low, high, weights = sight.numbers
    bandwidth, now, one = sight.scale.bandwidth, sight.scale.now, np.zeros(1)
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
                    weigh_numbers(one, search.terms, sight.scale, attributes, i, i + 1, 0)
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
    search: Search, sight: Sight, norms: Norms, slack: float, first: int, stop: int, codes: Ints, best: Best
) -> None:
    """Compare all events from `first` to `stop` that may be among the best. `codes`: the new event's terms; `slack`: no
    norm is smaller than that of `norms`, divided by it."""
    shared, touched, square, inverse = search.shared, search.touched, search.square, norms.inverse
    # Both ends are outside of the index.
    ahead = search.lists.first + search.older
    inner = min(stop, max(first, ahead))
    outer = max(inner, min(stop, search.lists.stop + search.older))
    for i in range(inner - first + stop - outer):
        compare(search, sight, first + i if first + i < inner else outer + i - (inner - first), best)
    own = search.own[codes]
    order = np.argsort(-own)
    # The share of the remaining terms, and of the numbers, in the square of the norm.
    left = sight.number_square + np.sum(own * own)
    size, probed, widen = 0, left, True
    for i in order:
        if own[i] == 0.0:
            break
        widen = widen and np.sqrt(left) >= least_of(best) * sight.norm
        # Rounding must not leave less than the share of the numbers.
        left = max(left - own[i] * own[i], sight.number_square)
        size = look_up(search, codes[i], inner, outer, size, widen)
        if widen and left < PROBE * probed:
            probe(search, sight, norms, size, best)
            probed = left
    far = 0.0
    if sight.number_square > 0.0:
        widen = widen and np.sqrt(left) >= least_of(best) * sight.norm
        reach, far = reach_of(search, sight, best)
        size = look_up_numbers(search, sight, inner, outer, size, widen, reach)
    need = least_of(best) * sight.norm - far
    for i in range(size):
        event = touched[i]
        if shared[event] > 0.0:
            near = shared[event] * inverse[event - ahead] * slack
            if near >= need and square[event] > 0.0:
                text = 1.0 / (inverse[event - ahead] * slack)
                near = shared[event] / np.sqrt(text * text + square[event])
            if near >= need:
                compare(search, sight, event, best)
                need = least_of(best) * sight.norm - far
    for i in range(size):
        shared[touched[i]] = 0.0
        square[touched[i]] = 0.0


@inlined
def bound_norms(
    search: Search, norms: Norms, order: Ints, now: int, place: Ints, stop: int, events: int
) -> tuple[Norms, float]:
    """Norms for a group of new events, from `now` on in `order`. The first of them sees `events` events and is compared
    with those up to `stop`."""
    past, fresh = search.past, search.fresh
    counts = search.terms.counts.terms.copy()
    last = stop
    for i in range(now, min(now + GROUP, len(order))):
        e = order[i]
        # Events with another `begin` are included: counts that are too high do no harm.
        last = max(last, place[e])
        for j in range(fresh.starts[e] - fresh.starts[0], fresh.starts[e + 1] - fresh.starts[0]):
            counts[fresh.codes[j]] += 1
    for i in range(past.starts[stop] - past.starts[0], past.starts[last] - past.starts[0]):
        counts[past.codes[i]] += 1
    ahead = search.lists.first + search.older
    return bound_group(norms, past, ahead, search.lists.stop + search.older, counts, events)


@inlined
def look_around(search: Search, e: int, count: Floats, bandwidth: Floats, events: int, now: int) -> Sight:
    """Weights and norm of a new event, which is counted with the events that it sees."""
    fresh, terms = search.fresh, search.terms
    low, high = fresh.starts[e] - fresh.starts[0], fresh.starts[e + 1] - fresh.starts[0]
    weigh_terms(terms.rarity, terms.counts, fresh.codes, low, high, events, now)
    for i in range(low, high):
        search.own[fresh.codes[i]] = fresh.times[i] * terms.rarity.idf[fresh.codes[i]]
    _, square = compare_terms(fresh.codes, fresh.times, low, high, search.own, terms.rarity.idf)
    low, high = fresh.number_starts[e] - fresh.number_starts[0], fresh.number_starts[e + 1] - fresh.number_starts[0]
    kernels, kernel_starts = make_kernels(terms.cells, bandwidth)
    scale, weights = Scale(count, bandwidth, kernels, kernel_starts, now), np.zeros(high - low)
    weigh_numbers(weights, terms, scale, fresh.attributes, low, high, len(search.past.values))
    numbers = Numbers(fresh.attributes, fresh.values, low, high, weights)
    number_square = norm_of_numbers(numbers, bandwidth)
    return Sight(numbers, scale, np.sqrt(square + number_square), number_square, events)


@compiled
def search_similar(
    held: Held, new: NewEvents, beyond: Beyond, cells: Cells, order: Ints, k: int
) -> tuple[Ints, Floats, Ints]:
    """How many events were found for each new one, and, in rows of k, their similarities and positions.

    `order`: the new events by (begin, since, place).
    """
    (past, index, older, totals), (fresh, place, begin, count, bandwidth) = held, new
    found = np.zeros(len(place), np.int64)
    scores, events = np.zeros((len(place), k)), np.zeros((len(place), k), np.int64)
    size = len(past.starts)
    search = Search(
        past,
        fresh,
        make_terms(cells, len(totals)),
        index,
        older,
        own=np.zeros(len(totals)),
        shared=np.zeros(size),
        square=np.zeros(size),
        touched=np.empty(size, np.int64),
        weights=np.zeros(1 + np.max(np.append(np.diff(past.number_starts), 0))),
    )
    counts = search.terms.counts
    # Copies: the index is read-only, the norms that may replace its own are not; to the compiler these are two types.
    norms, slack = Norms(index.norm_idf.copy(), index.norm_inverse.copy()), 1.0
    first, stop, since, others, bound_until = -1, -1, -1, 0, 0
    for now in range(len(order)):
        check_cancelled(now << 10)  # each event is compared with many
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
            norms, slack = bound_norms(search, norms, order, now, place, stop, stop - first + 1 + others)
            bound_until = now + GROUP
        count_terms(counts, fresh, e, e + 1, 1)
        before = enter_numbers(counts, fresh, cells, e, len(past.values))
        sight = look_around(search, e, count[e], bandwidth[e], stop - first + 1 + others, now)
        best = Best(scores[e], events[e], np.zeros(1, np.int64))
        codes = fresh.codes[fresh.starts[e] - fresh.starts[0] : fresh.starts[e + 1] - fresh.starts[0]]
        if sight.norm > 0.0:
            find(search, sight, norms, slack, first, stop, codes, best)
        found[e] = best.size[0]
        count_terms(counts, fresh, e, e + 1, -1)
        withdraw_numbers(counts, fresh, cells, e, len(past.values), before)
        for code in codes:
            search.own[code] = 0.0
    return found, scores, events
