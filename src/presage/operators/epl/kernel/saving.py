"""Saves the memory of the loop as a state and restores it: exact and compact.

Instances are stored by key in the order of their creation, from which all lists follow; bindings and rows that no
instance needs are left out; texts among the keys of EVERY-DISTINCT are stored as texts, because ranks hold for one step
only.
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
from presage.operators.epl.kernel.network.loop import Work
from presage.operators.epl.kernel.network.memory import (
    BEFORE,
    BEGIN,
    BIND_WORDS,
    BOUND_ROW,
    BOUND_TAG,
    CAUSE,
    CELL_WORDS,
    COUNT,
    DUE,
    FINISHED,
    KEY,
    KEY_CAUSE,
    KEY_WORDS,
    KEYS_AT,
    NODE,
    NOT_STARTED,
    NUMBER,
    OPEN,
    PARENT,
    ROOT,
    SEEN,
    SERIAL,
    SERIALS,
    SET,
    SETS,
    SLOT,
    TERM_WORDS,
    TOP,
    A,
    B,
)
from presage.operators.epl.kernel.network.seen_keys import EXPIRY, NULLS, SEEN_SET, WORDS
from presage.operators.epl.kernel.network.tables import AND, KIND, UNTIL, WIDTH
from presage.operators.epl.kernel.saved_terms import (
    enter_keys,
    held_cells,
    link_terms,
    number_bindings,
    running_terms,
)
from presage.operators.epl.kernel.spec import PatternTables

CAUSES, DONE, TEXTS = "_cause", "_finished", "text"
STORED = {
    "node": NODE,
    "parent": PARENT,
    "slot": SLOT,
    "begin": BEGIN,
    "count": COUNT,
    "a": A,
    "b": B,
    "due": DUE,
    "key": KEY,
    "set": SET,
    "cause": CAUSE,
}


def texts_of(state: State) -> pa.Array:
    """Texts among the keys of EVERY-DISTINCT."""
    table = state.tables.get("texts")
    return pa.array([], pa.large_string()) if table is None else column(table, TEXTS)


def load_memory(state: State, spec: PatternTables, net: Ints, keys: int, events: int, ranks: Ints) -> tuple[Ints, Work]:
    """`ranks` are those of `texts_of`."""
    terms, binds, cells, seen = (_matrix(state, name) for name in ("terms", "binds", "cells", "seen"))
    words = len(terms) * TERM_WORDS + len(binds) * BIND_WORDS + len(cells) * CELL_WORDS
    memory = new_memory(spec, net, keys, words, events)
    work = new_work(spec, net, len(seen), events)
    if "keys" in state.tables:
        known = state.tables["keys"]
        lines = _keys(memory, known.num_rows)
        lines[:, KEY_CAUSE] = ints(known, CAUSES)
        lines[ints(known, DONE) == 1, ROOT] = FINISHED
    first = int(memory[TOP])
    first_bind = first + len(terms) * TERM_WORDS
    memory[TOP] = first_bind + len(binds) * BIND_WORDS
    memory[SERIALS], memory[OPEN] = len(terms), state.numbers.get("open", 0)
    if len(binds):
        block = memory[first_bind : memory[TOP]].reshape(-1, BIND_WORDS)
        block[:, BEFORE] = _address(binds[:, 0], first_bind, BIND_WORDS)
        block[:, BOUND_TAG], block[:, BOUND_ROW], block[:, NUMBER] = binds[:, 1], binds[:, 2], -1
    if len(terms):
        block = memory[first:first_bind].reshape(-1, TERM_WORDS)
        block[:, list(STORED.values())] = terms
        repeats = net[block[:, NODE] + KIND] == UNTIL
        block[:, PARENT] = _address(block[:, PARENT], first, TERM_WORDS)
        block[:, BEGIN] = _address(block[:, BEGIN], first_bind, BIND_WORDS)
        block[repeats, A] = _address(block[repeats, A], first_bind, BIND_WORDS)
        memory[SETS] = int(block[:, SET].max()) + 1
    if len(cells):
        cells[:, 0] = _address(cells[:, 0], first, TERM_WORDS)
        cells[:, 2] = _address(cells[:, 2], first_bind, BIND_WORDS)
    link_terms(net, memory, first, len(terms), np.ascontiguousarray(cells.reshape(-1, 3)))
    if len(seen):
        work.seen[: len(seen)] = seen
        # A word that is a text stands as its number among `texts_of`.
        where = _text_words(spec, seen, _nodes_of_sets(terms[:, list(STORED).index("set")], terms))
        work.seen[where] = ranks[seen[where]]
        memory[SEEN] = len(seen)
        enter_keys(work.seen, work.hashes, len(seen))
    return memory, work


def forget_expired(memory: Ints, work: Work, keys: int, now: int) -> Bools:
    """Which sets still have a key; lines that no longer count lose their set."""
    lines = work.seen[: memory[SEEN]]
    filled = np.zeros(int(memory[SETS]) + 1, np.bool_)
    if not len(lines):
        return filled
    live = filled.copy()
    sets = memory[running_terms(memory, keys) + SET]
    live[sets[sets >= 0]] = True
    kept = (lines[:, EXPIRY] > now) & live[lines[:, SEEN_SET]]
    filled[lines[kept, SEEN_SET]] = True
    lines[~kept, SEEN_SET] = -1
    return filled


@dataclass
class Sources:
    """Where the values of a state come from: rows of the step, keys by number, texts by rank, events by row."""

    rows: Callable[[Ints], pa.Table]
    keys: Callable[[Ints], pa.Table]
    texts: Callable[[Ints], pa.Array]
    events: Ints


def save_memory(spec: PatternTables, net: Ints, memory: Ints, work: Work, keys: int, sources: Sources) -> State:
    live = running_terms(memory, keys)
    live = live[np.lexsort((memory[live + SERIAL], memory[live + KEY]))]
    terms = memory[live[:, None] + np.arange(TERM_WORDS)]
    kinds = net[terms[:, NODE] + KIND]
    repeats = kinds == UNTIL
    cells = held_cells(memory, live[kinds == AND])
    binds = number_bindings(memory, np.concatenate([terms[:, BEGIN], terms[repeats, A], cells[:, 2]]))
    rows, places = np.unique(binds[:, 2], return_inverse=True)
    binds[:, 2] = places.reshape(-1)

    lines = _keys(memory, keys)
    stored = np.flatnonzero(lines[:, ROOT] != NOT_STARTED)
    numbers = np.full(keys, -1, np.int64)
    numbers[stored] = np.arange(len(stored))
    terms[:, PARENT] = _places(live, terms[:, PARENT])
    terms[:, KEY] = numbers[terms[:, KEY]]
    terms[:, BEGIN] = _numbers(memory, terms[:, BEGIN])
    terms[:, A] = np.where(repeats, _numbers(memory, np.where(repeats, terms[:, A], -1)), -1)
    terms[~repeats, B] = -1
    cells[:, 0] = _places(live, cells[:, 0])
    cells[:, 2] = _numbers(memory, cells[:, 2])

    state = State("pattern")
    _save_seen(state, spec, memory, work, terms, sources)
    state.tables["terms"] = pa.table({name: terms[:, field] for name, field in STORED.items()})
    state.tables["binds"] = _table(binds)
    state.tables["cells"] = _table(cells)
    known = sources.keys(stored).append_column(CAUSES, pa.array(lines[stored, KEY_CAUSE]))
    state.tables["keys"] = known.append_column(DONE, pa.array((lines[stored, ROOT] == FINISHED).astype(np.int64)))
    _, marks = np.unique(sources.events[rows], return_inverse=True)
    state.tables["rows"] = sources.rows(rows).append_column(EVENT, pa.array(marks.reshape(-1).astype(np.int64)))
    state.numbers["open"] = int(memory[OPEN])
    return state


def _save_seen(state: State, spec: PatternTables, memory: Ints, work: Work, terms: Ints, sources: Sources) -> None:
    """Sets are numbered anew, in the terms as well."""
    lines = work.seen[: memory[SEEN]]
    lines = lines[lines[:, SEEN_SET] >= 0]
    sets = np.unique(terms[:, SET])
    sets = sets[sets >= 0]
    numbers = np.full(int(memory[SETS]) + 1, -1, np.int64)
    numbers[sets] = np.arange(len(sets))
    terms[:, SET] = numbers[terms[:, SET]]
    lines[:, SEEN_SET] = numbers[lines[:, SEEN_SET]]
    where = _text_words(spec, lines, _nodes_of_sets(terms[:, SET], terms[:, list(STORED.values())]))
    if len(where[0]):
        state.tables["texts"] = pa.table({TEXTS: sources.texts(lines[where])})
        lines[where] = np.arange(len(where[0]))
    state.tables["seen"] = _table(lines)


def _nodes_of_sets(sets: Ints, stored: Ints) -> Ints:
    """The node of EVERY-DISTINCT whose keys each set has: that of the parent of the term with the set."""
    names = list(STORED)
    held = sets >= 0
    nodes = np.full(int(sets.max(initial=-1)) + 2, -1, np.int64)
    parents = stored[held, names.index("parent")]
    nodes[sets[held]] = stored[parents, names.index("node")] // WIDTH
    return nodes


def _text_words(spec: PatternTables, lines: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Where words of keys are texts: lines and columns. `nodes` by set."""
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
    at = memory[KEYS_AT]
    return memory[at : at + count * KEY_WORDS].reshape(-1, KEY_WORDS)


def _address(numbers: Ints, first: int, words: int) -> Ints:
    return np.where(numbers >= 0, first + numbers * words, -1)


def _places(addresses: Ints, wanted: Ints) -> Ints:
    """Where each wanted address stands among `addresses`; -1 stays -1."""
    if not len(addresses):
        return wanted
    order = np.argsort(addresses)
    found = order[np.minimum(np.searchsorted(addresses[order], wanted), len(order) - 1)]
    return np.where(wanted >= 0, found, -1)


def _numbers(memory: Ints, matches: Ints) -> Ints:
    return np.where(matches >= 0, memory[np.maximum(matches, 0) + NUMBER], -1)


def _matrix(state: State, name: str) -> Ints:
    table = state.tables.get(name)
    if table is None or not table.num_rows:
        return np.zeros((0, 0), np.int64)
    return np.column_stack([ints(table, column_name) for column_name in table.column_names])


def _table(lines: Ints) -> pa.Table:
    return pa.table({f"c{k}": np.ascontiguousarray(lines[:, k]) for k in range(lines.shape[1])})
