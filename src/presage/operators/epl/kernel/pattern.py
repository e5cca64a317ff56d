"""The kernel of EPL patterns: matches of events in processing order.

`starts` and `reactions` define what the terms mean. Edge cases: an interval of zero or negative length is true at once,
one of unknown length (null) never; a guard of zero, negative or unknown length ends at once without a match; EVERY does
not restart an operand that is true or false at its start.

Rows of one moment (an event, or all timers of one time) are numbered 0, 1, 2 … in the order of creation. With keys the
numbers must not depend on which keys share a kernel: rows of an event are numbered from its source times 2**40; rows of
timers from the arrival (SEQ) of the event that led to the timer times 2**20, the highest so far of that key and moment.
So timers of different keys are in the order of arrival of their events.
"""

from __future__ import annotations

import weakref

import numpy as np
import pyarrow as pa

from presage.arrays.columns import Universe, unique
from presage.arrays.jit import Ints
from presage.arrays.programs.code import FLOAT, INT, TEXT, Oracle
from presage.arrays.rows import append_rows, take_rows
from presage.errors import PresageError, error
from presage.model.operator_state import Since, State
from presage.operators.epl.kernel.arena import grow, new_memory, new_work
from presage.operators.epl.kernel.idle import drop_idle, shape_of
from presage.operators.epl.kernel.input import Keyed, build_input, number_keys
from presage.operators.epl.kernel.key_blocks import blocked, can_be_blocked, due_of, is_blocked, joined, part_of, placed
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.loop import (
    ANSWERS,
    BAD_BOUND,
    CHOSEN_ASKED,
    CHOSEN_ROW,
    CHOSEN_TERM,
    CLOSING,
    FINISHED,
    MEMORY,
    run,
    start_pattern,
)
from presage.operators.epl.kernel.network.memory import Input, Values, Work
from presage.operators.epl.kernel.network.tables import CURRENT, FIRST_ARGUMENT, WIDTH, build_network
from presage.operators.epl.kernel.network.tasks import TASK_WORDS
from presage.operators.epl.kernel.output import in_order, output_table, rows_bound, taken
from presage.operators.epl.kernel.saving import Sources, forget_expired, load_memory, save_memory, texts_of
from presage.operators.epl.kernel.spec import SEQ, SOURCE, STATEMENT, TIME, PatternSpec, PatternTables
from presage.operators.epl.kernel.values import encode_rows

KERNEL = "pattern"
LEAVES = ("filter", "interval")  # they wait for an event or a time
STARTED = "started"
BEFORE = -(2**63)  # a watermark before all timers
# With fewer keys, or a larger touched share, it is faster to step all keys.
LEAST_KEYS = 1_024
MOST_TOUCHED = 0.75


def open_matches(state: State) -> int:
    """Open partial matches: filters and intervals that wait after at least one event, matches that an AND holds, and
    repeats that have begun."""
    return state.numbers.get("open", 0)


class PatternKernel:
    """One pattern, or one for each key."""

    def __init__(self, spec: PatternSpec, oracle: Oracle | None = None, least_keys: int = LEAST_KEYS) -> None:
        self.spec = spec
        self.oracle = oracle
        self._least_keys = least_keys
        self._blocked = can_be_blocked(spec)
        self.net = build_network(spec)
        self._leaves = sum(node.kind in LEAVES for node in spec.nodes)
        kept = [name for columns in spec.columns for name in columns]
        self._shape: Ints | None = None
        self.kept = unique([*kept, TIME, SEQ, *spec.order, SOURCE])

    def initial(self) -> State:
        return State(KERNEL)

    def step(self, state: State, events: pa.Table, clock: int, end: bool = False) -> tuple[State, pa.Table]:
        """`end` changes nothing: the watermark decides which timers are due."""
        keyed = number_keys(self.spec, state.tables.get("keys"), events)
        if not self._blocked or not is_blocked(state) or state.tables["keys"].num_rows < self._least_keys:
            return self._step(state, keyed, clock)
        # Keys without an event and without a due timer are not touched.
        touched = due_of(state) <= clock
        touched[keyed.codes[keyed.codes < len(touched)]] = True
        if np.count_nonzero(touched) > MOST_TOUCHED * len(touched):
            after, rows = self._step(state, keyed, clock)
            after.since = Since(weakref.ref(state))
            return after, rows
        part, _ = part_of(state, touched)
        rest, kept = part_of(state, ~touched)
        changed, rows = self._step(part, keyed.of(touched), clock)
        after = joined(rest, changed)
        after.since = Since(weakref.ref(state), kept)
        return after, rows

    def _step(self, state: State, keyed: Keyed, clock: int) -> tuple[State, pa.Table]:
        spec, net = self.spec, self.net
        state, events = placed(state), keyed.events
        kept = state.tables.get("rows")
        universe = Universe(kept, keyed.events)
        grouped = build_input(spec, kept, keyed)
        source = grouped.source
        texts = texts_of(state)
        encoding = encode_rows(spec.code, kept, keyed.events, texts)
        memory, work = load_memory(state, spec, net, keyed.count, grouped.events, encoding.ranks(texts))
        self._set(memory, clock, keyed.count)
        started = self._begin(state, memory, work, len(source.starts) - 1, clock)
        values = encoding.values(spec)
        memory, work = self._run(universe, values, memory, work, source)
        results = work.rows[: memory[m.OUT]]
        if spec.keys:
            results = in_order(results, grouped.places)
        rows = output_table(spec, universe, memory, results)
        if spec.shared:
            rows = rows.append_column(STATEMENT, self._keys(state, keyed, results[:, m.OUT_KEY]).column(STATEMENT))

        now = max(clock, int(memory[m.NOW])) if events.num_rows else clock
        drop_idle(net, memory, keyed.count, self._idle_shape(values), forget_expired(memory, work, keyed.count, now))
        sources = Sources(
            lambda places: universe.table(self.kept, places, {}),
            lambda numbers: self._keys(state, keyed, numbers),
            encoding.texts,
            source.events,
        )
        after = save_memory(spec, net, memory, work, keyed.count, sources)
        after.numbers[STARTED] = started
        return (blocked(spec, after) if self._blocked else after), rows

    # -- running ------------------------------------------------------------------------------------

    def _set(self, memory: Ints, watermark: int, keys: int) -> None:
        memory[m.WATERMARK] = watermark
        memory[m.DISCARD], memory[m.SUPPRESS] = int(self.spec.discard), int(self.spec.suppress)
        memory[m.MOST_OPEN], memory[m.KEYED] = self.spec.most, int(bool(self.spec.keys))
        memory[m.MOST_WAITING] = self.spec.most + keys * self._leaves

    def _begin(self, state: State, memory: Ints, work: Work, groups: int, clock: int) -> int:
        """A pattern with a start time starts when the watermark passes it, or with an event."""
        begin = self.spec.begin
        started = state.numbers.get(STARTED, 0)
        if started or begin is None or self.spec.keys or not (groups or clock >= begin):
            return started
        _start_at(memory, work, begin, groups)
        return 1

    def _run(self, universe: Universe, values: Values, memory: Ints, work: Work, source: Input) -> tuple[Ints, Work]:
        while True:
            status = run(self.net, values, memory, work, source)
            if status == FINISHED:
                return memory, work
            if status == MEMORY:
                memory, work = grow(memory, work)
                self._check_size(memory)
            elif status == ANSWERS:
                if self.oracle is None:
                    raise error("INTERNAL", what="a pattern has a condition for the host and no oracle")
                _ask(self.spec, self.net, self.oracle, universe, memory, work.chosen)
            else:
                raise self._problem(status, memory)

    def _problem(self, status: int, memory: Ints) -> Exception:
        if status == BAD_BOUND:
            return error(
                "BAD_VALUE",
                what=f"a bound of the repeat {self.spec.nodes[memory[m.BAD] // WIDTH].text}",
                found="null, below one, or its lower bound is above the upper one",
                expected="at least one, and the lower bound not above the upper one",
                fix="filter the events that the bounds are taken from",
            )
        return self._limit(
            f"the number of partial matches of {self.spec.text}",
            "open partial matches",
            self.spec.most,
            "bound them in time with WHERE timer:within(...), or in number with -[n]>, and write EVERY only once",
        )

    def _check_size(self, memory: Ints) -> None:
        if 8 * (memory[m.TOP] + m.OUT_WORDS * memory[m.OUT] + TASK_WORDS * memory[m.TASKS]) > self.spec.most_bytes:
            fix = "bound the partial matches in time with WHERE timer:within(...), and write EVERY only once"
            what = f"the memory for partial matches and rows of {self.spec.text} in one step"
            raise self._limit(what, "bytes of a pattern", self.spec.most_bytes, fix)

    def _limit(self, what: str, name: str, limit: int, fix: str) -> PresageError:
        return error("LIMIT", what=what, limit_name=name, limit=f"{limit:,}", fix=fix)

    @property
    def starts_idle(self) -> bool:
        """Whether the pattern, when started, only waits for an event: its start does not depend on the time."""
        kinds = {INT: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string()}
        nothing = pa.table({name: pa.array([], kinds[bank]) for name, bank in self.spec.code.columns})
        values = encode_rows(self.spec.code, None, nothing, texts_of(self.initial())).values(self.spec)
        return len(self._idle_shape(values)) > 0

    def _idle_shape(self, values: Values) -> Ints:
        """The shape of a pattern that was just started (see `shape_of`); empty if its start has an effect."""
        if self._shape is not None:
            return self._shape
        memory, work = new_memory(self.spec, self.net, 1, 0, 0), new_work(self.spec, self.net, 0, 0)
        self._set(memory, BEFORE, 1)
        _start_at(memory, work, 0, 0)
        none, passes = np.zeros(0, np.int64), np.zeros((0, 1), np.bool_)
        starts, firsts = np.zeros(1, np.int64), np.zeros(2, np.int64)
        source = Input(none, none, none, none, passes, starts, firsts, none, none.reshape(0, 2))
        status = run(self.net, values, memory, work, source)
        while status == MEMORY:
            memory, work = grow(memory, work)
            status = run(self.net, values, memory, work, source)
        root = int(memory[memory[m.KEYS_AT] + m.ROOT])
        fine = status == FINISHED and memory[m.OUT] == 0 and root >= 0
        self._shape = shape_of(self.net, memory, root) if fine else np.zeros((0, 2), np.int64)
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


def _start_at(memory: Ints, work: Work, time: int, groups: int) -> None:
    """Starts a pattern without keys at a time, not with an event."""
    memory[m.NOW], memory[m.EVENT_ROW], memory[m.PHASE] = time, -1, CLOSING
    memory[m.KEY_NOW], memory[m.GROUP_END] = 0, groups
    start_pattern(memory, work.stack, 0)


def _ask(spec: PatternTables, net: Ints, oracle: Oracle, universe: Universe, memory: Ints, pool: Ints) -> None:
    """Filters whose condition only the host can evaluate: where it is not true they are no longer chosen. One call for
    each filter of the pattern, with all of its instances. `pool`: `Work.chosen`."""
    chosen = pool[: memory[m.CHOSEN]]
    nodes = memory[chosen[:, CHOSEN_TERM] + m.NODE] // WIDTH
    true = np.ones(len(chosen), np.bool_)
    for number in np.unique(nodes[chosen[:, CHOSEN_ASKED] >= 0]):
        node = spec.nodes[number]
        own = np.flatnonzero(nodes == number)
        begins = memory[chosen[own, CHOSEN_TERM] + m.BEGIN]
        arguments = []
        for argument, name in node.asked_columns:
            tag, index = net[net[number * WIDTH + FIRST_ARGUMENT] + 2 * argument :][:2]
            rows = chosen[own, CHOSEN_ROW] if tag == CURRENT else rows_bound(memory, begins, int(tag), int(index))
            arguments.append(taken(universe.column(name), rows))
        true[own] = np.asarray(oracle.ask(node.asked, arguments), np.bool_)
    kept = chosen[true]
    pool[: len(kept)] = kept
    memory[m.CHOSEN] = len(kept)
    memory[m.ASKS] = 0
