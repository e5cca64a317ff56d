"""Rows of events in processing order come in, the matches of an EPL pattern go out: the kernel of patterns.

What the terms mean is in `starts` and `reactions`. What events leave open is settled so: an interval of no length or
less is true at once, one of unknown length (null) never; a guard of no length, less or unknown length ends at once
without a match; below EVERY what is true or false at its very start is not started again.

Rows of one moment (an event, or all timers of one time) are numbered 0, 1, 2 … as they were made. With keys the numbers
must not depend on which keys share a kernel: rows of an event are numbered from its source times 2**40; rows of timers
from the arrival (SEQ) of the event that led to the timer times 2**20, the highest so far of that key and moment. So
timers of different keys come in the order in which their events came.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Universe, unique
from presage.arrays.jit import Ints
from presage.arrays.rows import append_rows, take_rows
from presage.errors import error
from presage.model.state import State
from presage.patterns.kernel.growth import grow, new_pools
from presage.patterns.kernel.idle import drop_idle, shape_of
from presage.patterns.kernel.network import build_network
from presage.patterns.kernel.pattern_asking import ask
from presage.patterns.kernel.pattern_input import Keyed, build_input, number_keys
from presage.patterns.kernel.pattern_loop import ANSWERS, BAD_BOUND, CLOSING, FINISHED, ROOM, Input, run, start_pattern
from presage.patterns.kernel.pattern_output import output_table
from presage.patterns.kernel.pattern_saving import forget_expired, load_pools, save_pools, texts_of
from presage.patterns.kernel.pattern_spec import SEQ, SOURCE, TIME, Oracle, PatternSpec
from presage.patterns.kernel.pattern_values import encode_rows
from presage.patterns.kernel.pools import (
    BAD,
    CLOCK,
    DISCARD,
    EVENT_ROW,
    KEYED,
    MOST_OPEN,
    NOW,
    OUT,
    PHASE,
    ROOT,
    SUPPRESS,
    Pools,
    Values,
)

KERNEL = "pattern"
STARTED = "started"
BEFORE = -(2**63)  # a clock before all timers


def open_matches(state: State) -> int:
    """Partial matches under way: filters and intervals that wait with at least one event behind them, matches that an
    AND has collected, repeats that have begun."""
    return state.numbers.get("open", 0)


class PatternKernel:
    """One pattern, or one for each key."""

    def __init__(self, spec: PatternSpec, oracle: Oracle | None = None) -> None:
        self.spec = spec
        self.oracle = oracle
        self.net = build_network(spec)
        kept = [name for columns in spec.columns for name in columns]
        self._shape: Ints | None = None
        self.kept = unique([*kept, TIME, SEQ, *spec.order, SOURCE])

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """`end` changes nothing: the clock says which timers are due."""
        spec, net = self.spec, self.net
        kept = state.tables.get("rows")
        keyed = number_keys(spec, state.tables.get("keys"), events)
        universe = Universe(kept, keyed.events)
        source, event_count = build_input(spec, net, kept, keyed)
        texts = texts_of(state)
        encoding = encode_rows(spec.code, kept, keyed.events, texts)
        pools = load_pools(state, net, keyed.count, event_count, encoding.ranks(texts))
        self._set(pools.registers, clock)
        started = self._begin(state, pools, events, clock)
        values = encoding.values(net)
        pools = self._run(universe, values, pools, source)
        rows = output_table(spec, universe, pools.binds, pools.rows[: pools.registers[OUT]])
        now = max(clock, int(pools.registers[NOW])) if events.num_rows else clock
        drop_idle(net, pools, self._idle_shape(values), forget_expired(pools, now))
        after = save_pools(
            net,
            pools,
            source.events,
            lambda places: universe.table(self.kept, places, {}),
            lambda numbers: self._keys(state, keyed, numbers),
            encoding.texts,
        )
        after.numbers[STARTED] = started
        return after, rows

    # -- running ------------------------------------------------------------------------------------

    def _set(self, registers: Ints, clock: int) -> None:
        registers[CLOCK] = clock
        registers[DISCARD], registers[SUPPRESS] = int(self.spec.discard), int(self.spec.suppress)
        registers[MOST_OPEN] = self.spec.most
        registers[KEYED] = int(bool(self.spec.keys))

    def _begin(self, state: State, pools: Pools, events: pa.Table, clock: int) -> int:
        """A pattern with a time to begin starts when that time has come, or an event."""
        begin = self.spec.begin
        started = state.numbers.get(STARTED, 0)
        if started or begin is None or self.spec.keys or not (events.num_rows or clock >= begin):
            return started
        self._start_at(pools, begin)
        return 1

    def _start_at(self, pools: Pools, time: int) -> None:
        pools.registers[NOW], pools.registers[EVENT_ROW] = time, -1
        pools.registers[PHASE] = CLOSING
        start_pattern(pools, 0)

    def _run(self, universe: Universe, values: Values, pools: Pools, source: Input) -> Pools:
        while True:
            status = run(self.net, values, pools, source)
            if status == FINISHED:
                return pools
            if status == ROOM:
                pools = grow(pools)
            elif status == ANSWERS:
                if self.oracle is None:
                    raise error("INTERNAL", what="a pattern has a condition to ask for and nobody to ask")
                ask(self.spec, self.net, self.oracle, universe, pools)
            else:
                raise self._problem(status, pools)

    def _problem(self, status: int, pools: Pools) -> Exception:
        if status == BAD_BOUND:
            text = self.spec.nodes[pools.registers[BAD]].text
            return error(
                "BAD_VALUE",
                what=f"a bound of the repeat {text}",
                found="null, below one, or its lower bound is above the upper one",
                expected="at least one, and the lower bound not above the upper one",
                fix="filter the events that the bounds are taken from",
            )
        return error(
            "LIMIT",
            what=f"partial matches of {self.spec.text}",
            limit_name="open partial matches",
            limit=self.spec.most,
            fix="bound them in time with WHERE timer:within(...), or in number with -[n]>",
        )

    def _idle_shape(self, values: Values) -> Ints:
        """How the pattern stands when it was just started; empty if its start has an effect."""
        if self._shape is None:
            pools = new_pools(self.net, 1, 0, 0, 0, 0, 0)
            self._set(pools.registers, BEFORE)
            self._start_at(pools, 0)
            nothing = np.zeros(0, np.int64)
            none = np.zeros((0, len(self.net.listeners)), np.bool_)
            source = Input(
                nothing, nothing, nothing, none, np.zeros(1, np.int64), nothing, none[:, 0].copy(), nothing,
                np.zeros((0, 2), np.int64),
            )  # fmt: skip
            status = run(self.net, values, pools, source)
            while status == ROOM:
                pools = grow(pools)
                status = run(self.net, values, pools, source)
            fine = status == FINISHED and pools.registers[OUT] == 0 and pools.keys[0, ROOT] >= 0
            self._shape = shape_of(self.net, pools, int(pools.keys[0, ROOT])) if fine else np.zeros((0, 2), np.int64)
        return self._shape

    # -- state --------------------------------------------------------------------------------------

    def _keys(self, state: State, keyed: Keyed, numbers: Ints) -> pa.Table:
        """The values of keys by number."""
        if not self.spec.keys:
            return pa.table({"_key": np.zeros(len(numbers), np.int64)})
        known = state.tables.get("keys")
        names = list(self.spec.keys)
        values = append_rows(None if known is None else known.select(names), keyed.events.select(names))
        return take_rows(values, keyed.first[numbers])
