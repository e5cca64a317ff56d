"""The prediction validator: rows of validity, each emitted once no update can change it any more.

At a moment t only what was in force up to t counts. So a step that knows all updates before its clock knows all matches
before it: intervals that have ended are released, one that is still open at the clock is carried, and the next step
goes on from there. However updates are cut into steps, the rows are the same.

A tentative query does not wait for that: a second step, of which nothing is kept, goes on from there to the end of what
is known, with the updates that lie ahead of the clock, and what has changed of its rows is told.
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
from presage.operators.prediction.kernel.intervals.pair_merge import Carried, joined_blocks
from presage.operators.prediction.kernel.intervals.rows import Hashes, object_column, row_table, shown_values
from presage.operators.prediction.kernel.intervals.spans import (
    Spans,
    continued,
    joined,
    linked,
    of_one,
    of_pair,
    turned,
)
from presage.operators.prediction.kernel.intervals.tentative import FORESEEN, told_rows
from presage.operators.prediction.kernel.intervals.ticks import ticks_within
from presage.operators.prediction.kernel.join import Times, join, join_on
from presage.operators.prediction.kernel.pieces import Pieces
from presage.operators.prediction.kernel.query import SEQ, SOURCE, TIME, Pair, PredictionTables
from presage.operators.prediction.kernel.regions.evaluation import ALWAYS, FOREVER
from presage.operators.prediction.kernel.spec import ValueSpec
from presage.operators.prediction.kernel.updates import Updates, read_updates
from presage.operators.prediction.kernel.values import validity

KERNEL = "prediction"
OPEN, ASKED, SINCE = "open", "asked", "since"
# With more ticks than these it is worth finding out at which of them anything holds.
LOOK_AHEAD = 16


class PredictionKernel:
    """`hashes`: where the objects of a query are dealt with apart from each other, what tells them apart. `threads`:
    so many may look at pairs side by side. `ahead`: updates beyond the clock, None if a tentative query does not look
    there now."""

    def __init__(
        self, spec: PredictionTables, hashes: Hashes | None = None, threads: int = 1, ahead: pa.Table | None = None
    ) -> None:
        self.spec = spec
        self.hashes = hashes
        self.threads = threads
        self.ahead = ahead

    def looking(self, ahead: pa.Table) -> PredictionKernel:
        """The same, for a step that knows what lies ahead."""
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
        asked = (state if end else after).numbers.get(ASKED, ALWAYS)
        standing, told = told_rows(self.spec, state.tables.get(FORESEEN), over, coming, asked + 1, end)
        return replace(after, tables={**after.tables, FORESEEN: standing}), told


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
        self.asked = state.numbers.get(ASKED)
        self.since = state.numbers.get(SINCE)  # where rows were cut last: so far back chances are sought
        carried = state.tables.get(OPEN)
        self.objects = [self._objects(side, carried) for side in range(len(spec.sides))]
        self.codes = [equality_codes(table.columns, table.num_rows) for table in self.objects]
        self.ongoing = self._carried(carried)
        self.made: list[Ongoing] = []
        self._pieces: list[Pieces] | None = None
        self._known: list[Ints | None] = []
        self.last: int | None = None  # the last moment that this step looks at; None: as far as anything holds
        self.final = False  # whether that is the last moment of all

    def run(self, clock: int, end: bool) -> tuple[State, pa.Table]:
        self.last = self._last(clock, end)
        self.final = end and self.spec.until is None
        for moment, cut in self._moments(end):
            self._advance(moment, cut)
        return self._saved(end), self._table(self.made)

    def foreseen(self) -> pa.Table:
        """The rows to come if no update does: functions are looked at beyond the clock, to where they would end."""
        self.last = self.spec.until
        for moment, cut in self._moments(end=True):
            self._advance(moment, cut)
        return self._table(self.made)

    # -- what is known ---------------------------------------------------------------------------------------

    def _read(self, number: int, events: pa.Table) -> Updates:
        stream = self.spec.streams[number]
        if len(self.spec.streams) > 1:
            events = events.filter(pa.array(ints(events, SOURCE) == number))
        events = events.select([TIME, SEQ, *self._columns(number)])
        for name, value in NEW.items() if stream.limit is not None else ():
            events = events.append_column(name, pa.array(np.full(events.num_rows, value, np.int64)))
        return read_updates(stream, append_rows(self.state.tables.get(f"updates{number}"), events))

    def _columns(self, number: int) -> list[str]:
        """What is needed of a stream's rows."""
        stream = self.spec.streams[number]
        names = [*stream.key, *stream.value, *stream.rate, *stream.threshold]
        for side in self.spec.sides:
            if side.stream == number:
                names += [*side.told, *([side.eligible] if side.eligible is not None else [])]
        return list(dict.fromkeys(names))

    def _hold(self, number: int) -> Unbounded | Bounded:
        stream, updates = self.spec.streams[number], self.streams[number]
        if stream.limit is None:
            return Unbounded(stream, updates)
        return Bounded(stream, updates, f"buffer{number}", self.spec.window, self.spec.seed + number, self.state)

    def _names(self, side: int) -> tuple[str, ...]:
        """The columns by which the objects of a side are told apart."""
        chosen = self.spec.sides[side]
        return (*self.spec.streams[chosen.stream].key, *chosen.told)

    def _objects(self, side: int, carried: pa.Table | None) -> pa.Table:
        """What tells the objects of all updates apart, and after them those of the intervals that are carried."""
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
        found = read_ongoing(carried, codes, shown, self.asked)
        return rising(found) if self.spec.mirrored else found

    # -- moments ---------------------------------------------------------------------------------------------

    def _moments(self, end: bool) -> Iterator[tuple[int | None, bool]]:
        """Up to when the next part reaches (None: as far as anything holds); whether what is open is cut there."""
        last = self.last
        if self.asked is not None and last is not None and last <= self.asked + 1 and not end:
            return
        # What a buffer lets go does not depend on what is asked of it.
        for held in self.held:
            held.feed(last + 1 if self.final and last is not None else last)
        if last is not None:
            yield from self._ticks(last)
            if self.asked is None or last > self.asked + 1:
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
            # What holds for ever is told up to the last moment that is known.
            return max(
                [clock, self.asked or clock, *(int(updates.time.max()) for updates in self.streams if len(updates))]
            )
        return until

    def _ticks(self, before: int) -> Iterator[tuple[int, bool]]:
        """The moments at which rows are cut, after what was asked and before a moment."""
        every = self.spec.validate
        if every is None:
            return
        first = self._first() if self.asked is None else self.asked
        if first is None:
            return
        ticks = range((first // every + 1) * every, before, every)
        if len(ticks) <= LOOK_AHEAD:
            chosen: Iterable[int] = ticks
        else:
            # Where nothing holds there is nothing to cut: what there will be is looked at once.
            coming = self._gone_on(before)[0].spans
            chosen = ticks_within(coming.start, coming.end, ticks)
        for moment in chosen:
            yield moment, True

    def _first(self) -> int | None:
        return min((int(updates.time.min()) for updates in self.streams if len(updates)), default=None)

    # -- matches ---------------------------------------------------------------------------------------------

    def _advance(self, moment: int | None, cut: bool) -> None:
        """Look at the times after what was asked, up to a moment. What has ended by then is done. At the moment itself
        updates may still come, unless rows are cut there, which is when all is known."""
        now, over = self._gone_on(moment, cut)
        if moment is None:
            self.made.append(now)
            self.ongoing = now.part(0, 0)
            return
        self.made.append(now.part(0, over))
        lasting = now.part(over, len(now))
        begun = lasting.take(lasting.spans.start < moment)
        if cut and self.final and moment == self.last:
            # Nothing comes after: what begins in the last moment that is known holds for that moment.
            begun = lasting
        if cut:
            self.made.append(replace(begun, spans=replace(begun.spans, end=np.full(len(begun), moment))))
            # One that begins there is not cut.
            self.ongoing = together(self._begun_again(begun, moment), lasting.take(lasting.spans.start >= moment))
        else:
            # Of one that begins in the last microsecond nothing is known yet.
            self.ongoing = begun
        self.asked = moment if cut else moment - 1
        self.since = self.asked if cut else self.since
        count = len(self.ongoing)
        known = replace(self.ongoing.spans, end=np.full(count, self.asked), end_open=np.zeros(count, np.bool_))
        self.ongoing = replace(self.ongoing, spans=known)

    def _gone_on(self, moment: int | None, final: bool = True) -> tuple[Ongoing, int]:
        """What was open, and what there is since. First those that end before the moment, so many. `final`: nothing
        goes on at the moment as it was."""
        spec, carried = self.spec, self.ongoing
        if self._pieces is None:
            self._pieces, self._known = self._side_pieces()
        late = self._late_chances()
        if len(spec.pairs) == 1 and (spec.mirrored or not spec.pairs[0].spec.symmetric) and not late:
            spans, origin, over = self._joined_on(spec.pairs[0], moment, final)
        else:
            spans, origin, over = continued(carried.spans, self._found(moment, final, late), moment)
        old = origin >= 0
        again = np.zeros(len(spans), np.bool_)
        again[old] = carried.again[origin[old]]
        shown = np.empty((len(spans), carried.shown.shape[1]))
        if shown.shape[1]:
            shown[old] = carried.shown[origin[old]]
            shown[~old] = self._shown(spans.take(~old))
        now = Ongoing(spans, shown, again)
        if self.asked is not None:
            # What is left of an interval that was cut or has ended within a microsecond of the last moment was released
            # there. Only where rows were cut nothing was looked at beyond that moment, and one may be new.
            released = np.where(old, again & (spans.start >= self.asked), self.since != self.asked)
            left = (spans.end <= self.asked) & released
            now, over = now.take(~left), over - int(left[:over].sum())
        return now, over

    def _late_chances(self) -> bool:
        """Whether a buffer may hear only now that something went on up to the last moment and no longer, so that its
        chances are told now."""
        limited = any(known is not None for known in self._known)
        return limited and self.spec.probability and self.asked is not None and self.since != self.asked

    def _joined_on(self, pair: Pair, moment: int | None, final: bool) -> tuple[Spans, Ints, int]:
        """One join alone: what is open goes through it with what is found."""
        assert self._pieces is not None
        open_spans = self.ongoing.spans
        carried = Carried(
            open_spans.codes, open_spans.start, open_spans.start_open, open_spans.probability, self.asked or 0
        )
        left, right = (self._pieces[side] for side in (pair.left, pair.right))
        counts = self.codes[pair.left][1], self.codes[pair.right][1]
        times = Times(self.asked, moment, self.since, final, (self._known[pair.left], self._known[pair.right]))
        found = joined_blocks(join_on(left, right, pair.spec, times, carried, counts, self.threads))
        spans = Spans(*found[:6])
        apart = self._apart(spans, pair)
        if apart.all():
            return spans, found.origin, found.over
        return spans.take(apart), found.origin[apart], int(apart[: found.over].sum())

    def _begun_again(self, lasting: Ongoing, moment: int) -> Ongoing:
        count = len(lasting)
        closed = np.zeros(count, np.bool_)
        at = np.full(count, moment)
        spans = Spans(lasting.spans.codes, at, at, closed, closed, np.full(count, np.nan))
        return Ongoing(spans, self._shown(spans), np.ones(count, np.bool_))

    def _found(self, until: int | None, final: bool, late: bool) -> Spans:
        """`late`: with the last moment that was asked for already."""
        spec, pieces, known = self.spec, self._pieces, self._known
        assert pieces is not None
        after = self.asked if self.asked is None or not late else self.asked - 1
        if not spec.pairs:
            asked = ValueSpec(spec.sides[0].terms, spec.errors, spec.at_least, spec.probability)
            return of_one(validity(pieces[0], asked, after, until, self.since, final, known[0]))
        whole: Spans | None = None
        for pair in spec.pairs:
            matches = join(
                pieces[pair.left],
                pieces[pair.right],
                pair.spec,
                after,
                until,
                not spec.mirrored,
                self.threads,
                self.since,
                final,
                (known[pair.left], known[pair.right]),
            )
            spans = of_pair(matches, pair.left, pair.right, len(spec.sides))
            spans = spans.take(self._apart(spans, pair))
            whole = spans if whole is None else linked(whole, spans)
        assert whole is not None
        return whole

    def _side_pieces(self, now: bool = False) -> tuple[list[Pieces], list[Ints | None]]:
        """What is in force of each side, as far as this step looks, and when a buffer knew it; `now`: what it holds."""
        pieces, times = list[Pieces](), list[Ints | None]()
        for number, side in enumerate(self.spec.sides):
            updates, held = self.streams[side.stream], self.held[side.stream]
            chosen = bools(column(updates.rows, side.eligible)) if side.eligible is not None else None
            code = self.codes[number][0][: len(updates)]
            alive, known = (held.alive(), None) if now else held.versions()
            times.append(known[chosen[alive.row]] if known is not None and chosen is not None else known)
            last = FOREVER if self.last is None else self.last + 1
            alive = alive._replace(end=np.minimum(alive.end, np.maximum(last, alive.start)))
            pieces.append(updates.pieces(alive, code, chosen))
        return pieces, times

    def _apart(self, spans: Spans, pair: Pair) -> Bools:
        """Which are not of an object with itself."""
        left, right = self.spec.sides[pair.left], self.spec.sides[pair.right]
        if left.stream != right.stream or not len(spans) or (pair.spec.same and not left.told):
            # Nothing in common, or the join saw to it.
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
        if any(known is not None for known in self._known):
            return shown_at(self.spec, self._pieces, self._known, spans)
        return shown_values(self.spec, self._pieces, spans)

    def _known_objects(self, spans: Spans) -> list[pa.Table]:
        """Of each side what tells its objects apart, for each interval."""
        found = []
        for side, (code, count) in enumerate(self.codes):
            rows = first_of(code, count)[spans.codes[:, side]]
            known = self.objects[side]
            found.append(pa.table({name: taken(known, name, rows) for name in known.column_names}))
        return found

    def _table(self, made: list[Ongoing]) -> pa.Table:
        spans = joined([part.spans for part in [*made, self.ongoing.part(0, 0)]])
        width = self.ongoing.shown.shape[1]
        shown = np.concatenate([np.empty((0, width)), *(part.shown for part in made)])
        if self.spec.mirrored:
            other = turned(spans, shown)
            spans, shown = joined([spans, other[0]]), np.concatenate([shown, other[1]])
        if self.spec.chances_of_rows:
            spans = replace(spans, probability=chances_of(self.spec, self._side_pieces(now=True)[0], spans))
        more = [self._boundaries(spans)] if self.spec.boundary else []
        return row_table(self.spec, self._known_objects(spans), spans, shown, self.hashes, more)

    def _boundaries(self, spans: Spans) -> pa.Array:
        # What a buffer has let go is no part of a boundary any more.
        pieces, _ = self._side_pieces(now=True)
        return boundaries_of(self.spec, pieces, spans)

    # -- state -----------------------------------------------------------------------------------------------

    def _saved(self, end: bool) -> State:
        if end:
            return State(KERNEL)
        tables: dict[str, pa.Table] = {}
        numbers: dict[str, int] = {}
        since = -(1 << 62) if self.asked is None else self.asked - self.spec.window
        if (self.spec.boundary or self.spec.chances_of_rows) and len(self.ongoing):
            # An interval is told with all functions that it comes from.
            since = min(since, int(self.ongoing.spans.start.min()) - self.spec.window)
        for number, held in enumerate(self.held):
            rows, more, counts = held.kept(since)
            tables |= {f"updates{number}": rows, **more}
            numbers |= counts
        numbers |= {name: at for name, at in ((ASKED, self.asked), (SINCE, self.since)) if at is not None}
        tables[OPEN] = ongoing_table(self.ongoing, self._known_objects(self.ongoing.spans))
        return State(KERNEL, tables, numbers)
