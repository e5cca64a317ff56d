"""Pools in, the same pools with room for more out."""

from __future__ import annotations

import numpy as np

from presage.arrays.jit import Ints
from presage.patterns.kernel.network import KEYS, Network
from presage.patterns.kernel.pattern_state import enter_keys
from presage.patterns.kernel.pools import (
    BINDS,
    CELL_FREE,
    CELLS,
    FOREVER,
    FREE,
    GONE,
    GONE_LAST,
    HEAP,
    KEY_WIDTH,
    NEED_BINDS,
    NEED_SEEN,
    NEED_STACK,
    NEXT_DUE,
    NOT_STARTED,
    OUT,
    REGISTERS,
    ROOT,
    SEEN,
    TERM_WIDTH,
    TOP,
    USED,
    WORDS,
    Pools,
)
from presage.patterns.kernel.tasks import TASK_WIDTH

SMALL = 256
MARGIN = 64


def new_pools(net: Network, keys: int, events: int, terms: int, binds: int, cells: int, seen: int) -> Pools:
    """Empty pools with room for what a state has and a little more."""
    registers = np.zeros(REGISTERS, np.int64)
    registers[[FREE, GONE, GONE_LAST, CELL_FREE]] = -1
    registers[NEXT_DUE] = FOREVER
    table = np.zeros((keys, KEY_WIDTH), np.int64)
    table[:, ROOT] = NOT_STARTED
    widest = int(net.nodes[:, KEYS].max())
    lines = _room(seen)
    return Pools(
        registers,
        np.zeros((_room(terms), TERM_WIDTH), np.int64),
        np.zeros((_room(binds), 3), np.int64),
        np.zeros((_room(cells), 3), np.int64),
        np.zeros((SMALL, TASK_WIDTH), np.int64),
        np.zeros((SMALL, 6), np.int64),
        np.zeros((_room(terms), 3), np.int64),
        np.full((keys * len(net.listeners), 2), -1, np.int64),
        np.full((len(net.nodes), 2), -1, np.int64),
        np.zeros((lines, WORDS + widest), np.int64),
        np.full(_power(2 * lines), -1, np.int64),
        table,
        np.zeros((_room(terms), 3), np.int64),
        np.zeros(events, np.int64),
    )


def grow(pools: Pools) -> Pools:
    """Twice as much of whatever is nearly used up, or as much as the loop has asked for."""
    registers = pools.registers
    terms = _grown(pools.terms, int(registers[USED]), 0)
    binds = _grown(pools.binds, int(registers[BINDS]), int(registers[NEED_BINDS]))
    cells = _grown(pools.cells, int(registers[CELLS]), 0)
    stack = _grown(pools.stack, int(registers[TOP]), int(registers[NEED_STACK]))
    rows = _grown(pools.rows, int(registers[OUT]), 0)
    heap = _grown(pools.heap, int(registers[HEAP]), 0)
    seen = _grown(pools.seen, int(registers[SEEN]), int(registers[NEED_SEEN]))
    index = pools.index
    if seen is not pools.seen:
        index = np.full(_power(2 * len(seen)), -1, np.int64)
        enter_keys(seen, index, int(registers[SEEN]))
    chosen = pools.chosen
    if len(chosen) < len(terms):
        chosen = np.zeros((len(terms), 3), np.int64)
        chosen[: len(pools.chosen)] = pools.chosen
    registers[[NEED_BINDS, NEED_STACK, NEED_SEEN]] = 0
    return pools._replace(
        terms=terms, binds=binds, cells=cells, stack=stack, rows=rows, heap=heap, seen=seen, index=index, chosen=chosen
    )


def _grown(pool: Ints, used: int, needed: int) -> Ints:
    if used + needed + MARGIN <= len(pool):
        return pool
    larger = np.zeros((max(2 * len(pool), used + needed + 2 * MARGIN), pool.shape[1]), np.int64)
    larger[:used] = pool[:used]
    return larger


def _room(used: int) -> int:
    return used + max(SMALL, used // 4)


def _power(least: int) -> int:
    return 1 << max(least - 1, 1).bit_length()
