"""Lower bounds of the norms of all indexed contexts, valid for a group of new events.

IDFs differ a little from one new event to the next. Norms by earlier IDFs, times the least ratio of new to old IDFs,
are bounds for the new ones. When that ratio is small, norms are computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Floats, Ints, compiled, inlined
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.densities import LEAST_IDF, idf

# Norms are computed again when IDFs may be below this share of theirs.
STALE = 0.9
# Instead of 1 / 0: no bound at all.
UNBOUND = 1e150


class Norms(NamedTuple):
    """The IDFs (0 of terms that no event in sight holds) and, by them, the inverse norms of the indexed events."""

    idf: Floats
    inverse: Floats


@inlined
def low_idf(counts: Ints, events: int) -> Floats:
    """Lower bounds of the IDFs of terms that at most `counts` of at least `events` events hold; 0 where none does."""
    low = np.zeros(len(counts))
    for code in range(len(counts)):
        if counts[code] > 0:
            low[code] = max(LEAST_IDF, idf(events, counts[code]))
    return low


@inlined
def norms_by(idfs: Floats, bags: Bags, first: int, stop: int) -> Norms:
    inverse = np.empty(stop - first)
    base = bags.starts[0]
    for event in range(first, stop):
        square = 0.0
        for i in range(bags.starts[event] - base, bags.starts[event + 1] - base):
            weight = bags.times[i] * idfs[bags.codes[i]]
            square += weight * weight
        inverse[event - first] = 1.0 / np.sqrt(square) if square > 0.0 else UNBOUND
    return Norms(idfs, inverse)


@compiled
def make_norms(bags: Bags, counts: Ints) -> tuple[Floats, Floats]:
    """IDFs and inverse norms of all events, by the counts of all."""
    norms = norms_by(low_idf(counts, len(bags.starts) - 1), bags, 0, len(bags.starts) - 1)
    return norms.idf, norms.inverse


@inlined
def bound_group(norms: Norms, bags: Bags, first: int, stop: int, counts: Ints, events: int) -> tuple[Norms, float]:
    """Norms for new events that see at least `events` events, of which at most `counts` hold each term; and the factor
    of their inverses. `first` and `stop`: the indexed events."""
    ratio = 1.0
    for code in range(len(norms.idf)):
        if norms.idf[code] > 0.0 and counts[code] > 0:
            rare = max(LEAST_IDF, idf(events, counts[code]))
            ratio = min(ratio, rare / norms.idf[code])
    if ratio >= STALE:
        return norms, 1.0 / ratio
    return norms_by(low_idf(counts, events), bags, first, stop), 1.0
