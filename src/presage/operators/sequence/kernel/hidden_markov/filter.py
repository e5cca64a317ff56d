"""The kernel of FILTER: the filtered belief after each step.

A step is evaluated when the watermark has passed it, because several readings of one time count together. State: the
belief of each key until it is forgotten, and the readings of later steps. `ParticleKernel` shares steps and rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from presage.arrays.codes import first_of, grouped_order
from presage.arrays.columns import Universe, column, ints, selected, taken
from presage.arrays.jit import Bools, Floats, Ints
from presage.arrays.rows import append_rows, changes, lexical_order, ordinals, take_rows
from presage.model.operator_state import State
from presage.operators.sequence.kernel.hidden_markov.forward import filter_steps
from presage.operators.sequence.kernel.hidden_markov.readings import Readings, readings_of
from presage.operators.sequence.kernel.hidden_markov.spec import (
    ORDINAL,
    PROBABILITY,
    SEQ,
    TIME,
    TIMER,
    Columns,
    HiddenMarkov,
)
from presage.operators.sequence.kernel.hidden_markov.steps import NONE, Steps, step_times, steps_of

KERNEL = "hidden_markov_filter"
AT, SEEN, SINCE, LOGS, BELIEF = "_at", "_seen", "_since", "_logs", "_belief"
IGNORED = "ignored"  # the counter of ignored readings in the state


class Followed(NamedTuple):
    """Entries of step s: `ends[s]` to `ends[s + 1]` of (states, chances). By step whether its readings were used.
    `saved` returns the columns of the state for the keys that stay; `numbers` are counters of these steps."""

    ends: Ints
    states: Ints
    chances: Floats
    usable: Bools
    saved: Callable[[Bools], dict[str, pa.Array]]
    numbers: dict[str, int]


@dataclass(frozen=True)
class FilterKernel:
    """FILTER. Input columns: TIME, SEQ, key, observed; output columns: TIME, SEQ, ORDINAL, key, attribute, probability.

    On a grid with `idle`, a key has a step at every multiple that the watermark passes, until the model forgets it.
    Without `idle`, steps without readings are emitted with the key's next reading, later than those of other keys.
    """

    model: HiddenMarkov
    columns: Columns
    idle: bool = False
    name: ClassVar[str] = KERNEL

    def initial(self) -> State:
        return State(self.name)

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
        first = first_of(codes, count)
        keys = universe.table(self.columns.key, first, {})
        found = self._follow(kept, keys, steps, readings)

        seq, since_step = self._order(steps, ints(rows, SEQ), since)
        out = self._rows(keys, steps, seq, since_step, found)
        last = np.where(np.diff(steps.bounds) > 0, steps.bounds[1:] - 1, -1)
        since = np.where(last >= 0, np.append(since_step, 0)[last], since)
        forget = self.model.forget
        stays = np.ones(count, np.bool_) if forget < 0 else clock - steps.seen <= forget
        further = {AT: steps.at, SEEN: steps.seen, SINCE: since}
        arrays = {name: pa.array(values[stays]) for name, values in further.items()} | found.saved(stays)
        tables = {"open": waiting.combine_chunks(), "beliefs": universe.table(self.columns.key, first[stays], arrays)}
        counted = {IGNORED: count_ignored(steps, readings, found.usable), **found.numbers}
        numbers = {name: state.numbers.get(name, 0) + more for name, more in counted.items()}
        return State(self.name, tables, numbers), out

    def _follow(self, kept: pa.Table | None, keys: pa.Table, steps: Steps, readings: Readings) -> Followed:
        """The beliefs of all steps. Rows of `kept` are the states of the first keys."""
        model = self.model
        before, in_logs = self._beliefs(kept, len(steps.bounds) - 1)
        ends, states, chances, beliefs, in_logs, _, usable = filter_steps(
            model.chain, model.emission, steps, readings, before, in_logs
        )

        def saved(stays: Bools) -> dict[str, pa.Array]:
            flat = pa.array(beliefs[stays].reshape(-1))
            return {LOGS: pa.array(in_logs[stays]), BELIEF: pa.FixedSizeListArray.from_arrays(flat, model.size)}

        return Followed(ends, states, chances, usable, saved, {})

    def _beliefs(self, kept: pa.Table | None, count: int) -> tuple[Floats, Ints]:
        beliefs = np.zeros((count, self.model.size))
        in_logs = np.zeros(count, np.int64)
        if kept is not None and kept.num_rows:
            beliefs[: kept.num_rows] = column(kept, BELIEF).flatten().to_numpy().reshape(-1, self.model.size)
            in_logs[: kept.num_rows] = ints(kept, LOGS)
        return beliefs, in_logs

    def _order(self, steps: Steps, seqs: Ints, since: Ints) -> tuple[Ints, Ints]:
        """By step: its SEQ, and the SEQ of its key's first reading, which orders keys of one time."""
        read = steps.high > steps.low
        places = np.arange(len(read))
        seqs = np.append(seqs, TIMER)
        if self.idle:
            seq = np.where(read, seqs[steps.high - 1], TIMER)
        else:
            # Every run of steps ends with a reading, which emits the silent steps before it.
            bringer = np.minimum.accumulate(np.where(read, places, len(read))[::-1])[::-1]
            seq = seqs[np.append(steps.high, 0)[bringer] - 1]
        begun = np.maximum.accumulate(np.where(steps.fresh > 0, places, -1)) if len(places) else places
        of_key = np.diff(steps.bounds)
        here = begun >= np.repeat(steps.bounds[:-1], of_key)
        return seq, np.where(here, seqs[steps.low[begun]], np.repeat(since, of_key))

    def _rows(self, keys: pa.Table, steps: Steps, seq: Ints, since: Ints, found: Followed) -> pa.Table:
        ends, states, chances = found.ends, found.states, found.chances
        turn = lexical_order([steps.time, seq, since])
        counts = np.diff(ends)[turn]
        entry = np.repeat(ends[:-1][turn] - np.cumsum(counts) + counts, counts) + np.arange(len(states))
        of_step = np.repeat(turn, counts)
        key = np.repeat(np.arange(len(steps.bounds) - 1), np.diff(steps.bounds))[of_step]
        time, seq = steps.time[of_step], seq[of_step]
        return pa.table(
            {
                TIME: time,
                SEQ: seq,
                ORDINAL: ordinals(changes([time, seq], len(time))),
                **{name: taken(keys, name, key) for name in self.columns.key},
                self.columns.attribute: self.model.names(states[entry], self.columns.type),
                PROBABILITY: np.minimum(chances[entry], 1.0),
            }
        )


def count_ignored(steps: Steps, readings: Readings, usable: Bools) -> int:
    """The number of readings that no state, or no reachable state, can give."""
    read = np.concatenate([[0], np.cumsum(readings.codes >= 0)])
    excluded = read[steps.high] - read[steps.low]
    return int(readings.ignored.sum() + excluded[~usable].sum())


def _known(universe: Universe, name: str, count: int) -> Ints:
    values = np.full(count, NONE, np.int64)
    values[: universe.kept_rows] = universe.kept_ints(name)
    return values
