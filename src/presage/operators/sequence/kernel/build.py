"""Builds facts from the rows of all streams: keys, values and variables become numbers.

Values of the state are numbered together with those of the rows. A null is no value: it equals nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.codes import first_of, grouped_order
from presage.arrays.columns import bools, column, ints, plain
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Floats, Ints
from presage.errors import error
from presage.operators.sequence.kernel.carried import CHAIN_KEY, CHAIN_VALUE, Carried
from presage.operators.sequence.kernel.excess import divide_excess
from presage.operators.sequence.kernel.facts import CERTAIN, MARKOV, NOTHING, Allowed, Facts, GoalRows, Source
from presage.operators.sequence.kernel.spec import (
    SEQ,
    SOURCE,
    TIME,
    GoalColumns,
    KeyHashes,
    Oracle,
    SequenceTables,
    StreamColumns,
)

A = TypeVar("A", bound=np.ndarray)
NULL = -2
# For a condition over several goals: its oracle evaluates all combinations of values.
MOST_COMBINATIONS = 10_000_000


@dataclass
class Numbers:
    """Values by number: those of each variable, and the times of the steps."""

    variables: dict[str, pa.Array]
    times: Ints


@dataclass
class ChainValues:
    """Numbers of the values of a stream's chains: of its rows, of the previous values (MARKOV), and of carried lines.
    They count from 0 in each chain, so that they stay small. `first`: a row of each code; the codes of a chain are in
    `order` from `starts` on."""

    numbers: Ints
    first: Ints
    order: Ints
    starts: Ints

    def places(self, chain: Ints, value: Ints) -> Ints:
        """A row with this value of the chain."""
        found: Ints = self.first[self.order[self.starts[chain] + value]]
        return found


@dataclass
class Built:
    """Facts, and the meaning of their numbers. `kept`: numbers of carried values, by variable; `kept_chain` and
    `kept_value` by carried line. Of the Markov source: `keys` of its rows and carried lines, `owners` (a row of each
    chain), and `values` by the rows of `known`."""

    facts: Facts
    numbers: Numbers
    kept: dict[str, Ints]
    kept_chain: Ints
    kept_value: Ints
    keys: pa.Table | None = None
    owners: Ints | None = None
    values: pa.Table | None = None
    known: ChainValues | None = None

    def chain_values(self, chain: Ints, value: Ints) -> dict[str, pa.Array]:
        """Key and value of chains as columns of lines to be carried."""
        if self.keys is None or self.values is None or self.owners is None or self.known is None:
            return {}
        some, there = chain >= 0, (chain >= 0) & (value != NOTHING)
        rows, places = np.zeros(len(chain), np.int64), np.zeros(len(chain), np.int64)
        rows[some] = self.owners[chain[some]]
        places[there] = self.known.places(chain[there], value[there])
        found = {n: column(self.keys, n).take(pa.array(rows, mask=~some)) for n in self.keys.column_names}
        return found | {n: column(self.values, n).take(pa.array(places, mask=~there)) for n in self.values.column_names}


def numbered(columns: Several[pa.ChunkedArray | pa.Array]) -> tuple[list[Ints], pa.Array]:
    """Numbers of the values of each column, equal for equal values, NULL for null; and the values by number."""
    chunks = [plain(c if isinstance(c, pa.ChunkedArray) else pa.chunked_array([c])) for c in columns]
    together = pa.chunked_array([chunk for c in chunks for chunk in c.chunks], chunks[0].type)
    codes, count = equality_codes([together], len(together))
    first = first_of(codes, count)
    if together.null_count:
        codes = np.where(np.asarray(pc.is_null(together).to_numpy(zero_copy_only=False), np.bool_), NULL, codes)
    bounds = np.cumsum([len(c) for c in chunks])[:-1]
    return np.split(codes, bounds), together.take(pa.array(first)).combine_chunks()


def build_facts(
    spec: SequenceTables,
    table: pa.Table,
    oracle: Oracle | None,
    carried: Carried | None = None,
    names: KeyHashes | None = None,
) -> Built:
    """`table`: rows of all sources, distinguished by SOURCE. `names`: hashes of keys, if the sequence may be
    sampled."""
    if spec.by_steps and not spec.query.markov:
        # A row that is no candidate is equivalent to no event, and the steps between are not needed.
        table = _candidates(spec, table)
    parts = _by_source(table, len(spec.streams))
    times = _distinct(ints(table, TIME))
    variables = _variables(spec, parts, carried)
    built = Built(Facts(len(times), [], []), Numbers(variables.values, times), variables.kept, *_unknown(carried))
    builder = _SourceBuilder(spec, times, variables.alone, carried, names, built)
    ordered = [builder.source(number, part) for number, part in enumerate(parts)]
    sources, orders = [source for source, _ in ordered], [order for _, order in ordered]
    goals = [
        _goal_rows(parts[goal.source], columns, orders[goal.source], variables.by_goal[goal.number])
        for goal, columns in zip(spec.query.goals, spec.goals, strict=True)
    ]
    for number, source in enumerate(sources):
        if source.kind != CERTAIN:
            source.probability = divide_excess(source, _wanted(spec, number, source, goals))
    domains = {name: len(array) for name, array in variables.values.items()}
    allowed = [_allowed(i, own, variables.values, oracle) for i, own in enumerate(spec.conditions)]
    built.facts = Facts(len(times), sources, goals, allowed, domains, times)
    return built


@dataclass
class _SourceBuilder:
    """Builds the sources of one step of the kernel, and writes to `built` what is carried of the Markov source.
    `alone`: numbers of columns that are a variable by themselves."""

    spec: SequenceTables
    times: Ints
    alone: dict[tuple[int, str], tuple[Ints, int]]
    carried: Carried | None
    names: KeyHashes | None
    built: Built

    def source(self, number: int, part: pa.Table) -> tuple[Source, Ints | None]:
        """A stream's rows by step and chain, and their order (None: as they came)."""
        columns = self.spec.streams[number]
        step = _places(self.times, ints(part, TIME))
        lines = None if self.carried is None or columns.kind != MARKOV else self.carried.lines
        key, count = self._chains(number, part, lines)
        chain = key[: len(step)]
        value, prev = self._values(columns, part, lines, key, count)
        named = None if self.names is None else _key_names(self.names, columns, part, chain, count)
        order = _by_step_and_chain(step, chain, len(self.times), count)
        chain, step, value, prev = (_ordered(array, order) for array in (chain, step, value, prev))
        likely, arrival = _ordered(_probabilities(columns, part), order), _ordered(ints(part, SEQ), order)
        return Source(columns.kind, chain, step, value, prev, likely, count, arrival, named), order

    def _chains(self, number: int, part: pa.Table, lines: pa.Table | None) -> tuple[Ints, int]:
        """The chain of each row, then of each carried line; and how many there are."""
        keys = self.spec.streams[number].key
        ready = self.alone.get((number, keys[0])) if len(keys) == 1 and lines is None else None
        return ready if ready is not None else _codes(part, keys, lines)

    def _values(
        self, columns: StreamColumns, part: pa.Table, lines: pa.Table | None, key: Ints, count: int
    ) -> tuple[Ints, Ints]:
        """The value of each row, and the one before (MARKOV)."""
        rows = part.num_rows
        nothing = np.full(rows, NOTHING, np.int64)
        # For independent steps only the meaning of a row counts, not its value.
        if columns.kind == CERTAIN or (columns.kind != MARKOV and self.spec.by_steps):
            return np.zeros(rows, np.int64), nothing
        together = _value_columns(part, columns, lines)
        ranked = self.spec.by is not None or self.names is not None
        coded = _values(together, columns, key, count, rows, ranked)
        if columns.kind != MARKOV:
            return coded.numbers[:rows], nothing
        _keep_markov(self.built, columns.key, part, lines, key, coded.numbers)
        self.built.values = pa.table({f"{CHAIN_VALUE}{i}": values for i, values in enumerate(together)})
        self.built.known = coded
        return coded.numbers[:rows], coded.numbers[rows : 2 * rows]


def _probabilities(columns: StreamColumns, part: pa.Table) -> Floats:
    if columns.probability is None:
        return np.ones(part.num_rows)
    stored = column(part, columns.probability).to_numpy(zero_copy_only=False)
    found: Floats = stored.astype(np.float64, copy=False)
    return found


def _key_names(names: KeyHashes, columns: StreamColumns, part: pa.Table, chain: Ints, count: int) -> Ints:
    """The hash of each chain's key; 0 for chains of carried lines alone."""
    named, first = np.zeros(count, np.int64), first_of(chain, count)
    there = np.flatnonzero(first >= 0)
    rows = pa.array(first[there])
    named[there] = names([part.column(name).take(rows) for name in columns.key], len(there))
    return named


def _goal_rows(part: pa.Table, columns: GoalColumns, order: Ints | None, variables: dict[str, Ints]) -> GoalRows:
    found = (_candidate(part, columns), _flag(part, columns.accepted), _flag(part, columns.reads))
    candidate, accepted, reads = (_ordered(flag, order) for flag in found)
    return GoalRows(candidate, accepted, {name: _ordered(codes, order) for name, codes in variables.items()}, reads)


def _wanted(spec: SequenceTables, number: int, source: Source, goals: list[GoalRows]) -> Bools:
    """Rows of a source that some goal can take; all of them where every row counts."""
    whole = source.kind == MARKOV or spec.by is not None
    taken = (goals[goal.number].candidate for goal in spec.query.goals if goal.source == number and not whole)
    wanted: Bools = np.logical_or.reduce([np.full(len(source.step), whole), *taken])
    return wanted


def _candidates(spec: SequenceTables, table: pa.Table) -> pa.Table:
    sources = ints(table, SOURCE)
    wanted = np.zeros(table.num_rows, np.bool_)
    for goal, columns in zip(spec.query.goals, spec.goals, strict=True):
        wanted |= (sources == goal.source) & _candidate(table, columns)
    return table if wanted.all() else table.filter(pa.array(wanted)).combine_chunks()


def _by_source(table: pa.Table, count: int) -> list[pa.Table]:
    if count == 1:
        return [table]
    sources = ints(table, SOURCE)
    return [table.filter(pa.array(sources == number)).combine_chunks() for number in range(count)]


def _distinct(times: Ints) -> Ints:
    rising = times[1:] != times[:-1]
    if (times[1:] >= times[:-1]).all():
        return times[np.flatnonzero(np.append(True, rising))] if len(times) else times
    return np.unique(times)


def _places(times: Ints, own: Ints) -> Ints:
    """The step of each time."""
    if len(own) and (own[1:] >= own[:-1]).all():
        begins = np.append(True, own[1:] != own[:-1])
        first: Ints = np.searchsorted(times, own[begins])
        places: Ints = first[np.cumsum(begins) - 1]
        return places
    return np.searchsorted(times, own)


def _by_step_and_chain(step: Ints, chain: Ints, steps: int, chains: int) -> Ints | None:
    """The order of the rows; None if they are in it."""
    if len(step) < 2:
        return None
    later, same = step[1:] > step[:-1], step[1:] == step[:-1]
    if (later | (same & (chain[1:] >= chain[:-1]))).all():
        return None
    by_chain, _ = grouped_order(chain, chains)
    order: Ints = by_chain[grouped_order(step[by_chain], steps)[0]]
    return order


def _ordered(values: A, order: Ints | None) -> A:
    return values if order is None else values[order]  # type: ignore[return-value]


def _unknown(carried: Carried | None) -> tuple[Ints, Ints]:
    """Chains and values of carried lines without a Markov source."""
    count = 0 if carried is None or carried.lines is None else carried.lines.num_rows
    return np.full(count, -1, np.int64), np.full(count, NOTHING, np.int64)


def _keep_markov(
    built: Built, names: tuple[str, ...], part: pa.Table, lines: pa.Table | None, key: Ints, numbers: Ints
) -> None:
    """Keep the numbers of carried chains and values, and the columns from which they can be restored."""
    rows = part.num_rows
    built.keys = pa.table({f"{CHAIN_KEY}{i}": part.column(name) for i, name in enumerate(names)})
    if lines is not None:
        built.kept_chain, built.kept_value = key[rows:], numbers[2 * rows :]
        if names:
            built.keys = pa.concat_tables([built.keys, lines.select(built.keys.column_names).cast(built.keys.schema)])
            built.kept_chain = np.where(_missing(lines, f"{CHAIN_KEY}0"), -1, built.kept_chain)
    built.owners = np.zeros(max(int(key.max(initial=0)) + 1, 1), np.int64)
    built.owners[key[::-1]] = np.arange(len(key) - 1, -1, -1)


def _missing(table: pa.Table, name: str) -> Bools:
    return np.asarray(pc.is_null(table.column(name)).to_numpy(zero_copy_only=False), np.bool_)


def _candidate(table: pa.Table, goal: GoalColumns) -> Bools:
    """Only `_` matches a null: an event with a null for a variable is no candidate."""
    found = _flag(table, goal.candidate)
    for _, name in goal.variables:
        if table.column(name).null_count:
            found = found & ~_missing(table, name)
    return found


def _flag(table: pa.Table, name: str | None) -> Bools:
    return np.ones(table.num_rows, np.bool_) if name is None else bools(column(table, name))


@dataclass
class _Variables:
    """Numbers of each goal's variables, their values, the numbers of those that were carried; and the numbers of
    columns that are a variable by themselves, by source and column, with how many there are."""

    by_goal: list[dict[str, Ints]]
    values: dict[str, pa.Array]
    kept: dict[str, Ints]
    alone: dict[tuple[int, str], tuple[Ints, int]]


def _variables(spec: SequenceTables, parts: list[pa.Table], carried: Carried | None) -> _Variables:
    by_goal: list[dict[str, Ints]] = [{} for _ in spec.goals]
    values: dict[str, pa.Array] = {}
    kept: dict[str, Ints] = {}
    alone: dict[tuple[int, str], tuple[Ints, int]] = {}
    for name in dict.fromkeys(name for goal in spec.goals for name, _ in goal.variables):
        if spec.by_steps and name not in spec.counted:
            continue
        owners = [(g, c) for g, goal in enumerate(spec.goals) for n, c in goal.variables if n == name]
        places = list(dict.fromkeys((spec.query.goals[g].source, c) for g, c in owners))
        columns = [parts[source].column(c) for source, c in places]
        kind = columns[0].type
        old = pa.array([], kind) if carried is None else carried.values_of(name, kind)
        (first, *rest), values[name] = numbered([old, *(c.cast(kind) for c in columns)])
        kept[name] = first
        for g, c in owners:
            by_goal[g][name] = rest[places.index((spec.query.goals[g].source, c))]
        if len(places) == 1 and not columns[0].null_count:
            alone[places[0]] = rest[0], len(values[name])
    return _Variables(by_goal, values, kept, alone)


def _codes(table: pa.Table, names: tuple[str, ...], lines: pa.Table | None) -> tuple[Ints, int]:
    """Chains of the rows, then of carried lines."""
    rows = table.num_rows + (0 if lines is None else lines.num_rows)
    if not names:
        return np.zeros(rows, np.int64), 1
    columns = []
    for i, name in enumerate(names):
        own = plain(table.column(name))
        more = [] if lines is None else lines.column(f"{CHAIN_KEY}{i}").cast(own.type).chunks
        columns.append(pa.chunked_array([*own.chunks, *more], own.type))
    return equality_codes(columns, rows)


def _value_columns(table: pa.Table, columns: StreamColumns, lines: pa.Table | None) -> list[pa.ChunkedArray]:
    """The uncertain values of the rows, those before them (MARKOV), and those of carried lines."""
    found = []
    for i, name in enumerate(columns.values):
        own = plain(table.column(name))
        chunks = list(own.chunks)
        if columns.kind == MARKOV:
            chunks += plain(table.column(columns.previous[i])).cast(own.type).chunks
            chunks += [] if lines is None else lines.column(f"{CHAIN_VALUE}{i}").cast(own.type).chunks
        found.append(pa.chunked_array(chunks, own.type))
    return found


def _values(
    together: list[pa.ChunkedArray], columns: StreamColumns, key: Ints, chains: int, rows: int, ranked: bool
) -> ChainValues:
    """`ranked`: number by the order of values, if ties or draws depend on it."""
    owners = np.concatenate([key[:rows], key]) if columns.kind == MARKOV else key
    nothing = np.zeros(len(owners), np.bool_)
    if columns.kind == MARKOV:
        # All of them null: no event.
        missing = [np.asarray(pc.is_null(c).to_numpy(zero_copy_only=False), np.bool_) for c in together]
        nothing[rows:] = np.logical_and.reduce(missing)[rows:]
    codes, total = equality_codes([pa.chunked_array([pa.array(owners)]), *together], len(owners))
    first = first_of(codes, total)
    owner = owners[first] if total else np.zeros(0, np.int64)
    used = np.zeros(total, np.bool_)
    used[codes[~nothing]] = True
    rank = _ranks(together, first) if ranked else np.arange(total)
    order = np.lexsort((rank, ~used, owner))
    starts = np.searchsorted(owner[order], np.arange(chains))
    place = np.empty(total, np.int64)
    place[order] = np.arange(total) - starts[owner[order]]
    return ChainValues(np.where(nothing, NOTHING, place[codes]), first, order, starts)


def _ranks(columns: list[pa.ChunkedArray], rows: Ints) -> Ints:
    """The place of each of these rows in the order of their values."""
    table = pa.table({str(i): column_.take(pa.array(rows)) for i, column_ in enumerate(columns)})
    order = pc.sort_indices(table, [(name, "ascending") for name in table.column_names]).to_numpy()
    ranks = np.empty(len(rows), np.int64)
    ranks[order] = np.arange(len(rows))
    return ranks


def _allowed(number: int, names: tuple[str, ...], values: Mapping[str, pa.Array], oracle: Oracle | None) -> Allowed:
    assert oracle is not None
    sizes = [len(values[name]) for name in names]
    total = math.prod(sizes)
    if total > MOST_COMBINATIONS:
        what = f"the combinations of values of {', '.join(names)}"
        fix = "filter the subgoals: WHERE inside the brackets"
        raise error("LIMIT", what=what, limit_name="combinations", limit=MOST_COMBINATIONS, fix=fix)
    grid = np.indices(sizes).reshape(len(sizes), total) if total else np.zeros((len(sizes), 0), np.int64)
    truth = oracle.ask(number, [values[name].take(pa.array(codes)) for name, codes in zip(names, grid, strict=True)])
    return Allowed(names, np.ascontiguousarray(grid.T[np.asarray(truth, np.bool_)]))
