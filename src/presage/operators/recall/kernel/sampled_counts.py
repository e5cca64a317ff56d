"""Counts of terms in a sample of older events, which are not compared but count for the rarity of terms.

Each event of the sample represents several and counts as many times. Weights are whole numbers, so that no more events
hold a term than there are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.arrays.jit import Ints, inlined
from presage.operators.recall.kernel.cells import Cells
from presage.operators.recall.kernel.contexts import Bags
from presage.operators.recall.kernel.term_weights import Counts


class Beyond(NamedTuple):
    """A sample of the events before those that a new event is compared with: it counts for the rarity of terms."""

    bags: Bags
    weight: Ints  # how many events each represents
    since: Ints  # of each new event: the first of the sample that counts for it


def nothing_beyond(events: int) -> Beyond:
    """No sample, for `events` new events."""
    none, no_floats = np.zeros(0, np.int64), np.zeros(0)
    starts = np.zeros(1, np.int64)
    return Beyond(Bags(starts, none, no_floats, starts, none, no_floats), none, np.zeros(events, np.int64))


@inlined
def count_beyond(counts: Counts, beyond: Beyond, cells: Cells, since: int, ahead: int) -> int:
    """Add the events from `since` on to the counts; the number of events that they represent. `ahead`: occurrences that
    come first in the cells."""
    bags, events = beyond.bags, 0
    for event in range(since, len(beyond.weight)):
        weight = beyond.weight[event]
        events += weight
        for i in range(bags.starts[event] - bags.starts[0], bags.starts[event + 1] - bags.starts[0]):
            counts.terms[bags.codes[i]] += weight
        base = bags.number_starts[0]
        for i in range(bags.number_starts[event] - base, bags.number_starts[event + 1] - base):
            counts.held[cells.cell[ahead + i]] += weight
            counts.moment[cells.cell[ahead + i]] += weight * cells.offset[ahead + i]
    return events
