"""The index in memory of past events: their positions by time and arrival, and their contexts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from presage.arrays.equality import equality_codes
from presage.arrays.jit import Ints
from presage.operators.recall.kernel.contexts import Bags, first_bags, joined_bags
from presage.operators.recall.kernel.growable import Growing
from presage.operators.recall.kernel.sampled_counts import Beyond
from presage.operators.recall.kernel.store import Store, rows_before
from presage.operators.recall.nodes import Similar
from presage.operators.recall.past_pieces import KEPT, WEIGHT, Piece, spoken_terms
from presage.operators.recall.questions import counted_out
from presage.operators.recall.similar_terms import TERMS, shown_contexts
from presage.plan.nodes import SEQ, TIME


class PastIndex:
    """Past events by their place, the oldest first. `ids`: those of its pieces, in order."""

    def __init__(self, similars: Sequence[Similar]) -> None:
        self.similars = similars
        self.clear()

    def clear(self) -> None:
        self.ids: tuple[int, ...] = ()
        self.stores = [Store() for _ in self.similars]
        none = np.zeros(0, np.int64)
        self.time, self.seq = Growing(none), Growing(none)
        self._older = 0
        # A sample of older events, oldest first: the time of each, how many it represents, and its contexts.
        self._sample_time, self._weight = none, none
        self._sample = [store.code(0, TERMS.empty_table()) for store in self.stores]

    def __len__(self) -> int:
        return len(self.time)

    def add_newer(self, piece: Piece) -> None:
        self._store(piece, len(self) - self._older, older=False)
        self.time.append(piece.rows[TIME].to_numpy())
        self.seq.append(piece.rows[SEQ].to_numpy())

    def add_older(self, piece: Piece) -> None:
        self._older += piece.count
        self._store(piece, -self._older, older=True)
        self.time.prepend(piece.rows[TIME].to_numpy())
        self.seq.prepend(piece.rows[SEQ].to_numpy())

    def _store(self, piece: Piece, first: int, older: bool) -> None:
        # Rows of one event have equal time and arrival: they differ in their order.
        events = pa.table({"time": piece.rows[TIME], "seq": np.arange(first, first + piece.count)})
        for similar, store, kept in zip(self.similars, self.stores, piece.terms, strict=True):
            (store.add_older if older else store.add_newer)(events, spoken_terms(similar, kept))

    def add_sample(self, piece: Piece) -> None:
        """Add events that are older than the sample."""
        self._sample_time = np.concatenate([piece.rows[TIME].to_numpy(), self._sample_time])
        self._weight = np.concatenate([piece.rows[WEIGHT].to_numpy(), self._weight])
        for i, (similar, store, kept) in enumerate(zip(self.similars, self.stores, piece.terms, strict=True)):
            bags = store.code(piece.count, spoken_terms(similar, kept))
            self._sample[i] = joined_bags(bags, self._sample[i])

    def beyond(self, number: int, since: Ints, until: int) -> Beyond:
        """The sample of the events before `until`, for the RECALL SIMILAR of that number; each new event counts those
        from its own time `since` on."""
        stop = int(np.searchsorted(self._sample_time, until, side="left"))
        begin = np.searchsorted(self._sample_time[:stop], since, side="left").astype(np.int64)
        return Beyond(first_bags(self._sample[number], stop), self._weight[:stop], begin)

    def before(self, events: pa.Table) -> Ints:
        """How many past events come before each of these, in time and arrival."""
        return rows_before(self.time.view(), self.seq.view(), events[TIME].to_numpy(), events[SEQ].to_numpy())

    def since(self, time: Ints | int) -> Ints:
        """How many past events are before a time."""
        return np.searchsorted(self.time.view(), time, side="left").astype(np.int64)

    def places(self, events: pa.Table, pieces: Sequence[Piece], order: Sequence[str]) -> Ints:
        """The place of each of these events; -1 if it is not held."""
        found = np.full(events.num_rows, -1)
        low = self.before(events)
        after = rows_before(self.time.view(), self.seq.view(), events[TIME].to_numpy(), events[SEQ].to_numpy() + 1)
        owner, within = counted_out(after - low)
        place = low[owner] + within
        if len(place) and order:
            there = rows_at(pieces, place)
            columns = [pa.chunked_array([*events[name].chunks, *there[name].chunks]) for name in order]
            codes, _ = equality_codes(columns, events.num_rows + len(place))
            same = codes[owner] == codes[events.num_rows :]
            owner, place = owner[same], place[same]
        found[owner] = place
        return found

    def contexts(self, number: int, places: Ints) -> Bags:
        """The contexts of some of the events held, for the RECALL SIMILAR of that number."""
        bags = self.stores[number].bags()
        starts, words = _taken(bags.starts, places)
        number_starts, numbers = _taken(bags.number_starts, places)
        return Bags(
            starts, bags.codes[words], bags.times[words], number_starts, bags.attributes[numbers], bags.values[numbers]
        )


def rows_at(pieces: Sequence[Piece], places: Ints) -> pa.Table:
    """The rows of past events by their places."""
    return pa.concat_tables([piece.rows for piece in pieces]).take(pa.array(places)).combine_chunks()


def contexts_at(similar: Similar, number: int, pieces: Sequence[Piece], places: Ints) -> pa.Array:
    """The contexts of past events by their places, as users see them."""
    starts = np.cumsum([0, *(piece.count for piece in pieces)])
    made = []
    for piece, start in zip(pieces, starts, strict=False):
        mine = np.flatnonzero((places >= start) & (places < start + piece.count))
        if len(mine):
            kept = piece.terms[number]
            event = kept["event"].to_numpy()
            borders = np.searchsorted(event, np.arange(piece.count + 1))
            owner, rows = counted_out(np.diff(borders)[places[mine] - start])
            terms = kept.take(pa.array(borders[places[mine] - start][owner] + rows))
            made.append(terms.set_column(0, "event", pa.array(mine[owner], pa.int32())))
    terms = pa.concat_tables(made) if made else KEPT.empty_table()
    return shown_contexts(spoken_terms(similar, terms), len(places))


def _taken(starts: Ints, places: Ints) -> tuple[Ints, Ints]:
    """Starts of the runs at some places, one after the other, and the positions of their elements."""
    lengths = starts[places + 1] - starts[places]
    owner, within = counted_out(lengths)
    made = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return made, starts[places][owner] - starts[0] + within
