"""Readings in time order in, filtered beliefs out, step by step: FILTER as a kernel with state.

A step is settled when the clock has passed it, because several readings of one time count together. State: one belief
for each key, until it is forgotten, and the readings of steps that are not settled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, grouped_order
from presage.arrays.columns import Universe, column, ints, selected
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import append_rows, changes, lexical_order, ordinals, take_rows
from presage.model.state import State
from presage.probability.kernel.hmm_forward import filter_steps
from presage.probability.kernel.hmm_readings import Readings, readings_of
from presage.probability.kernel.hmm_spec import ORDINAL, PROBABILITY, SEQ, TIME, TIMER, Columns, HiddenMarkov
from presage.probability.kernel.hmm_steps import NONE, Steps, step_times, steps_of

KERNEL = "hidden_markov_filter"
AT, SEEN, SINCE, LOGS, BELIEF = "_at", "_seen", "_since", "_logs", "_belief"
IGNORED = "ignored"  # number of readings that said nothing, in the state's numbers


@dataclass(frozen=True)
class FilterKernel:
    """FILTER. Columns in: TIME, SEQ, key, observed. Columns out: TIME, SEQ, ORDINAL, key, attribute, probability.

    On a grid, `idle`: a key has a step at every multiple that the clock passes, readings or not, until the model
    forgets it. Not `idle`: steps without readings come with the next reading of the key, behind the time of others.
    """

    model: HiddenMarkov
    columns: Columns
    idle: bool = False

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        names = [TIME, SEQ, *dict.fromkeys((*self.columns.key, *self.columns.observes))]
        rows = append_rows(state.tables.get("open"), events.select(names))
        until = clock if end else clock - 1
        when = step_times(self.model, ints(rows, TIME))
        due = (when <= until) | end
        waiting = selected(rows, ~due)
        rows, when = selected(rows, due), when[due]

        kept = state.tables.get("beliefs")
        universe = Universe(kept, rows)
        codes, count = universe.codes(self.columns.key)
        order, bounds = grouped_order(codes[universe.kept_rows :], count)
        rows = take_rows(rows, order)
        at, seen, since = (_known(universe, name, count) for name in (AT, SEEN, SINCE))
        steps = steps_of(self.model, bounds, when[order], at, seen, until if self.idle else NONE)
        readings = readings_of(self.model, rows, self.columns.observes)
        before, in_logs = self._beliefs(kept, count)
        model = self.model
        ends, states, chances, beliefs, in_logs, _, usable = filter_steps(
            model.chain, model.emission, *steps[:1], *steps[2:5], readings.codes, readings.values, before, in_logs
        )

        first = first_of(codes, count)
        seq, since_step = self._order(steps, ints(rows, SEQ), since)
        out = self._rows(universe, steps, first, seq, since_step, ends, states, chances)
        last = np.where(np.diff(steps.bounds) > 0, steps.bounds[1:] - 1, -1)
        since = np.where(last >= 0, np.append(since_step, 0)[last], since)
        stays = np.ones(count, np.bool_) if model.forget < 0 else clock - steps.seen <= model.forget
        further = {AT: steps.at, SEEN: steps.seen, SINCE: since, LOGS: in_logs}
        arrays = {name: pa.array(values[stays]) for name, values in further.items()}
        flat = pa.array(beliefs[stays].reshape(-1))
        arrays[BELIEF] = pa.FixedSizeListArray.from_arrays(flat, model.size)
        tables = {"open": waiting.combine_chunks(), "beliefs": universe.table(self.columns.key, first[stays], arrays)}
        ignored = state.numbers.get(IGNORED, 0) + count_ignored(steps, readings, usable)
        return State(KERNEL, tables, {IGNORED: ignored}), out

    def _beliefs(self, kept: pa.Table | None, count: int) -> tuple[Floats, Ints]:
        beliefs = np.zeros((count, self.model.size))
        in_logs = np.zeros(count, np.int64)
        if kept is not None and kept.num_rows:
            beliefs[: kept.num_rows] = column(kept, BELIEF).flatten().to_numpy().reshape(-1, self.model.size)
            in_logs[: kept.num_rows] = ints(kept, LOGS)
        return beliefs, in_logs

    def _order(self, steps: Steps, seqs: Ints, since: Ints) -> tuple[Ints, Ints]:
        """By step: its SEQ, and the SEQ of the reading with which its key began, which orders keys of one time."""
        read = steps.high > steps.low
        places = np.arange(len(read))
        seqs = np.append(seqs, TIMER)
        if self.idle:
            seq = np.where(read, seqs[steps.high - 1], TIMER)
        else:
            # Every run of steps ends with a reading: the one that brings the silent steps before it.
            bringer = np.minimum.accumulate(np.where(read, places, len(read))[::-1])[::-1]
            seq = seqs[np.append(steps.high, 0)[bringer] - 1]
        begun = np.maximum.accumulate(np.where(steps.fresh > 0, places, -1)) if len(places) else places
        of_key = np.diff(steps.bounds)
        here = begun >= np.repeat(steps.bounds[:-1], of_key)
        return seq, np.where(here, seqs[steps.low[begun]], np.repeat(since, of_key))

    def _rows(
        self,
        universe: Universe,
        steps: Steps,
        first: Ints,
        seq: Ints,
        since: Ints,
        ends: Ints,
        states: Ints,
        chances: Floats,
    ) -> pa.Table:
        turn = lexical_order([steps.time, seq, since])
        counts = np.diff(ends)[turn]
        entry = np.repeat(ends[:-1][turn] - np.cumsum(counts) + counts, counts) + np.arange(len(states))
        of_step = np.repeat(turn, counts)
        key = np.repeat(np.arange(len(first)), np.diff(steps.bounds))[of_step]
        time, seq = steps.time[of_step], seq[of_step]
        keys = universe.table(self.columns.key, first[key], {})
        return pa.table(
            {
                TIME: time,
                SEQ: seq,
                ORDINAL: ordinals(changes([time, seq], len(time))),
                **{name: keys[name] for name in self.columns.key},
                self.columns.attribute: self.model.names(states[entry], self.columns.type),
                PROBABILITY: np.minimum(chances[entry], 1.0),
            }
        )


def count_ignored(steps: Steps, readings: Readings, usable: Bools) -> int:
    """Readings that no state can give, and those that no reachable state can give."""
    read = np.concatenate([[0], np.cumsum(readings.codes >= 0)])
    excluded = read[steps.high] - read[steps.low]
    return int(readings.ignored.sum() + excluded[~usable].sum())


def _known(universe: Universe, name: str, count: int) -> Ints:
    values = np.full(count, NONE, np.int64)
    values[: universe.kept_rows] = universe.kept_ints(name)
    return values
