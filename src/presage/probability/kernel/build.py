"""Rows of all streams in one table in, the facts that evaluation needs out: keys, values and variables as numbers.

Rows of a state that must be understood in the same numbers come in front. A null is no value: it agrees with nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Several
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from presage.arrays.columns import bools, column, ints, plain
from presage.arrays.equality import equality_codes
from presage.arrays.jit import Bools, Ints
from presage.errors import error
from presage.probability.kernel.carried import CHAIN_KEY, CHAIN_VALUE, Carried
from presage.probability.kernel.facts import CERTAIN, MARKOV, NOTHING, Allowed, Facts, GoalRows, Source
from presage.probability.kernel.spec import SEQ, SOURCE, TIME, Oracle, SequenceTables, StreamColumns

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
    first = np.zeros(count, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    missing = np.asarray(pc.is_null(together).to_numpy(zero_copy_only=False), np.bool_)
    codes = np.where(missing, NULL, codes)
    bounds = np.cumsum([len(c) for c in chunks])[:-1]
    return np.split(codes, bounds), together.take(pa.array(first)).combine_chunks()


def build_facts(
    spec: SequenceTables, table: pa.Table, oracle: Oracle | None, carried: Carried | None = None,
    times: Ints | None = None,
) -> Built:  # fmt: skip
    """`table`: rows of all sources, told apart by SOURCE. `times`: those of all steps, if rows are missing here."""
    sources = ints(table, SOURCE)
    parts = [table.take(pa.array(np.flatnonzero(sources == number))) for number in range(len(spec.streams))]
    times = np.unique(ints(table, TIME)) if times is None else times
    variables, values, kept = _variables(spec, parts, carried)
    found, orders = [], []
    built = Built(Facts(len(times), [], []), Numbers(values, times), kept, *_unknown(carried))
    for columns, part in zip(spec.streams, parts, strict=True):
        step = np.searchsorted(times, ints(part, TIME))
        value, prev = np.zeros(len(step), np.int64), np.full(len(step), NOTHING, np.int64)
        probability = np.ones(len(step))
        lines = None if carried is None or columns.kind != MARKOV else carried.lines
        key, count = _codes(part, columns.key, lines)
        chain = key[: len(step)]
        if columns.kind != CERTAIN:
            assert columns.probability is not None
            together = _value_columns(part, columns, lines)
            known = _values(together, columns, key, count, len(step), spec.by is not None)
            value = known.numbers[: len(step)]
            prev = known.numbers[len(step) : 2 * len(step)] if columns.kind == MARKOV else prev
            probability = column(part, columns.probability).to_numpy(zero_copy_only=False).astype(np.float64)
            if columns.kind == MARKOV:
                _remember(built, columns, part, lines, key, known, together)
        order = np.lexsort((chain, step))
        arrays = (chain[order], step[order], value[order], prev[order], probability[order])
        found.append(Source(columns.kind, *arrays, count, ints(part, SEQ)[order]))
        orders.append(order)
    goals = []
    for goal, columns_ in zip(spec.query.goals, spec.goals, strict=True):
        part, order = parts[goal.source], orders[goal.source]
        flags = [_flag(part, name)[order] for name in (columns_.candidate, columns_.accepted, columns_.reads)]
        own = {name: codes[order] for name, codes in variables[goal.number].items()}
        goals.append(GoalRows(flags[0], flags[1], own, flags[2]))
    domains = {name: len(array) for name, array in values.items()}
    allowed = [_allowed(i, names, values, oracle) for i, names in enumerate(spec.conditions)]
    built.facts = Facts(len(times), found, goals, allowed, domains)
    return built


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


def _flag(table: pa.Table, name: str | None) -> Bools:
    return np.ones(table.num_rows, np.bool_) if name is None else bools(column(table, name))


def _variables(
    spec: SequenceTables, parts: list[pa.Table], carried: Carried | None
) -> tuple[list[dict[str, Ints]], dict[str, pa.Array], dict[str, Ints]]:
    """Numbers of each goal's variables, their values, and the numbers of those that were carried."""
    by_goal: list[dict[str, Ints]] = [{} for _ in spec.goals]
    values: dict[str, pa.Array] = {}
    kept: dict[str, Ints] = {}
    for name in dict.fromkeys(name for goal in spec.goals for name, _ in goal.variables):
        owners = [(g, c) for g, goal in enumerate(spec.goals) for n, c in goal.variables if n == name]
        columns = [parts[spec.query.goals[g].source].column(c) for g, c in owners]
        kind = columns[0].type
        old = pa.array([], kind) if carried is None else carried.values_of(name, kind)
        (first, *rest), values[name] = numbered([old, *(c.cast(kind) for c in columns)])
        kept[name] = first
        for (g, _), codes in zip(owners, rest, strict=True):
            by_goal[g][name] = codes
    return by_goal, values, kept


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
    """`ranked`: numbers are in the order of values, where a tie is decided by it."""
    owners = np.concatenate([key[:rows], key]) if columns.kind == MARKOV else key
    nothing = np.zeros(len(owners), np.bool_)
    if columns.kind == MARKOV:
        # All of them null: no event.
        missing = [np.asarray(pc.is_null(c).to_numpy(zero_copy_only=False), np.bool_) for c in together]
        nothing[rows:] = np.logical_and.reduce(missing)[rows:]
    codes, total = equality_codes([pa.chunked_array([pa.array(owners)]), *together], len(owners))
    first = np.zeros(total, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
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
    total = int(np.prod(sizes))
    if total > MOST_COMBINATIONS:
        raise error("LIMIT", what=f"the combinations of values of {', '.join(names)}", limit_name="combinations",
                    limit=MOST_COMBINATIONS, fix="filter the subgoals: WHERE inside the brackets")  # fmt: skip
    grid = np.indices(sizes).reshape(len(sizes), total) if total else np.zeros((len(sizes), 0), np.int64)
    truth = oracle.ask(number, [values[name].take(pa.array(codes)) for name, codes in zip(names, grid, strict=True)])
    return Allowed(names, np.ascontiguousarray(grid.T[np.asarray(truth, np.bool_)]))
