"""A state in, pools out, and pools in, a state out: exact and compact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column, ints
from presage.arrays.jit import Bools, Ints
from presage.model.state import State
from presage.patterns.kernel.code import TEXT
from presage.patterns.kernel.growth import new_pools
from presage.patterns.kernel.network import AND, DISTINCT, FIRST_KEY, KEYS, KIND, UNTIL, Network
from presage.patterns.kernel.pattern_input import EVENT
from presage.patterns.kernel.pattern_state import (
    TERM_COLUMNS,
    TERM_NAMES,
    enter_keys,
    held_cells,
    link_terms,
    needed_binds,
)
from presage.patterns.kernel.pools import (
    ALIVE,
    BEGIN,
    BINDS,
    EXPIRY,
    FINISHED,
    FLAG,
    KEY,
    KEY_CAUSE,
    NODE,
    NULLS,
    OPEN,
    PARENT,
    ROOT,
    SEEN,
    SEEN_SET,
    SERIAL,
    SERIALS,
    SET,
    SETS,
    USED,
    WORDS,
    A,
    Pools,
)

CAUSES, DONE, TEXTS = "_cause", "_finished", "text"


def texts_of(state: State) -> pa.Array:
    """Texts among the keys of EVERY-DISTINCT."""
    table = state.tables.get("texts")
    return pa.array([], pa.large_string()) if table is None else column(table, TEXTS)


def load_pools(state: State, net: Network, keys: int, events: int, ranks: Ints) -> Pools:
    """`ranks` are those of `texts_of`."""
    terms, binds, cells = (_matrix(state, name) for name in ("terms", "binds", "cells"))
    seen = _matrix(state, "seen")
    pools = new_pools(net, keys, events, len(terms), len(binds), len(cells), len(seen))
    registers = pools.registers
    if "keys" in state.tables:
        known = state.tables["keys"]
        pools.keys[: known.num_rows, KEY_CAUSE] = ints(known, CAUSES)
        pools.keys[: known.num_rows, ROOT][ints(known, DONE) == 1] = FINISHED
    if len(terms):
        pools.terms[: len(terms), TERM_COLUMNS] = terms
    if len(binds):
        pools.binds[: len(binds)] = binds
    registers[USED] = registers[SERIALS] = len(terms)
    registers[BINDS] = len(binds)
    registers[OPEN] = state.numbers.get("open", 0)
    link_terms(net, pools, len(terms), np.ascontiguousarray(cells.reshape(-1, 3)))
    if len(seen):
        pools.seen[: len(seen), : seen.shape[1]] = seen
        # A word that is a text stands as its number among `texts_of`.
        where = _text_words(net, pools.seen[: len(seen)], _set_nodes(pools, len(terms)))
        pools.seen[where] = ranks[pools.seen[where]]
        registers[SEEN] = len(seen)
        registers[SETS] = int(pools.seen[: len(seen), SEEN_SET].max()) + 1
        enter_keys(pools.seen, pools.index, len(seen))
    if len(terms):
        registers[SETS] = max(int(registers[SETS]), int(pools.terms[: len(terms), SET].max()) + 1)
    return pools


def forget_expired(pools: Pools, now: int) -> Bools:
    """Which sets still have a key; lines that no longer count lose their set."""
    count = int(pools.registers[SEEN])
    lines = pools.seen[:count]
    used = int(pools.registers[USED])
    live = np.zeros(int(pools.registers[SETS]) + 1, np.bool_)
    sets = pools.terms[:used, SET][(pools.terms[:used, FLAG] & ALIVE) != 0]
    live[sets[sets >= 0]] = True
    kept = (lines[:, EXPIRY] > now) & live[lines[:, SEEN_SET]]
    lines[~kept, SEEN_SET] = -1
    filled = np.zeros(len(live), np.bool_)
    filled[lines[kept, SEEN_SET]] = True
    return filled


def save_pools(
    net: Network,
    pools: Pools,
    events: Ints,
    take_kept: Callable[[Ints], pa.Table],
    take_keys: Callable[[Ints], pa.Table],
    texts: Callable[[Ints], pa.Array],
) -> State:
    """`take_kept` gives rows of the step, `take_keys` the values of keys, `texts` the text of each rank."""
    registers, used = pools.registers, int(pools.registers[USED])
    live = np.flatnonzero(pools.terms[:used, FLAG] & ALIVE)
    live = live[np.argsort(pools.terms[live, SERIAL], kind="stable")]
    terms = pools.terms[live]
    kinds = net.nodes[terms[:, NODE], KIND]
    ands = live[kinds == AND]
    cells = held_cells(pools.terms, pools.cells, ands)
    gathered = terms[:, A][kinds == UNTIL]

    count = int(registers[BINDS])
    needed = np.zeros(count + 1, np.bool_)
    for matches in (terms[:, BEGIN], gathered, cells[:, 2]):
        needed[matches[matches >= 0]] = True
    numbers = needed_binds(pools.binds, count, needed)
    binds = pools.binds[:count][needed[:count]]
    rows, places = np.unique(binds[:, 2], return_inverse=True)
    binds = np.column_stack([numbers[binds[:, 0]], binds[:, 1], places.reshape(-1)])

    place = np.full(used + 1, -1, np.int64)  # -1 stays -1
    place[live] = np.arange(len(live))
    stored = pools.keys[:, ROOT] != -1
    key_numbers = np.cumsum(stored) - 1
    terms[:, PARENT] = place[terms[:, PARENT]]
    terms[:, BEGIN] = numbers[terms[:, BEGIN]]
    terms[kinds == UNTIL, A] = numbers[gathered]
    terms[:, KEY] = key_numbers[terms[:, KEY]]
    cells[:, 0] = place[ands[cells[:, 0]]]
    cells[:, 2] = numbers[cells[:, 2]]

    state = State("pattern")
    state.tables["terms"] = pa.table({n: terms[:, c] for n, c in zip(TERM_NAMES, TERM_COLUMNS, strict=True)})
    state.tables["binds"] = _table(binds)
    state.tables["cells"] = _table(cells)
    own = np.flatnonzero(stored)
    state.tables["keys"] = (
        take_keys(own)
        .append_column(CAUSES, pa.array(pools.keys[own, KEY_CAUSE]))
        .append_column(DONE, pa.array((pools.keys[own, ROOT] == FINISHED).astype(np.int64)))
    )
    _, marks = np.unique(events[rows], return_inverse=True)
    state.tables["rows"] = take_kept(rows).append_column(EVENT, pa.array(marks.reshape(-1).astype(np.int64)))
    _save_seen(state, net, pools, texts, terms)
    state.numbers["open"] = int(registers[OPEN])
    return state


def _save_seen(state: State, net: Network, pools: Pools, texts: Callable[[Ints], pa.Array], terms: Ints) -> None:
    """Sets are numbered anew, in the terms as well."""
    lines = pools.seen[: pools.registers[SEEN]]
    lines = lines[lines[:, SEEN_SET] >= 0]
    own = terms[:, SET]
    sets = np.unique(own[own >= 0])
    numbers = np.full(int(pools.registers[SETS]) + 1, -1, np.int64)
    numbers[sets] = np.arange(len(sets))
    table = state.tables["terms"]
    at = table.column_names.index("set")
    state.tables["terms"] = table.set_column(at, "set", pa.array(numbers[own]))
    nodes = np.full(len(sets) + 1, -1, np.int64)
    parents = terms[own >= 0, PARENT]
    nodes[numbers[own[own >= 0]]] = terms[parents, NODE]
    lines[:, SEEN_SET] = numbers[lines[:, SEEN_SET]]
    where = _text_words(net, lines, nodes)
    if len(where[0]):
        state.tables["texts"] = pa.table({TEXTS: texts(lines[where])})
        lines[where] = np.arange(len(where[0]))
    state.tables["seen"] = _table(lines)


def _set_nodes(pools: Pools, count: int) -> Ints:
    """The node of EVERY-DISTINCT whose keys each set has."""
    own = pools.terms[:count]
    nodes = np.full(int(own[:, SET].max()) + 2, -1, np.int64)
    held = own[:, SET] >= 0
    nodes[own[held, SET]] = own[own[held, PARENT], NODE]
    return nodes


def _text_words(net: Network, lines: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Where words of keys are texts: lines and columns. `nodes` by set."""
    owners = nodes[lines[:, SEEN_SET]]
    at_lines, at_words = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for node in np.flatnonzero(net.nodes[:, KIND] == DISTINCT):
        first = net.nodes[node, FIRST_KEY]
        for k in range(net.nodes[node, KEYS]):
            if net.keys[first + k, 1] == TEXT:
                own = np.flatnonzero((owners == node) & (lines[:, NULLS] >> k & 1 == 0))
                at_lines.append(own)
                at_words.append(np.full(len(own), WORDS + k, np.int64))
    return np.concatenate(at_lines), np.concatenate(at_words)


def _matrix(state: State, name: str) -> Ints:
    table = state.tables.get(name)
    if table is None or not table.num_rows:
        return np.zeros((0, 0), np.int64)
    return np.column_stack([ints(table, column_name) for column_name in table.column_names])


def _table(lines: Ints) -> pa.Table:
    return pa.table({f"c{k}": np.ascontiguousarray(lines[:, k]) for k in range(lines.shape[1])})
