"""The past events of a deployed statement and their contexts: computed once, newest first, in its state.

They reach from `low` to `high`; outside of these bounds only events of the statement itself are held. Newer ones are
added when an event needs them, recent older ones in the background, the rest on demand. A sample of the rest is read in
the background, too: it is not compared, but counts for the rarity of terms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.columns import selected
from presage.arrays.jit import Bools
from presage.arrays.rows import lexical_order
from presage.columnar.evaluate import Evaluator
from presage.errors import error
from presage.execution.steps import schema_of
from presage.model.operator_state import State
from presage.operators.recall import past_pieces
from presage.operators.recall.history_chunks import SMALL_CHUNKS, Chunk
from presage.operators.recall.history_sample import Slice, plan_slices
from presage.operators.recall.kernel.similarity import most_similar
from presage.operators.recall.nodes import Recall, Similar
from presage.operators.recall.past_index import PastIndex, contexts_at, rows_at
from presage.operators.recall.past_pieces import KEPT, WEIGHT, Piece
from presage.operators.recall.questions import EVER
from presage.operators.recall.similar_rows import PastEvents, no_similar_rows, shown_rows
from presage.operators.recall.similar_terms import Moments, widest
from presage.plan.nodes import SEQ, TIME

# Chunks that are read in the background: those that do not grow.
RECENT_UNITS = SMALL_CHUNKS
# Names of pieces in the state of a statement, before the slot.
SLOT, SAMPLE = "past", "past sample "
# Slices of a sample that are read in one turn.
SLICES_AT_ONCE = 16


class Computed(NamedTuple):
    """Past events, in order, and for each RECALL SIMILAR the terms of their contexts."""

    rows: pa.Table
    terms: list[pa.Table]


# The result of work with a key; None while it runs in the background.
Ahead = Callable[[tuple[Any, ...], Callable[[], list[Computed]]], list[Computed] | None]


def at_once(name: tuple[Any, ...], work: Callable[[], list[Computed]]) -> list[Computed]:
    return work()


class Past:
    """The past events of all RECALL SIMILARs of a node. `held` may outlive a step: it is refilled from other pieces."""

    def __init__(self, node: Recall, evaluator: Evaluator, held: PastIndex) -> None:
        self.similars = tuple(recall for recall in node.recalls if isinstance(recall, Similar))
        self.chunks: list[Chunk] | None = None  # of all history before the statement, once its watermark is known
        self.read = 0  # how many of them are held
        self.low = self.high = 0
        self._evaluator = evaluator
        self._held = held
        self._pieces: list[Piece] = []
        self._slots: list[int] = []  # of each piece
        self._changed: set[int] = set()
        self.slices: list[Slice] | None = None  # of the sample, once that is laid out
        self._samples: list[Piece] = []  # newest first; each of some slices
        self._sampled = 0  # how many of them are in the state already
        source = node.histories[self.similars[0].past]
        self._schema, self._order = schema_of(source.columns, source.order), source.order

    @property
    def complete(self) -> bool:
        return self.chunks is not None and self.read == len(self.chunks)

    @property
    def count(self) -> int:
        return len(self._held)

    @property
    def has_recent(self) -> bool:
        """Whether all chunks that are read in the background are there."""
        return self.complete or self.read >= RECENT_UNITS or self.low <= self._back

    @property
    def prepared(self) -> bool:
        """Whether the background work is done."""
        return self.complete or (self.has_recent and self.slices is not None and not self._unread_slices)

    @property
    def _back(self) -> int:
        """No event reads history before this time."""
        lasts = [similar.last for similar in self.similars]
        return -EVER if None in lasts else self.high - max(last for last in lasts if last is not None)

    @property
    def _unread_slices(self) -> list[Slice]:
        return (self.slices or [])[len(self._samples) * SLICES_AT_ONCE :]

    # -- reading ---------------------------------------------------------------------------------------

    def begin(self, chunks: Sequence[Chunk], horizon: int, archive: PastEvents) -> None:
        """Start with nothing held. `chunks`: all of history; events before `horizon` cannot change any more."""
        there = [Chunk(chunk.low, min(chunk.high, horizon)) for chunk in chunks if chunk.low < horizon]
        if there and not archive.in_parts(self.similars[0].past):
            there = [Chunk(there[-1].low, horizon)]
        self.chunks, self.low, self.high = there, horizon, horizon
        self._held.clear()  # it may be of a step that was not committed

    def extend(self, events: pa.Table, horizon: int, archive: PastEvents) -> None:
        """Add new events of the statement, and all past ones up to the horizon."""
        number = self.similars[0].past
        if archive.in_parts(number) and horizon > self.high:
            self._add_rows(archive.past(number, Chunk(self.high, horizon)), archive)
        self.high = max(horizon, self.high)
        self._add_rows(self._as_past(events), archive)

    def read_next(self, archive: PastEvents, ahead: Ahead = at_once) -> bool:
        """Read the next older chunk; False while it is being computed."""
        assert self.chunks is not None
        chunk = self.chunks[self.read]
        results = ahead(("unit", chunk), lambda: [self._computed(chunk, archive)])
        if results is None:
            return False
        self._add(*results)
        self.read += 1
        self.low = chunk.low
        return True

    def _computed(self, span: Chunk, archive: PastEvents) -> Computed:
        """Past events of a span, and their contexts. It reads nothing that changes: it may run in the background."""
        return self._with_terms(archive.past(self.similars[0].past, span), archive)

    def _with_terms(self, rows: pa.Table, archive: PastEvents) -> Computed:
        if not rows.num_rows:
            return Computed(rows, [KEPT.empty_table() for _ in self.similars])
        moments = Moments(rows, archive.ask, self._evaluator)
        return Computed(
            rows, [past_pieces.kept_terms(similar, moments.terms(similar.contexts)) for similar in self.similars]
        )

    def prepare(self, archive: PastEvents, ahead: Ahead = at_once) -> None:
        """The next background work: a recent chunk, or a part of the sample; a chunk if the sample would be nearly
        all of the rest."""
        if not self.has_recent:
            self.read_next(archive, ahead)
        elif self.slices is not None:
            self._sample(self._unread_slices[:SLICES_AT_ONCE], archive, ahead)
        elif (slices := self._laid_out(archive)) is not None:
            self.slices = slices
        else:
            self.read_next(archive, ahead)

    def _laid_out(self, archive: PastEvents) -> list[Slice] | None:
        contexts = [select for similar in self.similars for select in similar.contexts]
        if any(select.recalled for select in contexts):
            return []  # each slice would read the history of its events
        window = max((widest(select) for select in contexts), default=0)
        return plan_slices(archive.spans(), Chunk(self.low, self.high), self.count, self._back, window)

    def _sample(self, slices: Sequence[Slice], archive: PastEvents, ahead: Ahead) -> None:
        spans = [Chunk(each.low, each.high) for each in reversed(slices)]
        results = ahead(("sample", *spans), lambda: [self._computed(span, archive) for span in spans])
        if results is None:
            return
        pieces = []
        for computed, each in zip(results, reversed(slices), strict=True):
            weights = {TIME: computed.rows[TIME], WEIGHT: np.full(computed.rows.num_rows, each.weight)}
            pieces.append(past_pieces.new_piece(pa.table(weights), computed.terms))
        self._samples.append(past_pieces.joined(pieces))
        self._held.add_sample(self._samples[-1])
        self._held.ids = self._ids

    @property
    def _ids(self) -> tuple[int, ...]:
        return tuple(piece.identity for piece in (*self._pieces, *self._samples))

    def _refill(self) -> None:
        """Rebuild the index in memory from the state."""
        self._held.clear()
        for piece in self._pieces:
            self._held.add_newer(piece)
        for piece in self._samples:
            self._held.add_sample(piece)

    def _as_past(self, events: pa.Table) -> pa.Table:
        columns = []
        for field in self._schema:
            given = field.name in events.column_names
            columns.append(events[field.name] if given else pa.array(np.zeros(events.num_rows, np.int64)))
        made = pa.Table.from_arrays(
            [column.cast(f.type) for column, f in zip(columns, self._schema, strict=True)], schema=self._schema
        )
        return made.take(pa.array(lexical_order([made[name].to_numpy() for name in (TIME, SEQ, *self._order)])))

    def _add_rows(self, rows: pa.Table, archive: PastEvents) -> None:
        """Add the rows that are not held yet, with their contexts."""
        self._add(self._with_terms(selected(rows, self._unheld(rows)), archive))

    def _unheld(self, rows: pa.Table) -> Bools:
        return self._held.places(rows, self._pieces, self._order) < 0

    def _add(self, computed: Computed) -> None:
        """Add the events that are not held yet."""
        piece = past_pieces.without_rows(past_pieces.new_piece(*computed), self._unheld(computed.rows))
        rows = piece.rows
        if not rows.num_rows:
            return
        time, seq = self._held.time.view(), self._held.seq.view()
        first, last = _place(rows, 0), _place(rows, rows.num_rows - 1)
        if not len(time) or first > (time[-1], seq[-1]):
            self._held.add_newer(piece)
            self._put(len(self._pieces), piece)
            self._join_newest()
        elif last < (time[0], seq[0]):
            self._held.add_older(piece)
            self._put(0, piece)
        else:
            self._put(0, piece)
            self._replace(0, len(self._pieces), past_pieces.in_order(past_pieces.joined(self._pieces), self._order))
            self._refill()
        self._held.ids = self._ids

    def _join_newest(self) -> None:
        """Join the newest pieces of about the same size: there are few, and each row is rarely rewritten."""
        while len(self._pieces) > 1 and self._pieces[-2].count <= 2 * self._pieces[-1].count:
            self._replace(len(self._pieces) - 2, len(self._pieces), past_pieces.joined(self._pieces[-2:]))

    def _put(self, place: int, piece: Piece) -> None:
        slot = min(set(range(len(self._slots) + 1)) - set(self._slots))
        self._pieces.insert(place, piece)
        self._slots.insert(place, slot)
        self._changed.add(slot)

    def _replace(self, first: int, stop: int, piece: Piece) -> None:
        self._changed |= set(self._slots[first:stop])
        self._pieces[first:stop] = [piece]
        self._slots[first:stop] = [self._slots[first]]

    # -- searching -------------------------------------------------------------------------------------

    def similar_rows(self, similar: Similar, events: pa.Table, low: int, archive: PastEvents) -> pa.Table:
        """EVENT, a row of `events`, and the columns of the RECALL: the most similar past events from `low` on."""
        number = self.similars.index(similar)
        mine = self._held.places(events, self._pieces, self._order)
        if np.any(mine < 0):
            raise error("INTERNAL", what="an event that is not among the past events of its own statement")
        place = self._held.before(events)
        at = events[TIME].to_numpy()
        back = np.full(len(at), -EVER) if similar.last is None else at - similar.last
        begin = np.minimum(self._held.since(np.maximum(back, low)), place)
        if not np.any(place > begin):
            return no_similar_rows(similar)
        found = most_similar(
            self._held.stores[number],
            self._held.contexts(number, mine),
            place,
            begin,
            min(similar.count, int((place - begin).max())),
            dict(similar.bandwidths),
            beyond=self._held.beyond(number, back, low),
        )
        past = rows_at(self._pieces, found.past)
        contexts = contexts_at(similar, number, self._pieces, found.past)
        return shown_rows(similar, found, past, contexts, events, archive, self._evaluator)

    # -- between two steps -----------------------------------------------------------------------------

    def as_values(self) -> dict[str, Any]:
        read = {"units": self.chunks, "read": self.read, "low": self.low, "high": self.high, "slots": self._slots}
        return read | {"slices": self.slices, "samples": len(self._samples)}

    def changes(self) -> dict[str, State]:
        """The pieces that are not in the state yet, by name."""
        by_slot = dict(zip(self._slots, self._pieces, strict=True))
        changed = {
            f"{SLOT}{slot}": by_slot[slot].state() if slot in by_slot else past_pieces.no_piece()
            for slot in sorted(self._changed)
        }
        new = range(self._sampled, len(self._samples))
        return changed | {f"{SAMPLE}{i}": self._samples[i].state() for i in new}

    def restore(self, values: Mapping[str, Any], states: Mapping[str, State]) -> None:
        chunks = values["units"]
        self.chunks = None if chunks is None else [Chunk(*chunk) for chunk in chunks]
        self.read, self.low, self.high = values["read"], values["low"], values["high"]
        self._slots = list(values["slots"])
        self._pieces = [past_pieces.piece_of(states[f"{SLOT}{slot}"]) for slot in self._slots]
        slices = values.get("slices")
        self.slices = None if slices is None else [Slice(*each) for each in slices]
        self._sampled = values.get("samples", 0)
        self._samples = [past_pieces.piece_of(states[f"{SAMPLE}{i}"]) for i in range(self._sampled)]
        if self._held.ids != self._ids:
            # After a restart, or a step that was not committed.
            self._refill()
            self._held.ids = self._ids


def _place(rows: pa.Table, number: int) -> tuple[int, int]:
    return rows[TIME][number].as_py(), rows[SEQ][number].as_py()
