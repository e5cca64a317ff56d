"""The kernel of prediction: rows of validity, each emitted once no update can change it any more.

A match at t depends on updates up to t alone. So a step evaluates all times before the watermark: intervals that have
ended are emitted, an interval that is still open is kept in the state, and the next step continues it. The rows do not
depend on how updates are cut into steps.

A tentative query does not wait: a speculative second step, whose state is discarded, continues beyond the watermark
with the updates that lie ahead, and the changes of its rows are emitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of
from presage.arrays.columns import bools, column, ints, taken
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import append_rows
from presage.model.operator_state import State
from presage.operators.prediction.kernel.buffer.in_force import NEW, Bounded, Unbounded
from presage.operators.prediction.kernel.buffer.versions import shown_at
from presage.operators.prediction.kernel.chances.star_chances import chances_of
from presage.operators.prediction.kernel.intervals.boundaries import boundaries_of
from presage.operators.prediction.kernel.intervals.open_intervals import (
    Ongoing,
    ongoing_table,
    read_ongoing,
    rising,
    together,
)
from presage.operators.prediction.kernel.intervals.rows import Hashes, object_column, row_table, shown_values
from presage.operators.prediction.kernel.intervals.spans import (
    Spans,
    continued,
    joined,
    linked,
    of_one,
    of_pair,
    ticks_within,
    turned,
)
from presage.operators.prediction.kernel.intervals.tentative import FORESEEN, tentative_changes
from presage.operators.prediction.kernel.join import join
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import SEQ, SOURCE, TIME, Pair, PredictionTables
from presage.operators.prediction.kernel.regions.evaluation import Times
from presage.operators.prediction.kernel.regions.sides import ALWAYS, FOREVER
from presage.operators.prediction.kernel.spec import ValueSpec
from presage.operators.prediction.kernel.updates import Updates, read_updates
from presage.operators.prediction.kernel.values import validity

KERNEL = "prediction"
OPEN, ASKED, SINCE = "open", "asked", "since"
# With more ticks than these, find out first at which of them anything holds.
LOOK_AHEAD = 16


class PredictionKernel:
    """`hashes`: orders rows where objects are partitioned by key. `threads`: of a join. `ahead`: updates beyond the
    watermark, for a tentative query; None: what was foreseen stays."""

    def __init__(
        self, spec: PredictionTables, hashes: Hashes | None = None, threads: int = 1, ahead: pa.Table | None = None
    ) -> None:
        self.spec = spec
        self.hashes = hashes
        self.threads = threads
        self.ahead = ahead

    def looking(self, ahead: pa.Table) -> PredictionKernel:
        """The kernel of a step with the updates ahead of the watermark."""
        return PredictionKernel(self.spec, self.hashes, self.threads, ahead)

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        after, over = _Step(self.spec, state, events, self.hashes, self.threads).run(clock, end)
        if not self.spec.tentative:
            return after, over
        coming = over.slice(0, 0) if end else None
        if self.ahead is not None and not end:
            coming = _Step(self.spec, after, self.ahead, self.hashes, self.threads).foreseen()
        at = (state if end else after).numbers.get(ASKED, ALWAYS) + 1
        foreseen, changes = tentative_changes(self.spec, state.tables.get(FORESEEN), over, coming, at, end)
        return replace(after, tables={**after.tables, FORESEEN: foreseen}), changes


class _Step:
    def __init__(
        self, spec: PredictionTables, state: State, events: pa.Table, hashes: Hashes | None, threads: int
    ) -> None:
        self.spec = spec
        self.hashes = hashes
        self.threads = threads
        self.state = state
        self.streams = [self._read(number, events) for number in range(len(spec.streams))]
        self.held = [self._hold(number) for number in range(len(spec.streams))]
        self.evaluated = state.numbers.get(ASKED)  # the last evaluated moment
        self.since = state.numbers.get(SINCE)  # where rows were last cut: probabilities cover the times after it
        carried = state.tables.get(OPEN)
        self.objects = [self._objects(side, carried) for side in range(len(spec.sides))]
        self.codes = [equality_codes(table.columns, table.num_rows) for table in self.objects]
        self.ongoing = self._carried(carried)
        self.made: list[Ongoing] = []
        self._pieces: list[Pieces] | None = None
        self._visible: list[Ints | None] = []
        self.last: int | None = None  # the last moment of this step; None: as far as anything holds
        self.final = False  # whether there is no later step

    def run(self, clock: int, end: bool) -> tuple[State, pa.Table]:
        self.last = self._last(clock, end)
        self.final = end and self.spec.until is None
        for moment, cut in self._moments(end):
            self._advance(moment, cut)
        return self._saved(end), self._table(self.made)

    def foreseen(self) -> pa.Table:
        """The rows to come without further updates: functions are evaluated beyond the watermark, to their ends."""
        self.last = self.spec.until
        for moment, cut in self._moments(end=True):
            self._advance(moment, cut)
        return self._table(self.made)

    # -- updates and objects ---------------------------------------------------------------------------------

    def _read(self, number: int, events: pa.Table) -> Updates:
        stream = self.spec.streams[number]
        if len(self.spec.streams) > 1:
            events = events.filter(pa.array(ints(events, SOURCE) == number))
        events = events.select([TIME, SEQ, *self._columns(number)])
        for name, value in NEW.items() if stream.limit is not None else ():
            events = events.append_column(name, pa.array(np.full(events.num_rows, value, np.int64)))
        return read_updates(stream, append_rows(self.state.tables.get(f"updates{number}"), events))

    def _columns(self, number: int) -> list[str]:
        """The columns of a stream that the query uses."""
        stream = self.spec.streams[number]
        names = [*stream.key, *stream.value, *stream.rate, *stream.threshold]
        for side in self.spec.sides:
            if side.stream == number:
                names += [*side.identity, *([side.eligible] if side.eligible is not None else [])]
        return list(dict.fromkeys(names))

    def _hold(self, number: int) -> Unbounded | Bounded:
        stream, updates = self.spec.streams[number], self.streams[number]
        if stream.limit is None:
            return Unbounded(stream, updates)
        return Bounded(stream, updates, f"buffer{number}", self.spec.window, self.spec.seed + number, self.state)

    def _names(self, side: int) -> tuple[str, ...]:
        """The columns that identify the objects of a side."""
        chosen = self.spec.sides[side]
        return (*self.spec.streams[chosen.stream].key, *chosen.identity)

    def _objects(self, side: int, carried: pa.Table | None) -> pa.Table:
        """The identity of the objects of all updates, then of the carried intervals."""
        names = self._names(side)
        rows = self.streams[self.spec.sides[side].stream].rows.select(list(names))
        rows = rows.rename_columns([object_column(side, i) for i in range(len(names))])
        if carried is None:
            return rows
        return pa.concat_tables([rows, carried.select(rows.column_names).cast(rows.schema)])

    def _carried(self, carried: pa.Table | None) -> Ongoing:
        count = 0 if carried is None else carried.num_rows
        codes = np.stack([code[len(code) - count :] for code, _ in self.codes], axis=1)
        shown = sum(len(side.shown) for side in self.spec.sides)
        found = read_ongoing(carried, codes, shown, self.evaluated)
        return rising(found) if self.spec.mirrored else found

    # -- moments ---------------------------------------------------------------------------------------------

    def _moments(self, end: bool) -> Iterator[tuple[int | None, bool]]:
        """The ends of the parts of this step (None: as far as anything holds), and whether open intervals are cut
        there."""
        last = self.last
        if self.evaluated is not None and last is not None and last <= self.evaluated + 1 and not end:
            return
        # Evictions do not depend on queries: feed the buffers first.
        for held in self.held:
            held.feed(last + 1 if self.final and last is not None else last)
        if last is not None:
            yield from self._ticks(last)
            if self.evaluated is None or last > self.evaluated + 1:
                yield last, False
        elif self.spec.validate is not None:
            furthest = max((int(held.alive().end.max()) for held in self.held if len(held.alive().end)), default=None)
            if furthest is not None:
                yield from self._ticks(furthest)
        if end:
            yield last, True

    def _last(self, clock: int, end: bool) -> int | None:
        until = self.spec.until
        if not end:
            return clock if until is None else min(clock, until)
        if until is None and any(stream.period is None for stream in self.spec.streams):
            # An interval without an end is emitted up to the last known moment.
            return max(
                [clock, self.evaluated or clock, *(int(updates.time.max()) for updates in self.streams if len(updates))]
            )
        return until

    def _ticks(self, before: int) -> Iterator[tuple[int, bool]]:
        """The moments at which rows are cut, after the last evaluated one and before another."""
        every = self.spec.validate
        if every is None:
            return
        first = self._first() if self.evaluated is None else self.evaluated
        if first is None:
            return
        ticks = range((first // every + 1) * every, before, every)
        if len(ticks) <= LOOK_AHEAD:
            chosen: Iterable[int] = ticks
        else:
            # Where nothing holds there is nothing to cut: evaluate all times once to find these ticks.
            coming = self._gone_on(before)[0].spans
            chosen = ticks_within(coming.start, coming.end, ticks)
        for moment in chosen:
            yield moment, True

    def _first(self) -> int | None:
        return min((int(updates.time.min()) for updates in self.streams if len(updates)), default=None)

    # -- evaluation ------------------------------------------------------------------------------------------

    def _advance(self, moment: int | None, cut: bool) -> None:
        """Evaluate the times up to a moment, and collect the intervals that have ended. Updates at the moment itself
        may still arrive, unless rows are cut there: then all updates are known."""
        now, over = self._gone_on(moment, cut)
        if moment is None:
            self.made.append(now)
            self.ongoing = now.part(0, 0)
            return
        self.made.append(now.part(0, over))
        lasting = now.part(over, len(now))
        begun = lasting.take(lasting.spans.start < moment)
        if cut and self.final and moment == self.last:
            # There is no later step: an interval that begins at the last moment is that moment.
            begun = lasting
        if cut:
            self.made.append(replace(begun, spans=replace(begun.spans, end=np.full(len(begun), moment))))
            # An interval that begins there is not cut.
            self.ongoing = together(self._begun_again(begun, moment), lasting.take(lasting.spans.start >= moment))
        else:
            # An interval that begins in the last microsecond is evaluated by the next step.
            self.ongoing = begun
        self.evaluated = moment if cut else moment - 1
        self.since = self.evaluated if cut else self.since
        count = len(self.ongoing)
        spans = replace(self.ongoing.spans, end=np.full(count, self.evaluated), end_open=np.zeros(count, np.bool_))
        self.ongoing = replace(self.ongoing, spans=spans)

    def _gone_on(self, moment: int | None, final: bool = True) -> tuple[Ongoing, int]:
        """The open intervals continued, and new ones; those that end before the moment come first, and their number.
        `final`: all intervals end at the moment at the latest."""
        carried = self.ongoing
        if self._pieces is None:
            self._pieces, self._visible = self._side_pieces()
        spans, origin, over = continued(carried.spans, self._new_spans(moment, final, self._late_chances()), moment)
        old = origin >= 0
        again = np.zeros(len(spans), np.bool_)
        again[old] = carried.again[origin[old]]
        shown = np.empty((len(spans), carried.shown.shape[1]))
        if shown.shape[1]:
            shown[old] = carried.shown[origin[old]]
            shown[~old] = self._shown(spans.take(~old))
        now = Ongoing(spans, shown, again)
        if self.evaluated is not None:
            # The rest of an interval that was cut, or that ended within a microsecond of the last moment, was emitted
            # before. Where rows were cut nothing was evaluated beyond that moment, so an interval may be new.
            emitted = np.where(old, again & (spans.start >= self.evaluated), self.since != self.evaluated)
            left = (spans.end <= self.evaluated) & emitted
            now, over = now.take(~left), over - int(left[:over].sum())
        return now, over

    def _late_chances(self) -> bool:
        """Whether an update of a buffer may end an interval at the last evaluated moment, whose probability is computed
        only now."""
        limited = any(visible is not None for visible in self._visible)
        return limited and self.spec.probability and self.evaluated is not None and self.since != self.evaluated

    def _begun_again(self, lasting: Ongoing, moment: int) -> Ongoing:
        count = len(lasting)
        closed = np.zeros(count, np.bool_)
        at = np.full(count, moment)
        spans = Spans(lasting.spans.codes, at, at, closed, closed, np.full(count, np.nan))
        return Ongoing(spans, self._shown(spans), np.ones(count, np.bool_))

    def _new_spans(self, until: int | None, final: bool, late: bool) -> Spans:
        """The new intervals; `late`: from the last evaluated moment on, which is evaluated again."""
        spec, pieces, visible = self.spec, self._pieces, self._visible
        assert pieces is not None
        times = Times(
            self.evaluated - 1 if self.evaluated is not None and late else self.evaluated, until, self.since, final
        )
        if not spec.pairs:
            values = ValueSpec(spec.sides[0].terms, spec.errors, spec.at_least, spec.probability)
            return of_one(validity(pieces[0], values, times, visible[0]))
        whole: Spans | None = None
        for pair in spec.pairs:
            left, right = pair.left, pair.right
            seen = visible[left], visible[right]
            matches = join(pieces[left], pieces[right], pair.spec, times, not spec.mirrored, self.threads, seen)
            spans = of_pair(matches, left, right, len(spec.sides))
            spans = spans.take(self._apart(spans, pair))
            whole = spans if whole is None else linked(whole, spans)
        assert whole is not None
        return whole

    def _side_pieces(self, now: bool = False) -> tuple[list[Pieces], list[Ints | None]]:
        """The pieces of each side up to the end of this step, and when a buffer makes them visible; `now`: only those
        that are in force now."""
        pieces, times = list[Pieces](), list[Ints | None]()
        for number, side in enumerate(self.spec.sides):
            updates, held = self.streams[side.stream], self.held[side.stream]
            chosen = bools(column(updates.rows, side.eligible)) if side.eligible is not None else None
            code = self.codes[number][0][: len(updates)]
            alive, visible = (held.alive(), None) if now else held.versions()
            times.append(visible[chosen[alive.row]] if visible is not None and chosen is not None else visible)
            last = FOREVER if self.last is None else self.last + 1
            alive = alive._replace(end=np.minimum(alive.end, np.maximum(last, alive.start)))
            pieces.append(updates.pieces(alive, code, chosen))
        return pieces, times

    def _apart(self, spans: Spans, pair: Pair) -> Bools:
        """Which pairs are not an object with itself."""
        left, right = self.spec.sides[pair.left], self.spec.sides[pair.right]
        if left.stream != right.stream or not len(spans) or (pair.spec.same and not left.identity):
            # Different streams, or excluded by the join.
            return np.ones(len(spans), np.bool_)
        keys = self.streams[left.stream].key
        one, other = (
            keys[first_of(self.codes[i][0][: len(keys)], self.codes[i][1])[spans.codes[:, i]]]
            for i in (pair.left, pair.right)
        )
        apart: Bools = one != other
        return apart

    # -- rows ------------------------------------------------------------------------------------------------

    def _shown(self, spans: Spans) -> Floats:
        assert self._pieces is not None
        if any(visible is not None for visible in self._visible):
            return shown_at(self.spec, self._pieces, self._visible, spans)
        return shown_values(self.spec, self._pieces, spans)

    def _objects_of(self, spans: Spans) -> list[pa.Table]:
        """The identity of the objects of each side, for each interval."""
        tables = []
        for own, (code, count), codes in zip(self.objects, self.codes, spans.codes.T, strict=True):
            rows = first_of(code, count)[codes]
            tables.append(pa.table({name: taken(own, name, rows) for name in own.column_names}))
        return tables

    def _table(self, made: list[Ongoing]) -> pa.Table:
        spans = joined([part.spans for part in [*made, self.ongoing.part(0, 0)]])
        width = self.ongoing.shown.shape[1]
        shown = np.concatenate([np.empty((0, width)), *(part.shown for part in made)])
        if self.spec.mirrored:
            other = turned(spans, shown)
            spans, shown = joined([spans, other[0]]), np.concatenate([shown, other[1]])
        if self.spec.chances_of_rows:
            spans = replace(spans, probability=chances_of(self.spec, self._side_pieces(now=True)[0], spans))
        # A boundary does not include what a buffer has evicted.
        more = [boundaries_of(self.spec, self._side_pieces(now=True)[0], spans)] if self.spec.boundary else []
        return row_table(self.spec, self._objects_of(spans), spans, shown, self.hashes, more)

    # -- state -----------------------------------------------------------------------------------------------

    def _saved(self, end: bool) -> State:
        if end:
            return State(KERNEL)
        tables: dict[str, pa.Table] = {}
        numbers: dict[str, int] = {}
        since = -(1 << 62) if self.evaluated is None else self.evaluated - self.spec.window
        if (self.spec.boundary or self.spec.chances_of_rows) and len(self.ongoing):
            # Keep all functions of the open intervals.
            since = min(since, int(self.ongoing.spans.start.min()) - self.spec.window)
        for number, held in enumerate(self.held):
            rows, more, counts = held.kept(since)
            tables |= {f"updates{number}": rows, **more}
            numbers |= counts
        numbers |= {name: at for name, at in ((ASKED, self.evaluated), (SINCE, self.since)) if at is not None}
        tables[OPEN] = ongoing_table(self.ongoing, self._objects_of(self.ongoing.spans))
        return State(KERNEL, tables, numbers)
