"""Rows of events in processing order come in, the matches of an EPL pattern go out: the kernel of patterns.

Meaning: LANGUAGE of patterns as state trees; see `starts` and `reactions`. What events leave open is settled so: an
interval of no length or less is true at once, one of unknown length (null) never; a guard of no length, less or unknown
length ends at once without a match; below EVERY what is true or false at its very start is not started again.

Rows of one moment (an event, or all timers of one time) are numbered 0, 1, 2 … as they were made. With keys the numbers
must not depend on which keys share a kernel: rows of an event are numbered from its source times 2**40; rows of timers
from the arrival (SEQ) of the event that led to the timer times 2**20, the highest so far of that key and moment. So
timers of different keys come in the order in which their events came.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Universe, bools, column, ints, unique
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.arrays.rows import append_rows, changes
from presage.errors import error
from presage.model.state import State
from presage.patterns.kernel.growth import grow, new_pools
from presage.patterns.kernel.idle import drop_idle, shape_of
from presage.patterns.kernel.network import build_network
from presage.patterns.kernel.pattern_asking import ask
from presage.patterns.kernel.pattern_loop import ANSWERS, BAD_BOUND, CLOSING, FINISHED, ROOM, TOO_MANY, Input, run
from presage.patterns.kernel.pattern_output import output_table
from presage.patterns.kernel.pattern_saving import Saved, load, save
from presage.patterns.kernel.pattern_spec import SEQ, SOURCE, TIME, Oracle, PatternSpec
from presage.patterns.kernel.pattern_values import Texts, encode_values
from presage.patterns.kernel.pools import (
    BAD,
    CLOCK,
    DISCARD,
    EVENT_ROW,
    KEYED,
    MOST_OPEN,
    NOT_STARTED,
    NOW,
    OPEN,
    OUT,
    OUT_ORDINAL,
    OUT_ROW,
    OUT_TIME,
    PHASE,
    ROOT,
    SUPPRESS,
    Pools,
    Values,
)
from presage.patterns.kernel.tasks import START
from presage.patterns.kernel.pools import TOP, USED

KERNEL = "pattern"


class PatternKernel:
    """One pattern, or one for each key."""

    def __init__(self, spec: PatternSpec, oracle: Oracle | None = None) -> None:
        self.spec = spec
        self.oracle = oracle
        self.net = build_network(spec)
        kept = [name for columns in spec.columns for name in columns]
        self.kept = unique([*kept, TIME, SEQ, *spec.order, SOURCE])

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """`end` changes nothing: the clock says which timers are due."""
        saved = load(state)
        events, codes, key_count = self._keyed(saved, events)
        universe = Universe(saved.rows, events.select(self._needed(events)))
        source, event_count = self._input(saved, universe, events, codes)
        texts = Texts(self.spec, saved)
        values = encode_values(self.spec, self.net, universe, texts)
        pools = self._pools(saved, texts, key_count, event_count)
        pools.registers[CLOCK] = clock
        self._begin(saved, pools, events, clock)
        pools = self._run(universe, values, pools, source)
        found = _in_order(pools.rows[: pools.registers[OUT]], source.events, bool(self.spec.keys))
        table = output_table(self.spec, universe, pools.binds, found)
        now = max(clock, int(pools.registers[NOW]))
        return self._save(saved, universe, events, texts, pools, source, now), table

    # -- input --------------------------------------------------------------------------------------

    def _needed(self, events: pa.Table) -> list[str]:
        return [name for name in events.column_names if name in set(self.kept)]
