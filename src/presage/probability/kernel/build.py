"""Rows of all streams in one table in, the facts that evaluation needs out: keys, values and variables as numbers.

Rows of a state that must be understood in the same numbers come in front. A null is no value: it agrees with nothing.
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
from presage.arrays.jit import Bools, Ints
from presage.errors import error
from presage.probability.kernel.carried import CHAIN_KEY, CHAIN_VALUE, Carried
from presage.probability.kernel.excess import divide_excess
from presage.probability.kernel.facts import CERTAIN, MARKOV, NOTHING, Allowed, Facts, GoalRows, Source
from presage.probability.kernel.spec import (
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
# Combinations of values that a condition over several goals is asked for at most.
MOST_COMBINATIONS = 10_000_000


@dataclass
class Numbers:
    """Values by number: those of each variable, and the times of the steps."""

    variables: dict[str, pa.Array]
    times: Ints


@dataclass
class ChainValues:
    """Numbers of the values of a stream's chains: of its rows, of those before them (MARKOV), and of carried lines.
    They are counted for each chain apart, so that they stay small. `first`: where the value of a code is to be found;
    the codes of a chain stand in `order` from `starts` on."""

    numbers: Ints
    first: Ints
    order: Ints
    starts: Ints

    def places(self, chain: Ints, value: Ints) -> Ints:
        """Where a value of a chain is to be found."""
        found: Ints = self.first[self.order[self.starts[chain] + value]]
        return found


@dataclass
class Built:
    """Facts, and what their numbers mean. `kept`: numbers of what was carried, by variable; `kept_chain` and
    `kept_value` by carried line. Of the Markov source: `keys` of its rows and carried lines, `owners` (a row of each
    chain), and `values` where `known` finds them."""

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
    """Equal values of all columns get equal numbers; null is NULL. The values by number, too."""
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
    """`table`: rows of all sources, told apart by SOURCE. `names`: hashes of keys, where there may be a draw."""
    if spec.by_steps and not spec.query.markov:
        # What no goal can take means the same as no event; nobody looks at the steps between.
        table = _candidates(spec, table)
    parts = _by_source(table, len(spec.streams))
    times = _distinct(ints(table, TIME))
    variables, values, kept, known_columns = _variables(spec, parts, carried)
    found, orders = [], []
    built = Built(Facts(len(times), [], []), Numbers(values, times), kept, *_unknown(carried))
    for number, (columns, part) in enumerate(zip(spec.streams, parts, strict=True)):
        step = _places(times, ints(part, TIME))
        value, prev = np.zeros(len(step), np.int64), np.full(len(step), NOTHING, np.int64)
        probability = np.ones(len(step))
        lines = None if carried is None or columns.kind != MARKOV else carried.lines
        ready = known_columns.get((number, columns.key[0])) if len(columns.key) == 1 and lines is None else None
        key, count = ready if ready is not None else _codes(part, columns.key, lines)
        chain = key[: len(step)]
        if columns.probability is not None:
            stored = column(part, columns.probability).to_numpy(zero_copy_only=False)
            probability = stored.astype(np.float64, copy=False)
        # Which value a row has does not matter where steps are independent and only its meaning counts.
        if columns.kind == MARKOV or (columns.kind != CERTAIN and not spec.by_steps):
            together = _value_columns(part, columns, lines)
            coded = _values(together, columns, key, count, len(step), spec.by is not None or names is not None)
            value = coded.numbers[: len(step)]
            if columns.kind == MARKOV:
                prev = coded.numbers[len(step) : 2 * len(step)]
                _remember(built, columns, part, lines, key, coded, together)
        named = None
        if names is not None:
            named, first = np.zeros(count, np.int64), first_of(chain, count)
            there = np.flatnonzero(first >= 0)
            rows = pa.array(first[there])
            named[there] = names([part.column(name).take(rows) for name in columns.key], len(there))
        order = _by_step_and_chain(step, chain, len(times), count)
        chain, step, value, prev = (_ordered(array, order) for array in (chain, step, value, prev))
        likely, arrival = _ordered(probability, order), _ordered(ints(part, SEQ), order)
        found.append(Source(columns.kind, chain, step, value, prev, likely, count, arrival, named))
        orders.append(order)
    goals = []
    for goal, columns_ in zip(spec.query.goals, spec.goals, strict=True):
        part, order = parts[goal.source], orders[goal.source]
        found_flags = (_candidate(part, columns_), _flag(part, columns_.accepted), _flag(part, columns_.reads))
        flags = [_ordered(flag, order) for flag in found_flags]
        own = {name: _ordered(codes, order) for name, codes in variables[goal.number].items()}
        goals.append(GoalRows(flags[0], flags[1], own, flags[2]))
    for number, source in enumerate(found):
        if source.kind != CERTAIN:
            whole = source.kind == MARKOV or spec.by is not None
            wanted = np.full(len(source.step), whole)
            for goal in () if whole else spec.query.goals:
                wanted |= goals[goal.number].candidate if goal.source == number else False
            source.probability = divide_excess(source, wanted)
    domains = {name: len(array) for name, array in values.items()}
    allowed = [_allowed(i, names, values, oracle) for i, names in enumerate(spec.conditions)]
    built.facts = Facts(len(times), found, goals, allowed, domains, times)
    return built


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
    """Chains and values of carried lines, where no source is Markov."""
    count = 0 if carried is None or carried.lines is None else carried.lines.num_rows
    return np.full(count, -1, np.int64), np.full(count, NOTHING, np.int64)


def _remember(
    built: Built, columns: StreamColumns, part: pa.Table, lines: pa.Table | None, key: Ints, known: ChainValues,
    together: list[pa.ChunkedArray],
) -> None:  # fmt: skip
    """The numbers of carried chains and values, and where keys and values can be read again."""
    rows = part.num_rows
    built.keys = pa.table({f"{CHAIN_KEY}{i}": part.column(name) for i, name in enumerate(columns.key)})
    if lines is not None:
        built.kept_chain, built.kept_value = key[rows:], known.numbers[2 * rows :]
        if columns.key:
            built.keys = pa.concat_tables([built.keys, lines.select(built.keys.column_names).cast(built.keys.schema)])
            built.kept_chain = np.where(_missing(lines, f"{CHAIN_KEY}0"), -1, built.kept_chain)
    built.owners = np.zeros(max(int(key.max(initial=0)) + 1, 1), np.int64)
    built.owners[key[::-1]] = np.arange(len(key) - 1, -1, -1)
    built.values = pa.table({f"{CHAIN_VALUE}{i}": values for i, values in enumerate(together)})
    built.known = known


def _missing(table: pa.Table, name: str) -> Bools:
    return np.asarray(pc.is_null(table.column(name)).to_numpy(zero_copy_only=False), np.bool_)


def _candidate(table: pa.Table, goal: GoalColumns) -> Bools:
    """A null is taken by `_` alone: an event with one where the goal has a variable is no candidate."""
    found = _flag(table, goal.candidate)
    for _, name in goal.variables:
        if table.column(name).null_count:
            found = found & ~_missing(table, name)
    return found


def _flag(table: pa.Table, name: str | None) -> Bools:
    return np.ones(table.num_rows, np.bool_) if name is None else bools(column(table, name))


def _variables(
    spec: SequenceTables, parts: list[pa.Table], carried: Carried | None
) -> tuple[list[dict[str, Ints]], dict[str, pa.Array], dict[str, Ints], dict[tuple[int, str], tuple[Ints, int]]]:
    """Numbers of each goal's variables, their values, the numbers of those that were carried; and the numbers of
    columns that stand for themselves, by source."""
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
    return by_goal, values, kept, alone


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
    """`ranked`: numbers are in the order of values, where a tie or a draw is decided by it."""
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
        raise error("LIMIT", what=f"the combinations of values of {', '.join(names)}", limit_name="combinations",
                    limit=MOST_COMBINATIONS, fix="filter the subgoals: WHERE inside the brackets")  # fmt: skip
    grid = np.indices(sizes).reshape(len(sizes), total) if total else np.zeros((len(sizes), 0), np.int64)
    truth = oracle.ask(number, [values[name].take(pa.array(codes)) for name, codes in zip(names, grid, strict=True)])
    return Allowed(names, np.ascontiguousarray(grid.T[np.asarray(truth, np.bool_)]))
