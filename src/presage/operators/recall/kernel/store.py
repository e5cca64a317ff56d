"""The store of past contexts: it grows at the newer or the older end, with counts and an index of terms.

The index (for each term the events that hold it, ascending) covers a middle range of the events. The events added since
at the two ends are few and read one by one; when they exceed a share of all, the index is rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from presage.arrays.codes import grouped_order
from presage.arrays.jit import Floats, Ints
from presage.operators.recall.kernel.contexts import Bags, Vocabulary, build_bags
from presage.operators.recall.kernel.growable import Growing
from presage.operators.recall.kernel.norms import make_norms

# Events outside the index: at most this many, and this share of all.
LOOSE, SHARE = 256, 1 / 64


class Index(NamedTuple):
    """The events of each term, numbered from the first that was added to the store: older ones are negative."""

    first: int
    stop: int
    starts: Ints
    events: Ints
    times: Floats  # how often the term occurs there
    norm_idf: Floats  # see Norms
    norm_inverse: Floats


class Held(NamedTuple):
    """The contexts of a store, as a search reads them."""

    bags: Bags
    lists: Index
    older: int  # position of an event = its number in the index + this
    counts: Ints  # how many events hold each term


class Store:
    """Past events of one statement in order of (time, seq), with their contexts. Position 0 is the oldest held."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        # How many events hold each term.
        self.counts = np.zeros(0, np.int64)
        # How many events were added at the older end: the number of the first event, with the sign turned.
        self.older = 0
        none, no_floats, start = np.zeros(0, np.int64), np.zeros(0), np.zeros(1, np.int64)
        self._time, self._seq = Growing(none), Growing(none)
        # The arrays of Bags, in their order.
        columns = (start, none, no_floats, start, none, no_floats)
        self._bags: tuple[Any, ...] = tuple(Growing(each) for each in columns)
        self._index = Index(0, 0, start, none, no_floats, no_floats, no_floats)

    def __len__(self) -> int:
        return len(self._time)

    def add_newer(self, events: pa.Table, terms: pa.Table) -> None:
        """Events (columns `time` and `seq`) after all that are held, and their terms; see `build_bags`."""
        time, seq = _order_of(events)
        _check_order(np.append(self._time.view()[-1:], time), np.append(self._seq.view()[-1:], seq))
        bags = self.code(len(time), terms)
        held = self.bags()
        starts, number_starts = held.starts[-1] + bags.starts[1:], held.number_starts[-1] + bags.number_starts[1:]
        for column, values in self._with_starts(time, seq, bags, starts, number_starts):
            column.append(values)

    def add_older(self, events: pa.Table, terms: pa.Table) -> None:
        """Events before all that are held, and their terms. Positions of the others rise by their number."""
        time, seq = _order_of(events)
        _check_order(np.append(time, self._time.view()[:1]), np.append(seq, self._seq.view()[:1]))
        bags = self.code(len(time), terms)
        held = self.bags()
        starts = held.starts[0] + bags.starts[:-1] - bags.starts[-1]
        number_starts = held.number_starts[0] + bags.number_starts[:-1] - bags.number_starts[-1]
        for column, values in self._with_starts(time, seq, bags, starts, number_starts):
            column.prepend(values)
        self.older += len(time)

    def _with_starts(
        self, time: Ints, seq: Ints, bags: Bags, starts: Ints, number_starts: Ints
    ) -> Iterator[tuple[Any, npt.NDArray[Any]]]:
        """The columns that grow, with what is added to each; the terms are counted."""
        self.counts += np.bincount(bags.codes, minlength=len(self.counts))
        added = (starts, bags.codes, bags.times, number_starts, bags.attributes, bags.values)
        return zip((self._time, self._seq, *self._bags), (time, seq, *added), strict=True)

    def code(self, count: int, terms: pa.Table) -> Bags:
        """Contexts that may be compared with those of the store: terms have the same codes."""
        bags = build_bags(self.vocabulary, count, terms)
        missing = len(self.vocabulary.terms) - len(self.counts)
        if missing:
            # With spare capacity: there are new terms in almost every event.
            self.counts = np.append(self.counts, np.zeros(missing + len(self.counts) // 8, np.int64))
        return bags

    def bags(self) -> Bags:
        return Bags(*(each.view() for each in self._bags))

    def held(self) -> Held:
        return Held(self.bags(), self.index(), self.older, self.counts)

    def index(self) -> Index:
        first, stop = -self.older, len(self) - self.older
        loose = self._index.first - first + stop - self._index.stop
        if loose > LOOSE + SHARE * len(self):
            bags = self.bags()
            order, starts = grouped_order(bags.codes, len(self.counts))
            owner = np.repeat(np.arange(first, stop), np.diff(bags.starts))
            norms = make_norms(bags, self.counts)
            self._index = Index(first, stop, starts, owner[order], bags.times[order], *norms)
        return self._index


def _order_of(events: pa.Table) -> tuple[Ints, Ints]:
    time, seq = (events[name].combine_chunks() for name in ("time", "seq"))
    return time.cast(pa.int64()).to_numpy(), seq.cast(pa.int64()).to_numpy()


def _check_order(time: Ints, seq: Ints) -> None:
    if np.any((time[1:] < time[:-1]) | ((time[1:] == time[:-1]) & (seq[1:] <= seq[:-1]))):
        raise ValueError("the events of a store must come in order of (time, seq)")


def rows_before(time: Ints, seq: Ints, at: Ints, number: Ints) -> Ints:
    """Rows before (at, number): all of earlier times, and of the same time those with a smaller number."""
    low, high = np.searchsorted(time, at, "left"), np.searchsorted(time, at, "right")
    # One bisection for all rows, within the run of equal times.
    while np.any(low < high):
        middle = (low + high) // 2
        open_ = low < high
        before = seq[np.minimum(middle, len(seq) - 1)] < number
        low = np.where(open_ & before, middle + 1, low)
        high = np.where(open_ & ~before, middle, high)
    return low.astype(np.int64)
