"""Allocation and growth of the arrays of the loop."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.operators.epl.kernel.network import memory as m
from presage.operators.epl.kernel.network.memory import Work
from presage.operators.epl.kernel.network.seen_keys import WORDS
from presage.operators.epl.kernel.network.tables import FILTER, KEYS, KIND, TIMED, column_of
from presage.operators.epl.kernel.network.tasks import TASK_WORDS
from presage.operators.epl.kernel.saved_terms import enter_keys
from presage.operators.epl.kernel.spec import PatternTables

SMALL = 256
MARGIN = 64
EVENT_WORDS = 12  # three bindings


def new_memory(spec: PatternTables, net: Ints, keys: int, words: int, events: int) -> Ints:
    """Registers, keys and listeners, all empty, then memory for `words` and for what events will need."""
    filters = int((column_of(net, spec, KIND) == FILTER).sum())
    at_keys = m.REGISTERS
    at_listening = at_keys + keys * m.KEY_WORDS
    top = at_listening + 2 * keys * filters
    # Pages that are never touched cost nothing; growing does.
    memory = np.zeros(top + words + max(words // 4, 64 * SMALL, EVENT_WORDS * events), np.int64)
    memory[at_keys:at_listening].reshape(-1, m.KEY_WORDS)[:, m.ROOT] = m.NOT_STARTED
    memory[at_listening:top] = -1
    memory[[m.FREE_TERMS, m.FREE_CELLS, m.GONE, m.GONE_LAST]] = -1
    memory[[m.KEYS_AT, m.LISTENING_AT, m.TOP]] = at_keys, at_listening, top
    memory[[m.FILTERS, m.NEXT_DUE, m.KEY_NOW]] = filters, m.FOREVER, -1
    memory[m.TIMERS] = (column_of(net, spec, TIMED) == 1).any()
    return memory


def new_work(spec: PatternTables, net: Ints, seen: int, events: int) -> Work:
    lines = seen + max(SMALL, seen // 4)
    return Work(
        np.zeros((SMALL, TASK_WORDS), np.int64),
        np.zeros((SMALL + events, m.OUT_WORDS), np.int64),
        np.zeros((SMALL, 3), np.int64),
        np.zeros((lines, WORDS + int(column_of(net, spec, KEYS).max())), np.int64),
        np.full(_power(2 * lines), -1, np.int64),
        np.zeros((SMALL, 3), np.int64),
        np.zeros(events, np.int64),
    )


def grow(memory: Ints, work: Work) -> tuple[Ints, Work]:
    """Doubles each array that is nearly full, or grows it by what the loop has asked for (NEED)."""
    needed = int(memory[m.NEED])
    seen = _longer(work.seen, int(memory[m.SEEN]), needed)
    hashes = work.hashes
    if seen is not work.seen:
        hashes = np.full(_power(2 * len(seen)), -1, np.int64)
        enter_keys(seen, hashes, int(memory[m.SEEN]))
    larger = Work(
        _longer(work.stack, int(memory[m.TASKS]), needed),
        _longer(work.rows, int(memory[m.OUT]), 0),
        _longer(work.heap, int(memory[m.HEAP]), 0),
        seen,
        hashes,
        _longer(work.chosen, int(memory[m.CHOSEN]), 0),
        work.marks,
    )
    memory[m.NEED] = 0
    return _longer(memory, int(memory[m.TOP]), needed), larger


def _longer(array: Ints, used: int, needed: int) -> Ints:
    if used + needed + MARGIN <= len(array):
        return array
    larger = np.zeros((max(2 * len(array), used + needed + 2 * MARGIN), *array.shape[1:]), np.int64)
    larger[:used] = array[:used]
    return larger


def _power(least: int) -> int:
    return 1 << max(least - 1, 1).bit_length()
