"""Allocates the memory of the loop, and more of it when the loop asks."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.operators.epl.kernel.network.loop import Work
from presage.operators.epl.kernel.network.memory import (
    CHOSEN,
    FILTERS,
    FOREVER,
    FREE_CELLS,
    FREE_TERMS,
    GONE,
    GONE_LAST,
    HEAP,
    HEAPS,
    KEY_NOW,
    KEY_WORDS,
    KEYS_AT,
    LISTENING_AT,
    NEED,
    NEXT_DUE,
    NOT_STARTED,
    OUT,
    OUT_WORDS,
    QUEUES,
    QUEUES_AT,
    REGISTERS,
    ROOT,
    SEEN,
    TASKS,
    TOP,
)
from presage.operators.epl.kernel.network.seen_keys import WORDS
from presage.operators.epl.kernel.network.tables import CLOCKED, FILTER, HEAPED, KEYS, KIND, QUEUED, column_of
from presage.operators.epl.kernel.network.tasks import TASK_WORDS
from presage.operators.epl.kernel.saved_terms import enter_keys
from presage.operators.epl.kernel.spec import PatternTables

SMALL = 256
MARGIN = 64
EVENT_WORDS = 12  # three bindings


def new_memory(spec: PatternTables, net: Ints, keys: int, words: int, events: int) -> Ints:
    """Registers, keys, listeners and queues, all empty, then memory for `words` and what events will need."""
    filters = int((column_of(net, spec, KIND) == FILTER).sum())
    clocked = column_of(net, spec, CLOCKED)
    queues = int((clocked == QUEUED).sum())
    at_keys = REGISTERS
    at_listening = at_keys + keys * KEY_WORDS
    at_queues = at_listening + 2 * keys * filters
    top = at_queues + 2 * keys * queues
    # What is never touched costs nothing, growing does.
    memory = np.zeros(top + words + max(words // 4, 64 * SMALL, EVENT_WORDS * events), np.int64)
    memory[at_keys:at_listening].reshape(-1, KEY_WORDS)[:, ROOT] = NOT_STARTED
    memory[at_listening:top] = -1
    memory[[FREE_TERMS, FREE_CELLS, GONE, GONE_LAST]] = -1
    memory[[KEYS_AT, LISTENING_AT, QUEUES_AT, TOP]] = at_keys, at_listening, at_queues, top
    memory[[FILTERS, QUEUES, NEXT_DUE]] = filters, queues, FOREVER
    memory[[HEAPS, KEY_NOW]] = int((clocked == HEAPED).any()), -1
    return memory


def new_work(spec: PatternTables, net: Ints, seen: int, events: int) -> Work:
    lines = seen + max(SMALL, seen // 4)
    return Work(
        np.zeros((SMALL, TASK_WORDS), np.int64),
        np.zeros((SMALL + events, OUT_WORDS), np.int64),
        np.zeros((SMALL, 3), np.int64),
        np.zeros((lines, WORDS + int(column_of(net, spec, KEYS).max())), np.int64),
        np.full(_power(2 * lines), -1, np.int64),
        np.zeros((SMALL, 3), np.int64),
        np.zeros(events, np.int64),
    )


def more_room(memory: Ints, work: Work) -> tuple[Ints, Work]:
    """Twice as much of whatever is nearly used up, or as much as the loop has asked for."""
    needed = int(memory[NEED])
    seen = _longer(work.seen, int(memory[SEEN]), needed)
    hashes = work.hashes
    if seen is not work.seen:
        hashes = np.full(_power(2 * len(seen)), -1, np.int64)
        enter_keys(seen, hashes, int(memory[SEEN]))
    larger = Work(
        _longer(work.stack, int(memory[TASKS]), needed),
        _longer(work.rows, int(memory[OUT]), 0),
        _longer(work.heap, int(memory[HEAP]), 0),
        seen,
        hashes,
        _longer(work.chosen, int(memory[CHOSEN]), 0),
        work.marks,
    )
    memory[NEED] = 0
    return _longer(memory, int(memory[TOP]), needed), larger


def _longer(array: Ints, used: int, needed: int) -> Ints:
    if used + needed + MARGIN <= len(array):
        return array
    larger = np.zeros((max(2 * len(array), used + needed + 2 * MARGIN), *array.shape[1:]), np.int64)
    larger[:used] = array[:used]
    return larger


def _power(least: int) -> int:
    return 1 << max(least - 1, 1).bit_length()
