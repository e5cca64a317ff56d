"""The k most similar past events of new events: the entry to this folder.

Similarity is the cosine of TF-IDF weights (Moirae, section 3.5). The IDFs are those of the events that a new event
sees: itself, the past events considered, and a sample of older ones. Numbers are compared by a Gaussian kernel, in the
dot product and in both norms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints
from presage.operators.recall.kernel.bandwidths import spreads
from presage.operators.recall.kernel.cells import EXACT, build_cells, group_rows
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.sampled_counts import Beyond, nothing_beyond
from presage.operators.recall.kernel.search import NewEvents, search_similar
from presage.operators.recall.kernel.store import Store


class Similar(NamedTuple):
    """Rows by new event and rank."""

    new: Ints
    rank: Ints  # from 1
    similarity: Floats
    past: Ints  # position in the store


def most_similar(
    store: Store,
    fresh: Bags,
    place: Ints,
    begin: Ints,
    k: int,
    bandwidths: Mapping[str, float] | None = None,
    exact: int = EXACT,
    beyond: Beyond | None = None,
) -> Similar:
    """For each new event the k most similar of the past events at positions `begin` to `place`, the best first and of
    equally similar ones the later first; fewer if fewer are similar at all.

    `fresh` comes from `store.code`. `bandwidths` are those that the user chose, by attribute; the others follow
    Silverman's rule. `exact`: with more distinct values of an attribute, the IDFs of its numbers are approximate.
    `beyond`: a sample of older events, which are not compared but count for the rarity of terms.
    """
    beyond = nothing_beyond(len(place)) if beyond is None else beyond
    past, numbers = store.bags(), store.vocabulary.attributes
    chosen = np.zeros(len(numbers))
    for name, width in (bandwidths or {}).items():
        if name in numbers:
            chosen[numbers[name]] = width
    order = np.lexsort((place, beyond.since, begin))
    count, bandwidth = spreads(past, fresh, beyond, order, place, begin, chosen)
    new = NewEvents(fresh, place, begin, count, bandwidth)
    attributes = np.concatenate([past.attributes, fresh.attributes, beyond.bags.attributes])
    values = np.concatenate([past.values, fresh.values, beyond.bags.values])
    group = group_rows(attributes, values, bandwidth, exact)
    found = np.zeros(len(place), np.int64)
    scores, events = np.zeros((len(place), k)), np.zeros((len(place), k), np.int64)
    for number in range(int(group.max(initial=-1)) + 1):
        rows = order[group[order] == number]
        cells = build_cells(attributes, values, bandwidth[rows], exact)
        part, part_scores, part_events = search_similar(store.held(), new, beyond, cells, rows, k)
        found[rows], scores[rows], events[rows] = part[rows], part_scores[rows], part_events[rows]
    return _rows(found, scores, events)


def _rows(found: Ints, scores: Floats, events: Ints) -> Similar:
    rank = np.arange(1, scores.shape[1] + 1)
    taken = rank <= found[:, None]
    new, column = np.nonzero(taken)
    return Similar(new.astype(np.int64), rank[column], scores[taken], events[taken])
