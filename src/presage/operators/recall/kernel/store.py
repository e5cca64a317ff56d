"""The store of past contexts: grows at the newer or the older end, with counts and an index of terms.

The index (for each term the events that hold it, rising) covers a middle piece of the events. What has come in since at
the two ends is short and is read event by event; when it is longer than a share of all, the index is made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.codes import grouped_order
from presage.arrays.jit import Floats, Ints
from presage.operators.recall.kernel.contexts import Bags, Vocabulary, build_bags
from presage.operators.recall.kernel.growable import Growing
from presage.operators.recall.kernel.norms import make_norms

# Events outside the index: at most this many, and this share of all.
LOOSE, SHARE = 256, 1 / 64


class Index(NamedTuple):
    """The events of each term, numbered from the first that the store was given: older ones are negative."""

    first: int
    stop: int
    starts: Ints
    events: Ints
    times: Floats  # how often the term occurs there
    norm_idf: Floats  # see Norms
    norm_inverse: Floats


class Store:
    """Past events of one statement in order of (time, seq), with their contexts. Position 0 is the oldest held."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        # How many events hold each term.
        self.counts = np.zeros(0, np.int64)
        # How many events came in at the older end: the number of the first event, with the sign turned.
        self.older = 0
        none, no_floats = np.zeros(0, np.int64), np.zeros(0)
        self._time, self._seq = Growing(none), Growing(none)
        self._starts, self._number_starts = Growing(np.zeros(1, np.int64)), Growing(np.zeros(1, np.int64))
        self._codes, self._attributes = Growing(none), Growing(none)
        self._times, self._values = Growing(no_floats), Growing(no_floats)
        self._index = Index(0, 0, np.zeros(1, np.int64), none, no_floats, no_floats, no_floats)

    def __len__(self) -> int:
        return len(self._time)

    def add_newer(self, events: pa.Table, terms: pa.Table) -> None:
        """Events (columns `time` and `seq`) after all that are held, and their terms; see `build_bags`."""
        time, seq = _order_of(events)
        held = [self._time.view(), self._seq.view()]
        _check_order(np.append(held[0][-1:], time), np.append(held[1][-1:], seq))
        bags = self.code(len(time), terms)
        self._time.append(time)
        self._seq.append(seq)
        self._codes.append(bags.codes)
        self._times.append(bags.times)
        self._attributes.append(bags.attributes)
        self._values.append(bags.values)
        self._starts.append(self._starts.view()[-1] + bags.starts[1:])
        self._number_starts.append(self._number_starts.view()[-1] + bags.number_starts[1:])
        self._count(bags)

    def add_older(self, events: pa.Table, terms: pa.Table) -> None:
        """Events before all that are held, and their terms. Positions of the others rise by their number."""
        time, seq = _order_of(events)
        held = [self._time.view(), self._seq.view()]
        _check_order(np.append(time, held[0][:1]), np.append(seq, held[1][:1]))
        bags = self.code(len(time), terms)
        self._time.prepend(time)
        self._seq.prepend(seq)
        self._codes.prepend(bags.codes)
        self._times.prepend(bags.times)
        self._attributes.prepend(bags.attributes)
        self._values.prepend(bags.values)
        self._starts.prepend(self._starts.view()[0] + bags.starts[:-1] - bags.starts[-1])
        self._number_starts.prepend(self._number_starts.view()[0] + bags.number_starts[:-1] - bags.number_starts[-1])
        self.older += len(time)
        self._count(bags)

    def code(self, count: int, terms: pa.Table) -> Bags:
        """Contexts that may be compared with those of the store: terms have the same numbers."""
        bags = build_bags(self.vocabulary, count, terms)
        missing = len(self.vocabulary.terms) - len(self.counts)
        if missing:
            # With room for more, as there are new terms in almost every event.
            self.counts = np.append(self.counts, np.zeros(missing + len(self.counts) // 8, np.int64))
        return bags

    def places(self, events: pa.Table) -> Ints:
        """How many events of the store come before each of these, in (time, seq)."""
        time, seq = _order_of(events)
        held, own = self._time.view(), self._seq.view()
        return rows_before(held, own, time, seq)

    def bags(self) -> Bags:
        return Bags(
            self._starts.view(),
            self._codes.view(),
            self._times.view(),
            self._number_starts.view(),
            self._attributes.view(),
            self._values.view(),
        )

    def index(self) -> Index:
        first, stop = -self.older, len(self) - self.older
        loose = self._index.first - first + stop - self._index.stop
        if loose > LOOSE + SHARE * len(self):
            codes = self._codes.view()
            order, starts = grouped_order(codes, len(self.counts))
            owner = np.repeat(np.arange(first, stop), np.diff(self._starts.view()))
            idf, inverse = make_norms(self.bags(), self.counts)
            self._index = Index(first, stop, starts, owner[order], self._times.view()[order], idf, inverse)
        return self._index

    def _count(self, bags: Bags) -> None:
        self.counts += np.bincount(bags.codes, minlength=len(self.counts))


def _order_of(events: pa.Table) -> tuple[Ints, Ints]:
    time, seq = (events[name].combine_chunks() for name in ("time", "seq"))
    return time.cast(pa.int64()).to_numpy(), seq.cast(pa.int64()).to_numpy()


def _check_order(time: Ints, seq: Ints) -> None:
    if np.any((time[1:] < time[:-1]) | ((time[1:] == time[:-1]) & (seq[1:] <= seq[:-1]))):
        raise ValueError("the events of a store must come in order of (time, seq)")


def rows_before(time: Ints, seq: Ints, at: Ints, number: Ints) -> Ints:
    """Rows before (at, number): all of earlier times, and of the same time those with a smaller number."""
    low, high = np.searchsorted(time, at, "left"), np.searchsorted(time, at, "right")
    # Bisection of all at once, within the run of equal times.
    while np.any(low < high):
        middle = (low + high) // 2
        open_ = low < high
        before = seq[np.minimum(middle, len(seq) - 1)] < number
        low = np.where(open_ & before, middle + 1, low)
        high = np.where(open_ & ~before, middle, high)
    return low.astype(np.int64)
