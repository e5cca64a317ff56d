"""The memory of the loop as a state: save and restore.

Instances are stored by key in the order of their creation, from which all lists are rebuilt. Bindings and rows that no
instance refers to are left out. Keys of EVERY-DISTINCT are stored as texts, because ranks hold for one step only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from presage.arrays.columns import column, ints
from presage.arrays.jit import Bools, Ints
from presage.arrays.programs.code import TEXT
from presage.model.operator_state import State
from presage.operators.epl.kernel.arena import new_memory, new_work
from presage.operators.epl.kernel.input import EVENT
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.memory import Work
from presage.operators.epl.kernel.network.seen_keys import EXPIRY, NULLS, SEEN_SET, WORDS
from presage.operators.epl.kernel.network.tables import AND, KIND, UNTIL, WIDTH
from presage.operators.epl.kernel.saved_terms import enter_keys, held_cells, link_terms, number_bindings, running_terms
from presage.operators.epl.kernel.spec import PatternTables

CAUSES, DONE, TEXTS = "_cause", "_finished", "text"
STORED = {
    "node": m.NODE,
    "parent": m.PARENT,
    "slot": m.SLOT,
    "begin": m.BEGIN,
    "count": m.COUNT,
    "a": m.A,
    "b": m.B,
    "due": m.DUE,
    "key": m.KEY,
    "set": m.SET,
    "cause": m.CAUSE,
}


def texts_of(state: State) -> pa.Array:
    """Texts among the keys of EVERY-DISTINCT."""
    table = state.tables.get("texts")
    return pa.array([], pa.large_string()) if table is None else column(table, TEXTS)


def load_memory(state: State, spec: PatternTables, net: Ints, keys: int, events: int, ranks: Ints) -> tuple[Ints, Work]:
    """`ranks` are those of `texts_of`."""
    terms, binds, cells, seen = (_matrix(state, name) for name in ("terms", "binds", "cells", "seen"))
    words = len(terms) * m.TERM_WORDS + len(binds) * m.BIND_WORDS + len(cells) * m.CELL_WORDS
    memory = new_memory(spec, net, keys, words, events)
    work = new_work(spec, net, len(seen), events)
    if "keys" in state.tables:
        known = state.tables["keys"]
        lines = _keys(memory, known.num_rows)
        lines[:, m.KEY_CAUSE] = ints(known, CAUSES)
        lines[ints(known, DONE) == 1, m.ROOT] = m.FINISHED
    first = int(memory[m.TOP])
    first_bind = first + len(terms) * m.TERM_WORDS
    memory[m.TOP] = first_bind + len(binds) * m.BIND_WORDS
    memory[m.SERIALS], memory[m.OPEN] = len(terms), state.numbers.get("open", 0)
    if len(binds):
        block = memory[first_bind : memory[m.TOP]].reshape(-1, m.BIND_WORDS)
        block[:, m.BEFORE] = _address(binds[:, 0], first_bind, m.BIND_WORDS)
        block[:, m.BOUND_TAG], block[:, m.BOUND_ROW], block[:, m.NUMBER] = binds[:, 1], binds[:, 2], -1
    if len(terms):
        block = memory[first:first_bind].reshape(-1, m.TERM_WORDS)
        block[:, list(STORED.values())] = terms
        repeats = net[block[:, m.NODE] + KIND] == UNTIL
        block[:, m.PARENT] = _address(block[:, m.PARENT], first, m.TERM_WORDS)
        block[:, m.BEGIN] = _address(block[:, m.BEGIN], first_bind, m.BIND_WORDS)
        block[repeats, m.A] = _address(block[repeats, m.A], first_bind, m.BIND_WORDS)
        memory[m.SETS] = int(block[:, m.SET].max()) + 1
    if len(cells):
        cells[:, 0] = _address(cells[:, 0], first, m.TERM_WORDS)
        cells[:, 2] = _address(cells[:, 2], first_bind, m.BIND_WORDS)
    link_terms(net, memory, first, len(terms), np.ascontiguousarray(cells.reshape(-1, 3)))
    if len(seen):
        work.seen[: len(seen)] = seen
        # A text is stored as its index in `texts_of`.
        where = _text_words(spec, seen, _nodes_of_sets(terms[:, list(STORED).index("set")], terms))
        work.seen[where] = ranks[seen[where]]
        memory[m.SEEN] = len(seen)
        enter_keys(work.seen, work.hashes, len(seen))
    return memory, work


def forget_expired(memory: Ints, work: Work, keys: int, now: int) -> Bools:
    """Which sets of EVERY-DISTINCT still have a key. Expired lines lose their set."""
    lines = work.seen[: memory[m.SEEN]]
    filled = np.zeros(int(memory[m.SETS]) + 1, np.bool_)
    if not len(lines):
        return filled
    live = filled.copy()
    sets = memory[running_terms(memory, keys) + m.SET]
    live[sets[sets >= 0]] = True
    kept = (lines[:, EXPIRY] > now) & live[lines[:, SEEN_SET]]
    filled[lines[kept, SEEN_SET]] = True
    lines[~kept, SEEN_SET] = -1
    return filled


@dataclass
class Sources:
    """The values of a state: rows of the step, keys by number, texts by rank, events by row."""

    rows: Callable[[Ints], pa.Table]
    keys: Callable[[Ints], pa.Table]
    texts: Callable[[Ints], pa.Array]
    events: Ints


def save_memory(spec: PatternTables, net: Ints, memory: Ints, work: Work, keys: int, sources: Sources) -> State:
    live = running_terms(memory, keys)
    live = live[np.lexsort((memory[live + m.SERIAL], memory[live + m.KEY]))]
    terms = memory[live[:, None] + np.arange(m.TERM_WORDS)]
    kinds = net[terms[:, m.NODE] + KIND]
    repeats = kinds == UNTIL
    cells = held_cells(memory, live[kinds == AND])
    binds = number_bindings(memory, np.concatenate([terms[:, m.BEGIN], terms[repeats, m.A], cells[:, 2]]))
    rows, places = np.unique(binds[:, 2], return_inverse=True)
    binds[:, 2] = places.reshape(-1)

    lines = _keys(memory, keys)
    stored = np.flatnonzero(lines[:, m.ROOT] != m.NOT_STARTED)
    numbers = np.full(keys, -1, np.int64)
    numbers[stored] = np.arange(len(stored))
    terms[:, m.PARENT] = _places(live, terms[:, m.PARENT])
    terms[:, m.KEY] = numbers[terms[:, m.KEY]]
    terms[:, m.BEGIN] = _numbers(memory, terms[:, m.BEGIN])
    terms[:, m.A] = np.where(repeats, _numbers(memory, np.where(repeats, terms[:, m.A], -1)), -1)
    terms[~repeats, m.B] = -1
    cells[:, 0] = _places(live, cells[:, 0])
    cells[:, 2] = _numbers(memory, cells[:, 2])

    state = State("pattern")
    _save_seen(state, spec, memory, work, terms, sources)
    state.tables["terms"] = pa.table({name: terms[:, field] for name, field in STORED.items()})
    state.tables["binds"] = _table(binds)
    state.tables["cells"] = _table(cells)
    known = sources.keys(stored).append_column(CAUSES, pa.array(lines[stored, m.KEY_CAUSE]))
    state.tables["keys"] = known.append_column(DONE, pa.array((lines[stored, m.ROOT] == m.FINISHED).astype(np.int64)))
    _, marks = np.unique(sources.events[rows], return_inverse=True)
    state.tables["rows"] = sources.rows(rows).append_column(EVENT, pa.array(marks.reshape(-1).astype(np.int64)))
    state.numbers["open"] = int(memory[m.OPEN])
    return state


def _save_seen(state: State, spec: PatternTables, memory: Ints, work: Work, terms: Ints, sources: Sources) -> None:
    """Renumbers the sets, in the terms as well."""
    lines = work.seen[: memory[m.SEEN]]
    lines = lines[lines[:, SEEN_SET] >= 0]
    sets = np.unique(terms[:, m.SET])
    sets = sets[sets >= 0]
    numbers = np.full(int(memory[m.SETS]) + 1, -1, np.int64)
    numbers[sets] = np.arange(len(sets))
    terms[:, m.SET] = numbers[terms[:, m.SET]]
    lines[:, SEEN_SET] = numbers[lines[:, SEEN_SET]]
    where = _text_words(spec, lines, _nodes_of_sets(terms[:, m.SET], terms[:, list(STORED.values())]))
    if len(where[0]):
        state.tables["texts"] = pa.table({TEXTS: sources.texts(lines[where])})
        lines[where] = np.arange(len(where[0]))
    state.tables["seen"] = _table(lines)


def _nodes_of_sets(sets: Ints, stored: Ints) -> Ints:
    """The EVERY-DISTINCT node of each set: that of the parent of the term with the set."""
    names = list(STORED)
    held = sets >= 0
    nodes = np.full(int(sets.max(initial=-1)) + 2, -1, np.int64)
    parents = stored[held, names.index("parent")]
    nodes[sets[held]] = stored[parents, names.index("node")] // WIDTH
    return nodes


def _text_words(spec: PatternTables, lines: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Lines and columns of the key words that are texts. `nodes`: by set."""
    owners = nodes[lines[:, SEEN_SET]]
    at_lines, at_words = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for number, node in enumerate(spec.nodes):
        for k, (_, bank) in enumerate(node.keys):
            if bank == TEXT:
                own = np.flatnonzero((owners == number) & (lines[:, NULLS] >> k & 1 == 0))
                at_lines.append(own)
                at_words.append(np.full(len(own), WORDS + k, np.int64))
    return np.concatenate(at_lines), np.concatenate(at_words)


def _keys(memory: Ints, count: int) -> Ints:
    at = memory[m.KEYS_AT]
    return memory[at : at + count * m.KEY_WORDS].reshape(-1, m.KEY_WORDS)


def _address(numbers: Ints, first: int, words: int) -> Ints:
    return np.where(numbers >= 0, first + numbers * words, -1)


def _places(addresses: Ints, wanted: Ints) -> Ints:
    """The index of each wanted address in `addresses`; -1 stays -1."""
    if not len(addresses):
        return wanted
    order = np.argsort(addresses)
    places = order[np.minimum(np.searchsorted(addresses[order], wanted), len(order) - 1)]
    return np.where(wanted >= 0, places, -1)


def _numbers(memory: Ints, matches: Ints) -> Ints:
    return np.where(matches >= 0, memory[np.maximum(matches, 0) + m.NUMBER], -1)


def _matrix(state: State, name: str) -> Ints:
    table = state.tables.get(name)
    if table is None or not table.num_rows:
        return np.zeros((0, 0), np.int64)
    return np.column_stack([ints(table, column_name) for column_name in table.column_names])


def _table(lines: Ints) -> pa.Table:
    return pa.table({f"c{k}": np.ascontiguousarray(lines[:, k]) for k in range(lines.shape[1])})
